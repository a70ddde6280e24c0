-- Administrators, and secrets of other purposes than letting apps in.
-- Not compatible: programs before it would take links and codes for tokens.

-- Whether an account looks after all others. There are few of these among many.
ALTER TABLE feedkeep.account ADD COLUMN is_admin boolean NOT NULL DEFAULT false;
CREATE INDEX account_administrator ON feedkeep.account (account_id) WHERE is_admin;

-- What a secret is for. Only a browser's session opens pages, and it belongs to no token. Links and
-- codes are no sessions.
ALTER TABLE feedkeep.token ADD COLUMN purpose text NOT NULL DEFAULT 'apps';
ALTER TABLE feedkeep.token ADD CONSTRAINT purpose_is_known CHECK (
    CASE purpose
    WHEN 'apps' THEN true
    WHEN 'pages' THEN is_session AND NOT is_shared AND of_token IS NULL
    ELSE purpose IN ('invitation', 'reset', 'recovery') AND NOT is_session AND NOT is_granted
    END
);
-- Whether it may change what belongs to the account, or only read it.
ALTER TABLE feedkeep.token ADD COLUMN scope text NOT NULL DEFAULT 'write';
ALTER TABLE feedkeep.token ADD CONSTRAINT scope_is_known CHECK (scope IN ('write', 'read'));
-- The beginning of the UTC day of its last use, null: never used since this column is there.
ALTER TABLE feedkeep.token ADD COLUMN last_used bigint;
