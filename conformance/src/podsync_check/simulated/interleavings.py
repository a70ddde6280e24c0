"""Random scripts for a server, each in a world of its own, and evidence of what is lost."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count

from podsync_check.connection import Exchange, Spent
from podsync_check.messages import Wrong
from podsync_check.servers import OpenPodcast, UrlLists
from podsync_check.simulated.scripts import (
    PAUSED_SECONDS,
    Device,
    Loss,
    Step,
    World,
    random_script,
    shortest,
)

_USUAL, _THOROUGH = (20, 60.0), (500, 900.0)
"""Maximum number of worlds, and the time in seconds after which no other one begins."""
_SHRINKING_TRIES, _SHRINKING_SECONDS = 40, 60.0


def expect_no_loss(server: UrlLists | OpenPodcast) -> None:
    """Play random scripts, each in a world of its own.

    Raises:
        Wrong: Something is lost. The text has the shortest script that was seen to lose something,
            and the exchanges are from then: timing may decide whether it does so again.
    """
    most, seconds = _THOROUGH if server.is_thorough else _USUAL
    ends_at_seconds = server.connection.clock() + seconds
    for number in range(most):
        if server.connection.clock() > ends_at_seconds:
            break
        run = _Run(server, number)
        if first := run.play(run.script):
            found = run.shortened(first)
            steps = [f"{number}. {step}" for number, step in enumerate(found.script, 1)]
            told = "; ".join(steps) or "nothing before that"
            again = "" if found is not first else " Repeated in part, it lost nothing."
            said = f"{found.said} Seed {server.seed}, run {run.number}: {told}.{again}"
            raise Wrong(said, exchanges=_evidence(found))


class _Run:
    """A random script, and worlds to play it in."""

    def __init__(self, server: UrlLists | OpenPodcast, number: int) -> None:
        self.number = number
        self._server = server
        self._worlds = count()
        self.script = random_script(self._chance("script"), len(self._devices()))

    def _chance(self, of: str) -> random.Random:
        return random.Random(f"{self._server.seed} {self.number} {of}")

    def _devices(self) -> Sequence[Device]:
        return self._server.simulated(self._chance("devices"))

    def play(self, script: Sequence[Step]) -> Loss | None:
        """Play a script in a new world; raises as `World.play`."""
        connection = self._server.connection
        first = len(connection.exchanges)
        prefix = self._server.feed(f"world-{self.number}-{next(self._worlds)}/")
        # Timestamps of the Open Podcast API are finer than seconds: there is nothing to wait for.
        paused_seconds = PAUSED_SECONDS if isinstance(self._server, UrlLists) else 0.0
        loss = World(prefix, self._devices(), connection, paused_seconds).play(script)
        return loss and replace(loss, script=script, exchanges=connection.exchanges[first:])

    def shortened(self, found: Loss) -> Loss:
        """Return the finding with the shortest script; the same if nothing is lost again."""
        clock = self._server.connection.clock
        ends_at_seconds = clock() + _SHRINKING_SECONDS

        def loses(script: Sequence[Step]) -> bool:
            nonlocal found
            if clock() > ends_at_seconds:
                raise Spent
            with suppress(Wrong):  # another fault than the one that is sought
                if again := self.play(script):
                    found = again
                    return True
            return False

        with suppress(Spent):
            shortest(found.script, loses, _SHRINKING_TRIES)
        return found


def _evidence(found: Loss) -> Sequence[Exchange]:
    """Return the requests of the device that lacks something, and what others said about it."""
    url = found.url.encode()
    return [
        one for one in found.exchanges if one.session is found.session or url in one.request.body
    ]
