"""While one account at every limit asks for everything, others are answered as if it did not.

What they wait for without it is measured at the same time: by the same requests to another service
on this machine, which no other test uses. So a machine that is busy with something else delays
both; one that is very busy delays more who has much to do, and shows nothing. All is measured anew
if it fails, up to three times in all: what a service does by itself is there each time. The message
has all figures; if the replies of the other service were slow, too, the machine was busy.
"""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from forms import IS_FULL
from largest_account import LargestAccount
from largest_requests import largest_requests
from test_bounded_work import serving

SUBSCRIPTIONS = 20_000
"""As many as there may be by default; with them go half a million actions."""

LATER_SECONDS = 0.05
"""By how much the slowest of a hundred replies may come later than without the account."""

GAP_SECONDS = 0.25
"""By how much longer it may fail to say that it lives than a service beside it does."""

TRIES = 3


class Waiting:
    """What a neighbour has waited for."""

    def __init__(self):
        self._took = {}

    @contextmanager
    def measured(self, process):
        """Let an account that is new ask meanwhile."""
        token = process.new_token(process.new_account())
        program = [sys.executable, str(Path(__file__).with_name("neighbour.py"))]
        with subprocess.Popen(
            [*program, urlsplit(process.base_url).netloc, token],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as neighbour:
            yield
            self._took = json.loads(neighbour.communicate()[0])

    @property
    def slowest_of_a_hundred(self):
        """The seconds that one reply in a hundred took, or longer."""
        took = sorted(self._took["own"])
        return took[len(took) * 99 // 100]

    @property
    def longest_gap(self):
        """The most seconds that it took to say that it lives."""
        return max(self._took["alive"])


def what_is_wrong(quiet, folder, database, *broken, names=()):
    """Return what neighbours waited for if that is too much; else ""."""
    account = LargestAccount(SUBSCRIPTIONS)
    beside, without = Waiting(), Waiting()
    folder.mkdir()
    workers = quiet.environment["FEEDKEEP_WORKERS"]
    with (
        serving(folder, account, database, *broken, workers=workers) as served,
        without.measured(quiet),
        beside.measured(served.process),
    ):
        for asked in largest_requests(account):
            if not names or asked.name in names:
                served.ask(asked)
    quiet.stop()
    later = beside.slowest_of_a_hundred - without.slowest_of_a_hundred
    gap = beside.longest_gap - without.longest_gap
    if later <= LATER_SECONDS and gap < GAP_SECONDS:
        return ""
    return (
        f"{beside.slowest_of_a_hundred:.3f} s and not {without.slowest_of_a_hundred:.3f} s;"
        f" a gap of {beside.longest_gap:.3f} s and not {without.longest_gap:.3f} s"
    )


if IS_FULL:  # it takes minutes, and a machine that does nothing else

    @pytest.mark.parametrize("kind", ["sqlite", "sqlite, 2 workers", "postgres"])
    def test_an_account_at_every_limit_delays_no_other(tmp_path, start, prepare, kind):
        wrong = []
        for number in range(TRIES):
            database = prepare(kind).database if kind == "postgres" else ""
            found = what_is_wrong(start(kind), tmp_path / f"try {number}", database)
            if not found:
                return
            wrong.append(found)
        pytest.fail("\n".join(wrong))

    def test_the_proof_notices_that_long_work_is_on_the_loop(tmp_path, start):
        names = {"GET /", "GET /changes", "GET /history"}
        broken = "long_work_is_on_the_loop"
        assert what_is_wrong(start(), tmp_path / "here", "", broken, names=names) != ""
