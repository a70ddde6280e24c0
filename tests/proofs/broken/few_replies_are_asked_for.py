"""Another server is asked for 20 pages of episode actions at most."""

from feedkeep.remote import other_servers

other_servers.MAX_PAGES = 20
