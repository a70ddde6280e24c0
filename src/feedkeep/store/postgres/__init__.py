"""The scalable store: a PostgreSQL database, or a cluster that is split by account."""

from feedkeep.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
