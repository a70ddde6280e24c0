"""Who is slow is cut after one second, where others have thirty."""

from feedkeep.http import backpressure

backpressure.PATIENCE_SECONDS = 1
