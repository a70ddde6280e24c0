-- What SQLite's planner should take for granted, since nobody runs ANALYZE here. Without it, it
-- expects a handful of entries in an account, and looks for the pointers to a subscription by reading
-- all of them: at 35,000 entries, 7 milliseconds for each write, and for each row of a deletion.
ANALYZE sqlite_schema;
DELETE FROM sqlite_stat1;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('entry', 'entry', '1000000 500 1'),
    ('entry', 'entry_by_revision', '1000000 500 1'),
    ('entry', 'entry_by_new_guid', '500000 250 2');
