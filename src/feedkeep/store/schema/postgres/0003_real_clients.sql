-- What real clients, an attack and a review found. A column that is added brings no constraint with
-- it: where the tables are split over machines, each needs a name and a statement of its own.
-- Not compatible: programs before it would change lists without keeping up how much is in them.

-- A session that all clients share which show one password and no cookie.
ALTER TABLE feedkeep.token ADD COLUMN is_shared boolean NOT NULL DEFAULT false;
ALTER TABLE feedkeep.token ADD CONSTRAINT shared_is_session CHECK (is_session OR NOT is_shared);
-- The token that was shown in place of a password when a session began: it ends with that one.
ALTER TABLE feedkeep.token ADD COLUMN of_token bigint;
ALTER TABLE feedkeep.token ADD CONSTRAINT of_token_is_session
    CHECK (of_token IS NULL OR is_session);
-- A token that exactly one app has, since it fetched it by a login of Nextcloud.
ALTER TABLE feedkeep.token ADD COLUMN is_granted boolean NOT NULL DEFAULT false;
ALTER TABLE feedkeep.token ADD CONSTRAINT granted_is_no_session
    CHECK (NOT (is_granted AND is_session));

-- When the app fetched its token; the grant is kept, so that nobody grants that login again.
ALTER TABLE feedkeep.login_grant ADD COLUMN fetched bigint;

-- How much is in an account's list, kept up with each change of it: nobody counts for a page of the
-- list, and an account that is full is known without looking at all of it.
ALTER TABLE feedkeep.account ADD COLUMN subscribed_count bigint NOT NULL DEFAULT 0;  -- subscribed to
ALTER TABLE feedkeep.account ADD COLUMN announced_count bigint NOT NULL DEFAULT 0;   -- entries in lists
ALTER TABLE feedkeep.account ADD COLUMN entry_count bigint NOT NULL DEFAULT 0;       -- all entries
UPDATE feedkeep.account a SET
    subscribed_count = c.subscribed, announced_count = c.announced, entry_count = c.entries
FROM (
    SELECT account_id, count(*) FILTER (WHERE is_subscribed) AS subscribed,
           count(revision) AS announced, count(*) AS entries
    FROM feedkeep.entry GROUP BY account_id
) c
WHERE c.account_id = a.account_id;

-- Apps that know only URLs are told when a feed was subscribed to or left, and nothing of moves.
ALTER TABLE feedkeep.entry
    ADD COLUMN alias_retired  bigint,  -- when apps were told to give alias_url up
    ADD COLUMN status_changed bigint,  -- subscription: when it was last begun or left
    ADD COLUMN app_url        text,    -- subscription: the URL by which apps have it, if another
    ADD COLUMN app_url_until  bigint;  -- when it was left, and apps lost that URL
UPDATE feedkeep.entry SET status_changed = greatest(subscription_changed, deleted)
WHERE new_guid IS NULL;

-- The stamps of an app's own last uploads, which it need not be told of: JSON.
ALTER TABLE feedkeep.token
    ADD COLUMN own_subscriptions text,
    ADD COLUMN own_actions       text;
