-- The tables of accounts and of feeds.
-- Each primary key, unique constraint and foreign key of an account's tables starts with its id, so
-- that Citus can distribute them by it. Timestamps are microseconds since 1970-01-01T00:00:00Z.

CREATE TABLE feedkeep.account (
    account_id        bigint PRIMARY KEY CHECK (account_id > 0),  -- random, 63 bits
    name              text NOT NULL,               -- as it was given
    name_key          text NOT NULL,               -- equal for all spellings of the name
    password_hash     text,                        -- Argon2id in PHC form; null: tokens only
    is_disabled       boolean NOT NULL DEFAULT false,
    is_admin          boolean NOT NULL DEFAULT false,
    -- SHA-256 of an OpenID provider's address and of its subject; null: not linked
    identity          bytea CHECK (octet_length(identity) = 32),
    created           bigint NOT NULL,             -- time of its creation
    last_token_id     bigint NOT NULL DEFAULT 0,   -- greatest id of a token, removed ones included
    last_stamp        bigint NOT NULL DEFAULT 0,   -- clock of the list
    last_action_stamp bigint NOT NULL DEFAULT 0,   -- clock of the episode actions
    -- Counts, updated with each change so that no request has to count rows. The last three
    -- count a row once for each KiB that it begins (model/weights.py).
    subscribed_count  bigint NOT NULL DEFAULT 0,   -- subscribed feeds
    announced_count   bigint NOT NULL DEFAULT 0,   -- entries that lists show
    entry_count       bigint NOT NULL DEFAULT 0,   -- all entries
    former_count      bigint NOT NULL DEFAULT 0,   -- previous states
    action_count      bigint NOT NULL DEFAULT 0,   -- episode actions
    known_from        bigint NOT NULL DEFAULT 0,   -- start of the complete history
    -- Restores: changes with timestamps after lost_after, up to lost_until, may have been lost.
    epoch             bigint NOT NULL DEFAULT 0,   -- random number, new with each restore
    lost_after        bigint NOT NULL DEFAULT 0,   -- clock in the oldest restored backup
    lost_until        bigint NOT NULL DEFAULT 0,   -- latest value that a restore gave the clock
    actions_lost_after bigint NOT NULL DEFAULT 0,  -- the same for the clock of episode actions
    actions_lost_until bigint NOT NULL DEFAULT 0
);

-- Administrators are few among many.
CREATE INDEX account_administrator ON feedkeep.account (account_id) WHERE is_admin;

-- Not unique, since the accounts of a cluster are on several machines: a lock prevents duplicates.
CREATE INDEX account_identity ON feedkeep.account (identity) WHERE identity IS NOT NULL;

-- Look-up by name. It names accounts on every machine, so there is no foreign key.
CREATE TABLE feedkeep.account_name (
    name_key   text COLLATE "C" PRIMARY KEY,       -- as in account
    account_id bigint NOT NULL
);

-- Secrets: tokens, sessions, links and codes. A session comes from a sign-in; its text is a cookie.
CREATE TABLE feedkeep.token (
    account_id bigint NOT NULL REFERENCES feedkeep.account (account_id) ON DELETE CASCADE,
    id         bigint NOT NULL,                                 -- counts from 1 in its account
    hash       bytea NOT NULL CHECK (octet_length(hash) = 32),  -- SHA-256 of its text
    label      text NOT NULL,                                   -- chosen by its owner
    created    bigint NOT NULL,                                 -- time of its creation
    expires    bigint,                                          -- expiry; null: never
    revoked    bigint,                                          -- its revocation; null: valid
    purpose    text NOT NULL DEFAULT 'apps',                    -- other purposes never match
    scope      text NOT NULL DEFAULT 'write' CHECK (scope IN ('write', 'read')),
    is_session boolean NOT NULL DEFAULT false,
    -- Session shared by all clients that send the same password and no cookie.
    is_shared  boolean NOT NULL DEFAULT false CHECK (is_session OR NOT is_shared),
    -- Token that began the session, which ends with it; null: the password began it.
    of_token   bigint CHECK (of_token IS NULL OR is_session),
    -- Token of exactly one app, fetched by Nextcloud's login flow.
    is_granted boolean NOT NULL DEFAULT false CHECK (NOT (is_granted AND is_session)),
    last_used  bigint,                                          -- start of the minute; null: never
    -- Sync progress of its app, in seconds: changes up to last_sent were sent to it, and those up
    -- to acknowledged have arrived; null: no request, or no known arrival.
    last_sent_subscriptions    bigint,
    acknowledged_subscriptions bigint,
    last_sent_actions          bigint,
    acknowledged_actions       bigint,
    own_subscriptions          text,  -- JSON: the app's last uploads, not to be sent back to it
    own_actions                text,  -- the same for episode actions
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, hash),
    CHECK (
        CASE purpose
        WHEN 'apps' THEN true
        WHEN 'pages' THEN is_session AND NOT is_shared AND of_token IS NULL
        ELSE purpose IN ('invitation', 'reset', 'recovery') AND NOT is_session AND NOT is_granted
        END
    )
);

-- Logins that were granted, until the app that began one fetches its token. Rows stay until they
-- expire, so that no login is granted twice. The look-up does not know the account, so every machine
-- has all rows.
CREATE TABLE feedkeep.login_grant (
    login      bytea PRIMARY KEY CHECK (octet_length(login) = 32),  -- SHA-256 of the app's secret
    account_id bigint NOT NULL,
    label      text NOT NULL,                                       -- name of the app
    created    bigint NOT NULL,                                     -- time of the grant
    fetched    bigint                                               -- time of the token's fetch
);

-- A subscription (new_guid is null) or a pointer (the columns of a subscription are null).
CREATE TABLE feedkeep.entry (
    account_id           bigint NOT NULL REFERENCES feedkeep.account (account_id) ON DELETE CASCADE,
    guid                 uuid NOT NULL,
    new_guid             uuid,     -- pointer: present guid of its subscription
    feed_url             text,     -- subscription: present feed URL, as it was sent
    is_subscribed        boolean,  -- subscription: false when unsubscribed or deleted
    subscription_changed bigint,   -- subscription: time of the last change of status or feed URL
    guid_changed         bigint,   -- time of the guid's change; null: never, or not announced
    deleted              bigint,   -- subscription: time of its deletion; null: live
    status_changed       bigint,   -- subscription: time of the last subscribe or unsubscribe
    first_had            bigint,   -- subscription: when it got this URL, by the server's clock
    app_url              text,     -- subscription: URL in apps that know only URLs, if another
    app_url_until        bigint,   -- time of the unsubscribe that removed app_url from apps
    alias_url            text,     -- URL that guid is derived from, if not the present feed URL
    alias_moved_away     boolean,  -- true: the subscription itself moved away from alias_url
    alias_was_own        boolean,  -- true: apps may have alias_url beside another URL of the feed
    alias_retired        bigint,   -- time at which apps were sent the removal of alias_url
    alias_first_had      bigint,   -- as first_had, for alias_url
    revision             bigint,   -- greatest timestamp; null: in no list
    began                bigint,   -- time of the change that led to this state
    author               text,     -- JSON: client that made that change; null: unknown
    PRIMARY KEY (account_id, guid),
    FOREIGN KEY (account_id, new_guid) REFERENCES feedkeep.entry (account_id, guid)
        DEFERRABLE INITIALLY DEFERRED,
    CHECK (new_guid IS DISTINCT FROM guid),
    CHECK ((alias_url IS NULL) = (alias_moved_away IS NULL)),
    CHECK ((alias_url IS NULL) = (alias_was_own IS NULL)),
    CHECK ((alias_url IS NULL) = (alias_first_had IS NULL)),
    CHECK (
        CASE WHEN new_guid IS NULL
        THEN feed_url IS NOT NULL AND is_subscribed IS NOT NULL AND subscription_changed IS NOT NULL
             AND revision IS NOT DISTINCT FROM greatest(subscription_changed, guid_changed, deleted)
             AND (deleted IS NULL OR NOT is_subscribed)
             AND status_changed IS NOT NULL AND first_had IS NOT NULL
        ELSE feed_url IS NULL AND is_subscribed IS NULL AND subscription_changed IS NULL
             AND deleted IS NULL AND revision IS NOT DISTINCT FROM guid_changed
             AND status_changed IS NULL AND first_had IS NULL
        END
    )
);

-- Order of lists; also ensures that no two changes of an account share a timestamp.
CREATE UNIQUE INDEX entry_by_revision ON feedkeep.entry (account_id, revision)
WHERE revision IS NOT NULL;

-- Pointers of a subscription.
CREATE INDEX entry_by_new_guid ON feedkeep.entry (account_id, new_guid) WHERE new_guid IS NOT NULL;

-- URLs with percent escapes, which each upload is compared with: few, found without a full scan.
CREATE INDEX entry_with_escapes ON feedkeep.entry (account_id, guid)
    WHERE strpos(feed_url, '%') > 0 OR strpos(alias_url, '%') > 0;

-- Previous states of entries. The entry of a previous guid may be gone, so there is no foreign key.
-- The key is the only index: each further one adds a page to every change of an entry.
CREATE TABLE feedkeep.former_entry (
    account_id           bigint NOT NULL REFERENCES feedkeep.account (account_id) ON DELETE CASCADE,
    ended                bigint NOT NULL,  -- time of the change that ended this state
    guid                 uuid NOT NULL,
    new_guid             uuid,             -- this and the rest: as in entry
    feed_url             text,
    is_subscribed        boolean,
    subscription_changed bigint,
    guid_changed         bigint,
    deleted              bigint,
    status_changed       bigint,
    first_had            bigint,
    app_url              text,
    app_url_until        bigint,
    alias_url            text,
    alias_moved_away     boolean,
    alias_was_own        boolean,
    alias_retired        bigint,
    alias_first_had      bigint,
    began                bigint,
    author               text,
    PRIMARY KEY (account_id, ended, guid)
);

-- Deletions, whose outcome apps can request by id.
CREATE TABLE feedkeep.deletion (
    account_id bigint NOT NULL REFERENCES feedkeep.account (account_id) ON DELETE CASCADE,
    id         bigint NOT NULL,  -- timestamp of the deletion
    guid       uuid NOT NULL,    -- the deleted subscription
    PRIMARY KEY (account_id, id)
);

-- Titles and folders that owners give their feeds. A label stays with its guid when the feed gets
-- another; pointers lead from there to the subscription.
CREATE TABLE feedkeep.feed_label (
    account_id       bigint NOT NULL REFERENCES feedkeep.account (account_id) ON DELETE CASCADE,
    guid             uuid NOT NULL,
    title            text NOT NULL,     -- '' if there is none
    folder           text NOT NULL,     -- folder names joined by ' / '; '' if none
    is_title_edited  boolean NOT NULL,  -- true: imports keep it
    is_folder_edited boolean NOT NULL,  -- true: imports keep it
    PRIMARY KEY (account_id, guid)
);

-- The latest episode action of each kind, for each episode and device.
CREATE TABLE feedkeep.episode_action (
    account_id   bigint NOT NULL REFERENCES feedkeep.account (account_id) ON DELETE CASCADE,
    key          bytea NOT NULL CHECK (octet_length(key) = 16),  -- hash of episode, device, kind
    file         bytea NOT NULL CHECK (octet_length(file) = 10),  -- hash of podcast_guid, episode
    podcast_guid uuid NOT NULL,    -- derived from podcast
    podcast      text NOT NULL,    -- feed URL, as it was sent
    episode      text NOT NULL,    -- URL of the episode's file
    device       text NOT NULL,    -- '' if none was named
    kind         text NOT NULL,    -- download, delete, play, new, flattr
    done         bigint NOT NULL,  -- seconds since 1970 by the device's clock
    started      bigint,           -- seconds into the episode
    position     bigint,           -- seconds into the episode
    total        bigint,           -- length of the episode, in seconds
    episode_guid text,             -- guid in the feed; null: not sent
    revision     bigint NOT NULL,  -- timestamp under which apps are sent it
    received     bigint NOT NULL,  -- time of its arrival
    app          text,             -- name of the app that sent it; null: unknown
    -- true: a later play of the episode is known, on any device, so that apps are not sent this one
    is_superseded boolean NOT NULL DEFAULT false,
    PRIMARY KEY (account_id, podcast_guid, key)
);

-- Order of sending.
CREATE UNIQUE INDEX episode_action_by_revision ON feedkeep.episode_action (account_id, revision);

-- The newest play of each file, and its deletions since: few rows, which each upload looks up.
CREATE INDEX episode_action_by_file ON feedkeep.episode_action (account_id, podcast_guid, file)
    WHERE NOT is_superseded AND kind IN ('play', 'delete');

-- The newest play of each episode, finished or not, by the time that apps are sent, which the
-- revision makes unique. The page of an account's episodes reads each state from its end.
CREATE INDEX episode_action_by_time ON feedkeep.episode_action (
    account_id,
    coalesce(total - position <= 30, false),
    least(done, received / 1000000),
    revision
) WHERE NOT is_superseded AND kind = 'play';

-- JSON documents of an account, such as devices, settings and preferences (model/documents.py).
CREATE TABLE feedkeep.document (
    account_id bigint NOT NULL REFERENCES feedkeep.account (account_id) ON DELETE CASCADE,
    kind       text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    body       text NOT NULL,  -- JSON
    PRIMARY KEY (account_id, kind, name)
);

-- Failed logins of the last hour, as each process counts them, so that all know of all. The table
-- stays on the machine that processes connect to, also in a cluster: rows are few and short-lived,
-- and one statement is about many.
CREATE TABLE feedkeep.attempt (
    key     bytea NOT NULL,   -- digest of a name, an address or both
    process bigint NOT NULL,  -- random number of the process; no other writes the row
    seconds bytea NOT NULL,   -- times of the attempts: seconds since 1970, four bytes each
    written bigint NOT NULL,  -- time of the write, by the database server's clock
    PRIMARY KEY (key, process)
);

-- Rows since a process last looked, and expired ones.
CREATE INDEX attempt_by_written ON feedkeep.attempt (written);

-- Feeds with a subscriber, now or recently: shared by all accounts. The key of all three tables is
-- the guid alone, so that Citus can distribute them by it.
CREATE TABLE feedkeep.feed (
    guid         uuid PRIMARY KEY,           -- derived from url
    url          text NOT NULL,              -- URL to fetch
    wanted       bigint NOT NULL,            -- last time at which it had a subscriber
    next_fetch   bigint NOT NULL,            -- time of the next fetch; 0: it is new
    leased_until bigint NOT NULL DEFAULT 0,  -- expiry of the fetch lease; 0: none
    failing      bigint,                     -- time of the first failure in a row; null: none
    known        text                        -- other fields, as JSON; null: never fetched
);

-- Due feeds. Leases are not part of it, so that a lease changes no index; leased feeds are skipped:
-- they are few.
CREATE INDEX feed_by_next_fetch ON feedkeep.feed (next_fetch);

-- Feeds without a subscriber; without the index, the search for them reads every row.
CREATE INDEX feed_by_wanted ON feedkeep.feed (wanted);

CREATE TABLE feedkeep.feed_picture (
    guid       uuid PRIMARY KEY REFERENCES feedkeep.feed (guid) ON DELETE CASCADE,
    media_type text NOT NULL,   -- such as image/webp
    data       bytea NOT NULL,
    digest     text NOT NULL    -- part of its address on pages
);

-- The newest episodes of a feed, in one row: they are read and replaced together.
CREATE TABLE feedkeep.feed_episodes (
    guid     uuid PRIMARY KEY REFERENCES feedkeep.feed (guid) ON DELETE CASCADE,
    episodes text NOT NULL  -- JSON
);
