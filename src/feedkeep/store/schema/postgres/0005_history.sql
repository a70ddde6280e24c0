-- What a list was like before: each entry's former states, and who made each state.
-- Not compatible: programs before it would change lists without keeping what they were.

-- Since when an entry is in its present state, and who brought it there. It has no index, so that a
-- change of it rewrites none.
ALTER TABLE feedkeep.entry
    ADD COLUMN began  bigint,  -- stamp of that change; null: not known
    ADD COLUMN author text;    -- JSON; null: not known

-- The stamp from which on every state of the list is known: of older lists, nothing was kept.
ALTER TABLE feedkeep.account ADD COLUMN known_from bigint NOT NULL DEFAULT 0;
UPDATE feedkeep.account SET known_from = last_stamp;
-- How many former states are stored, kept up with each change of them: nobody counts.
ALTER TABLE feedkeep.account ADD COLUMN former_count bigint NOT NULL DEFAULT 0;

-- Entries as they were, until a change ended that. A guid that led to another may be of an entry
-- that is gone, so nothing ties it to that. The key is the only index: each further one makes
-- every change of an entry write one more page.
CREATE TABLE feedkeep.former_entry (
    account_id           bigint NOT NULL REFERENCES feedkeep.account (account_id) ON DELETE CASCADE,
    ended                bigint NOT NULL,  -- stamp of the change that ended this state
    guid                 uuid NOT NULL,
    began                bigint,           -- this and the others: as in entry
    author               text,
    new_guid             uuid,
    feed_url             text,
    is_subscribed        boolean,
    subscription_changed bigint,
    guid_changed         bigint,
    deleted              bigint,
    alias_url            text,
    alias_moved_away     boolean,
    alias_retired        bigint,
    status_changed       bigint,
    app_url              text,
    app_url_until        bigint,
    PRIMARY KEY (account_id, ended, guid)
);
