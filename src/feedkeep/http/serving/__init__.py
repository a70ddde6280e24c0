"""The HTTP server: listening, the limits on what clients may send, and refusals without a route."""

from feedkeep.http.serving.listening import listen, run

__all__ = ["listen", "run"]
