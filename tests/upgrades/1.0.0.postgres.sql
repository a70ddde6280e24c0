-- The token of the phone: fk_KigVl8Cl1spUr0PtXlde2TvJBZBxP8tamg96IQbG4yo4
--
-- PostgreSQL database dump
--


-- Dumped from database version 16.14
-- Dumped by pg_dump version 16.14

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: feedkeep; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA feedkeep;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: account; Type: TABLE; Schema: feedkeep; Owner: -
--

CREATE TABLE feedkeep.account (
    account_id bigint NOT NULL,
    name text NOT NULL,
    name_key text NOT NULL,
    password_hash text,
    is_disabled boolean DEFAULT false NOT NULL,
    is_admin boolean DEFAULT false NOT NULL,
    identity bytea,
    created bigint NOT NULL,
    last_token_id bigint DEFAULT 0 NOT NULL,
    last_stamp bigint DEFAULT 0 NOT NULL,
    last_action_stamp bigint DEFAULT 0 NOT NULL,
    subscribed_count bigint DEFAULT 0 NOT NULL,
    announced_count bigint DEFAULT 0 NOT NULL,
    entry_count bigint DEFAULT 0 NOT NULL,
    former_count bigint DEFAULT 0 NOT NULL,
    action_count bigint DEFAULT 0 NOT NULL,
    known_from bigint DEFAULT 0 NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    lost_after bigint DEFAULT 0 NOT NULL,
    lost_until bigint DEFAULT 0 NOT NULL,
    actions_lost_after bigint DEFAULT 0 NOT NULL,
    actions_lost_until bigint DEFAULT 0 NOT NULL,
    CONSTRAINT account_account_id_check CHECK ((account_id > 0)),
    CONSTRAINT account_identity_check CHECK ((octet_length(identity) = 32))
);


--
-- Name: account_name; Type: TABLE; Schema: feedkeep; Owner: -
--

CREATE TABLE feedkeep.account_name (
    name_key text NOT NULL COLLATE pg_catalog."C",
    account_id bigint NOT NULL
);


--
-- Name: attempt; Type: TABLE; Schema: feedkeep; Owner: -
--

CREATE TABLE feedkeep.attempt (
    key bytea NOT NULL,
    process bigint NOT NULL,
    seconds bytea NOT NULL,
    written bigint NOT NULL
);


--
-- Name: deletion; Type: TABLE; Schema: feedkeep; Owner: -
--

CREATE TABLE feedkeep.deletion (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    guid uuid NOT NULL
);


--
-- Name: document; Type: TABLE; Schema: feedkeep; Owner: -
--

CREATE TABLE feedkeep.document (
    account_id bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL
);


--
-- Name: entry; Type: TABLE; Schema: feedkeep; Owner: -
--

CREATE TABLE feedkeep.entry (
    account_id bigint NOT NULL,
    guid uuid NOT NULL,
    new_guid uuid,
    feed_url text,
    is_subscribed boolean,
    subscription_changed bigint,
    guid_changed bigint,
    deleted bigint,
    status_changed bigint,
    first_had bigint,
    app_url text,
    app_url_until bigint,
    alias_url text,
    alias_moved_away boolean,
    alias_was_own boolean,
    alias_retired bigint,
    alias_first_had bigint,
    revision bigint,
    began bigint,
    author text,
    CONSTRAINT entry_check CHECK ((new_guid IS DISTINCT FROM guid)),
    CONSTRAINT entry_check1 CHECK (((alias_url IS NULL) = (alias_moved_away IS NULL))),
    CONSTRAINT entry_check2 CHECK (((alias_url IS NULL) = (alias_was_own IS NULL))),
    CONSTRAINT entry_check3 CHECK (((alias_url IS NULL) = (alias_first_had IS NULL))),
    CONSTRAINT entry_check4 CHECK (
CASE
    WHEN (new_guid IS NULL) THEN ((feed_url IS NOT NULL) AND (is_subscribed IS NOT NULL) AND (subscription_changed IS NOT NULL) AND (NOT (revision IS DISTINCT FROM GREATEST(subscription_changed, guid_changed, deleted))) AND ((deleted IS NULL) OR (NOT is_subscribed)) AND (status_changed IS NOT NULL) AND (first_had IS NOT NULL))
    ELSE ((feed_url IS NULL) AND (is_subscribed IS NULL) AND (subscription_changed IS NULL) AND (deleted IS NULL) AND (NOT (revision IS DISTINCT FROM guid_changed)) AND (status_changed IS NULL) AND (first_had IS NULL))
END)
);


--
-- Name: episode_action; Type: TABLE; Schema: feedkeep; Owner: -
--

CREATE TABLE feedkeep.episode_action (
    account_id bigint NOT NULL,
    key bytea NOT NULL,
    file bytea NOT NULL,
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
    received bigint NOT NULL,
    app text,
    is_superseded boolean DEFAULT false NOT NULL,
    CONSTRAINT episode_action_file_check CHECK ((octet_length(file) = 10)),
    CONSTRAINT episode_action_key_check CHECK ((octet_length(key) = 16))
);


--
-- Name: feed; Type: TABLE; Schema: feedkeep; Owner: -
--

CREATE TABLE feedkeep.feed (
    guid uuid NOT NULL,
    url text NOT NULL,
    wanted bigint NOT NULL,
    next_fetch bigint NOT NULL,
    leased_until bigint DEFAULT 0 NOT NULL,
    failing bigint,
    known text
);


--
-- Name: feed_episodes; Type: TABLE; Schema: feedkeep; Owner: -
--

CREATE TABLE feedkeep.feed_episodes (
    guid uuid NOT NULL,
    episodes text NOT NULL
);


--
-- Name: feed_label; Type: TABLE; Schema: feedkeep; Owner: -
--

CREATE TABLE feedkeep.feed_label (
    account_id bigint NOT NULL,
    guid uuid NOT NULL,
    title text NOT NULL,
    folder text NOT NULL,
    is_title_edited boolean NOT NULL,
    is_folder_edited boolean NOT NULL
);


--
-- Name: feed_picture; Type: TABLE; Schema: feedkeep; Owner: -
--

CREATE TABLE feedkeep.feed_picture (
    guid uuid NOT NULL,
    media_type text NOT NULL,
    data bytea NOT NULL,
    digest text NOT NULL
);


--
-- Name: former_entry; Type: TABLE; Schema: feedkeep; Owner: -
--

CREATE TABLE feedkeep.former_entry (
    account_id bigint NOT NULL,
    ended bigint NOT NULL,
    guid uuid NOT NULL,
    new_guid uuid,
    feed_url text,
    is_subscribed boolean,
    subscription_changed bigint,
    guid_changed bigint,
    deleted bigint,
    status_changed bigint,
    first_had bigint,
    app_url text,
    app_url_until bigint,
    alias_url text,
    alias_moved_away boolean,
    alias_was_own boolean,
    alias_retired bigint,
    alias_first_had bigint,
    began bigint,
    author text
);


--
-- Name: login_grant; Type: TABLE; Schema: feedkeep; Owner: -
--

CREATE TABLE feedkeep.login_grant (
    login bytea NOT NULL,
    account_id bigint NOT NULL,
    label text NOT NULL,
    created bigint NOT NULL,
    fetched bigint,
    CONSTRAINT login_grant_login_check CHECK ((octet_length(login) = 32))
);


--
-- Name: schema_version; Type: TABLE; Schema: feedkeep; Owner: -
--

CREATE TABLE feedkeep.schema_version (
    version integer NOT NULL,
    compatible_from integer NOT NULL
);


--
-- Name: token; Type: TABLE; Schema: feedkeep; Owner: -
--

CREATE TABLE feedkeep.token (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    hash bytea NOT NULL,
    label text NOT NULL,
    created bigint NOT NULL,
    expires bigint,
    revoked bigint,
    purpose text DEFAULT 'apps'::text NOT NULL,
    scope text DEFAULT 'write'::text NOT NULL,
    is_session boolean DEFAULT false NOT NULL,
    is_shared boolean DEFAULT false NOT NULL,
    of_token bigint,
    is_granted boolean DEFAULT false NOT NULL,
    last_used bigint,
    last_sent_subscriptions bigint,
    acknowledged_subscriptions bigint,
    last_sent_actions bigint,
    acknowledged_actions bigint,
    own_subscriptions text,
    own_actions text,
    CONSTRAINT token_check CHECK ((is_session OR (NOT is_shared))),
    CONSTRAINT token_check1 CHECK (((of_token IS NULL) OR is_session)),
    CONSTRAINT token_check2 CHECK ((NOT (is_granted AND is_session))),
    CONSTRAINT token_check3 CHECK (
CASE purpose
    WHEN 'apps'::text THEN true
    WHEN 'pages'::text THEN (is_session AND (NOT is_shared) AND (of_token IS NULL))
    ELSE ((purpose = ANY (ARRAY['invitation'::text, 'reset'::text, 'recovery'::text])) AND (NOT is_session) AND (NOT is_granted))
END),
    CONSTRAINT token_hash_check CHECK ((octet_length(hash) = 32)),
    CONSTRAINT token_scope_check CHECK ((scope = ANY (ARRAY['write'::text, 'read'::text])))
);


--
-- Data for Name: account; Type: TABLE DATA; Schema: feedkeep; Owner: -
--

INSERT INTO feedkeep.account VALUES (3037701690177738442, 'Ada', 'ada', '$argon2id$v=19$m=65536,t=3,p=1$5ihLtP/r/bxbhmOQvIAabg$4pCKo7DprQwV7B7GHbEcTzbZXvso7BAOD2tj5Lks/64', false, true, NULL, 1793534402000000, 1, 1793534415000000, 1793534411000000, 2, 5, 6, 5, 2, 0, 0, 0, 0, 0, 0);
INSERT INTO feedkeep.account VALUES (5661883097508533530, 'Ben', 'ben', NULL, false, false, NULL, 1793534403000000, 0, 1793534419000029, 0, 0, 30, 30, 30, 0, 0, 0, 0, 0, 0, 0);


--
-- Data for Name: account_name; Type: TABLE DATA; Schema: feedkeep; Owner: -
--

INSERT INTO feedkeep.account_name VALUES ('ada', 3037701690177738442);
INSERT INTO feedkeep.account_name VALUES ('ben', 5661883097508533530);


--
-- Data for Name: attempt; Type: TABLE DATA; Schema: feedkeep; Owner: -
--



--
-- Data for Name: deletion; Type: TABLE DATA; Schema: feedkeep; Owner: -
--

INSERT INTO feedkeep.deletion VALUES (3037701690177738442, 1793534413000000, 'c3b1589a-a69d-5173-8aaf-299a4996e58c');


--
-- Data for Name: document; Type: TABLE DATA; Schema: feedkeep; Owner: -
--

INSERT INTO feedkeep.document VALUES (3037701690177738442, 'device', 'phone', '{"id":"phone","caption":"Ada''s phone","type":"mobile"}');
INSERT INTO feedkeep.document VALUES (3037701690177738442, 'settings', '9af211329b2fc82e5efe906062c73008', '{"public":false}');


--
-- Data for Name: entry; Type: TABLE DATA; Schema: feedkeep; Owner: -
--

INSERT INTO feedkeep.entry VALUES (3037701690177738442, '6ea92bbd-7714-588e-a11b-69a5f355b88c', NULL, 'https://feeds.example/moved-to', true, 1793534409000000, NULL, NULL, 1793534405000000, 1793534409000000, 'https://feeds.example/moved', NULL, 'https://feeds.example/moved', true, false, NULL, 1793534405000000, 1793534409000000, 1793534409000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (3037701690177738442, 'd2126bdb-6eac-5dc7-a2c5-0db73993bb22', '6ea92bbd-7714-588e-a11b-69a5f355b88c', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534409000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (3037701690177738442, 'cf9aed4f-883a-504c-b9a9-103af4cd750a', NULL, 'https://feeds.example/kept', true, 1793534410000002, 1793534410000002, NULL, 1793534405000001, 1793534405000000, NULL, NULL, 'https://feeds.example/duplicate', false, true, NULL, 1793534405000000, 1793534410000002, 1793534410000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (3037701690177738442, 'f5684e9a-1f26-5ca3-9207-fbab9a9fd000', 'cf9aed4f-883a-504c-b9a9-103af4cd750a', NULL, NULL, NULL, 1793534410000001, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534410000001, 1793534410000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (3037701690177738442, 'c3b1589a-a69d-5173-8aaf-299a4996e58c', NULL, 'https://feeds.example/deleted', false, 1793534405000003, NULL, 1793534413000000, 1793534413000000, 1793534405000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534413000000, 1793534413000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (3037701690177738442, '4baa8e69-81cf-5afd-872b-030c76320514', NULL, 'https://feeds.example/left', false, 1793534415000000, NULL, NULL, 1793534415000000, 1793534405000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534415000000, 1793534415000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, '98d09cfa-8c1c-5127-bdad-b97ad07797dd', NULL, 'https://many.example/0', false, 1793534419000000, NULL, NULL, 1793534419000000, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000000, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, '254393e5-2364-5344-af6f-a1cbf4b43be6', NULL, 'https://many.example/1', false, 1793534419000001, NULL, NULL, 1793534419000001, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000001, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, '92a0dd35-99bf-5da7-a73b-d6d2757df217', NULL, 'https://many.example/2', false, 1793534419000002, NULL, NULL, 1793534419000002, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000002, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, '6acd11b8-ae02-5e91-a7f1-96e0f08bfe22', NULL, 'https://many.example/3', false, 1793534419000003, NULL, NULL, 1793534419000003, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000003, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, 'b55eadb8-ec09-5cf4-8c03-4ad14836115c', NULL, 'https://many.example/4', false, 1793534419000004, NULL, NULL, 1793534419000004, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000004, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, '3575357e-109a-53af-8730-1128a9e65426', NULL, 'https://many.example/5', false, 1793534419000005, NULL, NULL, 1793534419000005, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000005, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, 'a9b7eac3-dceb-56a4-9806-4a1b42b8782e', NULL, 'https://many.example/6', false, 1793534419000006, NULL, NULL, 1793534419000006, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000006, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, '2a85b15a-c66d-5f9f-8e4e-cea65bfa0cdb', NULL, 'https://many.example/7', false, 1793534419000007, NULL, NULL, 1793534419000007, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000007, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, 'e4d11bb1-bac0-57ec-ba0d-457cd6581c8d', NULL, 'https://many.example/8', false, 1793534419000008, NULL, NULL, 1793534419000008, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000008, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, 'ebd92a6d-eb36-544e-9030-19532b664fe3', NULL, 'https://many.example/9', false, 1793534419000009, NULL, NULL, 1793534419000009, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000009, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, 'a4b73a13-b4f2-58ab-ad4f-38a6a746eeb5', NULL, 'https://many.example/10', false, 1793534419000010, NULL, NULL, 1793534419000010, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000010, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, 'c513bfff-c429-59b4-93e5-2462fe77b016', NULL, 'https://many.example/11', false, 1793534419000011, NULL, NULL, 1793534419000011, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000011, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, '21157ecb-2f96-5459-9553-9e182767d7f6', NULL, 'https://many.example/12', false, 1793534419000012, NULL, NULL, 1793534419000012, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000012, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, '1ff0f7a3-f285-53a9-adfc-04d9e240d4a6', NULL, 'https://many.example/13', false, 1793534419000013, NULL, NULL, 1793534419000013, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000013, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, '2e5eea41-194a-5a9b-a6fc-e4f209c8b851', NULL, 'https://many.example/14', false, 1793534419000014, NULL, NULL, 1793534419000014, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000014, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, 'c2699a21-f068-55ef-bd35-e12816e6ba5e', NULL, 'https://many.example/15', false, 1793534419000015, NULL, NULL, 1793534419000015, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000015, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, '2b7d5459-bae0-544d-9161-4286e8600af0', NULL, 'https://many.example/16', false, 1793534419000016, NULL, NULL, 1793534419000016, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000016, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, '45b94690-42af-51c4-9794-ace4cb73640e', NULL, 'https://many.example/17', false, 1793534419000017, NULL, NULL, 1793534419000017, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000017, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, '2aa47ca3-444e-5c4c-9c7f-e4d8b06bcb2a', NULL, 'https://many.example/18', false, 1793534419000018, NULL, NULL, 1793534419000018, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000018, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, '740cb276-1bdb-59e7-8a07-ebe1f627ce32', NULL, 'https://many.example/19', false, 1793534419000019, NULL, NULL, 1793534419000019, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000019, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, 'e32bb5bc-19fe-580d-b11e-e152ea9852bc', NULL, 'https://many.example/20', false, 1793534419000020, NULL, NULL, 1793534419000020, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000020, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, '1e412b62-ec9f-55d3-8f46-b56df0e5371c', NULL, 'https://many.example/21', false, 1793534419000021, NULL, NULL, 1793534419000021, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000021, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, '46045c79-8cab-571c-a74e-41e2504e331a', NULL, 'https://many.example/22', false, 1793534419000022, NULL, NULL, 1793534419000022, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000022, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, '323a4cde-f772-580f-b2ff-d75d78fa2905', NULL, 'https://many.example/23', false, 1793534419000023, NULL, NULL, 1793534419000023, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000023, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, 'a2fe6b19-d9c0-53a0-aae8-167db6cbd391', NULL, 'https://many.example/24', false, 1793534419000024, NULL, NULL, 1793534419000024, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000024, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, 'a4744e21-5623-52a3-b7a2-03ae070e822d', NULL, 'https://many.example/25', false, 1793534419000025, NULL, NULL, 1793534419000025, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000025, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, 'b0fcb4e3-cdff-5dbb-8dba-b18ea37d32d4', NULL, 'https://many.example/26', false, 1793534419000026, NULL, NULL, 1793534419000026, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000026, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, 'f711440c-ada4-544d-af56-f104061e79d7', NULL, 'https://many.example/27', false, 1793534419000027, NULL, NULL, 1793534419000027, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000027, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, '19caa2ef-76af-5d00-a80c-809f83b54f75', NULL, 'https://many.example/28', false, 1793534419000028, NULL, NULL, 1793534419000028, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000028, 1793534419000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.entry VALUES (5661883097508533530, '4bed5b0b-04a8-5c7c-9d0e-791697d1a69e', NULL, 'https://many.example/29', false, 1793534419000029, NULL, NULL, 1793534419000029, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534419000029, 1793534419000000, '["command",null,"test","",""]');


--
-- Data for Name: episode_action; Type: TABLE DATA; Schema: feedkeep; Owner: -
--

INSERT INTO feedkeep.episode_action VALUES (3037701690177738442, '\x87b33dd72151129a44e72138580b81ac', '\x87b33dd72151129a44e7', '6ea92bbd-7714-588e-a11b-69a5f355b88c', 'https://feeds.example/moved', 'https://feeds.example/moved/1.mp3', 'phone', 'play', 1793534400, 0, 900, 3600, NULL, 1793534407000000, 1793534407000000, 'feedkeep', false);
INSERT INTO feedkeep.episode_action VALUES (3037701690177738442, '\x72787ab537c4057b0dd82138580b81ac', '\x72787ab537c4057b0dd8', 'cf9aed4f-883a-504c-b9a9-103af4cd750a', 'https://feeds.example/duplicate', 'https://feeds.example/kept/1.mp3', 'phone', 'play', 1793534400, 0, 60, 3600, NULL, 1793534411000000, 1793534408000000, 'feedkeep', false);


--
-- Data for Name: feed; Type: TABLE DATA; Schema: feedkeep; Owner: -
--



--
-- Data for Name: feed_episodes; Type: TABLE DATA; Schema: feedkeep; Owner: -
--



--
-- Data for Name: feed_label; Type: TABLE DATA; Schema: feedkeep; Owner: -
--

INSERT INTO feedkeep.feed_label VALUES (3037701690177738442, '6ea92bbd-7714-588e-a11b-69a5f355b88c', 'My radio', 'News/Daily', false, false);


--
-- Data for Name: feed_picture; Type: TABLE DATA; Schema: feedkeep; Owner: -
--



--
-- Data for Name: former_entry; Type: TABLE DATA; Schema: feedkeep; Owner: -
--

INSERT INTO feedkeep.former_entry VALUES (3037701690177738442, 1793534409000000, '6ea92bbd-7714-588e-a11b-69a5f355b88c', NULL, 'https://feeds.example/moved', true, 1793534405000000, NULL, NULL, 1793534405000000, 1793534405000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534405000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (3037701690177738442, 1793534410000000, 'f5684e9a-1f26-5ca3-9207-fbab9a9fd000', NULL, 'https://feeds.example/kept', true, 1793534405000001, NULL, NULL, 1793534405000001, 1793534405000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534405000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (3037701690177738442, 1793534410000000, 'cf9aed4f-883a-504c-b9a9-103af4cd750a', NULL, 'https://feeds.example/duplicate', true, 1793534405000002, NULL, NULL, 1793534405000002, 1793534405000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534405000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (3037701690177738442, 1793534413000000, 'c3b1589a-a69d-5173-8aaf-299a4996e58c', NULL, 'https://feeds.example/deleted', true, 1793534405000003, NULL, NULL, 1793534405000003, 1793534405000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534405000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (3037701690177738442, 1793534415000000, '4baa8e69-81cf-5afd-872b-030c76320514', NULL, 'https://feeds.example/left', true, 1793534405000004, NULL, NULL, 1793534405000004, 1793534405000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534405000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, '98d09cfa-8c1c-5127-bdad-b97ad07797dd', NULL, 'https://many.example/0', true, 1793534418000000, NULL, NULL, 1793534418000000, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, '254393e5-2364-5344-af6f-a1cbf4b43be6', NULL, 'https://many.example/1', true, 1793534418000001, NULL, NULL, 1793534418000001, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, '92a0dd35-99bf-5da7-a73b-d6d2757df217', NULL, 'https://many.example/2', true, 1793534418000002, NULL, NULL, 1793534418000002, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, '6acd11b8-ae02-5e91-a7f1-96e0f08bfe22', NULL, 'https://many.example/3', true, 1793534418000003, NULL, NULL, 1793534418000003, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, 'b55eadb8-ec09-5cf4-8c03-4ad14836115c', NULL, 'https://many.example/4', true, 1793534418000004, NULL, NULL, 1793534418000004, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, '3575357e-109a-53af-8730-1128a9e65426', NULL, 'https://many.example/5', true, 1793534418000005, NULL, NULL, 1793534418000005, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, 'a9b7eac3-dceb-56a4-9806-4a1b42b8782e', NULL, 'https://many.example/6', true, 1793534418000006, NULL, NULL, 1793534418000006, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, '2a85b15a-c66d-5f9f-8e4e-cea65bfa0cdb', NULL, 'https://many.example/7', true, 1793534418000007, NULL, NULL, 1793534418000007, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, 'e4d11bb1-bac0-57ec-ba0d-457cd6581c8d', NULL, 'https://many.example/8', true, 1793534418000008, NULL, NULL, 1793534418000008, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, 'ebd92a6d-eb36-544e-9030-19532b664fe3', NULL, 'https://many.example/9', true, 1793534418000009, NULL, NULL, 1793534418000009, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, 'a4b73a13-b4f2-58ab-ad4f-38a6a746eeb5', NULL, 'https://many.example/10', true, 1793534418000010, NULL, NULL, 1793534418000010, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, 'c513bfff-c429-59b4-93e5-2462fe77b016', NULL, 'https://many.example/11', true, 1793534418000011, NULL, NULL, 1793534418000011, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, '21157ecb-2f96-5459-9553-9e182767d7f6', NULL, 'https://many.example/12', true, 1793534418000012, NULL, NULL, 1793534418000012, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, '1ff0f7a3-f285-53a9-adfc-04d9e240d4a6', NULL, 'https://many.example/13', true, 1793534418000013, NULL, NULL, 1793534418000013, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, '2e5eea41-194a-5a9b-a6fc-e4f209c8b851', NULL, 'https://many.example/14', true, 1793534418000014, NULL, NULL, 1793534418000014, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, 'c2699a21-f068-55ef-bd35-e12816e6ba5e', NULL, 'https://many.example/15', true, 1793534418000015, NULL, NULL, 1793534418000015, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, '2b7d5459-bae0-544d-9161-4286e8600af0', NULL, 'https://many.example/16', true, 1793534418000016, NULL, NULL, 1793534418000016, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, '45b94690-42af-51c4-9794-ace4cb73640e', NULL, 'https://many.example/17', true, 1793534418000017, NULL, NULL, 1793534418000017, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, '2aa47ca3-444e-5c4c-9c7f-e4d8b06bcb2a', NULL, 'https://many.example/18', true, 1793534418000018, NULL, NULL, 1793534418000018, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, '740cb276-1bdb-59e7-8a07-ebe1f627ce32', NULL, 'https://many.example/19', true, 1793534418000019, NULL, NULL, 1793534418000019, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, 'e32bb5bc-19fe-580d-b11e-e152ea9852bc', NULL, 'https://many.example/20', true, 1793534418000020, NULL, NULL, 1793534418000020, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, '1e412b62-ec9f-55d3-8f46-b56df0e5371c', NULL, 'https://many.example/21', true, 1793534418000021, NULL, NULL, 1793534418000021, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, '46045c79-8cab-571c-a74e-41e2504e331a', NULL, 'https://many.example/22', true, 1793534418000022, NULL, NULL, 1793534418000022, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, '323a4cde-f772-580f-b2ff-d75d78fa2905', NULL, 'https://many.example/23', true, 1793534418000023, NULL, NULL, 1793534418000023, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, 'a2fe6b19-d9c0-53a0-aae8-167db6cbd391', NULL, 'https://many.example/24', true, 1793534418000024, NULL, NULL, 1793534418000024, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, 'a4744e21-5623-52a3-b7a2-03ae070e822d', NULL, 'https://many.example/25', true, 1793534418000025, NULL, NULL, 1793534418000025, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, 'b0fcb4e3-cdff-5dbb-8dba-b18ea37d32d4', NULL, 'https://many.example/26', true, 1793534418000026, NULL, NULL, 1793534418000026, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, 'f711440c-ada4-544d-af56-f104061e79d7', NULL, 'https://many.example/27', true, 1793534418000027, NULL, NULL, 1793534418000027, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, '19caa2ef-76af-5d00-a80c-809f83b54f75', NULL, 'https://many.example/28', true, 1793534418000028, NULL, NULL, 1793534418000028, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');
INSERT INTO feedkeep.former_entry VALUES (5661883097508533530, 1793534419000000, '4bed5b0b-04a8-5c7c-9d0e-791697d1a69e', NULL, 'https://many.example/29', true, 1793534418000029, NULL, NULL, 1793534418000029, 1793534418000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1793534418000000, '["command",null,"test","",""]');


--
-- Data for Name: login_grant; Type: TABLE DATA; Schema: feedkeep; Owner: -
--



--
-- Data for Name: schema_version; Type: TABLE DATA; Schema: feedkeep; Owner: -
--

INSERT INTO feedkeep.schema_version VALUES (105, 105);


--
-- Data for Name: token; Type: TABLE DATA; Schema: feedkeep; Owner: -
--

INSERT INTO feedkeep.token VALUES (3037701690177738442, 1, '\xb2138b914e9eb45a91ead5a701cfd91357bd54fce4a3b041b3e2b28f4c5aaa3c', 'phone', 1793534404000000, NULL, NULL, 'apps', 'write', false, false, NULL, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL);


--
-- Name: account_name account_name_pkey; Type: CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.account_name
    ADD CONSTRAINT account_name_pkey PRIMARY KEY (name_key);


--
-- Name: account account_pkey; Type: CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.account
    ADD CONSTRAINT account_pkey PRIMARY KEY (account_id);


--
-- Name: attempt attempt_pkey; Type: CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.attempt
    ADD CONSTRAINT attempt_pkey PRIMARY KEY (key, process);


--
-- Name: deletion deletion_pkey; Type: CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.deletion
    ADD CONSTRAINT deletion_pkey PRIMARY KEY (account_id, id);


--
-- Name: document document_pkey; Type: CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.document
    ADD CONSTRAINT document_pkey PRIMARY KEY (account_id, kind, name);


--
-- Name: entry entry_pkey; Type: CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.entry
    ADD CONSTRAINT entry_pkey PRIMARY KEY (account_id, guid);


--
-- Name: episode_action episode_action_pkey; Type: CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.episode_action
    ADD CONSTRAINT episode_action_pkey PRIMARY KEY (account_id, podcast_guid, key);


--
-- Name: feed_episodes feed_episodes_pkey; Type: CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.feed_episodes
    ADD CONSTRAINT feed_episodes_pkey PRIMARY KEY (guid);


--
-- Name: feed_label feed_label_pkey; Type: CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.feed_label
    ADD CONSTRAINT feed_label_pkey PRIMARY KEY (account_id, guid);


--
-- Name: feed_picture feed_picture_pkey; Type: CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.feed_picture
    ADD CONSTRAINT feed_picture_pkey PRIMARY KEY (guid);


--
-- Name: feed feed_pkey; Type: CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.feed
    ADD CONSTRAINT feed_pkey PRIMARY KEY (guid);


--
-- Name: former_entry former_entry_pkey; Type: CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.former_entry
    ADD CONSTRAINT former_entry_pkey PRIMARY KEY (account_id, ended, guid);


--
-- Name: login_grant login_grant_pkey; Type: CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.login_grant
    ADD CONSTRAINT login_grant_pkey PRIMARY KEY (login);


--
-- Name: token token_account_id_hash_key; Type: CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.token
    ADD CONSTRAINT token_account_id_hash_key UNIQUE (account_id, hash);


--
-- Name: token token_pkey; Type: CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.token
    ADD CONSTRAINT token_pkey PRIMARY KEY (account_id, id);


--
-- Name: account_administrator; Type: INDEX; Schema: feedkeep; Owner: -
--

CREATE INDEX account_administrator ON feedkeep.account USING btree (account_id) WHERE is_admin;


--
-- Name: account_identity; Type: INDEX; Schema: feedkeep; Owner: -
--

CREATE INDEX account_identity ON feedkeep.account USING btree (identity) WHERE (identity IS NOT NULL);


--
-- Name: attempt_by_written; Type: INDEX; Schema: feedkeep; Owner: -
--

CREATE INDEX attempt_by_written ON feedkeep.attempt USING btree (written);


--
-- Name: entry_by_new_guid; Type: INDEX; Schema: feedkeep; Owner: -
--

CREATE INDEX entry_by_new_guid ON feedkeep.entry USING btree (account_id, new_guid) WHERE (new_guid IS NOT NULL);


--
-- Name: entry_by_revision; Type: INDEX; Schema: feedkeep; Owner: -
--

CREATE UNIQUE INDEX entry_by_revision ON feedkeep.entry USING btree (account_id, revision) WHERE (revision IS NOT NULL);


--
-- Name: entry_with_escapes; Type: INDEX; Schema: feedkeep; Owner: -
--

CREATE INDEX entry_with_escapes ON feedkeep.entry USING btree (account_id, guid) WHERE ((strpos(feed_url, '%'::text) > 0) OR (strpos(alias_url, '%'::text) > 0));


--
-- Name: episode_action_by_file; Type: INDEX; Schema: feedkeep; Owner: -
--

CREATE INDEX episode_action_by_file ON feedkeep.episode_action USING btree (account_id, podcast_guid, file) WHERE ((NOT is_superseded) AND (kind = ANY (ARRAY['play'::text, 'delete'::text])));


--
-- Name: episode_action_by_revision; Type: INDEX; Schema: feedkeep; Owner: -
--

CREATE UNIQUE INDEX episode_action_by_revision ON feedkeep.episode_action USING btree (account_id, revision);


--
-- Name: episode_action_by_time; Type: INDEX; Schema: feedkeep; Owner: -
--

CREATE INDEX episode_action_by_time ON feedkeep.episode_action USING btree (account_id, COALESCE(((total - "position") <= 30), false), LEAST(done, (received / 1000000)), revision) WHERE ((NOT is_superseded) AND (kind = 'play'::text));


--
-- Name: feed_by_next_fetch; Type: INDEX; Schema: feedkeep; Owner: -
--

CREATE INDEX feed_by_next_fetch ON feedkeep.feed USING btree (next_fetch);


--
-- Name: feed_by_wanted; Type: INDEX; Schema: feedkeep; Owner: -
--

CREATE INDEX feed_by_wanted ON feedkeep.feed USING btree (wanted);


--
-- Name: deletion deletion_account_id_fkey; Type: FK CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.deletion
    ADD CONSTRAINT deletion_account_id_fkey FOREIGN KEY (account_id) REFERENCES feedkeep.account(account_id) ON DELETE CASCADE;


--
-- Name: document document_account_id_fkey; Type: FK CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.document
    ADD CONSTRAINT document_account_id_fkey FOREIGN KEY (account_id) REFERENCES feedkeep.account(account_id) ON DELETE CASCADE;


--
-- Name: entry entry_account_id_fkey; Type: FK CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.entry
    ADD CONSTRAINT entry_account_id_fkey FOREIGN KEY (account_id) REFERENCES feedkeep.account(account_id) ON DELETE CASCADE;


--
-- Name: entry entry_account_id_new_guid_fkey; Type: FK CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.entry
    ADD CONSTRAINT entry_account_id_new_guid_fkey FOREIGN KEY (account_id, new_guid) REFERENCES feedkeep.entry(account_id, guid) DEFERRABLE INITIALLY DEFERRED;


--
-- Name: episode_action episode_action_account_id_fkey; Type: FK CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.episode_action
    ADD CONSTRAINT episode_action_account_id_fkey FOREIGN KEY (account_id) REFERENCES feedkeep.account(account_id) ON DELETE CASCADE;


--
-- Name: feed_episodes feed_episodes_guid_fkey; Type: FK CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.feed_episodes
    ADD CONSTRAINT feed_episodes_guid_fkey FOREIGN KEY (guid) REFERENCES feedkeep.feed(guid) ON DELETE CASCADE;


--
-- Name: feed_label feed_label_account_id_fkey; Type: FK CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.feed_label
    ADD CONSTRAINT feed_label_account_id_fkey FOREIGN KEY (account_id) REFERENCES feedkeep.account(account_id) ON DELETE CASCADE;


--
-- Name: feed_picture feed_picture_guid_fkey; Type: FK CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.feed_picture
    ADD CONSTRAINT feed_picture_guid_fkey FOREIGN KEY (guid) REFERENCES feedkeep.feed(guid) ON DELETE CASCADE;


--
-- Name: former_entry former_entry_account_id_fkey; Type: FK CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.former_entry
    ADD CONSTRAINT former_entry_account_id_fkey FOREIGN KEY (account_id) REFERENCES feedkeep.account(account_id) ON DELETE CASCADE;


--
-- Name: token token_account_id_fkey; Type: FK CONSTRAINT; Schema: feedkeep; Owner: -
--

ALTER TABLE ONLY feedkeep.token
    ADD CONSTRAINT token_account_id_fkey FOREIGN KEY (account_id) REFERENCES feedkeep.account(account_id) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--


