"""Feed lists as files: OPML, one URL a line, JSON and CSV."""
