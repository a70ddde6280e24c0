"""A step of the schema waits for a table for as long as it takes, and all requests behind it."""

from feedkeep.store.postgres import migration

migration.LOCK_MILLISECONDS = 60_000
