"""Programs that a service under test runs first: see `FeedkeepProcess.run_first`.

Most programs break one promise on purpose, so that a proof can show that it notices. The others
make something cheap, countable or quick. A name that feedkeep no longer has is an error.
"""

import importlib
import os
import pkgutil
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

from broken import ways


class _From(NamedTuple):
    """Makes from what is there what is put in its place."""

    change: Callable[[Any], Any]


_PUT_IN_PLACE: dict[str, dict[str, Any]] = {
    # Quicker, cheaper or countable
    "adding_waits_for_a_word": {
        "service.subscriptions.Subscriptions.add": _From(ways.waiting_for_a_word)
    },
    "another_server_has_a_second": {
        "remote.other_servers.MAX_SECONDS": 1.0,
        "remote.asking._PAUSES_SECONDS": (),
    },
    "failures_are_tried_again_soon": {"rules.feed_schedule._FIRST_RETRY_US": 1_000_000},
    "few_replies_are_asked_for": {"remote.other_servers.MAX_PAGES": 20},
    "commits_are_counted": {
        "sqlite.runner.SqliteRunner._commit": _From(ways.leaving_an_x("COMMITS")),
        "postgres.connections._commit": _From(ways.leaving_an_x("COMMITS")),
    },
    "computations_are_counted": {"security.argon2id.matches": _From(ways.leaving_an_x("COMPUTED"))},
    "feeds_are_never_fetched": {
        "feeds.scheduler.FetchScheduler.__aenter__": ways.itself,
        "feeds.first_looks.FirstLooks.look": ways.find_nothing,
    },
    "hashes_are_cheap": {"security.argon2id.OURS": _From(lambda ours: type(ours)(8, 1, 1))},
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
    "no_name_is_known": {"outbound.targets._addresses": ways.know_no_name},
    "no_session_is_fresh": {"service.page_sessions.FRESH_MINUTES": 0},
    "one_move_at_a_time": {"service.migrations.MAX_MOVES": 1},
    "patience_is_short": {"http.backpressure.PATIENCE_SECONDS": 1},
    "people_wait_longer": {"web.page._LOOK_SECONDS": 60.0, "web.adding.SECONDS": 60.0},
    "readiness_is_counted": {"service.Service.assert_ready": _From(ways.leaving_an_x("ASKED"))},
    "statements_end_soon": {
        "postgres.breaker.SUSPECT_SECONDS": 0.1,
        "postgres.connections.STATEMENT_SECONDS": 2.0,
        "http.error_responses.QUIET_SECONDS": 1.0,
    },
    "sweeps_follow_at_once": {
        "feeds.sweep._SECONDS_BETWEEN_ROUNDS": 0.1,
        "feeds.sweep._SECONDS_BETWEEN_STEPS": 0.02,
    },
    "the_clock_goes_back": {"runtime.wall_clock.now": _From(ways.going_back)},
    "writers_wait_half_a_second": {
        "sqlite.connection.WRITER_PATIENCE_SECONDS": 0.5,
        "sqlite.runner.WRITER_PATIENCE_SECONDS": 0.5,
    },
    # Broken
    "a_stop_waits_for_no_request": {
        "http.serving.server.Server.stop": lambda *_, **__: os._exit(0)
    },
    "accounts_have_a_defect": {"service.accounts.Accounts.people": ways.fail},
    "accounts_take_no_turns": {"rules.fetch_order.FairTurns.next_of": lambda *_: 0},
    "attempts_are_not_shared": {"service.shared_attempts.SharedAttempts.exchange": ways.do_nothing},
    "all_entries_are_loaded": {"sqlite.entry_writes.loaded": _From(ways.loading_all)},
    "damage_is_not_expected": {"feeds.pictures.shrink": _From(ways.not_expecting_damage)},
    "errors_have_another_shape": {
        "http.responses.encode": _From(
            lambda encode: lambda problem: encode(problem).replace(b"}", b', "x": 1}')
        )
    },
    "feeds_are_shown_at_once": {"rules.seen_feeds._counted": lambda *_: 0},
    "files_are_copied": {  # and whatever is written is kept until it is taken
        "openpodcast.reference.shared": ways.copied,
        "http.backpressure.CHUNK_BYTES": 2**30,
    },
    "killed_at_a_statement_of_postgres": {
        "postgres.connections.Connection.execute": _From(ways.counting_scripts)
    },
    "killed_at_a_statement_of_sqlite": {
        "sqlite.connection.open_file": _From(ways.counting_changes)
    },
    "leases_end_too_early": {  # and who holds one fetches all the same
        "feeds.scheduler.LEASE_US": 50_000,
        "feeds.scheduler._NEEDED_US": -60_000_000,
    },
    "long_work_is_on_the_loop": {"runtime.cooperative._threads": ways.OnTheLoop(1)},
    "looking_for_slow_replies_fails": {"http.backpressure.InFlight.cut_the_slow": lambda _: 1 / 0},
    "lost_files_are_not_noticed": {
        "sqlite.file_identity.FileIdentity.assert_in_place": lambda _: None
    },
    "many_hashes_at_once": {"security.passwords.hashed_at_once": lambda *_: 16},
    "no_fetch_waits_for_a_host": {"outbound.host_locks.HostLocks.at": lambda *_: nullcontext()},
    "no_room_is_made": {"http.serving.accepting.Acceptor._make_room": lambda _: False},
    "no_upload_locks_the_account": {
        "postgres.entry_write_statements.ChangeStatements.__init__": _From(ways.without_locks)
    },
    "pages_have_no_checksums": {
        "sqlite.connection.verifying_vfs": lambda: "unix",
        "sqlite.connection.has_checksums": lambda _: True,
    },
    "postgres_does_not_wait_for_the_disk": {
        "postgres.connections._DURABLE": "SET LOCAL synchronous_commit = off"
    },
    "reading_crashes_now_and_then": {
        "feeds.reading.read_with_episodes": _From(ways.crashing_now_and_then)
    },
    "reading_is_slow_and_large": {"feeds.reading.read_with_episodes": _From(ways.slow_and_large)},
    "reads_are_stale": {"postgres.tokens.PostgresTokens.find": _From(ways.stale)},
    "sqlite_commits_later": {
        "sqlite.runner.SqliteRunner._begin": ways.begin_once,
        "sqlite.runner.SqliteRunner._run_batch": ways.commit_now_and_then,
    },
    "sqlite_syncs_now_and_then": {  # NORMAL
        "sqlite.connection._SETTINGS": _From(lambda those: {**those, "synchronous": 1})
    },
    "steps_of_postgres_are_not_whole": {"postgres.connections._BEGIN": "SELECT 1;"},
    "steps_of_sqlite_are_not_whole": {"sqlite.connection._transaction": lambda *_: nullcontext()},
    "steps_wait_for_their_tables": {"postgres.migration.LOCK_MILLISECONDS": 60_000},
    "texts_are_kept_as_they_are": {"feeds.plain_text._one_line": lambda text: text},
    "the_list_has_a_defect": {"service.subscriptions.Subscriptions.page": ways.fail_as_told},
    "the_service_ends_with_what_looks": {
        "feeds.fetcher_process._Process._kill": _From(ways.ending_all)
    },
    "unknown_accounts_cost_nothing": {
        "security.passwords.Passwords.verify": _From(ways.computing_nothing)
    },
    "what_looks_is_broken_too": {
        "feeds.fetcher_process._PASSED_ON": _From(lambda told: (*told, "RUN_FIRST", "RAN_FIRST"))
    },
    "wrong_passwords_do_not_count": {
        "security.throttle.PER_ACCOUNT_AND_ADDRESS": 10**9,
        "security.throttle.PER_ADDRESS": 10**9,
        "security.throttle.PER_ACCOUNT": 10**9,
    },
}
"""Programs that only replace a constant or a function of feedkeep.

Stores are named without `store`.
"""


def run(program: str) -> None:
    """Run one of them, or else the module of this package that has its name."""
    if program not in _PUT_IN_PLACE:
        importlib.import_module(f"broken.{program}")
        return
    for place, value in _PUT_IN_PLACE[program].items():
        owner, _, name = place.rpartition(".")
        store = "store." if place.startswith(("sqlite.", "postgres.")) else ""
        found = pkgutil.resolve_name(f"feedkeep.{store}{owner}")
        there = getattr(found, name)
        setattr(found, name, value.change(there) if isinstance(value, _From) else value)
