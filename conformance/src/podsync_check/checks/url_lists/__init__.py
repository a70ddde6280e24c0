"""Checks common to gpodder.net's API and Nextcloud's gpoddersync."""
