-- Accounts, their tokens, and their lists. Every key starts with the account's id.
-- Stamps are microseconds since 1970-01-01T00:00:00Z; guids are their 16 bytes.

CREATE TABLE account (
    id            INTEGER PRIMARY KEY CHECK (id > 0),  -- random, 63 bits
    name          TEXT NOT NULL,                       -- as it was given
    name_key      TEXT NOT NULL UNIQUE,                -- what spellings of one name have in common
    password_hash TEXT,                                -- argon2id in PHC form; null: tokens only
    is_disabled   INTEGER NOT NULL DEFAULT 0 CHECK (is_disabled IN (0, 1)),
    created       INTEGER NOT NULL,                    -- when it was made
    last_stamp    INTEGER NOT NULL DEFAULT 0,          -- the account's clock
    last_token_id INTEGER NOT NULL DEFAULT 0           -- so that no number is given out twice
) STRICT;

CREATE TABLE token (
    account_id INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    id         INTEGER NOT NULL,                                 -- counts from 1 in its account
    hash       BLOB NOT NULL CHECK (length(hash) = 32),          -- SHA-256 of its text
    label      TEXT NOT NULL,                                    -- what its owner calls it
    created    INTEGER NOT NULL,                                 -- when it was made
    expires    INTEGER,                                          -- when it ends; null: never
    revoked    INTEGER,                                          -- when it was revoked, if it was
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, hash)
) STRICT, WITHOUT ROWID;

-- A row is a subscription (new_guid is null) or a pointer (the subscription's columns are null).
CREATE TABLE entry (
    account_id           INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    guid                 BLOB NOT NULL CHECK (length(guid) = 16),
    new_guid             BLOB,     -- pointer: the present guid of the subscription it leads to
    feed_url             TEXT,     -- subscription: its present feed URL, as it was sent
    is_subscribed        INTEGER,  -- subscription: 1, or 0 when unsubscribed or deleted
    subscription_changed INTEGER,  -- subscription: stamp of the last change of status or feed URL
    guid_changed         INTEGER,  -- stamp of the guid's change; null: never, or not announced
    deleted              INTEGER,  -- subscription: stamp of the deletion; null: live
    alias_url            TEXT,     -- the URL guid is derived from, if not the present feed URL
    alias_moved_away     INTEGER,  -- 1: the subscription itself moved away from alias_url
    revision             INTEGER,  -- the greatest stamp; null: in no list
    PRIMARY KEY (account_id, guid),
    FOREIGN KEY (account_id, new_guid) REFERENCES entry (account_id, guid)
        DEFERRABLE INITIALLY DEFERRED,
    CHECK (new_guid IS NOT guid),
    CHECK ((alias_url IS NULL) = (alias_moved_away IS NULL)),
    CHECK (
        CASE WHEN new_guid IS NULL
        THEN feed_url IS NOT NULL AND is_subscribed IN (0, 1) AND subscription_changed IS NOT NULL
             AND revision = max(subscription_changed, ifnull(guid_changed, 0), ifnull(deleted, 0))
             AND (deleted IS NULL OR is_subscribed = 0)
        ELSE feed_url IS NULL AND is_subscribed IS NULL AND subscription_changed IS NULL
             AND deleted IS NULL AND revision IS guid_changed
        END
    )
) STRICT, WITHOUT ROWID;

-- Lists, and the promise that no two changes of an account share a stamp.
CREATE UNIQUE INDEX entry_by_revision ON entry (account_id, revision) WHERE revision IS NOT NULL;

-- All pointers to a subscription.
CREATE INDEX entry_by_new_guid ON entry (account_id, new_guid) WHERE new_guid IS NOT NULL;

-- Requests to delete that were carried out.
CREATE TABLE deletion (
    account_id INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    id         INTEGER NOT NULL,  -- the stamp of the deletion
    guid       BLOB NOT NULL,     -- the subscription that was deleted
    PRIMARY KEY (account_id, id)
) STRICT, WITHOUT ROWID;
