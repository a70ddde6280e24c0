-- Entries in the order of their arrival: those of one upload share pages, and are written together.
--
-- Guids are as good as random. In their order, each of a hundred new entries went to another page of
-- a list of 5,000: 116 pages were written, where it is 57 now.

CREATE TABLE entry_by_arrival (
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
    alias_retired        INTEGER,  -- when apps were told to give alias_url up
    status_changed       INTEGER,  -- subscription: when it was last begun or left
    app_url              TEXT,     -- subscription: the URL by which apps have it, if another
    app_url_until        INTEGER,  -- when it was left, and apps lost that URL
    began                INTEGER,  -- stamp of the change that made its state; null: not known
    author               TEXT,     -- JSON: who made that change; null: not known
    alias_was_own        INTEGER,  -- 1: apps may have alias_url beside another URL of it
    first_had            INTEGER,  -- server's clock: since when the account has the feed
    alias_first_had      INTEGER,  -- the same of the feed at alias_url
    PRIMARY KEY (account_id, guid),
    FOREIGN KEY (account_id, new_guid) REFERENCES entry_by_arrival (account_id, guid)
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
) STRICT;

INSERT INTO entry_by_arrival
SELECT account_id, guid, new_guid, feed_url, is_subscribed, subscription_changed, guid_changed,
       deleted, alias_url, alias_moved_away, revision, alias_retired, status_changed, app_url,
       app_url_until, began, author, alias_was_own, first_had, alias_first_had
FROM entry ORDER BY account_id, revision;
DROP TABLE entry;
ALTER TABLE entry_by_arrival RENAME TO entry;

-- Lists, and the promise that no two changes of an account share a stamp.
CREATE UNIQUE INDEX entry_by_revision ON entry (account_id, revision) WHERE revision IS NOT NULL;

-- All pointers to a subscription.
CREATE INDEX entry_by_new_guid ON entry (account_id, new_guid) WHERE new_guid IS NOT NULL;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('entry', 'sqlite_autoindex_entry_1', '1000000 500 1'),
    ('entry', 'entry_by_revision', '1000000 500 1'),
    ('entry', 'entry_by_new_guid', '500000 250 2');
