"""Checks specific to Nextcloud's gpoddersync."""
