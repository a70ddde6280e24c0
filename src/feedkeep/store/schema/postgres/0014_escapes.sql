-- URLs with escapes, which each upload is compared with: few of them, found without reading a list.
-- Compatible from version 5: it adds an index, which programs before it do not use.
CREATE INDEX entry_with_escapes ON feedkeep.entry (account_id, guid)
    WHERE strpos(feed_url, '%') > 0 OR strpos(alias_url, '%') > 0;
