-- What the owner of a list calls its feeds, and the folders that they are in.
-- Compatible from version 5: it adds a table, which programs before it do not use.

-- No change of a list reads or writes it: a label stays with the guid that it was given to, and is
-- found by the pointers that lead from there.
CREATE TABLE feedkeep.feed_label (
    account_id       bigint NOT NULL REFERENCES feedkeep.account (account_id) ON DELETE CASCADE,
    guid             uuid NOT NULL,
    title            text NOT NULL,     -- '' if there is none
    folder           text NOT NULL,     -- names of folders, with ' / ' between them; '' if none
    is_title_edited  boolean NOT NULL,  -- no import replaces it
    is_folder_edited boolean NOT NULL,  -- the same of the folder
    PRIMARY KEY (account_id, guid)
);
