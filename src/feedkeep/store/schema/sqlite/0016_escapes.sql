-- URLs with escapes, which each upload is compared with: few of them, found without reading a list.
CREATE INDEX entry_with_escapes ON entry (account_id, guid)
    WHERE instr(feed_url, '%') OR instr(alias_url, '%');
