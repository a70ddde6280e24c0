-- What a restored database tells the clients that knew a later one.

-- A random number that each restore replaces; 0 before the first one.
ALTER TABLE account ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
-- Changes with stamps after the first, and up to the second, may have been lost: the clock in the
-- oldest backup that was restored, and the latest stand to which a restore moved it.
ALTER TABLE account ADD COLUMN lost_after INTEGER NOT NULL DEFAULT 0;
ALTER TABLE account ADD COLUMN lost_until INTEGER NOT NULL DEFAULT 0;
