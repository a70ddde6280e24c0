"""Another server is asked for 20 pages of episode actions at most."""

from feedkeep.remote import moving_in

moving_in.MAX_PAGES = 20
