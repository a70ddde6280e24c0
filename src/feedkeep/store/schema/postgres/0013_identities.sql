-- Who an account belongs to at another provider, whose sign-in lets them in to the pages.
-- Compatible from version 5: it adds a column that may be null.

-- SHA-256 of the provider's address and of what it calls the person; null: not linked. The index is
-- not unique, since the accounts of a cluster are on several machines: a lock keeps it so.
ALTER TABLE feedkeep.account ADD COLUMN identity bytea;
CREATE INDEX account_identity ON feedkeep.account (identity) WHERE identity IS NOT NULL;
