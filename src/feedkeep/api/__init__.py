"""The HTTP interface: the subscriptions of the Open Podcast API, as an edge of the service."""
