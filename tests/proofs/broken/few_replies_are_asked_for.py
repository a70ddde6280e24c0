"""Another server is asked for 20 pages of episode actions at most."""

from feedkeep.cli import migrate_from

migrate_from.MAX_PAGES = 20
