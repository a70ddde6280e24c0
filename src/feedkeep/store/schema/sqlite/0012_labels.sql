-- What the owner of a list calls its feeds, and the folders that they are in.

-- No change of a list reads or writes it: a label stays with the guid that it was given to, and is
-- found by the pointers that lead from there.
CREATE TABLE feed_label (
    account_id       INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    guid             BLOB NOT NULL CHECK (length(guid) = 16),
    title            TEXT NOT NULL,     -- '' if there is none
    folder           TEXT NOT NULL,     -- names of folders, with ' / ' between them; '' if none
    is_title_edited  INTEGER NOT NULL CHECK (is_title_edited IN (0, 1)),   -- no import replaces it
    is_folder_edited INTEGER NOT NULL CHECK (is_folder_edited IN (0, 1)),  -- the same of the folder
    PRIMARY KEY (account_id, guid)
) STRICT, WITHOUT ROWID;

-- As in 0002: few accounts have any, and those have many.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('feed_label', 'feed_label', '100000 200 1');
