"""feedkeep keeps, for every user, the list of feeds they are subscribed to."""

from importlib.metadata import version

__version__ = version("feedkeep")
