"""What tests of requests to other hosts share: a web of hosts."""

from web_of_hosts import web

__all__ = ["web"]
