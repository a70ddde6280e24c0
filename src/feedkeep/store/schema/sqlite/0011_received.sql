-- When episode actions were received, and episodes known by the guids that their feeds give them.
-- Processes of the version before go on beside it: what they store has no such time.

-- Server's clock; null: the action has a key from before, of its URL and not of its guid. The program
-- gives it another one later, some actions at a time.
ALTER TABLE episode_action ADD COLUMN received INTEGER;
