"""No connection goes when there is no place for another."""

from feedkeep.http.serving.accepting import Acceptor

Acceptor._make_room = lambda _self: False
