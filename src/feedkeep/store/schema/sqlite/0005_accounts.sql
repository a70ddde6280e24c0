-- Administrators, and secrets of other purposes than letting apps in.

-- Whether an account looks after all others. There are few of these among many.
ALTER TABLE account ADD COLUMN is_admin INTEGER NOT NULL DEFAULT 0 CHECK (is_admin IN (0, 1));
CREATE INDEX account_administrator ON account (id) WHERE is_admin;

-- What a secret is for. Only a browser's session opens pages, and it belongs to no token; links and
-- codes are no sessions.
ALTER TABLE token ADD COLUMN purpose TEXT NOT NULL DEFAULT 'apps' CHECK (
    CASE purpose
    WHEN 'apps' THEN 1
    WHEN 'pages' THEN is_session AND NOT is_shared AND of_token IS NULL
    ELSE purpose IN ('invitation', 'reset', 'recovery') AND NOT is_session AND NOT is_granted
    END
);
-- Whether it may change what belongs to the account, or only read it.
ALTER TABLE token ADD COLUMN scope TEXT NOT NULL DEFAULT 'write' CHECK (scope IN ('write', 'read'));
-- The beginning of the UTC day of its last use, null: never used since this column is there.
ALTER TABLE token ADD COLUMN last_used INTEGER;
