"""Whether apps of several kinds end with the same list, whatever happens in between."""

import random
from collections.abc import Sequence
from itertools import count

from podsync_check.checking import Level, check
from podsync_check.messages import Wrong
from podsync_check.servers import UrlLists
from podsync_check.simulated.scripts import Step, World, random_script, shortest

RUNS = 8
SHRINKING_TRIES = 40


@check(
    Level.AGREED,
    why="Phone, laptop and player each show something else, and what was played is lost.",
    seen="madeofpendletonwool/PinePods#526",
    spec="gpodder.net and Nextcloud: devices of one account have one list.",
)
def random_interleavings_lose_nothing(server: UrlLists) -> None:
    """Apps with the habits of the real ones end alike, whatever order their requests come in."""
    worlds = count()

    def lost(steps: Sequence[Step]) -> str:
        """Play a script in a world of its own."""
        server.connection.begin_again()
        prefix = server.feed(f"world-{next(worlds)}/")
        return World(prefix, server.simulated(), server.connection.clock).play(steps)

    for run in range(RUNS):
        chance = random.Random(f"{server.seed} {run}")
        script: Sequence[Step] = random_script(chance, len(server.simulated()))
        if not lost(script):
            continue
        script = shortest(script, lambda part: bool(lost(part)), SHRINKING_TRIES)
        said = lost(script) or "This time, nothing is lost: it depends on the second."
        told = "; ".join(f"{number}. {step}" for number, step in enumerate(script, 1))
        raise Wrong(f"{said} Seed {server.seed}, run {run}: {told or 'nothing before that'}.")
