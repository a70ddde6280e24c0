-- What podcast apps keep besides the list: sessions, episode actions, devices and settings.
-- Not compatible: programs before it would take a session for a token.

-- A session is a token that came with a login, as a cookie.
ALTER TABLE feedkeep.token ADD COLUMN is_session boolean NOT NULL DEFAULT false;
-- The seconds up to which its bearer was told of changes, and up to which it is known to have got
-- that; null: it never asked, or is not known to have got anything.
ALTER TABLE feedkeep.token ADD COLUMN told_subscriptions bigint;
ALTER TABLE feedkeep.token ADD COLUMN heard_subscriptions bigint;
ALTER TABLE feedkeep.token ADD COLUMN told_actions bigint;
ALTER TABLE feedkeep.token ADD COLUMN heard_actions bigint;

-- The clock of the account's episode actions.
ALTER TABLE feedkeep.account ADD COLUMN last_action_stamp bigint NOT NULL DEFAULT 0;

-- The latest of each kind, for each episode and device.
CREATE TABLE feedkeep.episode_action (
    account_id   bigint NOT NULL REFERENCES feedkeep.account (account_id) ON DELETE CASCADE,
    key          bytea NOT NULL CHECK (octet_length(key) = 16),  -- of podcast, episode, device, kind
    podcast_guid uuid NOT NULL,    -- derived of podcast
    podcast      text NOT NULL,    -- the podcast's feed URL, as it was sent
    episode      text NOT NULL,    -- the URL of the episode's file
    device       text NOT NULL,    -- '' if none was told
    kind         text NOT NULL,    -- download, delete, play, new, flattr
    done         bigint NOT NULL,  -- seconds since 1970 by the device's clock
    started      bigint,           -- seconds into the episode
    position     bigint,           -- seconds into the episode
    total        bigint,           -- its length in seconds
    episode_guid text,             -- what the feed calls it, if that was told
    revision     bigint NOT NULL,  -- stamp of when the server got it
    PRIMARY KEY (account_id, podcast_guid, key)
);

-- What came since, in the order of its coming.
CREATE UNIQUE INDEX episode_action_by_revision ON feedkeep.episode_action (account_id, revision);

-- Small texts that apps keep here.
CREATE TABLE feedkeep.document (
    account_id bigint NOT NULL REFERENCES feedkeep.account (account_id) ON DELETE CASCADE,
    kind       text COLLATE "C" NOT NULL,  -- device, settings, migration
    name       text COLLATE "C" NOT NULL,  -- which one of that kind
    body       text NOT NULL,              -- JSON
    PRIMARY KEY (account_id, kind, name)
);

-- Logins that were granted, for the few seconds until the app that began one fetches its token.
-- Whose they are is not known when they are looked for, so they are kept on every machine.
CREATE TABLE feedkeep.login_grant (
    login      bytea PRIMARY KEY CHECK (octet_length(login) = 32),  -- SHA-256 of what that app knows
    account_id bigint NOT NULL,                                     -- whose it is
    label      text NOT NULL,                                       -- what the app calls itself
    created    bigint NOT NULL                                      -- when it was granted
);
