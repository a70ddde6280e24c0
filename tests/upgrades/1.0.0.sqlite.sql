-- The token of the phone: fk_cssjtAtbgVThJy2QpCbkR01NXpuG29k1NOzajzGaVqi_
PRAGMA application_id=1718314341;
PRAGMA user_version=105;
BEGIN TRANSACTION;
CREATE TABLE account (
    account_id        INTEGER PRIMARY KEY CHECK (account_id > 0),  -- random, 63 bits
    name              TEXT NOT NULL,                -- as it was given
    name_key          TEXT NOT NULL UNIQUE,         -- equal for all spellings of the name
    password_hash     TEXT,                         -- Argon2id in PHC form; null: tokens only
    is_disabled       INTEGER NOT NULL DEFAULT 0 CHECK (is_disabled IN (0, 1)),
    is_admin          INTEGER NOT NULL DEFAULT 0 CHECK (is_admin IN (0, 1)),
    -- SHA-256 of an OpenID provider's address and of its subject; null: not linked
    identity          BLOB CHECK (length(identity) = 32),
    created           INTEGER NOT NULL,             -- time of its creation
    last_token_id     INTEGER NOT NULL DEFAULT 0,   -- greatest id of a token, removed ones included
    last_stamp        INTEGER NOT NULL DEFAULT 0,   -- clock of the list
    last_action_stamp INTEGER NOT NULL DEFAULT 0,   -- clock of the episode actions
    -- Counts, updated with each change so that no request has to count rows. The last three
    -- count a row once for each KiB that it begins (model/weights.py).
    subscribed_count  INTEGER NOT NULL DEFAULT 0,   -- subscribed feeds
    announced_count   INTEGER NOT NULL DEFAULT 0,   -- entries that lists show
    entry_count       INTEGER NOT NULL DEFAULT 0,   -- all entries
    former_count      INTEGER NOT NULL DEFAULT 0,   -- previous states
    action_count      INTEGER NOT NULL DEFAULT 0,   -- episode actions
    known_from        INTEGER NOT NULL DEFAULT 0,   -- start of the complete history
    -- Restores: changes with timestamps after lost_after, up to lost_until, may have been lost.
    epoch             INTEGER NOT NULL DEFAULT 0,   -- random number, new with each restore
    lost_after        INTEGER NOT NULL DEFAULT 0,   -- clock in the oldest restored backup
    lost_until        INTEGER NOT NULL DEFAULT 0,   -- latest value that a restore gave the clock
    actions_lost_after INTEGER NOT NULL DEFAULT 0,  -- the same for the clock of episode actions
    actions_lost_until INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO "account" VALUES(3756083580399672309,'Ben','ben',NULL,0,0,NULL,1793534403000000,0,1793534419000029,0,0,30,30,30,0,0,0,0,0,0,0);
INSERT INTO "account" VALUES(8271744396787679572,'Ada','ada','$argon2id$v=19$m=65536,t=3,p=1$Bm4DMYT6re5MH0NbDCaoAA$ylUO6qOcj0hMJYecov6cf1ozjnXquGWAfvSntrBAJpk',0,1,NULL,1793534402000000,1,1793534415000000,1793534411000000,2,5,6,5,2,0,0,0,0,0,0);
CREATE TABLE attempt (
    key     BLOB NOT NULL,     -- digest of a name, an address or both
    process INTEGER NOT NULL,  -- random number of the process; no other writes the row
    seconds BLOB NOT NULL,     -- times of the attempts: seconds since 1970, four bytes each
    written INTEGER NOT NULL,  -- time of the write, by the machine's clock
    PRIMARY KEY (key, process)
) STRICT;
CREATE TABLE deletion (
    account_id INTEGER NOT NULL REFERENCES account (account_id) ON DELETE CASCADE,
    id         INTEGER NOT NULL,  -- timestamp of the deletion
    guid       BLOB NOT NULL,     -- the deleted subscription
    PRIMARY KEY (account_id, id)
) STRICT, WITHOUT ROWID;
INSERT INTO "deletion" VALUES(8271744396787679572,1793534413000000,X'C3B1589AA69D51738AAF299A4996E58C');
CREATE TABLE document (
    account_id INTEGER NOT NULL REFERENCES account (account_id) ON DELETE CASCADE,
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    body       TEXT NOT NULL,  -- JSON
    PRIMARY KEY (account_id, kind, name)
) STRICT, WITHOUT ROWID;
INSERT INTO "document" VALUES(8271744396787679572,'device','phone','{"id":"phone","caption":"Ada''s phone","type":"mobile"}');
INSERT INTO "document" VALUES(8271744396787679572,'settings','9af211329b2fc82e5efe906062c73008','{"public":false}');
CREATE TABLE entry (
    account_id           INTEGER NOT NULL REFERENCES account (account_id) ON DELETE CASCADE,
    guid                 BLOB NOT NULL CHECK (length(guid) = 16),
    new_guid             BLOB,     -- pointer: present guid of its subscription
    feed_url             TEXT,     -- subscription: present feed URL, as it was sent
    is_subscribed        INTEGER,  -- subscription: 1, or 0 when unsubscribed or deleted
    subscription_changed INTEGER,  -- subscription: time of the last change of status or feed URL
    guid_changed         INTEGER,  -- time of the guid's change; null: never, or not announced
    deleted              INTEGER,  -- subscription: time of its deletion; null: live
    status_changed       INTEGER,  -- subscription: time of the last subscribe or unsubscribe
    first_had            INTEGER,  -- subscription: when it got this URL, by the server's clock
    app_url              TEXT,     -- subscription: URL in apps that know only URLs, if another
    app_url_until        INTEGER,  -- time of the unsubscribe that removed app_url from apps
    alias_url            TEXT,     -- URL that guid is derived from, if not the present feed URL
    alias_moved_away     INTEGER,  -- 1: the subscription itself moved away from alias_url
    alias_was_own        INTEGER,  -- 1: apps may have alias_url beside another URL of the feed
    alias_retired        INTEGER,  -- time at which apps were sent the removal of alias_url
    alias_first_had      INTEGER,  -- as first_had, for alias_url
    revision             INTEGER,  -- greatest timestamp; null: in no list
    began                INTEGER,  -- time of the change that led to this state
    author               TEXT,     -- JSON: client that made that change; null: unknown
    PRIMARY KEY (account_id, guid),
    FOREIGN KEY (account_id, new_guid) REFERENCES entry (account_id, guid)
        DEFERRABLE INITIALLY DEFERRED,
    CHECK (new_guid IS NOT guid),
    CHECK ((alias_url IS NULL) = (alias_moved_away IS NULL)),
    CHECK ((alias_url IS NULL) = (alias_was_own IS NULL)),
    CHECK ((alias_url IS NULL) = (alias_first_had IS NULL)),
    CHECK (
        CASE WHEN new_guid IS NULL
        THEN feed_url IS NOT NULL AND is_subscribed IN (0, 1) AND subscription_changed IS NOT NULL
             AND revision = max(subscription_changed, ifnull(guid_changed, 0), ifnull(deleted, 0))
             AND (deleted IS NULL OR is_subscribed = 0)
             AND status_changed IS NOT NULL AND first_had IS NOT NULL
        ELSE feed_url IS NULL AND is_subscribed IS NULL AND subscription_changed IS NULL
             AND deleted IS NULL AND revision IS guid_changed
             AND status_changed IS NULL AND first_had IS NULL
        END
    )
) STRICT;
INSERT INTO "entry" VALUES(8271744396787679572,X'6EA92BBD7714588EA11B69A5F355B88C',NULL,'https://feeds.example/moved-to',1,1793534409000000,NULL,NULL,1793534405000000,1793534409000000,'https://feeds.example/moved',NULL,'https://feeds.example/moved',1,0,NULL,1793534405000000,1793534409000000,1793534409000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(8271744396787679572,X'F5684E9A1F265CA39207FBAB9A9FD000',X'CF9AED4F883A504CB9A9103AF4CD750A',NULL,NULL,NULL,1793534410000001,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534410000001,1793534410000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(8271744396787679572,X'CF9AED4F883A504CB9A9103AF4CD750A',NULL,'https://feeds.example/kept',1,1793534410000002,1793534410000002,NULL,1793534405000001,1793534405000000,NULL,NULL,'https://feeds.example/duplicate',0,1,NULL,1793534405000000,1793534410000002,1793534410000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(8271744396787679572,X'C3B1589AA69D51738AAF299A4996E58C',NULL,'https://feeds.example/deleted',0,1793534405000003,NULL,1793534413000000,1793534413000000,1793534405000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534413000000,1793534413000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(8271744396787679572,X'4BAA8E6981CF5AFD872B030C76320514',NULL,'https://feeds.example/left',0,1793534415000000,NULL,NULL,1793534415000000,1793534405000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534415000000,1793534415000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(8271744396787679572,X'D2126BDB6EAC5DC7A2C50DB73993BB22',X'6EA92BBD7714588EA11B69A5F355B88C',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534409000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'98D09CFA8C1C5127BDADB97AD07797DD',NULL,'https://many.example/0',0,1793534419000000,NULL,NULL,1793534419000000,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000000,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'254393E523645344AF6FA1CBF4B43BE6',NULL,'https://many.example/1',0,1793534419000001,NULL,NULL,1793534419000001,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000001,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'92A0DD3599BF5DA7A73BD6D2757DF217',NULL,'https://many.example/2',0,1793534419000002,NULL,NULL,1793534419000002,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000002,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'6ACD11B8AE025E91A7F196E0F08BFE22',NULL,'https://many.example/3',0,1793534419000003,NULL,NULL,1793534419000003,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000003,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'B55EADB8EC095CF48C034AD14836115C',NULL,'https://many.example/4',0,1793534419000004,NULL,NULL,1793534419000004,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000004,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'3575357E109A53AF87301128A9E65426',NULL,'https://many.example/5',0,1793534419000005,NULL,NULL,1793534419000005,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000005,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'A9B7EAC3DCEB56A498064A1B42B8782E',NULL,'https://many.example/6',0,1793534419000006,NULL,NULL,1793534419000006,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000006,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'2A85B15AC66D5F9F8E4ECEA65BFA0CDB',NULL,'https://many.example/7',0,1793534419000007,NULL,NULL,1793534419000007,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000007,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'E4D11BB1BAC057ECBA0D457CD6581C8D',NULL,'https://many.example/8',0,1793534419000008,NULL,NULL,1793534419000008,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000008,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'EBD92A6DEB36544E903019532B664FE3',NULL,'https://many.example/9',0,1793534419000009,NULL,NULL,1793534419000009,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000009,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'A4B73A13B4F258ABAD4F38A6A746EEB5',NULL,'https://many.example/10',0,1793534419000010,NULL,NULL,1793534419000010,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000010,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'C513BFFFC42959B493E52462FE77B016',NULL,'https://many.example/11',0,1793534419000011,NULL,NULL,1793534419000011,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000011,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'21157ECB2F96545995539E182767D7F6',NULL,'https://many.example/12',0,1793534419000012,NULL,NULL,1793534419000012,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000012,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'1FF0F7A3F28553A9ADFC04D9E240D4A6',NULL,'https://many.example/13',0,1793534419000013,NULL,NULL,1793534419000013,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000013,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'2E5EEA41194A5A9BA6FCE4F209C8B851',NULL,'https://many.example/14',0,1793534419000014,NULL,NULL,1793534419000014,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000014,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'C2699A21F06855EFBD35E12816E6BA5E',NULL,'https://many.example/15',0,1793534419000015,NULL,NULL,1793534419000015,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000015,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'2B7D5459BAE0544D91614286E8600AF0',NULL,'https://many.example/16',0,1793534419000016,NULL,NULL,1793534419000016,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000016,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'45B9469042AF51C49794ACE4CB73640E',NULL,'https://many.example/17',0,1793534419000017,NULL,NULL,1793534419000017,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000017,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'2AA47CA3444E5C4C9C7FE4D8B06BCB2A',NULL,'https://many.example/18',0,1793534419000018,NULL,NULL,1793534419000018,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000018,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'740CB2761BDB59E78A07EBE1F627CE32',NULL,'https://many.example/19',0,1793534419000019,NULL,NULL,1793534419000019,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000019,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'E32BB5BC19FE580DB11EE152EA9852BC',NULL,'https://many.example/20',0,1793534419000020,NULL,NULL,1793534419000020,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000020,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'1E412B62EC9F55D38F46B56DF0E5371C',NULL,'https://many.example/21',0,1793534419000021,NULL,NULL,1793534419000021,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000021,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'46045C798CAB571CA74E41E2504E331A',NULL,'https://many.example/22',0,1793534419000022,NULL,NULL,1793534419000022,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000022,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'323A4CDEF772580FB2FFD75D78FA2905',NULL,'https://many.example/23',0,1793534419000023,NULL,NULL,1793534419000023,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000023,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'A2FE6B19D9C053A0AAE8167DB6CBD391',NULL,'https://many.example/24',0,1793534419000024,NULL,NULL,1793534419000024,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000024,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'A4744E21562352A3B7A203AE070E822D',NULL,'https://many.example/25',0,1793534419000025,NULL,NULL,1793534419000025,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000025,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'B0FCB4E3CDFF5DBB8DBAB18EA37D32D4',NULL,'https://many.example/26',0,1793534419000026,NULL,NULL,1793534419000026,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000026,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'F711440CADA4544DAF56F104061E79D7',NULL,'https://many.example/27',0,1793534419000027,NULL,NULL,1793534419000027,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000027,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'19CAA2EF76AF5D00A80C809F83B54F75',NULL,'https://many.example/28',0,1793534419000028,NULL,NULL,1793534419000028,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000028,1793534419000000,'["command",null,"test","",""]');
INSERT INTO "entry" VALUES(3756083580399672309,X'4BED5B0B04A85C7C9D0E791697D1A69E',NULL,'https://many.example/29',0,1793534419000029,NULL,NULL,1793534419000029,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534419000029,1793534419000000,'["command",null,"test","",""]');
CREATE TABLE episode_action (
    account_id   INTEGER NOT NULL REFERENCES account (account_id) ON DELETE CASCADE,
    key          BLOB NOT NULL CHECK (length(key) = 16),  -- hash of episode, device and kind
    file         BLOB NOT NULL CHECK (length(file) = 10),  -- hash of podcast_guid and episode
    podcast_guid BLOB NOT NULL CHECK (length(podcast_guid) = 16),  -- derived from podcast
    podcast      TEXT NOT NULL,     -- feed URL, as it was sent
    episode      TEXT NOT NULL,     -- URL of the episode's file
    device       TEXT NOT NULL,     -- '' if none was named
    kind         TEXT NOT NULL,     -- download, delete, play, new, flattr
    done         INTEGER NOT NULL,  -- seconds since 1970 by the device's clock
    started      INTEGER,           -- seconds into the episode
    position     INTEGER,           -- seconds into the episode
    total        INTEGER,           -- length of the episode, in seconds
    episode_guid TEXT,              -- guid in the feed; null: not sent
    revision     INTEGER NOT NULL,  -- timestamp under which apps are sent it
    received     INTEGER NOT NULL,  -- time of its arrival
    app          TEXT,              -- name of the app that sent it; null: unknown
    -- 1: a later play of the episode is known, on any device, so that apps are not sent this one
    is_superseded INTEGER NOT NULL DEFAULT 0 CHECK (is_superseded IN (0, 1)),
    PRIMARY KEY (account_id, podcast_guid, key)
) STRICT;
INSERT INTO "episode_action" VALUES(8271744396787679572,X'87B33DD72151129A44E72138580B81AC',X'87B33DD72151129A44E7',X'6EA92BBD7714588EA11B69A5F355B88C','https://feeds.example/moved','https://feeds.example/moved/1.mp3','phone','play',1793534400,0,900,3600,NULL,1793534407000000,1793534407000000,'feedkeep',0);
INSERT INTO "episode_action" VALUES(8271744396787679572,X'72787AB537C4057B0DD82138580B81AC',X'72787AB537C4057B0DD8',X'CF9AED4F883A504CB9A9103AF4CD750A','https://feeds.example/duplicate','https://feeds.example/kept/1.mp3','phone','play',1793534400,0,60,3600,NULL,1793534411000000,1793534408000000,'feedkeep',0);
CREATE TABLE feed (
    guid         BLOB NOT NULL PRIMARY KEY CHECK (length(guid) = 16),  -- derived from url
    url          TEXT NOT NULL,               -- URL to fetch
    wanted       INTEGER NOT NULL,            -- last time at which it had a subscriber
    next_fetch   INTEGER NOT NULL,            -- time of the next fetch; 0: it is new
    leased_until INTEGER NOT NULL DEFAULT 0,  -- expiry of the fetch lease; 0: none
    failing      INTEGER,                     -- time of the first failure in a row; null: none
    known        TEXT                         -- other fields, as JSON; null: never fetched
) STRICT;
CREATE TABLE feed_episodes (
    guid     BLOB NOT NULL PRIMARY KEY REFERENCES feed (guid) ON DELETE CASCADE,
    episodes TEXT NOT NULL  -- JSON
) STRICT;
CREATE TABLE feed_label (
    account_id       INTEGER NOT NULL REFERENCES account (account_id) ON DELETE CASCADE,
    guid             BLOB NOT NULL CHECK (length(guid) = 16),
    title            TEXT NOT NULL,     -- '' if there is none
    folder           TEXT NOT NULL,     -- folder names joined by ' / '; '' if none
    is_title_edited  INTEGER NOT NULL CHECK (is_title_edited IN (0, 1)),   -- 1: imports keep it
    is_folder_edited INTEGER NOT NULL CHECK (is_folder_edited IN (0, 1)),  -- 1: imports keep it
    PRIMARY KEY (account_id, guid)
) STRICT, WITHOUT ROWID;
INSERT INTO "feed_label" VALUES(8271744396787679572,X'6EA92BBD7714588EA11B69A5F355B88C','My radio','News/Daily',0,0);
CREATE TABLE feed_picture (
    guid       BLOB NOT NULL PRIMARY KEY REFERENCES feed (guid) ON DELETE CASCADE,
    media_type TEXT NOT NULL,  -- such as image/webp
    data       BLOB NOT NULL,
    digest     TEXT NOT NULL   -- part of its address on pages
) STRICT;
CREATE TABLE former_entry (
    account_id           INTEGER NOT NULL REFERENCES account (account_id) ON DELETE CASCADE,
    ended                INTEGER NOT NULL,  -- time of the change that ended this state
    guid                 BLOB NOT NULL CHECK (length(guid) = 16),
    new_guid             BLOB,              -- this and the rest: as in entry
    feed_url             TEXT,
    is_subscribed        INTEGER,
    subscription_changed INTEGER,
    guid_changed         INTEGER,
    deleted              INTEGER,
    status_changed       INTEGER,
    first_had            INTEGER,
    app_url              TEXT,
    app_url_until        INTEGER,
    alias_url            TEXT,
    alias_moved_away     INTEGER,
    alias_was_own        INTEGER,
    alias_retired        INTEGER,
    alias_first_had      INTEGER,
    began                INTEGER,
    author               TEXT,
    PRIMARY KEY (account_id, ended, guid)
) STRICT;
INSERT INTO "former_entry" VALUES(8271744396787679572,1793534409000000,X'6EA92BBD7714588EA11B69A5F355B88C',NULL,'https://feeds.example/moved',1,1793534405000000,NULL,NULL,1793534405000000,1793534405000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534405000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(8271744396787679572,1793534410000000,X'CF9AED4F883A504CB9A9103AF4CD750A',NULL,'https://feeds.example/duplicate',1,1793534405000002,NULL,NULL,1793534405000002,1793534405000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534405000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(8271744396787679572,1793534410000000,X'F5684E9A1F265CA39207FBAB9A9FD000',NULL,'https://feeds.example/kept',1,1793534405000001,NULL,NULL,1793534405000001,1793534405000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534405000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(8271744396787679572,1793534413000000,X'C3B1589AA69D51738AAF299A4996E58C',NULL,'https://feeds.example/deleted',1,1793534405000003,NULL,NULL,1793534405000003,1793534405000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534405000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(8271744396787679572,1793534415000000,X'4BAA8E6981CF5AFD872B030C76320514',NULL,'https://feeds.example/left',1,1793534405000004,NULL,NULL,1793534405000004,1793534405000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534405000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'98D09CFA8C1C5127BDADB97AD07797DD',NULL,'https://many.example/0',1,1793534418000000,NULL,NULL,1793534418000000,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'254393E523645344AF6FA1CBF4B43BE6',NULL,'https://many.example/1',1,1793534418000001,NULL,NULL,1793534418000001,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'92A0DD3599BF5DA7A73BD6D2757DF217',NULL,'https://many.example/2',1,1793534418000002,NULL,NULL,1793534418000002,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'6ACD11B8AE025E91A7F196E0F08BFE22',NULL,'https://many.example/3',1,1793534418000003,NULL,NULL,1793534418000003,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'B55EADB8EC095CF48C034AD14836115C',NULL,'https://many.example/4',1,1793534418000004,NULL,NULL,1793534418000004,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'3575357E109A53AF87301128A9E65426',NULL,'https://many.example/5',1,1793534418000005,NULL,NULL,1793534418000005,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'A9B7EAC3DCEB56A498064A1B42B8782E',NULL,'https://many.example/6',1,1793534418000006,NULL,NULL,1793534418000006,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'2A85B15AC66D5F9F8E4ECEA65BFA0CDB',NULL,'https://many.example/7',1,1793534418000007,NULL,NULL,1793534418000007,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'E4D11BB1BAC057ECBA0D457CD6581C8D',NULL,'https://many.example/8',1,1793534418000008,NULL,NULL,1793534418000008,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'EBD92A6DEB36544E903019532B664FE3',NULL,'https://many.example/9',1,1793534418000009,NULL,NULL,1793534418000009,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'A4B73A13B4F258ABAD4F38A6A746EEB5',NULL,'https://many.example/10',1,1793534418000010,NULL,NULL,1793534418000010,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'C513BFFFC42959B493E52462FE77B016',NULL,'https://many.example/11',1,1793534418000011,NULL,NULL,1793534418000011,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'21157ECB2F96545995539E182767D7F6',NULL,'https://many.example/12',1,1793534418000012,NULL,NULL,1793534418000012,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'1FF0F7A3F28553A9ADFC04D9E240D4A6',NULL,'https://many.example/13',1,1793534418000013,NULL,NULL,1793534418000013,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'2E5EEA41194A5A9BA6FCE4F209C8B851',NULL,'https://many.example/14',1,1793534418000014,NULL,NULL,1793534418000014,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'C2699A21F06855EFBD35E12816E6BA5E',NULL,'https://many.example/15',1,1793534418000015,NULL,NULL,1793534418000015,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'2B7D5459BAE0544D91614286E8600AF0',NULL,'https://many.example/16',1,1793534418000016,NULL,NULL,1793534418000016,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'45B9469042AF51C49794ACE4CB73640E',NULL,'https://many.example/17',1,1793534418000017,NULL,NULL,1793534418000017,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'2AA47CA3444E5C4C9C7FE4D8B06BCB2A',NULL,'https://many.example/18',1,1793534418000018,NULL,NULL,1793534418000018,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'740CB2761BDB59E78A07EBE1F627CE32',NULL,'https://many.example/19',1,1793534418000019,NULL,NULL,1793534418000019,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'E32BB5BC19FE580DB11EE152EA9852BC',NULL,'https://many.example/20',1,1793534418000020,NULL,NULL,1793534418000020,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'1E412B62EC9F55D38F46B56DF0E5371C',NULL,'https://many.example/21',1,1793534418000021,NULL,NULL,1793534418000021,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'46045C798CAB571CA74E41E2504E331A',NULL,'https://many.example/22',1,1793534418000022,NULL,NULL,1793534418000022,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'323A4CDEF772580FB2FFD75D78FA2905',NULL,'https://many.example/23',1,1793534418000023,NULL,NULL,1793534418000023,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'A2FE6B19D9C053A0AAE8167DB6CBD391',NULL,'https://many.example/24',1,1793534418000024,NULL,NULL,1793534418000024,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'A4744E21562352A3B7A203AE070E822D',NULL,'https://many.example/25',1,1793534418000025,NULL,NULL,1793534418000025,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'B0FCB4E3CDFF5DBB8DBAB18EA37D32D4',NULL,'https://many.example/26',1,1793534418000026,NULL,NULL,1793534418000026,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'F711440CADA4544DAF56F104061E79D7',NULL,'https://many.example/27',1,1793534418000027,NULL,NULL,1793534418000027,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'19CAA2EF76AF5D00A80C809F83B54F75',NULL,'https://many.example/28',1,1793534418000028,NULL,NULL,1793534418000028,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
INSERT INTO "former_entry" VALUES(3756083580399672309,1793534419000000,X'4BED5B0B04A85C7C9D0E791697D1A69E',NULL,'https://many.example/29',1,1793534418000029,NULL,NULL,1793534418000029,1793534418000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1793534418000000,'["command",null,"test","",""]');
CREATE TABLE login_grant (
    login      BLOB PRIMARY KEY CHECK (length(login) = 32),  -- SHA-256 of the app's secret
    account_id INTEGER NOT NULL REFERENCES account (account_id) ON DELETE CASCADE,
    label      TEXT NOT NULL,                                -- name of the app
    created    INTEGER NOT NULL,                             -- time of the grant
    fetched    INTEGER                                       -- time of the token's fetch
) STRICT, WITHOUT ROWID;
ANALYZE "sqlite_master";
INSERT INTO "sqlite_stat1" VALUES('entry','sqlite_autoindex_entry_1','1000000 500 1');
INSERT INTO "sqlite_stat1" VALUES('entry','entry_by_revision','1000000 500 1');
INSERT INTO "sqlite_stat1" VALUES('entry','entry_by_new_guid','500000 250 2');
INSERT INTO "sqlite_stat1" VALUES('former_entry','sqlite_autoindex_former_entry_1','1000000 500 2 1');
INSERT INTO "sqlite_stat1" VALUES('feed_label','feed_label','100000 200 1');
CREATE TABLE token (
    account_id INTEGER NOT NULL REFERENCES account (account_id) ON DELETE CASCADE,
    id         INTEGER NOT NULL,                         -- counts from 1 in its account
    hash       BLOB NOT NULL CHECK (length(hash) = 32),  -- SHA-256 of its text
    label      TEXT NOT NULL,                            -- chosen by its owner
    created    INTEGER NOT NULL,                         -- time of its creation
    expires    INTEGER,                                  -- expiry; null: never
    revoked    INTEGER,                                  -- time of its revocation; null: valid
    purpose    TEXT NOT NULL DEFAULT 'apps',             -- secrets of other purposes never match
    scope      TEXT NOT NULL DEFAULT 'write' CHECK (scope IN ('write', 'read')),
    is_session INTEGER NOT NULL DEFAULT 0 CHECK (is_session IN (0, 1)),
    -- Session shared by all clients that send the same password and no cookie.
    is_shared  INTEGER NOT NULL DEFAULT 0 CHECK (is_shared IN (0, 1) AND is_shared <= is_session),
    -- Token that began the session, which ends with it; null: the password began it.
    of_token   INTEGER CHECK (of_token IS NULL OR is_session),
    -- Token of exactly one app, fetched by Nextcloud's login flow.
    is_granted INTEGER NOT NULL DEFAULT 0
        CHECK (is_granted IN (0, 1) AND NOT (is_granted AND is_session)),
    last_used  INTEGER,                                  -- start of the minute; null: never
    -- Sync progress of its app, in seconds: changes up to last_sent were sent to it, and those up
    -- to acknowledged have arrived; null: no request, or no known arrival.
    last_sent_subscriptions    INTEGER,
    acknowledged_subscriptions INTEGER,
    last_sent_actions          INTEGER,
    acknowledged_actions       INTEGER,
    own_subscriptions          TEXT,  -- JSON: the app's last uploads, not to be sent back to it
    own_actions                TEXT,  -- the same for episode actions
    PRIMARY KEY (account_id, id),
    UNIQUE (account_id, hash),
    CHECK (
        CASE purpose
        WHEN 'apps' THEN 1
        WHEN 'pages' THEN is_session AND NOT is_shared AND of_token IS NULL
        ELSE purpose IN ('invitation', 'reset', 'recovery') AND NOT is_session AND NOT is_granted
        END
    )
) STRICT, WITHOUT ROWID;
INSERT INTO "token" VALUES(8271744396787679572,1,X'ED56E926FECF3B225ECF3AAA9F3D91977C29C3E70CCCDF91349AA1F956D80D75','phone',1793534404000000,NULL,NULL,'apps','write',0,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE INDEX account_administrator ON account (account_id) WHERE is_admin;
CREATE UNIQUE INDEX account_identity ON account (identity) WHERE identity IS NOT NULL;
CREATE UNIQUE INDEX entry_by_revision ON entry (account_id, revision) WHERE revision IS NOT NULL;
CREATE INDEX entry_by_new_guid ON entry (account_id, new_guid) WHERE new_guid IS NOT NULL;
CREATE INDEX entry_with_escapes ON entry (account_id, guid)
    WHERE instr(feed_url, '%') OR instr(alias_url, '%');
CREATE UNIQUE INDEX episode_action_by_revision ON episode_action (account_id, revision);
CREATE INDEX episode_action_by_file ON episode_action (account_id, podcast_guid, file)
    WHERE NOT is_superseded AND kind IN ('play', 'delete');
CREATE INDEX episode_action_by_time ON episode_action (
    account_id,
    coalesce(total - position <= 30, false),
    min(done, received / 1000000),
    revision
) WHERE NOT is_superseded AND kind = 'play';
CREATE INDEX attempt_by_written ON attempt (written);
CREATE INDEX feed_by_next_fetch ON feed (next_fetch);
CREATE INDEX feed_by_wanted ON feed (wanted);
COMMIT;
