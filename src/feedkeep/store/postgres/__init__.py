"""The store for many: a PostgreSQL database, or a cluster of them that splits by account."""

from feedkeep.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
