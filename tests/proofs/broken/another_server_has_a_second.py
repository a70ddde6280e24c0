"""Another server has a second for its reply, and is asked once."""

from feedkeep.remote import asking, moving_in

moving_in.MAX_SECONDS = 1.0
asking._PAUSES_SECONDS = ()
