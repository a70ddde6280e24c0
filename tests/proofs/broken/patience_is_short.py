"""Who is slow is cut after one second, where others have thirty."""

from feedkeep.server import protocol

protocol.PATIENCE_SECONDS = 1
