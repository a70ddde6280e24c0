"""What apps use of a Nextcloud with gpoddersync: its login and four endpoints."""

from feedkeep.nextcloud.routes import nextcloud_routes as nextcloud_routes
