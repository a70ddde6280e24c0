-- When accounts first had the feeds of their lists: nothing that was found before is shown to them.

-- Server's clock, and not the account's: it is compared with when feeds were looked at. Null on rows
-- from before: the account counts as having had the feed always.
ALTER TABLE entry ADD COLUMN first_had INTEGER;
ALTER TABLE former_entry ADD COLUMN first_had INTEGER;
-- The same of the feed at alias_url.
ALTER TABLE entry ADD COLUMN alias_first_had INTEGER;
ALTER TABLE former_entry ADD COLUMN alias_first_had INTEGER;
