"""Another server has a second for its reply, and is asked once."""

from feedkeep.cli import gpodder
from feedkeep.remote import asking

gpodder.MAX_SECONDS = 1.0
asking._PAUSES_SECONDS = ()
