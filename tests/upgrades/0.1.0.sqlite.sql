-- A database of feedkeep 0.1.0, as SQLite's .dump wrote it. It was filled once by that version's own
-- interface, doors and commands: two accounts, and a disabled one; feeds that are there, unsubscribed, deleted,
-- moved, merged, renamed and known by a guid that is not of their URL; an app's device, session, settings and
-- episode actions; a login of Nextcloud; a list brought from another server. Nothing in it is anybody's.
-- password of alice: correct horse
-- token of alice: fk_F40BUTi8T4JE07seO0-vA8myPKI5rBBPULSgSxqFf_lh
-- token of alice's app: fk_F40BUTi8T4IGzSuMaCQIf7mK_D5ZF-7ieTZaCmEOUeY0
-- token that was revoked: fk_F40BUTi8T4L3HFJHfVr5sJOo6uj8in-VM7WKzbEogwa4
-- token of gone: fk_EZxJjODrm-PcOv11XOFLSjiXMD6K5devlnbXcMiQLqCU

PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
PRAGMA application_id = 1718314341;
PRAGMA user_version = 3;
CREATE TABLE account (
    id            INTEGER PRIMARY KEY CHECK (id > 0),  -- random, 63 bits
    name          TEXT NOT NULL,                       -- as it was given
    name_key      TEXT NOT NULL UNIQUE,                -- what spellings of one name have in common
    password_hash TEXT,                                -- argon2id in PHC form; null: tokens only
    is_disabled   INTEGER NOT NULL DEFAULT 0 CHECK (is_disabled IN (0, 1)),
    created       INTEGER NOT NULL,                    -- when it was made
    last_stamp    INTEGER NOT NULL DEFAULT 0,          -- the account's clock
    last_token_id INTEGER NOT NULL DEFAULT 0           -- so that no number is given out twice
, last_action_stamp INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO account VALUES(1268970064429423587,'gone','gone',NULL,1,1795382615334209,0,1,0);
INSERT INTO account VALUES(1697014082944388994,'alice','alice','$argon2id$v=19$m=65536,t=3,p=4$+NY/QrBMtpifbGo6q/Gpbg$Np3+o7oGy0TekSP/l0DvxvZdWv3jiCaQ5gF6QRe3TKk',0,1795382613871029,1795382623000000,9,1795382622999999);
INSERT INTO account VALUES(8660545584832955962,'Ünïcode','ünïcode','$argon2id$v=19$m=65536,t=3,p=4$wk63URieCXwA0ybL09FGSg$COUJlGJgLwdL4PZILMe+lBDbupuW6m1H3aRD5ucGvCw',0,1795382614861902,1795382621865953,0,1795382621880013);
CREATE TABLE token (
    account_id INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    id         INTEGER NOT NULL,                                 -- counts from 1 in its account
    hash       BLOB NOT NULL CHECK (length(hash) = 32),          -- SHA-256 of its text
    label      TEXT NOT NULL,                                    -- what its owner calls it
    created    INTEGER NOT NULL,                                 -- when it was made
    expires    INTEGER,                                          -- when it ends; null: never
    revoked    INTEGER, is_session INTEGER NOT NULL DEFAULT 0 CHECK (is_session IN (0, 1)), told_subscriptions INTEGER, heard_subscriptions INTEGER, told_actions INTEGER, heard_actions INTEGER,                                          -- when it was revoked, if it was
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, hash)
) STRICT, WITHOUT ROWID;
INSERT INTO token VALUES(1268970064429423587,1,X'c3408e0e17d1c5d43a4a7aeccf60c49085689855276f47688002ee8714fc1057','',1795382620819115,NULL,NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO token VALUES(1697014082944388994,1,X'65e81d94c8f44dd02ff942cc4d51a958e9f5dd1bd5836e68097a67111c2f912d','laptop',1795382617751285,NULL,NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO token VALUES(1697014082944388994,2,X'0317c9b96689b18a0f204ee82b398bf33de58b3a6e570db50895788fc2819426','lost phone',1795382618768534,NULL,1795382619412095,0,NULL,NULL,NULL,NULL);
INSERT INTO token VALUES(1697014082944388994,3,X'8e8a4e45fa2d60e6075f7d4febe552c81cd70cb09ba5f6eb5d7c4e0182e0e480','guest',1795382619971422,1795469019971422,NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO token VALUES(1697014082944388994,4,X'8c1685eceb35b50db102ece8e5330e7d71e4edc26cd8bf8f146ccf28e3ffc1a7','Python-urllib/3.11',1795382621238787,1810934621238787,NULL,1,1795382622,NULL,1795382622,NULL);
INSERT INTO token VALUES(1697014082944388994,5,X'0bc2071bf873f8ed66b630d013293db022a766be6857b56ddea360b27929c5a3','Some app',1795382621266645,NULL,NULL,0,1795382622,1795382622,NULL,NULL);
INSERT INTO token VALUES(1697014082944388994,6,X'96c8e887deca84bb00872e057b1f14417ed89bd3d3852ce92746cdb73b95dabd','feedkeep',1795382621834439,1795469021834439,NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO token VALUES(1697014082944388994,7,X'e84f57062dd1915e6afcedeb4295e16873d5f2c95cbf631ab1e94b5ee89308c9','feedkeep',1795382621860416,1795469021860416,NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO token VALUES(1697014082944388994,8,X'50ad6312eb5b89fedb032717e5cf2e6484d0fdf7d14f412bc28c7e831ed6bad5','feedkeep',1795382621870560,1795469021870560,NULL,1,NULL,NULL,1795382622,NULL);
INSERT INTO token VALUES(1697014082944388994,9,X'd70a5647d5d68cd316400986a85900c564e3c72eb8f2c8351d3274b38c2dac37','feedkeep',1795382621882518,1795469021882518,NULL,1,NULL,NULL,1795382622,NULL);
CREATE TABLE entry (
    account_id           INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    guid                 BLOB NOT NULL CHECK (length(guid) = 16),
    new_guid             BLOB,     -- pointer: the present guid of the subscription it leads to
    feed_url             TEXT,     -- subscription: its present feed URL, as it was sent
    is_subscribed        INTEGER,  -- subscription: 1, or 0 when unsubscribed or deleted
    subscription_changed INTEGER,  -- subscription: stamp of the last change of status or feed URL
    guid_changed         INTEGER,  -- stamp of the guid's change; null: never, or not announced
    deleted              INTEGER,  -- subscription: stamp of the deletion; null: live
    alias_url            TEXT,     -- the URL guid is derived from, if not the present feed URL
    alias_moved_away     INTEGER,  -- 1: the subscription itself moved away from alias_url
    revision             INTEGER,  -- the greatest stamp; null: in no list
    PRIMARY KEY (account_id, guid),
    FOREIGN KEY (account_id, new_guid) REFERENCES entry (account_id, guid)
        DEFERRABLE INITIALLY DEFERRED,
    CHECK (new_guid IS NOT guid),
    CHECK ((alias_url IS NULL) = (alias_moved_away IS NULL)),
    CHECK (
        CASE WHEN new_guid IS NULL
        THEN feed_url IS NOT NULL AND is_subscribed IN (0, 1) AND subscription_changed IS NOT NULL
             AND revision = max(subscription_changed, ifnull(guid_changed, 0), ifnull(deleted, 0))
             AND (deleted IS NULL OR is_subscribed = 0)
        ELSE feed_url IS NULL AND is_subscribed IS NULL AND subscription_changed IS NULL
             AND deleted IS NULL AND revision IS guid_changed
        END
    )
) STRICT, WITHOUT ROWID;
INSERT INTO entry VALUES(1697014082944388994,X'0e6a7c00829257858dc108c9f6628d18',X'7473296ae34053348517a7d995cffaac',NULL,NULL,NULL,1795382621000369,NULL,NULL,NULL,1795382621000369);
INSERT INTO entry VALUES(1697014082944388994,X'22429f833ac156bdb1fc94c8b76b29a4',NULL,'https://feeds.example/alive',1,1795382621047676,NULL,NULL,'https://feeds.example/dead',1,1795382621047676);
INSERT INTO entry VALUES(1697014082944388994,X'262344cf45f050678438bda5f79750b4',X'8f14e45fceea467f95752c1d1a1e1f01',NULL,NULL,NULL,1795382621002982,NULL,NULL,NULL,1795382621002982);
INSERT INTO entry VALUES(1697014082944388994,X'2db8b523a961519691e87ec200d31a4a',NULL,'https://feeds.example/from-nextcloud',1,1795382623000000,NULL,NULL,NULL,NULL,1795382623000000);
INSERT INTO entry VALUES(1697014082944388994,X'3641413001b35b6da2ce8900ac97b5e3',NULL,'https://feeds.example/unsubscribed',0,1795382620967116,NULL,NULL,NULL,NULL,1795382620967116);
INSERT INTO entry VALUES(1697014082944388994,X'5d4c9e4a31c84b8e9d7a3d2f0f5f1c11',NULL,'https://feeds.example/beside?by=another',1,1795382620934955,NULL,NULL,NULL,NULL,1795382620934955);
INSERT INTO entry VALUES(1697014082944388994,X'6ea92bbd7714588ea11b69a5f355b88c',NULL,'https://feeds.example/moved/new',1,1795382620995062,NULL,NULL,'https://feeds.example/moved',1,1795382620995062);
INSERT INTO entry VALUES(1697014082944388994,X'7473296ae34053348517a7d995cffaac',NULL,'https://feeds.example/first-of-two',1,1795382621000370,1795382621000370,NULL,'https://feeds.example/second-of-two',0,1795382621000370);
INSERT INTO entry VALUES(1697014082944388994,X'7aae94ebe8ae5f84b1cd3c25b7f3b53f',X'6ea92bbd7714588ea11b69a5f355b88c',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO entry VALUES(1697014082944388994,X'8f14e45fceea467f95752c1d1a1e1f01',NULL,'https://feeds.example/renamed',1,1795382620934954,1795382621002983,NULL,NULL,NULL,1795382621002983);
INSERT INTO entry VALUES(1697014082944388994,X'a41275cc18765f59a30e26ae2bbb268e',NULL,'https://feeds.example/plain',1,1795382620934948,NULL,NULL,NULL,NULL,1795382620934948);
INSERT INTO entry VALUES(1697014082944388994,X'c3b1589aa69d51738aaf299a4996e58c',NULL,'https://feeds.example/deleted',0,1795382620934950,NULL,1795382620991423,NULL,NULL,1795382620991423);
INSERT INTO entry VALUES(1697014082944388994,X'c6ca9012fb4151d0b873d60ef638c4fd',NULL,'https://feeds.example/from-the-app',1,1795382621243907,NULL,NULL,NULL,NULL,1795382621243907);
INSERT INTO entry VALUES(1697014082944388994,X'e1385b3eb5f253cf9835a767718c08a3',NULL,'https://feeds.example/removed-by-the-app',0,1795382621245993,NULL,NULL,NULL,NULL,1795382621245993);
INSERT INTO entry VALUES(1697014082944388994,X'e4bc8dcef0315aa380a1f9aec65e73cb',X'22429f833ac156bdb1fc94c8b76b29a4',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO entry VALUES(1697014082944388994,X'f40656cc04885a2ea5c6891ea597fccb',X'5d4c9e4a31c84b8e9d7a3d2f0f5f1c11',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO entry VALUES(8660545584832955962,X'0e6a7c00829257858dc108c9f6628d18',NULL,'https://feeds.example/first-of-two',1,1795382621865949,NULL,NULL,NULL,NULL,1795382621865949);
INSERT INTO entry VALUES(8660545584832955962,X'262344cf45f050678438bda5f79750b4',NULL,'https://feeds.example/renamed',1,1795382621865950,NULL,NULL,NULL,NULL,1795382621865950);
INSERT INTO entry VALUES(8660545584832955962,X'2db8b523a961519691e87ec200d31a4a',NULL,'https://feeds.example/from-nextcloud',1,1795382621865953,NULL,NULL,NULL,NULL,1795382621865953);
INSERT INTO entry VALUES(8660545584832955962,X'7aae94ebe8ae5f84b1cd3c25b7f3b53f',NULL,'https://feeds.example/moved/new',1,1795382621865948,NULL,NULL,NULL,NULL,1795382621865948);
INSERT INTO entry VALUES(8660545584832955962,X'a41275cc18765f59a30e26ae2bbb268e',NULL,'https://feeds.example/plain',1,1795382621865946,NULL,NULL,NULL,NULL,1795382621865946);
INSERT INTO entry VALUES(8660545584832955962,X'c6ca9012fb4151d0b873d60ef638c4fd',NULL,'https://feeds.example/from-the-app',1,1795382621865952,NULL,NULL,NULL,NULL,1795382621865952);
INSERT INTO entry VALUES(8660545584832955962,X'e4bc8dcef0315aa380a1f9aec65e73cb',NULL,'https://feeds.example/alive',1,1795382621865951,NULL,NULL,NULL,NULL,1795382621865951);
INSERT INTO entry VALUES(8660545584832955962,X'f40656cc04885a2ea5c6891ea597fccb',NULL,'https://feeds.example/beside?by=another',1,1795382621865947,NULL,NULL,NULL,NULL,1795382621865947);
CREATE TABLE deletion (
    account_id INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    id         INTEGER NOT NULL,  -- the stamp of the deletion
    guid       BLOB NOT NULL,     -- the subscription that was deleted
    PRIMARY KEY (account_id, id)
) STRICT, WITHOUT ROWID;
INSERT INTO deletion VALUES(1697014082944388994,1795382620991423,X'c3b1589aa69d51738aaf299a4996e58c');
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 VALUES('entry','entry','1000000 500 1');
INSERT INTO sqlite_stat1 VALUES('entry','entry_by_revision','1000000 500 1');
INSERT INTO sqlite_stat1 VALUES('entry','entry_by_new_guid','500000 250 2');
ANALYZE sqlite_schema;
CREATE TABLE episode_action (
    account_id   INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    key          BLOB NOT NULL CHECK (length(key) = 16),  -- hash of podcast, episode, device, kind
    podcast_guid BLOB NOT NULL CHECK (length(podcast_guid) = 16),  -- derived of podcast
    podcast      TEXT NOT NULL,     -- the podcast's feed URL, as it was sent
    episode      TEXT NOT NULL,     -- the URL of the episode's file
    device       TEXT NOT NULL,     -- '' if none was told
    kind         TEXT NOT NULL,     -- download, delete, play, new, flattr
    done         INTEGER NOT NULL,  -- seconds since 1970 by the device's clock
    started      INTEGER,           -- seconds into the episode
    position     INTEGER,           -- seconds into the episode
    total        INTEGER,           -- its length in seconds
    episode_guid TEXT,              -- what the feed calls it, if that was told
    revision     INTEGER NOT NULL,  -- stamp of when the server got it
    PRIMARY KEY (account_id, podcast_guid, key)
) STRICT, WITHOUT ROWID;
INSERT INTO episode_action VALUES(1697014082944388994,X'd4a84796744ad6ba31031ffd52f55b47',X'6ea92bbd7714588ea11b69a5f355b88c','https://feeds.example/moved','https://files.example/3.mp3','','new',1714557603,NULL,NULL,NULL,NULL,1795382621253647);
INSERT INTO episode_action VALUES(1697014082944388994,X'f7bb87141a4a9fec7399efaa419e3f86',X'6ea92bbd7714588ea11b69a5f355b88c','https://feeds.example/moved','https://files.example/3.mp3','','delete',1714557602,NULL,NULL,NULL,NULL,1795382621252647);
INSERT INTO episode_action VALUES(1697014082944388994,X'261fad19d2b18f9322362b6bc4606ff9',X'a41275cc18765f59a30e26ae2bbb268e','https://feeds.example/plain','https://files.example/2.mp3','phone','download',1714557601,NULL,NULL,NULL,NULL,1795382621251647);
INSERT INTO episode_action VALUES(1697014082944388994,X'3413e9f083111407bf8cb2e283e7c363',X'a41275cc18765f59a30e26ae2bbb268e','https://feeds.example/plain','https://files.example/1.mp3','phone','play',1714557600,0,120,3600,NULL,1795382621250647);
INSERT INTO episode_action VALUES(1697014082944388994,X'509ee3fc3b17733e8292d9f39a76c786',X'a41275cc18765f59a30e26ae2bbb268e','https://feeds.example/plain','https://files.example/1.mp3','','flattr',1714557604,NULL,NULL,NULL,NULL,1795382621254647);
INSERT INTO episode_action VALUES(8660545584832955962,X'd94774c0bbd5e0da0d9aad56eba56ff0',X'7aae94ebe8ae5f84b1cd3c25b7f3b53f','https://feeds.example/moved/new','https://files.example/3.mp3','','delete',1714557602,NULL,NULL,NULL,NULL,1795382621878013);
INSERT INTO episode_action VALUES(8660545584832955962,X'df114cb78e0721f64dd390d14b76af26',X'7aae94ebe8ae5f84b1cd3c25b7f3b53f','https://feeds.example/moved/new','https://files.example/3.mp3','','new',1714557603,NULL,NULL,NULL,NULL,1795382621879013);
INSERT INTO episode_action VALUES(8660545584832955962,X'261fad19d2b18f9322362b6bc4606ff9',X'a41275cc18765f59a30e26ae2bbb268e','https://feeds.example/plain','https://files.example/2.mp3','phone','download',1714557601,NULL,NULL,NULL,NULL,1795382621877013);
INSERT INTO episode_action VALUES(8660545584832955962,X'3413e9f083111407bf8cb2e283e7c363',X'a41275cc18765f59a30e26ae2bbb268e','https://feeds.example/plain','https://files.example/1.mp3','phone','play',1714557600,0,120,3600,NULL,1795382621876013);
INSERT INTO episode_action VALUES(8660545584832955962,X'509ee3fc3b17733e8292d9f39a76c786',X'a41275cc18765f59a30e26ae2bbb268e','https://feeds.example/plain','https://files.example/1.mp3','','flattr',1714557604,NULL,NULL,NULL,NULL,1795382621880013);
CREATE TABLE document (
    account_id INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    kind       TEXT NOT NULL,  -- device, settings, migration
    name       TEXT NOT NULL,  -- which one of that kind
    body       TEXT NOT NULL,  -- JSON
    PRIMARY KEY (account_id, kind, name)
) STRICT, WITHOUT ROWID;
INSERT INTO document VALUES(1697014082944388994,'device','phone','{"id":"phone","caption":"Alice''s phone","type":"mobile"}');
INSERT INTO document VALUES(1697014082944388994,'settings','9af211329b2fc82e5efe906062c73008','{"theme":"dark"}');
INSERT INTO document VALUES(8660545584832955962,'device','phone','{"id":"phone","caption":"Alice''s phone","type":"mobile"}');
INSERT INTO document VALUES(8660545584832955962,'migration','17bb9ff82634cd1fabc5e2ace6bbdccb','{"until":1795382622,"feeds":["https://feeds.example/plain","https://feeds.example/beside?by=another","https://feeds.example/moved/new","https://feeds.example/first-of-two","https://feeds.example/renamed","https://feeds.example/alive","https://feeds.example/from-the-app","https://feeds.example/from-nextcloud"]}');
CREATE TABLE login_grant (
    login      BLOB PRIMARY KEY CHECK (length(login) = 32),  -- SHA-256 of what that app knows
    account_id INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    label      TEXT NOT NULL,                                -- what the app calls itself
    created    INTEGER NOT NULL                              -- when it was granted
) STRICT, WITHOUT ROWID;
INSERT INTO login_grant VALUES(X'd851988692e86b0daf312ff134a8515fb4a9747c42732f0c077569f14ef1ab90',1697014082944388994,'Some app',1795382621275543);
CREATE UNIQUE INDEX entry_by_revision ON entry (account_id, revision) WHERE revision IS NOT NULL;
CREATE INDEX entry_by_new_guid ON entry (account_id, new_guid) WHERE new_guid IS NOT NULL;
CREATE UNIQUE INDEX episode_action_by_revision ON episode_action (account_id, revision);
COMMIT;
