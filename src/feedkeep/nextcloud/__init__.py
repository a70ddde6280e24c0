"""The part of a Nextcloud with gpoddersync that apps use: its login and four endpoints."""

from feedkeep.nextcloud.routes import nextcloud_routes as nextcloud_routes
