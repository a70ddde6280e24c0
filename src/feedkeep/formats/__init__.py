"""Feed lists as files: OPML, one URL a line, and JSON."""
