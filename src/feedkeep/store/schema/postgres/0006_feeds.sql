-- What the service finds out about feeds by itself: all accounts share it, and none of it is theirs.
-- Both keys are the guid alone, so that a distributed PostgreSQL can split the tables by it.
-- Compatible from version 5: it adds two tables, which programs before it do not use.

-- Each feed that somebody is subscribed to, or was until lately.
CREATE TABLE feedkeep.feed (
    guid         uuid PRIMARY KEY,           -- derived from url
    url          text NOT NULL,              -- the URL that is asked
    wanted       bigint NOT NULL,            -- when somebody was last known to be subscribed to it
    next_look    bigint NOT NULL,            -- when it is to be asked next; 0: it is new
    leased_until bigint NOT NULL DEFAULT 0,  -- until when a process may be looking at it; 0: none
    failing      bigint,                     -- since when it could not be read; null: it could
    known        text                        -- all else, as JSON; null: nobody has looked at it
);

-- What is to be looked at next. It leaves out leases: so a lease changes no index, and those that
-- are passed over for theirs are few.
CREATE INDEX feed_by_next_look ON feedkeep.feed (next_look);

-- What nobody is subscribed to any more. Without it, a look for these reads every row.
CREATE INDEX feed_by_wanted ON feedkeep.feed (wanted);

-- A small picture for each feed that has one.
CREATE TABLE feedkeep.feed_picture (
    guid       uuid PRIMARY KEY REFERENCES feedkeep.feed (guid) ON DELETE CASCADE,
    media_type text NOT NULL,   -- such as image/webp
    data       bytea NOT NULL,  -- the picture
    digest     text NOT NULL    -- what tells it from others, for the addresses of pages
);
