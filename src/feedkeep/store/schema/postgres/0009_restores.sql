-- What a restored database tells the clients that knew a later one.
-- Compatible from version 5: it adds columns with constant defaults.

-- A random number that each restore replaces; 0 before the first one.
ALTER TABLE feedkeep.account ADD COLUMN epoch bigint NOT NULL DEFAULT 0;
-- Changes with stamps after the first, and up to the second, may have been lost: the clock in the
-- oldest backup that was restored, and the latest stand to which a restore moved it.
ALTER TABLE feedkeep.account ADD COLUMN lost_after bigint NOT NULL DEFAULT 0;
ALTER TABLE feedkeep.account ADD COLUMN lost_until bigint NOT NULL DEFAULT 0;
