-- Accounts, their tokens, and their lists. Every primary key, unique constraint and foreign key
-- starts with the account's id, so that a distributed PostgreSQL can split the tables by it.
-- Stamps are microseconds since 1970-01-01T00:00:00Z.

CREATE TABLE feedkeep.account (
    account_id    bigint PRIMARY KEY CHECK (account_id > 0),  -- random, 63 bits
    name          text NOT NULL,                  -- as it was given
    name_key      text NOT NULL,                  -- what spellings of one name have in common
    password_hash text,                           -- argon2id in PHC form; null: tokens only
    is_disabled   boolean NOT NULL DEFAULT false,
    created       bigint NOT NULL,                -- when it was made
    last_stamp    bigint NOT NULL DEFAULT 0,      -- the account's clock
    last_token_id bigint NOT NULL DEFAULT 0       -- so that no number is given out twice
);

-- The one look-up by name. It names accounts on every machine, so no constraint ties it to them.
CREATE TABLE feedkeep.account_name (
    name_key   text COLLATE "C" PRIMARY KEY,      -- as in account
    account_id bigint NOT NULL                    -- whose name it is
);

CREATE TABLE feedkeep.token (
    account_id bigint NOT NULL REFERENCES feedkeep.account (account_id) ON DELETE CASCADE,
    id         bigint NOT NULL,                             -- counts from 1 in its account
    hash       bytea NOT NULL CHECK (octet_length(hash) = 32),  -- SHA-256 of its text
    label      text NOT NULL,                               -- what its owner calls it
    created    bigint NOT NULL,                             -- when it was made
    expires    bigint,                                      -- when it ends; null: never
    revoked    bigint,                                      -- when it was revoked, if it was
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, hash)
);

-- A row is a subscription (new_guid is null) or a pointer (the subscription's columns are null).
CREATE TABLE feedkeep.entry (
    account_id           bigint NOT NULL REFERENCES feedkeep.account (account_id) ON DELETE CASCADE,
    guid                 uuid NOT NULL,
    new_guid             uuid,     -- pointer: the present guid of the subscription it leads to
    feed_url             text,     -- subscription: its present feed URL, as it was sent
    is_subscribed        boolean,  -- subscription: false when unsubscribed or deleted
    subscription_changed bigint,   -- subscription: stamp of the last change of status or feed URL
    guid_changed         bigint,   -- stamp of the guid's change; null: never, or not announced
    deleted              bigint,   -- subscription: stamp of the deletion; null: live
    alias_url            text,     -- the URL guid is derived from, if not the present feed URL
    alias_moved_away     boolean,  -- true: the subscription itself moved away from alias_url
    revision             bigint,   -- the greatest stamp; null: in no list
    PRIMARY KEY (account_id, guid),
    FOREIGN KEY (account_id, new_guid) REFERENCES feedkeep.entry (account_id, guid)
        DEFERRABLE INITIALLY DEFERRED,
    CHECK (new_guid IS DISTINCT FROM guid),
    CHECK ((alias_url IS NULL) = (alias_moved_away IS NULL)),
    CHECK (
        CASE WHEN new_guid IS NULL
        THEN feed_url IS NOT NULL AND is_subscribed IS NOT NULL AND subscription_changed IS NOT NULL
             AND revision IS NOT DISTINCT FROM greatest(subscription_changed, guid_changed, deleted)
             AND (deleted IS NULL OR NOT is_subscribed)
        ELSE feed_url IS NULL AND is_subscribed IS NULL AND subscription_changed IS NULL
             AND deleted IS NULL AND revision IS NOT DISTINCT FROM guid_changed
        END
    )
);

-- Lists, and the promise that no two changes of an account share a stamp.
CREATE UNIQUE INDEX entry_by_revision ON feedkeep.entry (account_id, revision)
WHERE revision IS NOT NULL;

-- All pointers to a subscription.
CREATE INDEX entry_by_new_guid ON feedkeep.entry (account_id, new_guid) WHERE new_guid IS NOT NULL;

-- Requests to delete that were carried out.
CREATE TABLE feedkeep.deletion (
    account_id bigint NOT NULL REFERENCES feedkeep.account (account_id) ON DELETE CASCADE,
    id         bigint NOT NULL,  -- the stamp of the deletion
    guid       uuid NOT NULL,    -- the subscription that was deleted
    PRIMARY KEY (account_id, id)
);
