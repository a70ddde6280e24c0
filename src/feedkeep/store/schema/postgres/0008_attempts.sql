-- Wrong passwords of the last hour, as each process counts them, so that all know of all.
-- Compatible from version 5: it adds a table, which programs before it do not use.

-- It stays on the machine that is connected to, also where others are split over a cluster: rows are
-- few and short-lived, and one statement is about many.
CREATE TABLE feedkeep.attempt (
    key     bytea NOT NULL,   -- a digest of a name, an address or both
    process bigint NOT NULL,  -- a random number for who counted them; nobody else writes the row
    seconds bytea NOT NULL,   -- when they were made: whole seconds since 1970, four bytes each
    written bigint NOT NULL,  -- when the row was written, by the clock of the server
    PRIMARY KEY (key, process)
);

-- What was written since a process looked last, and what is to be forgotten.
CREATE INDEX attempt_by_written ON feedkeep.attempt (written);
