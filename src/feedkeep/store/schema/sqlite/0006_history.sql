-- What a list was like before: each entry's former states, and who made each state.

-- Since when an entry is in its present state, and who brought it there.
ALTER TABLE entry ADD COLUMN began INTEGER;  -- stamp of that change; null: not known
ALTER TABLE entry ADD COLUMN author TEXT;    -- JSON; null: not known

-- The stamp from which on every state of the list is known: of older lists, nothing was kept.
ALTER TABLE account ADD COLUMN known_from INTEGER NOT NULL DEFAULT 0;
UPDATE account SET known_from = last_stamp;
-- How many former states are stored, kept up with each change of them: nobody counts.
ALTER TABLE account ADD COLUMN former_count INTEGER NOT NULL DEFAULT 0;

-- Entries as they were, until a change ended that. A guid that led to another may be of an entry
-- that is gone, so nothing ties it to that. A change writes one in the same commit as those of other
-- accounts: so rows stand in the order in which they came, and the key is the only index. If those
-- of an account stood together, or with another index, each change would write more pages.
CREATE TABLE former_entry (
    account_id           INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    ended                INTEGER NOT NULL,  -- stamp of the change that ended this state
    guid                 BLOB NOT NULL CHECK (length(guid) = 16),
    began                INTEGER,           -- this and the others: as in entry
    author               TEXT,
    new_guid             BLOB,
    feed_url             TEXT,
    is_subscribed        INTEGER,
    subscription_changed INTEGER,
    guid_changed         INTEGER,
    deleted              INTEGER,
    alias_url            TEXT,
    alias_moved_away     INTEGER,
    alias_retired        INTEGER,
    status_changed       INTEGER,
    app_url              TEXT,
    app_url_until        INTEGER,
    PRIMARY KEY (account_id, ended, guid)
) STRICT;

-- As in 0002: an account may have many of these, and a change ends a few.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('former_entry', 'sqlite_autoindex_former_entry_1', '1000000 500 2 1');
