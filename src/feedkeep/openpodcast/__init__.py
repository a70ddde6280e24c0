"""The interface: the subscriptions of the Open Podcast API, as an edge of the service."""

from feedkeep.openpodcast.routes import openpodcast_routes as openpodcast_routes
