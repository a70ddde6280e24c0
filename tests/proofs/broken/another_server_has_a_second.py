"""Another server has a second for its reply, and is asked once."""

from feedkeep.cli import migrate_from
from feedkeep.remote import asking

migrate_from.MAX_SECONDS = 1.0
asking._PAUSES_SECONDS = ()
