"""No connection goes when there is no place for another."""

from feedkeep.server.protocol import Protocol

Protocol._make_room = lambda _self: None
