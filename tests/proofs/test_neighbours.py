"""While one account at every limit asks for everything, others are answered as if it did not.

What they wait for without it is measured at the same time, by the same requests to another service:
a busy machine delays both. A very busy one delays more who has much to do: so all is measured up to
three times, since what a service does by itself is there each time. The message has all figures.
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

SUBSCRIPTIONS = 20_000  # as many as there may be by default; with them go half a million actions
LATER_SECONDS = 0.05  # by which the slowest of a hundred replies may come later
GAP_SECONDS = 0.25  # for which it may fail to say that it lives, beside a service without
TRIES = 3


@contextmanager
def waiting(process):
    """Give, at the end, the seconds of the slowest of a hundred replies, and of the longest gap."""
    token = process.new_token(process.new_account())
    address, pipe = urlsplit(process.base_url).netloc, subprocess.PIPE
    program = [sys.executable, str(Path(__file__).with_name("neighbour.py")), address, token]
    seconds = []
    with subprocess.Popen(program, stdin=pipe, stdout=pipe, text=True) as neighbour:
        yield seconds
        took = json.loads(neighbour.communicate()[0])
    own = sorted(took["own"])
    seconds += [own[len(own) * 99 // 100], max(took["alive"])]


def what_is_wrong(quiet, folder, database, *broken, names=()):
    """Return the delays of neighbours if they are too long; else ""."""
    account = LargestAccount(SUBSCRIPTIONS)
    folder.mkdir()
    workers = quiet.environment["FEEDKEEP_WORKERS"]
    with (
        serving(folder, account, database, *broken, workers=workers) as (process, ask),
        waiting(quiet) as without,
        waiting(process) as beside,
    ):
        for asked in largest_requests(account):
            if not names or asked.name in names:
                ask(asked)
    quiet.stop()
    if beside[0] - without[0] <= LATER_SECONDS and beside[1] - without[1] < GAP_SECONDS:
        return ""
    return (
        f"{beside[0]:.3f} s and not {without[0]:.3f} s;"
        f" a gap of {beside[1]:.3f} s and not {without[1]:.3f} s"
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
