"""Web pages, where people manage their feeds, apps and account in a browser."""

from feedkeep.web.routes import web_edge as web_edge
