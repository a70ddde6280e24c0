"""One account moves in from another server at a time."""

from feedkeep.service import migrations

migrations.MAX_MOVES = 1
