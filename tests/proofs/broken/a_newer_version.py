"""A newer version, whose schema has a further migration that is compatible with this one."""

from further_steps import with_further

from feedkeep.store import migrate

migrate.migrations = with_further("added")
