"""A newer version, whose schema has further migrations that no older program survives."""

from further_steps import EACH, with_further

from feedkeep.store import migrate

migrate.migrations = with_further(*EACH)
