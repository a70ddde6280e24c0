"""Another server is asked for 20 pages of episode actions at most."""

from feedkeep.cli import gpodder

gpodder.MAX_PAGES = 20
