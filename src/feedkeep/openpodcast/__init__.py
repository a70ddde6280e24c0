"""The Open Podcast API for subscriptions."""

from feedkeep.openpodcast.routes import openpodcast_routes as openpodcast_routes
