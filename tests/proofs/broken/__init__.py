"""What a service under test runs before anything else: see `FeedkeepProcess.run_first`.

Most programs break one promise on purpose, so that a proof can show that it notices. The others
make something cheap, countable or quick. A name that feedkeep no longer has is an error.
"""

import importlib
import pkgutil
from contextlib import nullcontext
from typing import Any

_PUT_IN_PLACE: dict[str, dict[str, Any]] = {
    # Quicker or cheaper
    "another_server_has_a_second": {
        "remote.other_servers.MAX_SECONDS": 1.0,
        "remote.asking._PAUSES_SECONDS": (),
    },
    "failures_are_tried_again_soon": {"rules.feed_schedule._FIRST_RETRY_US": 1_000_000},
    "few_replies_are_asked_for": {"remote.other_servers.MAX_PAGES": 20},
    "hung_workers_end_soon": {"cli.workers.HUNG_SECONDS": 2.0, "cli.workers.PULSE_SECONDS": 0.1},
    "leases_are_short": {
        "feeds.scheduler.LEASE_US": 5_000_000,
        "feeds.scheduler._NEEDED_US": 1_000_000,
        "rules.seen_feeds.LEASE_US": 5_000_000,  # by which a sweep tells when a look began
    },
    "looks_follow_at_once": {
        "feeds.scheduler.FETCHES_PER_SECOND": 1_000.0,
        "feeds.scheduler._LONGEST_WAIT_SECONDS": 0.1,
    },
    "no_session_is_fresh": {"service.page_sessions.FRESH_MINUTES": 0},
    "one_move_at_a_time": {"service.migrations.MAX_MOVES": 1},
    "patience_is_short": {"http.backpressure.PATIENCE_SECONDS": 1},
    "people_wait_longer": {"web.page._LOOK_SECONDS": 60.0, "web.adding.SECONDS": 60.0},
    "statements_end_soon": {
        "store.postgres.breaker.SUSPECT_SECONDS": 0.1,
        "store.postgres.connections.STATEMENT_SECONDS": 2.0,
        "http.error_responses.QUIET_SECONDS": 1.0,
    },
    "sweeps_follow_at_once": {
        "feeds.sweep._SECONDS_BETWEEN_ROUNDS": 0.1,
        "feeds.sweep._SECONDS_BETWEEN_STEPS": 0.02,
    },
    "writers_wait_half_a_second": {
        "store.sqlite.connection.WRITER_PATIENCE_SECONDS": 0.5,
        "store.sqlite.runner.WRITER_PATIENCE_SECONDS": 0.5,
    },
    # Broken
    "accounts_take_no_turns": {"rules.fetch_order.FairTurns.next_of": lambda *_: 0},
    "leases_end_too_early": {  # and who holds one fetches all the same
        "feeds.scheduler.LEASE_US": 50_000,
        "feeds.scheduler._NEEDED_US": -60_000_000,
    },
    "lost_files_are_not_noticed": {
        "store.sqlite.file_identity.FileIdentity.assert_in_place": lambda _: None
    },
    "many_hashes_at_once": {"security.passwords.hashed_at_once": lambda *_: 16},
    "no_fetch_waits_for_a_host": {"outbound.host_locks.HostLocks.at": lambda *_: nullcontext()},
    "no_room_is_made": {"http.serving.accepting.Acceptor._make_room": lambda _: False},
    "pages_have_no_checksums": {
        "store.sqlite.connection.verifying_vfs": lambda: "unix",
        "store.sqlite.connection.has_checksums": lambda _: True,
    },
    "postgres_does_not_wait_for_the_disk": {
        "store.postgres.connections._DURABLE": "SET LOCAL synchronous_commit = off"
    },
    "steps_of_postgres_are_not_whole": {"store.postgres.connections._BEGIN": "SELECT 1;"},
    "steps_of_sqlite_are_not_whole": {
        "store.sqlite.connection._transaction": lambda *_: nullcontext()
    },
    "steps_wait_for_their_tables": {"store.postgres.migration.LOCK_MILLISECONDS": 60_000},
    "texts_are_kept_as_they_are": {"feeds.plain_text._one_line": lambda text: text},
    "wrong_passwords_do_not_count": {
        "security.throttle.PER_ACCOUNT_AND_ADDRESS": 10**9,
        "security.throttle.PER_ADDRESS": 10**9,
        "security.throttle.PER_ACCOUNT": 10**9,
    },
}
"""Programs that only put something else in the place of a constant or a function."""


def run(program: str) -> None:
    """Run one of them, or else the module of this package that has its name."""
    if program not in _PUT_IN_PLACE:
        importlib.import_module(f"broken.{program}")
        return
    for place, value in _PUT_IN_PLACE[program].items():
        owner, _, name = place.rpartition(".")
        found = pkgutil.resolve_name(f"feedkeep.{owner}")
        getattr(found, name)  # or it would break nothing
        setattr(found, name, value)
