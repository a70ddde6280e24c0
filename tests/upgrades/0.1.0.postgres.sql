-- A database of feedkeep 0.1.0, as pg_dump --inserts wrote it. It was filled once by that version's own
-- interface, doors and commands: two accounts, and a disabled one; feeds that are there, unsubscribed, deleted,
-- moved, merged, renamed and known by a guid that is not of their URL; an app's device, session, settings and
-- episode actions; a login of Nextcloud; a list brought from another server. Nothing in it is anybody's.
-- password of alice: correct horse
-- token of alice: fk_SQeFA1rZ5odIk98TmLstom5b6jFqAlTMD7fVYOtSowzd
-- token of alice's app: fk_SQeFA1rZ5odq5yDNZP48GVXo_Oa0JpaYyIgZo9mRSSqK
-- token that was revoked: fk_SQeFA1rZ5odv0_wiC2nKEwuZYrWEoXb-tAcKkZVDw7uM
-- token of gone: fk_K5LRZTj11xSgVTT-VJCEl5wIL51085Y17RFu_XvGif_F

CREATE SCHEMA feedkeep;

CREATE TABLE feedkeep.account (
    account_id bigint NOT NULL,
    name text NOT NULL,
    name_key text NOT NULL,
    password_hash text,
    is_disabled boolean DEFAULT false NOT NULL,
    created bigint NOT NULL,
    last_stamp bigint DEFAULT 0 NOT NULL,
    last_token_id bigint DEFAULT 0 NOT NULL,
    last_action_stamp bigint DEFAULT 0 NOT NULL,
    CONSTRAINT account_account_id_check CHECK ((account_id > 0))
);

CREATE TABLE feedkeep.account_name (
    name_key text NOT NULL COLLATE pg_catalog."C",
    account_id bigint NOT NULL
);

CREATE TABLE feedkeep.deletion (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    guid uuid NOT NULL
);

CREATE TABLE feedkeep.document (
    account_id bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL
);

CREATE TABLE feedkeep.entry (
    account_id bigint NOT NULL,
    guid uuid NOT NULL,
    new_guid uuid,
    feed_url text,
    is_subscribed boolean,
    subscription_changed bigint,
    guid_changed bigint,
    deleted bigint,
    alias_url text,
    alias_moved_away boolean,
    revision bigint,
    CONSTRAINT entry_check CHECK ((new_guid IS DISTINCT FROM guid)),
    CONSTRAINT entry_check1 CHECK (((alias_url IS NULL) = (alias_moved_away IS NULL))),
    CONSTRAINT entry_check2 CHECK (
CASE
    WHEN (new_guid IS NULL) THEN ((feed_url IS NOT NULL) AND (is_subscribed IS NOT NULL) AND (subscription_changed IS NOT NULL) AND (NOT (revision IS DISTINCT FROM GREATEST(subscription_changed, guid_changed, deleted))) AND ((deleted IS NULL) OR (NOT is_subscribed)))
    ELSE ((feed_url IS NULL) AND (is_subscribed IS NULL) AND (subscription_changed IS NULL) AND (deleted IS NULL) AND (NOT (revision IS DISTINCT FROM guid_changed)))
END)
);

CREATE TABLE feedkeep.episode_action (
    account_id bigint NOT NULL,
    key bytea NOT NULL,
    podcast_guid uuid NOT NULL,
    podcast text NOT NULL,
    episode text NOT NULL,
    device text NOT NULL,
    kind text NOT NULL,
    done bigint NOT NULL,
    started bigint,
    "position" bigint,
    total bigint,
    episode_guid text,
    revision bigint NOT NULL,
    CONSTRAINT episode_action_key_check CHECK ((octet_length(key) = 16))
);

CREATE TABLE feedkeep.login_grant (
    login bytea NOT NULL,
    account_id bigint NOT NULL,
    label text NOT NULL,
    created bigint NOT NULL,
    CONSTRAINT login_grant_login_check CHECK ((octet_length(login) = 32))
);

CREATE TABLE feedkeep.schema_version (
    version integer NOT NULL
);

CREATE TABLE feedkeep.token (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    hash bytea NOT NULL,
    label text NOT NULL,
    created bigint NOT NULL,
    expires bigint,
    revoked bigint,
    is_session boolean DEFAULT false NOT NULL,
    told_subscriptions bigint,
    heard_subscriptions bigint,
    told_actions bigint,
    heard_actions bigint,
    CONSTRAINT token_hash_check CHECK ((octet_length(hash) = 32))
);

INSERT INTO feedkeep.account VALUES (3139802122908194580, 'gone', 'gone', NULL, true, 1795382628181503, 0, 1, 0);
INSERT INTO feedkeep.account VALUES (2414346304538012332, 'Ünïcode', 'ünïcode', '$argon2id$v=19$m=65536,t=3,p=4$w2Uw4IPFw9tS+gNUnc+ePg$tcA209ahWhhuK9X1DKmpgstvMhm6rAcCHLwvPsDIgtY', false, 1795382627301179, 1795382634662122, 0, 1795382634698535);
INSERT INTO feedkeep.account VALUES (5262320939061339783, 'alice', 'alice', '$argon2id$v=19$m=65536,t=3,p=4$cQ0W3H3tr8nU5O8qcNg5wQ$DSJirrMF0DGpye0QDLayj/wbpCpSzTtlTVMcwkecSsU', false, 1795382625896227, 1795382635000000, 9, 1795382634999999);

INSERT INTO feedkeep.account_name VALUES ('alice', 5262320939061339783);
INSERT INTO feedkeep.account_name VALUES ('ünïcode', 2414346304538012332);
INSERT INTO feedkeep.account_name VALUES ('gone', 3139802122908194580);

INSERT INTO feedkeep.deletion VALUES (5262320939061339783, 1795382633578655, 'c3b1589a-a69d-5173-8aaf-299a4996e58c');

INSERT INTO feedkeep.document VALUES (5262320939061339783, 'device', 'phone', '{"id":"phone","caption":"Alice''s phone","type":"mobile"}');
INSERT INTO feedkeep.document VALUES (5262320939061339783, 'settings', '9af211329b2fc82e5efe906062c73008', '{"theme":"dark"}');
INSERT INTO feedkeep.document VALUES (2414346304538012332, 'device', 'phone', '{"id":"phone","caption":"Alice''s phone","type":"mobile"}');
INSERT INTO feedkeep.document VALUES (2414346304538012332, 'migration', '2fd6ed9990c34bfe3273c7c0bbce2e2e', '{"until":1795382634,"feeds":["https://feeds.example/plain","https://feeds.example/beside?by=another","https://feeds.example/moved/new","https://feeds.example/first-of-two","https://feeds.example/renamed","https://feeds.example/alive","https://feeds.example/from-the-app","https://feeds.example/from-nextcloud"]}');

INSERT INTO feedkeep.entry VALUES (5262320939061339783, 'a41275cc-1876-5f59-a30e-26ae2bbb268e', NULL, 'https://feeds.example/plain', true, 1795382633561663, NULL, NULL, NULL, NULL, 1795382633561663);
INSERT INTO feedkeep.entry VALUES (5262320939061339783, '5d4c9e4a-31c8-4b8e-9d7a-3d2f0f5f1c11', NULL, 'https://feeds.example/beside?by=another', true, 1795382633561670, NULL, NULL, NULL, NULL, 1795382633561670);
INSERT INTO feedkeep.entry VALUES (5262320939061339783, 'f40656cc-0488-5a2e-a5c6-891ea597fccb', '5d4c9e4a-31c8-4b8e-9d7a-3d2f0f5f1c11', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO feedkeep.entry VALUES (5262320939061339783, '36414130-01b3-5b6d-a2ce-8900ac97b5e3', NULL, 'https://feeds.example/unsubscribed', false, 1795382633575694, NULL, NULL, NULL, NULL, 1795382633575694);
INSERT INTO feedkeep.entry VALUES (5262320939061339783, 'c3b1589a-a69d-5173-8aaf-299a4996e58c', NULL, 'https://feeds.example/deleted', false, 1795382633561665, NULL, 1795382633578655, NULL, NULL, 1795382633578655);
INSERT INTO feedkeep.entry VALUES (5262320939061339783, '6ea92bbd-7714-588e-a11b-69a5f355b88c', NULL, 'https://feeds.example/moved/new', true, 1795382633584633, NULL, NULL, 'https://feeds.example/moved', true, 1795382633584633);
INSERT INTO feedkeep.entry VALUES (5262320939061339783, '7aae94eb-e8ae-5f84-b1cd-3c25b7f3b53f', '6ea92bbd-7714-588e-a11b-69a5f355b88c', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO feedkeep.entry VALUES (5262320939061339783, '7473296a-e340-5334-8517-a7d995cffaac', NULL, 'https://feeds.example/first-of-two', true, 1795382633587820, 1795382633587820, NULL, 'https://feeds.example/second-of-two', false, 1795382633587820);
INSERT INTO feedkeep.entry VALUES (5262320939061339783, '0e6a7c00-8292-5785-8dc1-08c9f6628d18', '7473296a-e340-5334-8517-a7d995cffaac', NULL, NULL, NULL, 1795382633587819, NULL, NULL, NULL, 1795382633587819);
INSERT INTO feedkeep.entry VALUES (5262320939061339783, '262344cf-45f0-5067-8438-bda5f79750b4', '8f14e45f-ceea-467f-9575-2c1d1a1e1f01', NULL, NULL, NULL, 1795382633590758, NULL, NULL, NULL, 1795382633590758);
INSERT INTO feedkeep.entry VALUES (5262320939061339783, '8f14e45f-ceea-467f-9575-2c1d1a1e1f01', NULL, 'https://feeds.example/renamed', true, 1795382633561669, 1795382633590759, NULL, NULL, NULL, 1795382633590759);
INSERT INTO feedkeep.entry VALUES (5262320939061339783, '22429f83-3ac1-56bd-b1fc-94c8b76b29a4', NULL, 'https://feeds.example/alive', true, 1795382633592911, NULL, NULL, 'https://feeds.example/dead', true, 1795382633592911);
INSERT INTO feedkeep.entry VALUES (5262320939061339783, 'e4bc8dce-f031-5aa3-80a1-f9aec65e73cb', '22429f83-3ac1-56bd-b1fc-94c8b76b29a4', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO feedkeep.entry VALUES (5262320939061339783, 'c6ca9012-fb41-51d0-b873-d60ef638c4fd', NULL, 'https://feeds.example/from-the-app', true, 1795382633860586, NULL, NULL, NULL, NULL, 1795382633860586);
INSERT INTO feedkeep.entry VALUES (5262320939061339783, 'e1385b3e-b5f2-53cf-9835-a767718c08a3', NULL, 'https://feeds.example/removed-by-the-app', false, 1795382633864547, NULL, NULL, NULL, NULL, 1795382633864547);
INSERT INTO feedkeep.entry VALUES (5262320939061339783, '2db8b523-a961-5196-91e8-7ec200d31a4a', NULL, 'https://feeds.example/from-nextcloud', true, 1795382635000000, NULL, NULL, NULL, NULL, 1795382635000000);
INSERT INTO feedkeep.entry VALUES (2414346304538012332, 'a41275cc-1876-5f59-a30e-26ae2bbb268e', NULL, 'https://feeds.example/plain', true, 1795382634662115, NULL, NULL, NULL, NULL, 1795382634662115);
INSERT INTO feedkeep.entry VALUES (2414346304538012332, 'f40656cc-0488-5a2e-a5c6-891ea597fccb', NULL, 'https://feeds.example/beside?by=another', true, 1795382634662116, NULL, NULL, NULL, NULL, 1795382634662116);
INSERT INTO feedkeep.entry VALUES (2414346304538012332, '7aae94eb-e8ae-5f84-b1cd-3c25b7f3b53f', NULL, 'https://feeds.example/moved/new', true, 1795382634662117, NULL, NULL, NULL, NULL, 1795382634662117);
INSERT INTO feedkeep.entry VALUES (2414346304538012332, '0e6a7c00-8292-5785-8dc1-08c9f6628d18', NULL, 'https://feeds.example/first-of-two', true, 1795382634662118, NULL, NULL, NULL, NULL, 1795382634662118);
INSERT INTO feedkeep.entry VALUES (2414346304538012332, '262344cf-45f0-5067-8438-bda5f79750b4', NULL, 'https://feeds.example/renamed', true, 1795382634662119, NULL, NULL, NULL, NULL, 1795382634662119);
INSERT INTO feedkeep.entry VALUES (2414346304538012332, 'e4bc8dce-f031-5aa3-80a1-f9aec65e73cb', NULL, 'https://feeds.example/alive', true, 1795382634662120, NULL, NULL, NULL, NULL, 1795382634662120);
INSERT INTO feedkeep.entry VALUES (2414346304538012332, 'c6ca9012-fb41-51d0-b873-d60ef638c4fd', NULL, 'https://feeds.example/from-the-app', true, 1795382634662121, NULL, NULL, NULL, NULL, 1795382634662121);
INSERT INTO feedkeep.entry VALUES (2414346304538012332, '2db8b523-a961-5196-91e8-7ec200d31a4a', NULL, 'https://feeds.example/from-nextcloud', true, 1795382634662122, NULL, NULL, NULL, NULL, 1795382634662122);

INSERT INTO feedkeep.episode_action VALUES (5262320939061339783, '\x3413e9f083111407bf8cb2e283e7c363', 'a41275cc-1876-5f59-a30e-26ae2bbb268e', 'https://feeds.example/plain', 'https://files.example/1.mp3', 'phone', 'play', 1714557600, 0, 120, 3600, NULL, 1795382633875942);
INSERT INTO feedkeep.episode_action VALUES (5262320939061339783, '\x261fad19d2b18f9322362b6bc4606ff9', 'a41275cc-1876-5f59-a30e-26ae2bbb268e', 'https://feeds.example/plain', 'https://files.example/2.mp3', 'phone', 'download', 1714557601, NULL, NULL, NULL, NULL, 1795382633876942);
INSERT INTO feedkeep.episode_action VALUES (5262320939061339783, '\xf7bb87141a4a9fec7399efaa419e3f86', '6ea92bbd-7714-588e-a11b-69a5f355b88c', 'https://feeds.example/moved', 'https://files.example/3.mp3', '', 'delete', 1714557602, NULL, NULL, NULL, NULL, 1795382633877942);
INSERT INTO feedkeep.episode_action VALUES (5262320939061339783, '\xd4a84796744ad6ba31031ffd52f55b47', '6ea92bbd-7714-588e-a11b-69a5f355b88c', 'https://feeds.example/moved', 'https://files.example/3.mp3', '', 'new', 1714557603, NULL, NULL, NULL, NULL, 1795382633878942);
INSERT INTO feedkeep.episode_action VALUES (5262320939061339783, '\x509ee3fc3b17733e8292d9f39a76c786', 'a41275cc-1876-5f59-a30e-26ae2bbb268e', 'https://feeds.example/plain', 'https://files.example/1.mp3', '', 'flattr', 1714557604, NULL, NULL, NULL, NULL, 1795382633879942);
INSERT INTO feedkeep.episode_action VALUES (2414346304538012332, '\x3413e9f083111407bf8cb2e283e7c363', 'a41275cc-1876-5f59-a30e-26ae2bbb268e', 'https://feeds.example/plain', 'https://files.example/1.mp3', 'phone', 'play', 1714557600, 0, 120, 3600, NULL, 1795382634694535);
INSERT INTO feedkeep.episode_action VALUES (2414346304538012332, '\x261fad19d2b18f9322362b6bc4606ff9', 'a41275cc-1876-5f59-a30e-26ae2bbb268e', 'https://feeds.example/plain', 'https://files.example/2.mp3', 'phone', 'download', 1714557601, NULL, NULL, NULL, NULL, 1795382634695535);
INSERT INTO feedkeep.episode_action VALUES (2414346304538012332, '\xd94774c0bbd5e0da0d9aad56eba56ff0', '7aae94eb-e8ae-5f84-b1cd-3c25b7f3b53f', 'https://feeds.example/moved/new', 'https://files.example/3.mp3', '', 'delete', 1714557602, NULL, NULL, NULL, NULL, 1795382634696535);
INSERT INTO feedkeep.episode_action VALUES (2414346304538012332, '\xdf114cb78e0721f64dd390d14b76af26', '7aae94eb-e8ae-5f84-b1cd-3c25b7f3b53f', 'https://feeds.example/moved/new', 'https://files.example/3.mp3', '', 'new', 1714557603, NULL, NULL, NULL, NULL, 1795382634697535);
INSERT INTO feedkeep.episode_action VALUES (2414346304538012332, '\x509ee3fc3b17733e8292d9f39a76c786', 'a41275cc-1876-5f59-a30e-26ae2bbb268e', 'https://feeds.example/plain', 'https://files.example/1.mp3', '', 'flattr', 1714557604, NULL, NULL, NULL, NULL, 1795382634698535);

INSERT INTO feedkeep.login_grant VALUES ('\xcbe63a561a726beddf158fb783fae915e6f87d29561f589bdec244c5e026092b', 5262320939061339783, 'Some app', 1795382633904143);

INSERT INTO feedkeep.schema_version VALUES (2);

INSERT INTO feedkeep.token VALUES (5262320939061339783, 1, '\x858866d5914e1a8c2e64150e238e363fa92eaa5dbfaa5377d56c18dcf5f964ab', 'laptop', 1795382629957868, NULL, NULL, false, NULL, NULL, NULL, NULL);
INSERT INTO feedkeep.token VALUES (5262320939061339783, 2, '\x3a57641007bf0ac870e1c80a3ca7b96336cb2e53afe0d8052cb8409ce381b039', 'lost phone', 1795382630896625, NULL, 1795382631861960, false, NULL, NULL, NULL, NULL);
INSERT INTO feedkeep.token VALUES (5262320939061339783, 3, '\x0e72d52f9b19f583b0497c39b04c74f108772a55cbad2f2aa5a65313e2d9dde1', 'guest', 1795382632673093, 1795469032673093, NULL, false, NULL, NULL, NULL, NULL);
INSERT INTO feedkeep.token VALUES (3139802122908194580, 1, '\x2e78b7db6a2455d24ff365eb10de1cd4a5e5141bc56ea2ae9f4208be0eb44f2d', '', 1795382633385651, NULL, NULL, false, NULL, NULL, NULL, NULL);
INSERT INTO feedkeep.token VALUES (5262320939061339783, 4, '\x186538a074802886c3a7d1f099e9aee87237795d2e96b69c5bccaa515091d8cf', 'Python-urllib/3.11', 1795382633845268, 1810934633845268, NULL, true, 1795382634, NULL, 1795382634, NULL);
INSERT INTO feedkeep.token VALUES (5262320939061339783, 5, '\x8bf60e70dda02ea711ebb41af2f3232e6aa40f56efd77767a43c53a883d7003b', 'Some app', 1795382633893933, NULL, NULL, false, 1795382634, 1795382634, NULL, NULL);
INSERT INTO feedkeep.token VALUES (5262320939061339783, 6, '\x9f536b36cf76b74568339b6e357aa0d1773a2b461d9e902be2433cd79a0ebfcd', 'feedkeep', 1795382634632513, 1795469034632513, NULL, true, NULL, NULL, NULL, NULL);
INSERT INTO feedkeep.token VALUES (5262320939061339783, 7, '\xda345cfc32e8fffc6c7c34f9fc0b9315f90ef49de66acc1dc432441b7a72bf34', 'feedkeep', 1795382634640621, 1795469034640621, NULL, true, NULL, NULL, NULL, NULL);
INSERT INTO feedkeep.token VALUES (5262320939061339783, 8, '\xcfd33e482779b103efc4fd56ebdfc842deca6b61cc30429c647cea457cf0dd99', 'feedkeep', 1795382634674755, 1795469034674755, NULL, true, NULL, NULL, 1795382634, NULL);
INSERT INTO feedkeep.token VALUES (5262320939061339783, 9, '\x498fbbb6f4d3ce56b7c2be16c5ac49cf49a2de4b8ffccf6df000e2bbe7ccb444', 'feedkeep', 1795382634700271, 1795469034700271, NULL, true, NULL, NULL, 1795382634, NULL);

ALTER TABLE ONLY feedkeep.account_name
    ADD CONSTRAINT account_name_pkey PRIMARY KEY (name_key);

ALTER TABLE ONLY feedkeep.account
    ADD CONSTRAINT account_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY feedkeep.deletion
    ADD CONSTRAINT deletion_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY feedkeep.document
    ADD CONSTRAINT document_pkey PRIMARY KEY (account_id, kind, name);

ALTER TABLE ONLY feedkeep.entry
    ADD CONSTRAINT entry_pkey PRIMARY KEY (account_id, guid);

ALTER TABLE ONLY feedkeep.episode_action
    ADD CONSTRAINT episode_action_pkey PRIMARY KEY (account_id, podcast_guid, key);

ALTER TABLE ONLY feedkeep.login_grant
    ADD CONSTRAINT login_grant_pkey PRIMARY KEY (login);

ALTER TABLE ONLY feedkeep.token
    ADD CONSTRAINT token_account_id_hash_key UNIQUE (account_id, hash);

ALTER TABLE ONLY feedkeep.token
    ADD CONSTRAINT token_pkey PRIMARY KEY (account_id, id);

CREATE INDEX entry_by_new_guid ON feedkeep.entry USING btree (account_id, new_guid) WHERE (new_guid IS NOT NULL);

CREATE UNIQUE INDEX entry_by_revision ON feedkeep.entry USING btree (account_id, revision) WHERE (revision IS NOT NULL);

CREATE UNIQUE INDEX episode_action_by_revision ON feedkeep.episode_action USING btree (account_id, revision);

ALTER TABLE ONLY feedkeep.deletion
    ADD CONSTRAINT deletion_account_id_fkey FOREIGN KEY (account_id) REFERENCES feedkeep.account(account_id) ON DELETE CASCADE;

ALTER TABLE ONLY feedkeep.document
    ADD CONSTRAINT document_account_id_fkey FOREIGN KEY (account_id) REFERENCES feedkeep.account(account_id) ON DELETE CASCADE;

ALTER TABLE ONLY feedkeep.entry
    ADD CONSTRAINT entry_account_id_fkey FOREIGN KEY (account_id) REFERENCES feedkeep.account(account_id) ON DELETE CASCADE;

ALTER TABLE ONLY feedkeep.entry
    ADD CONSTRAINT entry_account_id_new_guid_fkey FOREIGN KEY (account_id, new_guid) REFERENCES feedkeep.entry(account_id, guid) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY feedkeep.episode_action
    ADD CONSTRAINT episode_action_account_id_fkey FOREIGN KEY (account_id) REFERENCES feedkeep.account(account_id) ON DELETE CASCADE;

ALTER TABLE ONLY feedkeep.token
    ADD CONSTRAINT token_account_id_fkey FOREIGN KEY (account_id) REFERENCES feedkeep.account(account_id) ON DELETE CASCADE;
