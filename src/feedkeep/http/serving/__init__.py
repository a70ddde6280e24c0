"""The HTTP server: listening, limits on clients, and refusals without a route."""

from feedkeep.http.serving.listening import Sockets, listen, listen_for_metrics, tls_context
from feedkeep.http.serving.server import run, serving_metrics, serving_until_ready

__all__ = [
    "Sockets",
    "listen",
    "listen_for_metrics",
    "run",
    "serving_metrics",
    "serving_until_ready",
    "tls_context",
]
