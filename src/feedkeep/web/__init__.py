"""The pages: what a person sees of their list, their apps and their account, in a browser."""

from feedkeep.web.routes import web_edge as web_edge
