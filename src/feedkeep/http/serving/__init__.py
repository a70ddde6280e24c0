"""HTTP itself: listening, the bounds of what a client may send, and how errors end there."""

from feedkeep.http.serving.listening import listen, run

__all__ = ["listen", "run"]
