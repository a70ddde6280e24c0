"""What the protocols share that know feeds by URL only: gpodder.net's API and Nextcloud's."""
