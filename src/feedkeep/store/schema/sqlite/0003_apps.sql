-- What podcast apps keep besides the list: sessions, episode actions, devices and settings.

-- A session is a token that came with a login, as a cookie.
ALTER TABLE token ADD COLUMN is_session INTEGER NOT NULL DEFAULT 0 CHECK (is_session IN (0, 1));
-- The seconds up to which its bearer was told of changes, and up to which it is known to have got
-- that; null: it never asked, or is not known to have got anything.
ALTER TABLE token ADD COLUMN told_subscriptions INTEGER;
ALTER TABLE token ADD COLUMN heard_subscriptions INTEGER;
ALTER TABLE token ADD COLUMN told_actions INTEGER;
ALTER TABLE token ADD COLUMN heard_actions INTEGER;

-- The clock of the account's episode actions.
ALTER TABLE account ADD COLUMN last_action_stamp INTEGER NOT NULL DEFAULT 0;

-- The latest of each kind, for each episode and device.
CREATE TABLE episode_action (
    account_id   INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    key          BLOB NOT NULL CHECK (length(key) = 16),  -- hash of podcast, episode, device, kind
    podcast_guid BLOB NOT NULL CHECK (length(podcast_guid) = 16),  -- derived of podcast
    podcast      TEXT NOT NULL,     -- the podcast's feed URL, as it was sent
    episode      TEXT NOT NULL,     -- the URL of the episode's file
    device       TEXT NOT NULL,     -- '' if none was told
    kind         TEXT NOT NULL,     -- download, delete, play, new, flattr
    done         INTEGER NOT NULL,  -- seconds since 1970 by the device's clock
    started      INTEGER,           -- seconds into the episode
    position     INTEGER,           -- seconds into the episode
    total        INTEGER,           -- its length in seconds
    episode_guid TEXT,              -- what the feed calls it, if that was told
    revision     INTEGER NOT NULL,  -- stamp of when the server got it
    PRIMARY KEY (account_id, podcast_guid, key)
) STRICT, WITHOUT ROWID;

-- What came since, in the order of its coming.
CREATE UNIQUE INDEX episode_action_by_revision ON episode_action (account_id, revision);

-- Small texts that apps keep here.
CREATE TABLE document (
    account_id INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    kind       TEXT NOT NULL,  -- device, settings, migration
    name       TEXT NOT NULL,  -- which one of that kind
    body       TEXT NOT NULL,  -- JSON
    PRIMARY KEY (account_id, kind, name)
) STRICT, WITHOUT ROWID;

-- Logins that were granted, for the few seconds until the app that began one fetches its token.
CREATE TABLE login_grant (
    login      BLOB PRIMARY KEY CHECK (length(login) = 32),  -- SHA-256 of what that app knows
    account_id INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    label      TEXT NOT NULL,                                -- what the app calls itself
    created    INTEGER NOT NULL                              -- when it was granted
) STRICT, WITHOUT ROWID;
