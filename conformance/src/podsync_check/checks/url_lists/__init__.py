"""Checks of what gpodder.net's API and Nextcloud's gpoddersync have in common."""
