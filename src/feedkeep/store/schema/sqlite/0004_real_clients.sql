-- What real clients, an attack and a review found.

-- A session that all clients share which show one password and no cookie.
ALTER TABLE token ADD COLUMN is_shared INTEGER NOT NULL DEFAULT 0
    CHECK (is_shared IN (0, 1) AND is_shared <= is_session);
-- The token that was shown in place of a password when a session began: it ends with that one.
ALTER TABLE token ADD COLUMN of_token INTEGER CHECK (of_token IS NULL OR is_session);
-- A token that exactly one app has, since it fetched it by a login of Nextcloud.
ALTER TABLE token ADD COLUMN is_granted INTEGER NOT NULL DEFAULT 0
    CHECK (is_granted IN (0, 1) AND NOT (is_granted AND is_session));

-- When the app fetched its token; the grant is kept, so that nobody grants that login again.
ALTER TABLE login_grant ADD COLUMN fetched INTEGER;

-- How much is in an account's list, kept up with each change of it: nobody counts for a page of the
-- list, and an account that is full is known without looking at all of it.
ALTER TABLE account ADD COLUMN subscribed_count INTEGER NOT NULL DEFAULT 0;  -- subscribed to
ALTER TABLE account ADD COLUMN announced_count INTEGER NOT NULL DEFAULT 0;   -- entries in lists
ALTER TABLE account ADD COLUMN entry_count INTEGER NOT NULL DEFAULT 0;       -- all entries
UPDATE account SET (subscribed_count, announced_count, entry_count) = (
    SELECT count(*) FILTER (WHERE is_subscribed), count(revision), count(*)
    FROM entry WHERE account_id = account.id
);

-- Apps that know only URLs are told when a feed was subscribed to or left, and nothing of moves.
ALTER TABLE entry ADD COLUMN alias_retired INTEGER;   -- when apps were told to give alias_url up
ALTER TABLE entry ADD COLUMN status_changed INTEGER;  -- subscription: when it was last begun or left
ALTER TABLE entry ADD COLUMN app_url TEXT;  -- subscription: the URL by which apps have it, if another
ALTER TABLE entry ADD COLUMN app_url_until INTEGER;  -- when it was left, and apps lost that URL
UPDATE entry SET status_changed = max(subscription_changed, ifnull(deleted, 0))
WHERE new_guid IS NULL;

-- The stamps of an app's own last uploads, which it need not be told of: JSON.
ALTER TABLE token ADD COLUMN own_subscriptions TEXT;
ALTER TABLE token ADD COLUMN own_actions TEXT;
