"""The endpoints of Nextcloud with gpoddersync that apps use: login and four for sync."""

from feedkeep.nextcloud.routes import nextcloud_routes as nextcloud_routes
