-- The tables of accounts and of feeds.
-- Keys of an account's tables start with its id. Timestamps are microseconds since
-- 1970-01-01T00:00:00Z, and guids their 16 bytes.

CREATE TABLE account (
    account_id        INTEGER PRIMARY KEY CHECK (account_id > 0),  -- random, 63 bits
    name              TEXT NOT NULL,                -- as it was given
    name_key          TEXT NOT NULL UNIQUE,         -- equal for all spellings of the name
    password_hash     TEXT,                         -- Argon2id in PHC form; null: tokens only
    is_disabled       INTEGER NOT NULL DEFAULT 0 CHECK (is_disabled IN (0, 1)),
    is_admin          INTEGER NOT NULL DEFAULT 0 CHECK (is_admin IN (0, 1)),
    -- SHA-256 of an OpenID provider's address and of its subject; null: not linked
    identity          BLOB CHECK (length(identity) = 32),
    created           INTEGER NOT NULL,             -- time of its creation
    last_token_id     INTEGER NOT NULL DEFAULT 0,   -- greatest id of a token, removed ones included
    last_stamp        INTEGER NOT NULL DEFAULT 0,   -- clock of the list
    last_action_stamp INTEGER NOT NULL DEFAULT 0,   -- clock of the episode actions
    -- Counts, updated with each change so that no request has to count rows. The last three
    -- count a row once for each KiB that it begins (model/weights.py).
    subscribed_count  INTEGER NOT NULL DEFAULT 0,   -- subscribed feeds
    announced_count   INTEGER NOT NULL DEFAULT 0,   -- entries that lists show
    entry_count       INTEGER NOT NULL DEFAULT 0,   -- all entries
    former_count      INTEGER NOT NULL DEFAULT 0,   -- previous states
    action_count      INTEGER NOT NULL DEFAULT 0,   -- episode actions
    known_from        INTEGER NOT NULL DEFAULT 0,   -- start of the complete history
    -- Restores: changes with timestamps after lost_after, up to lost_until, may have been lost.
    epoch             INTEGER NOT NULL DEFAULT 0,   -- random number, new with each restore
    lost_after        INTEGER NOT NULL DEFAULT 0,   -- clock in the oldest restored backup
    lost_until        INTEGER NOT NULL DEFAULT 0,   -- latest value that a restore gave the clock
    actions_lost_after INTEGER NOT NULL DEFAULT 0,  -- the same for the clock of episode actions
    actions_lost_until INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Administrators are few among many.
CREATE INDEX account_administrator ON account (account_id) WHERE is_admin;

CREATE UNIQUE INDEX account_identity ON account (identity) WHERE identity IS NOT NULL;

-- Secrets: tokens, sessions, links and codes. A session comes from a sign-in; its text is a cookie.
CREATE TABLE token (
    account_id INTEGER NOT NULL REFERENCES account (account_id) ON DELETE CASCADE,
    id         INTEGER NOT NULL,                         -- counts from 1 in its account
    hash       BLOB NOT NULL CHECK (length(hash) = 32),  -- SHA-256 of its text
    label      TEXT NOT NULL,                            -- chosen by its owner
    created    INTEGER NOT NULL,                         -- time of its creation
    expires    INTEGER,                                  -- expiry; null: never
    revoked    INTEGER,                                  -- time of its revocation; null: valid
    purpose    TEXT NOT NULL DEFAULT 'apps',             -- secrets of other purposes never match
    scope      TEXT NOT NULL DEFAULT 'write' CHECK (scope IN ('write', 'read')),
    is_session INTEGER NOT NULL DEFAULT 0 CHECK (is_session IN (0, 1)),
    -- Session shared by all clients that send the same password and no cookie.
    is_shared  INTEGER NOT NULL DEFAULT 0 CHECK (is_shared IN (0, 1) AND is_shared <= is_session),
    -- Token that began the session, which ends with it; null: the password began it.
    of_token   INTEGER CHECK (of_token IS NULL OR is_session),
    -- Token of exactly one app, fetched by Nextcloud's login flow.
    is_granted INTEGER NOT NULL DEFAULT 0
        CHECK (is_granted IN (0, 1) AND NOT (is_granted AND is_session)),
    last_used  INTEGER,                                  -- start of the minute; null: never
    -- Sync progress of its app, in seconds: changes up to last_sent were sent to it, and those up
    -- to acknowledged have arrived; null: no request, or no known arrival.
    last_sent_subscriptions    INTEGER,
    acknowledged_subscriptions INTEGER,
    last_sent_actions          INTEGER,
    acknowledged_actions       INTEGER,
    own_subscriptions          TEXT,  -- JSON: the app's last uploads, not to be sent back to it
    own_actions                TEXT,  -- the same for episode actions
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, hash),
    CHECK (
        CASE purpose
        WHEN 'apps' THEN 1
        WHEN 'pages' THEN is_session AND NOT is_shared AND of_token IS NULL
        ELSE purpose IN ('invitation', 'reset', 'recovery') AND NOT is_session AND NOT is_granted
        END
    )
) STRICT, WITHOUT ROWID;

-- Logins that were granted, until the app that began one fetches its token. Rows stay until they
-- expire, so that no login is granted twice.
CREATE TABLE login_grant (
    login      BLOB PRIMARY KEY CHECK (length(login) = 32),  -- SHA-256 of the app's secret
    account_id INTEGER NOT NULL REFERENCES account (account_id) ON DELETE CASCADE,
    label      TEXT NOT NULL,                                -- name of the app
    created    INTEGER NOT NULL,                             -- time of the grant
    fetched    INTEGER                                       -- time of the token's fetch
) STRICT, WITHOUT ROWID;

-- A subscription (new_guid is null) or a pointer (the columns of a subscription are null).
-- Rows are in the order of their arrival, so that the entries of one upload share pages: ordered by
-- guids, which are as good as random, a hundred new entries wrote 116 pages of a list of 5,000
-- instead of 57.
CREATE TABLE entry (
    account_id           INTEGER NOT NULL REFERENCES account (account_id) ON DELETE CASCADE,
    guid                 BLOB NOT NULL CHECK (length(guid) = 16),
    new_guid             BLOB,     -- pointer: present guid of its subscription
    feed_url             TEXT,     -- subscription: present feed URL, as it was sent
    is_subscribed        INTEGER,  -- subscription: 1, or 0 when unsubscribed or deleted
    subscription_changed INTEGER,  -- subscription: time of the last change of status or feed URL
    guid_changed         INTEGER,  -- time of the guid's change; null: never, or not announced
    deleted              INTEGER,  -- subscription: time of its deletion; null: live
    status_changed       INTEGER,  -- subscription: time of the last subscribe or unsubscribe
    first_had            INTEGER,  -- subscription: when it got this URL, by the server's clock
    app_url              TEXT,     -- subscription: URL in apps that know only URLs, if another
    app_url_until        INTEGER,  -- time of the unsubscribe that removed app_url from apps
    alias_url            TEXT,     -- URL that guid is derived from, if not the present feed URL
    alias_moved_away     INTEGER,  -- 1: the subscription itself moved away from alias_url
    alias_was_own        INTEGER,  -- 1: apps may have alias_url beside another URL of the feed
    alias_retired        INTEGER,  -- time at which apps were sent the removal of alias_url
    alias_first_had      INTEGER,  -- as first_had, for alias_url
    revision             INTEGER,  -- greatest timestamp; null: in no list
    began                INTEGER,  -- time of the change that led to this state
    author               TEXT,     -- JSON: client that made that change; null: unknown
    PRIMARY KEY (account_id, guid),
    FOREIGN KEY (account_id, new_guid) REFERENCES entry (account_id, guid)
        DEFERRABLE INITIALLY DEFERRED,
    CHECK (new_guid IS NOT guid),
    CHECK ((alias_url IS NULL) = (alias_moved_away IS NULL)),
    CHECK ((alias_url IS NULL) = (alias_was_own IS NULL)),
    CHECK ((alias_url IS NULL) = (alias_first_had IS NULL)),
    CHECK (
        CASE WHEN new_guid IS NULL
        THEN feed_url IS NOT NULL AND is_subscribed IN (0, 1) AND subscription_changed IS NOT NULL
             AND revision = max(subscription_changed, ifnull(guid_changed, 0), ifnull(deleted, 0))
             AND (deleted IS NULL OR is_subscribed = 0)
             AND status_changed IS NOT NULL AND first_had IS NOT NULL
        ELSE feed_url IS NULL AND is_subscribed IS NULL AND subscription_changed IS NULL
             AND deleted IS NULL AND revision IS guid_changed
             AND status_changed IS NULL AND first_had IS NULL
        END
    )
) STRICT;

-- Order of lists; also ensures that no two changes of an account share a timestamp.
CREATE UNIQUE INDEX entry_by_revision ON entry (account_id, revision) WHERE revision IS NOT NULL;

-- Pointers of a subscription.
CREATE INDEX entry_by_new_guid ON entry (account_id, new_guid) WHERE new_guid IS NOT NULL;

-- URLs with percent escapes, which each upload is compared with: few, found without a full scan.
CREATE INDEX entry_with_escapes ON entry (account_id, guid)
    WHERE instr(feed_url, '%') OR instr(alias_url, '%');

-- Previous states of entries. The entry of a previous guid may be gone, so there is no foreign key.
-- Rows are in the order of their arrival, and the key is the only index: each change adds some, in
-- one commit with those of other accounts, and another order or index would write more pages.
CREATE TABLE former_entry (
    account_id           INTEGER NOT NULL REFERENCES account (account_id) ON DELETE CASCADE,
    ended                INTEGER NOT NULL,  -- time of the change that ended this state
    guid                 BLOB NOT NULL CHECK (length(guid) = 16),
    new_guid             BLOB,              -- this and the rest: as in entry
    feed_url             TEXT,
    is_subscribed        INTEGER,
    subscription_changed INTEGER,
    guid_changed         INTEGER,
    deleted              INTEGER,
    status_changed       INTEGER,
    first_had            INTEGER,
    app_url              TEXT,
    app_url_until        INTEGER,
    alias_url            TEXT,
    alias_moved_away     INTEGER,
    alias_was_own        INTEGER,
    alias_retired        INTEGER,
    alias_first_had      INTEGER,
    began                INTEGER,
    author               TEXT,
    PRIMARY KEY (account_id, ended, guid)
) STRICT;

-- Deletions, whose outcome apps can request by id.
CREATE TABLE deletion (
    account_id INTEGER NOT NULL REFERENCES account (account_id) ON DELETE CASCADE,
    id         INTEGER NOT NULL,  -- timestamp of the deletion
    guid       BLOB NOT NULL,     -- the deleted subscription
    PRIMARY KEY (account_id, id)
) STRICT, WITHOUT ROWID;

-- Titles and folders that owners give their feeds. A label stays with its guid when the feed gets
-- another; pointers lead from there to the subscription.
CREATE TABLE feed_label (
    account_id       INTEGER NOT NULL REFERENCES account (account_id) ON DELETE CASCADE,
    guid             BLOB NOT NULL CHECK (length(guid) = 16),
    title            TEXT NOT NULL,     -- '' if there is none
    folder           TEXT NOT NULL,     -- folder names joined by ' / '; '' if none
    is_title_edited  INTEGER NOT NULL CHECK (is_title_edited IN (0, 1)),   -- 1: imports keep it
    is_folder_edited INTEGER NOT NULL CHECK (is_folder_edited IN (0, 1)),  -- 1: imports keep it
    PRIMARY KEY (account_id, guid)
) STRICT, WITHOUT ROWID;

-- The latest episode action of each kind, for each episode and device. Rows are in the order of
-- their arrival, in which apps are sent them; ordered by the key, each one over 1,002 bytes would
-- take a page of its own, too.
CREATE TABLE episode_action (
    account_id   INTEGER NOT NULL REFERENCES account (account_id) ON DELETE CASCADE,
    key          BLOB NOT NULL CHECK (length(key) = 16),  -- hash of episode, device and kind
    file         BLOB NOT NULL CHECK (length(file) = 10),  -- hash of podcast_guid and episode
    podcast_guid BLOB NOT NULL CHECK (length(podcast_guid) = 16),  -- derived from podcast
    podcast      TEXT NOT NULL,     -- feed URL, as it was sent
    episode      TEXT NOT NULL,     -- URL of the episode's file
    device       TEXT NOT NULL,     -- '' if none was named
    kind         TEXT NOT NULL,     -- download, delete, play, new, flattr
    done         INTEGER NOT NULL,  -- seconds since 1970 by the device's clock
    started      INTEGER,           -- seconds into the episode
    position     INTEGER,           -- seconds into the episode
    total        INTEGER,           -- length of the episode, in seconds
    episode_guid TEXT,              -- guid in the feed; null: not sent
    revision     INTEGER NOT NULL,  -- timestamp under which apps are sent it
    received     INTEGER NOT NULL,  -- time of its arrival
    app          TEXT,              -- name of the app that sent it; null: unknown
    -- 1: a later play of the episode is known, on any device, so that apps are not sent this one
    is_superseded INTEGER NOT NULL DEFAULT 0 CHECK (is_superseded IN (0, 1)),
    PRIMARY KEY (account_id, podcast_guid, key)
) STRICT;

-- Order of sending.
CREATE UNIQUE INDEX episode_action_by_revision ON episode_action (account_id, revision);

-- The newest play of each file, and its deletions since: few rows, which each upload looks up.
CREATE INDEX episode_action_by_file ON episode_action (account_id, podcast_guid, file)
    WHERE NOT is_superseded AND kind IN ('play', 'delete');

-- The newest play of each episode, finished or not, by the time that apps are sent, which the
-- revision makes unique. The page of an account's episodes reads each state from its end.
CREATE INDEX episode_action_by_time ON episode_action (
    account_id,
    coalesce(total - position <= 30, false),
    min(done, received / 1000000),
    revision
) WHERE NOT is_superseded AND kind = 'play';

-- JSON documents of an account, such as devices, settings and preferences (model/documents.py).
CREATE TABLE document (
    account_id INTEGER NOT NULL REFERENCES account (account_id) ON DELETE CASCADE,
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    body       TEXT NOT NULL,  -- JSON
    PRIMARY KEY (account_id, kind, name)
) STRICT, WITHOUT ROWID;

-- Failed logins of the last hour, as each process counts them, so that a restart forgets none.
CREATE TABLE attempt (
    key     BLOB NOT NULL,     -- digest of a name, an address or both
    process INTEGER NOT NULL,  -- random number of the process; no other writes the row
    seconds BLOB NOT NULL,     -- times of the attempts: seconds since 1970, four bytes each
    written INTEGER NOT NULL,  -- time of the write, by the machine's clock
    PRIMARY KEY (key, process)
) STRICT;

-- Rows since a process last looked, and expired ones.
CREATE INDEX attempt_by_written ON attempt (written);

-- Feeds with a subscriber, now or recently: shared by all accounts. Rows are long and guids random,
-- so rows are in the order of their arrival; only the small index is ordered by guid.
CREATE TABLE feed (
    guid         BLOB NOT NULL PRIMARY KEY CHECK (length(guid) = 16),  -- derived from url
    url          TEXT NOT NULL,               -- URL to fetch
    wanted       INTEGER NOT NULL,            -- last time at which it had a subscriber
    next_fetch   INTEGER NOT NULL,            -- time of the next fetch; 0: it is new
    leased_until INTEGER NOT NULL DEFAULT 0,  -- expiry of the fetch lease; 0: none
    failing      INTEGER,                     -- time of the first failure in a row; null: none
    known        TEXT                         -- other fields, as JSON; null: never fetched
) STRICT;

-- Due feeds. Leased ones are skipped: they are few.
CREATE INDEX feed_by_next_fetch ON feed (next_fetch);

-- Feeds without a subscriber; without the index, the search for them reads every row.
CREATE INDEX feed_by_wanted ON feed (wanted);

CREATE TABLE feed_picture (
    guid       BLOB NOT NULL PRIMARY KEY REFERENCES feed (guid) ON DELETE CASCADE,
    media_type TEXT NOT NULL,  -- such as image/webp
    data       BLOB NOT NULL,
    digest     TEXT NOT NULL   -- part of its address on pages
) STRICT;

-- The newest episodes of a feed, in one row: they are read and replaced together.
CREATE TABLE feed_episodes (
    guid     BLOB NOT NULL PRIMARY KEY REFERENCES feed (guid) ON DELETE CASCADE,
    episodes TEXT NOT NULL  -- JSON
) STRICT;

-- Assumptions for SQLite's planner, since nothing runs ANALYZE. By default it expects few rows in an
-- account, and finds the pointers of a subscription by reading all of them: with 35,000 entries, 7
-- milliseconds for each write.
ANALYZE sqlite_schema;
DELETE FROM sqlite_stat1;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('entry', 'sqlite_autoindex_entry_1', '1000000 500 1'),
    ('entry', 'entry_by_revision', '1000000 500 1'),
    ('entry', 'entry_by_new_guid', '500000 250 2'),
    ('former_entry', 'sqlite_autoindex_former_entry_1', '1000000 500 2 1'),
    ('feed_label', 'feed_label', '100000 200 1');
