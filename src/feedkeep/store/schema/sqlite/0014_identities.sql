-- Who an account belongs to at another provider, whose sign-in lets them in to the pages.

-- SHA-256 of the provider's address and of what it calls the person; null: not linked.
ALTER TABLE account ADD COLUMN identity BLOB CHECK (length(identity) = 32);
CREATE UNIQUE INDEX account_identity ON account (identity) WHERE identity IS NOT NULL;
