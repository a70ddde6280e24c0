"""Fixtures of the tests of feeds: a web and a service; on all stores in the long form only."""

from forms import IS_LONG
from scripted_looks import world
from stores import database, emptied_database, path, shared_database
from web_of_hosts import web

if IS_LONG:
    from stores import open_store
else:
    from stores import open_store_of_one_kind as open_store

__all__ = ["database", "emptied_database", "open_store", "path", "shared_database", "web", "world"]
