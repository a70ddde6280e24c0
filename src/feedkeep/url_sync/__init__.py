"""Shared parts of the protocols that identify feeds by URL: gpodder.net's API and Nextcloud's."""
