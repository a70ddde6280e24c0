"""Whether apps of several kinds end with the same list, whatever happens in between."""

import random

from podsync_check.checking import Level, check
from podsync_check.messages import Wrong
from podsync_check.servers import UrlLists
from podsync_check.simulated.scripts import World, random_script, shortest

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
    for run in range(RUNS):
        chance = random.Random(f"{server.seed} {run}")
        script = random_script(chance, len(server.simulated()))
        worlds = iter(range(10**6))

        def lost(steps: object) -> str:
            prefix = server.feed(f"run-{run}-{next(worlds)}/")  # noqa: B023
            server.connection.begin_again()
            return World(prefix, server.simulated(), server.connection.clock).play(steps)  # type: ignore[arg-type]

        if not lost(script):
            continue
        steps = shortest(script, lambda part: bool(lost(part)), SHRINKING_TRIES)
        said = lost(steps) or "This time, nothing is lost: it depends on the second."
        told = "; ".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
        raise Wrong(f"{said} Seed {server.seed}, run {run}: {told}.")
