-- When accounts first had the feeds of their lists: nothing that was found before is shown to them.
-- Compatible from version 5: it adds columns that may be null.

-- Server's clock, and not the account's: it is compared with when feeds were looked at. Null on rows
-- from before, and of a program before it: the account counts as having had the feed always. Such a
-- program leaves the moment as it is when it moves a feed: too early, so more is shown and never less.
ALTER TABLE feedkeep.entry ADD COLUMN first_had bigint;
ALTER TABLE feedkeep.former_entry ADD COLUMN first_had bigint;
-- The same of the feed at alias_url.
ALTER TABLE feedkeep.entry ADD COLUMN alias_first_had bigint;
ALTER TABLE feedkeep.former_entry ADD COLUMN alias_first_had bigint;
