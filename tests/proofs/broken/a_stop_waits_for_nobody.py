"""A signal ends the process at once."""

import os

import uvicorn

uvicorn.Server.handle_exit = lambda *_: os._exit(0)
