"""A commit of PostgreSQL returns before it is on the disk."""

from feedkeep.store.postgres import connections

_HASTY = "SET LOCAL synchronous_commit = off"
connections._DURABLE = _HASTY
