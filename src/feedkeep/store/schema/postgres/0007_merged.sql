-- Which former URLs were feeds of their own, before a merge.
-- Compatible from version 5: it adds columns that may be null.

-- true: apps may have alias_url beside another URL of the subscription. Null on rows from before,
-- which are read as if alias_moved_away did not hold: whoever removes such a URL is asked once more.
ALTER TABLE feedkeep.entry ADD COLUMN alias_was_own boolean;
ALTER TABLE feedkeep.former_entry ADD COLUMN alias_was_own boolean;
