-- Wrong passwords of the last hour, as each process counts them, so that a restart forgets none.
-- Processes of the version before go on beside it: they neither read nor write it.

CREATE TABLE attempt (
    key     BLOB NOT NULL,     -- a digest of a name, an address or both
    process INTEGER NOT NULL,  -- a random number for who counted them; nobody else writes the row
    seconds BLOB NOT NULL,     -- when they were made: whole seconds since 1970, four bytes each
    written INTEGER NOT NULL,  -- when the row was written, by the clock of the machine
    PRIMARY KEY (key, process)
) STRICT;

-- What was written since a process looked last, and what is to be forgotten.
CREATE INDEX attempt_by_written ON attempt (written);
