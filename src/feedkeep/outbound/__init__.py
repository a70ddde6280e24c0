"""Guarded client: the only way to other hosts, never to this machine's private network."""
