"""gpodder.net's API, version 2, and its simple API, for podcast apps (docs/clients.md)."""

from feedkeep.gpodder.authenticator import SessionAuthenticator as SessionAuthenticator
from feedkeep.gpodder.routes import gpodder_routes as gpodder_routes
