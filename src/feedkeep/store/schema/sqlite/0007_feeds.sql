-- What the service finds out about feeds by itself: all accounts share it, and none of it is theirs.

-- Each feed that somebody is subscribed to, or was until lately. Rows are long, and guids come in no
-- order: so rows stand in the order in which they came, and only the small index has that of guids.
CREATE TABLE feed (
    guid         BLOB NOT NULL PRIMARY KEY CHECK (length(guid) = 16),  -- derived from url
    url          TEXT NOT NULL,               -- the URL that is asked
    wanted       INTEGER NOT NULL,            -- when somebody was last known to be subscribed to it
    next_look    INTEGER NOT NULL,            -- when it is to be asked next; 0: it is new
    leased_until INTEGER NOT NULL DEFAULT 0,  -- until when somebody may be looking at it; 0: nobody
    failing      INTEGER,                     -- since when it could not be read; null: it could
    known        TEXT                         -- all else, as JSON; null: nobody has looked at it
) STRICT;

-- What is to be looked at next. Feeds that somebody is looking at are passed over: they are few.
CREATE INDEX feed_by_next_look ON feed (next_look);

-- What nobody is subscribed to any more. Without it, a look for these reads every row.
CREATE INDEX feed_by_wanted ON feed (wanted);

-- A small picture for each feed that has one.
CREATE TABLE feed_picture (
    guid       BLOB NOT NULL PRIMARY KEY REFERENCES feed (guid) ON DELETE CASCADE,
    media_type TEXT NOT NULL,  -- such as image/webp
    data       BLOB NOT NULL,  -- the picture
    digest     TEXT NOT NULL   -- what tells it from others, for the addresses of pages
) STRICT;
