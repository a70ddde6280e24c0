"""One account at every limit costs no other one more than a bounded part of what there is.

What each request does is counted: the rows that the driver reads and writes, and the calls on the
event loop until other tasks have their turn. No number follows from the time.
"""

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
import pytest
from fake_provider import CLIENT, FakeProvider
from feedkeep_process import FeedkeepProcess
from forms import IS_LONG, first_of, in_the_long_form
from largest_account import NAME, LargestAccount
from largest_requests import FEW, LAST, PASSWORD, largest_requests
from postgres_server import execute

SUBSCRIPTIONS = 1_000 if IS_LONG else 500
"""The settings `max_subscriptions` and `max_items`, which are 20,000 and 10,000 by default.

There is a twentieth of the pointers, former states, actions and deletions, too, which have no
setting; devices, documents, tokens, sessions and invitations are as many as there may be.
"""

CALLS_IN_A_TURN = 50_000  # up to 35,000 were seen, also of an account of half or twice the size
ROWS_WRITTEN = 3 * SUBSCRIPTIONS  # in a commit: feeds, what they were before, and what else changed
# On PostgreSQL all goes with one commit, which delays no request; on SQLite, 1,000 at a time.
WRITE_MORE = {"POST /account/delete": 80 * SUBSCRIPTIONS}
ROWS_READ = 2_500  # a page of the list, all devices, tokens or titles: up to 1,200 were seen
OF_WHAT_IS_NOT_THERE = 20
# Feeds that are named come with their pointers, of which each of the first ones has a hundred.
OF_FEW = ROWS_READ + FEW * 100
OF_THE_LIST = 15 * SUBSCRIPTIONS  # with all pointers it has 5 times as many rows, some read twice
OF_THE_HISTORY = 40 * SUBSCRIPTIONS
"""There are five times as many former states, which are read with the list, and once more to show
them: up to 31,000."""

OF_ALL = 100 * SUBSCRIPTIONS
"""There are 25 times as many episode actions, which are read once to see which of them are sent,
and to send them once more also by their keys and by their files: up to 82,000."""

READ_MORE = {
    OF_THE_LIST: """
        GET /api/2/subscriptions/{user}/{device}.json | GET /api/2/updates/{user}/{device}.json
        GET /export/{format} | GET /feeds/{guid} | GET /history | GET /restore
        GET /index.php/apps/gpoddersync/subscriptions | GET /subscriptions/{user}.{format}
        GET /subscriptions/{user}/{device}.{format}
        POST /api/2/subscriptions/{user}/{device}.json | POST /feeds/add | POST /feeds/file
        POST /feeds/file, few | POST /feeds/subscribe | POST /feeds/unsubscribe
        POST /history/{stamp}/undo | POST /import | POST /import, few | POST /import/carry-out
        POST /import/from/carry-out | POST /index.php/apps/gpoddersync/episode_action/create
        POST /index.php/apps/gpoddersync/subscription_change/create | POST /subscriptions
        POST /subscriptions/{user}.{format} | POST /subscriptions/{user}.{format}, few
        POST /subscriptions/{user}/{device}.{format}
        POST /subscriptions/{user}/{device}.{format}, few
        PUT /subscriptions/{user}.{format} | PUT /subscriptions/{user}.{format}, few
        PUT /subscriptions/{user}/{device}.{format}
        PUT /subscriptions/{user}/{device}.{format}, few""",
    # Among these, GET / for news of feeds that moved, of which this account has most.
    OF_THE_HISTORY: """
        GET / | GET /apps | GET /changes | GET /changes/restore | GET /news | POST /changes/rescue
        POST /changes/undo | POST /changes/undo, changed since""",
    OF_ALL: """
        GET /account/download | GET /api/2/episodes/{user}.json
        GET /index.php/apps/gpoddersync/episode_action | POST /changes/restore | POST /restore""",
}
"""Requests with higher limits of rows read; a new route needs less, or an entry here."""


def by_name(values):
    """Return the value of each request that a text names."""
    return {name: value for value, text in values.items()
            for name in re.split(r"\s*[|\n]\s*", text.strip())}  # fmt: skip


ROWS_READ_BY = by_name(READ_MORE)

MOST_SECONDS = 600  # for a reply, which may be half a million actions
REFUSED = by_name({
    404: """GET /apps/disconnect | GET /news/{secret}.atom | GET /pictures/{guid}
        POST /index.php/login/v2/poll""",
    403: """GET /reset | GET /sign-in/provider/back | POST /index.php/login/v2/flow/{login}
        POST /recover | POST /reset | POST /sign-up""",
    409: "POST /changes/undo, changed since",
    400: "POST /import/from | POST /sign-in/provider/logout",
})  # fmt: skip
"""For want of a picture, of a secret link or code, or of a provider's word; and one that asks. All
else is carried out: so a new route has to be sent what it carries out."""


@dataclass(frozen=True)
class Done:
    """A request that was answered, and what it cost."""

    name: str
    status: int
    rows_read: int
    rows_written: int
    longest_turn: int

    def is_bounded(self):
        """Whether the status is the expected one, and the cost is within the limits."""
        refusal, at_most = REFUSED.get(self.name), ROWS_READ_BY.get(self.name, ROWS_READ)
        if self.name.endswith(", unknown"):
            refusal, at_most = httpx.codes.NOT_FOUND, OF_WHAT_IS_NOT_THERE
        elif self.name.endswith(", few"):
            at_most = max(at_most, OF_FEW)
        return (
            (self.status if self.status >= httpx.codes.BAD_REQUEST else None) == refusal
            and self.rows_read <= at_most
            and self.rows_written <= WRITE_MORE.get(self.name, ROWS_WRITTEN)
            and self.longest_turn <= CALLS_IN_A_TURN
        )


@contextmanager
def serving(folder, account, database, *first, workers="1"):
    """Give a service that has the account, and what asks it: an app of it, or a browser."""

    async def fill(service):
        await service.store.fill(account.records())
        await service.accounts.set_password(NAME, PASSWORD)
        await service.accounts.create("Other", None, is_admin=True)

    limit = f"{account.subscriptions}"
    settings = {"max_subscriptions": limit, "max_items": limit, "registration": "open"}
    settings |= {"workers": workers, "log_level": "warning"}
    with FakeProvider() as provider:
        settings |= {"oidc_issuer": provider.issuer, "oidc_client_id": CLIENT}
        process = FeedkeepProcess(folder, database, **settings)
        process.must("migrate")
        process.use(fill)
        if database:
            execute(database, "ANALYZE")  # as PostgreSQL does by itself, later
        process.passwords.append(PASSWORD)
        if first:
            process.run_first(*first)
        with (
            process,
            process.client(NAME) as app,
            httpx.Client(base_url=process.base_url, timeout=MOST_SECONDS) as browser,
        ):
            app.timeout = httpx.Timeout(MOST_SECONDS)
            if workers != "1":
                process.wait_for_workers(int(workers))

            def ask(asked):
                if asked.template in LAST or (asked.is_page and not browser.cookies):
                    browser.cookies.clear()
                    form = {"name": NAME, "password": PASSWORD}
                    signed_in = browser.post("/sign-in", data=form)
                    assert signed_in.status_code == httpx.codes.SEE_OTHER, signed_in.text
                client = browser if asked.is_page else app
                return client.request(asked.method, asked.path, **asked.sent)

            yield process, ask


def what_is_done(folder, database="", *first, names=()):
    """Return the cost of each request, or of the requests in `names` alone."""
    account = LargestAccount(SUBSCRIPTIONS)
    requests = [one for one in largest_requests(account) if not names or one.name in names]
    with serving(folder, account, database, *first, "work_is_counted") as (_, ask):
        answered = [(asked, ask(asked)) for asked in requests]
    lines = map(json.loads, (folder / "work.jsonl").read_text().splitlines())
    work = {line.pop("id"): line for line in lines}
    return [
        Done(asked.name, reply.status_code, **work[reply.headers["x-request-id"]])
        for asked, reply in answered
    ]


@pytest.mark.parametrize("kind", first_of("sqlite", "postgres"))
def test_no_request_of_the_largest_account_is_unbounded(tmp_path, request, kind):
    database = request.getfixturevalue("database") if kind == "postgres" else ""
    done = what_is_done(tmp_path, database)
    assert {*ROWS_READ_BY, *WRITE_MORE, *REFUSED} <= {work.name for work in done}
    assert [work for work in done if not work.is_bounded()] == []


@in_the_long_form
@pytest.mark.parametrize(
    ("broken", "names"),
    [
        ("long_work_is_on_the_loop", {"GET /", "GET /changes", "GET /history"}),
        ("all_entries_are_loaded", {"PATCH /subscriptions/{guid}", "POST /feeds/{guid}/move"}),
    ],
)
def test_the_proof_notices_work_that_is_not_bounded(tmp_path, broken, names):
    done = what_is_done(tmp_path, "", broken, names=names)
    assert {work.name for work in done if not work.is_bounded()} == names
    assert all(work.status < httpx.codes.BAD_REQUEST for work in done)
