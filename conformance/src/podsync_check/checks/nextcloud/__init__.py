"""Checks of Nextcloud's gpoddersync alone."""
