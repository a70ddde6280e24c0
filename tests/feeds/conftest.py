"""What tests of feeds share: a web of hosts, and every store."""

from stores import database, emptied_database, open_store, path, shared_database
from web_of_hosts import web

__all__ = ["database", "emptied_database", "open_store", "path", "shared_database", "web"]
