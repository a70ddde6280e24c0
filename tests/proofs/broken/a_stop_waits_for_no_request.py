"""A signal ends the process at once."""

import os

from feedkeep.http.serving.server import Server

Server.stop = lambda *_, **__: os._exit(0)
