-- When episode actions were received, and episodes known by the guids that their feeds give them.
-- Compatible from version 5: it adds a column that may be null.

-- Server's clock; null: the action has a key from before, of its URL and not of its guid. The program
-- gives it another one later, some actions at a time.
ALTER TABLE feedkeep.episode_action ADD COLUMN received bigint;
