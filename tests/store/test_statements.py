"""A split store: what is asked of Citus, and that every statement stays with its account.

Citus itself comes in no package that a test could start. A stand-in notes what it is asked, and
answers where feedkeep looks for an answer.
"""

import asyncio
import contextlib
import re
from array import array
from types import SimpleNamespace

import pytest
import sqlglot
from feedkeep_process import FeedkeepProcess
from further_steps import with_further
from library import library
from list_values import ALICE, BOB, G1, account, derived
from msgspec.structs import astuple
from postgres_server import drop_database, execute, new_database, with_connection
from small_lists import add, delete, look, update
from sqlglot import exp

from feedkeep import model
from feedkeep.model import replace
from feedkeep.model.errors import NotAuthorized
from feedkeep.runtime import wall_clock
from feedkeep.store import migrate
from feedkeep.store.portable import feeds as feeds_module
from feedkeep.store.portable import totals as totals_module
from feedkeep.store.portable.accounts import COUNT_OTHERS  # sent when one ceases to be admin
from feedkeep.store.portable.history import LOOKS
from feedkeep.store.postgres import PostgresStore, connections, migration, runner
from feedkeep.store.postgres import entry_writes as changes_module
from feedkeep.store.postgres.runner import MAX_REMEMBERED, REMEMBERED_SECONDS, Shards

URL = "https://a.example"
GUID = derived(URL)
BY_FEED = {"feed", "feed_picture", "feed_episodes"}
"""Tables that belong to no account, and are split by the guid of the feed."""

ON_ONE_MACHINE = {"attempt", "schema_version"}
"""Tables that belong to no account, and are not split."""

NOT_BY_ACCOUNT = {"account_name", "login_grant", *ON_ONE_MACHINE, *BY_FEED}
"""All tables that are not split by account; the first two are on every machine."""

PASSED_ON = re.compile("(SET|LOCK|CREATE|ALTER)\\b")
OF_MANY = {"$1", "ANY(CAST($1 AS BIGINT[]))", "w.account_id", "t.account_id"}
OF_ONE_SHARD = {"$1", "ANY(CAST($1 AS BIGINT[]))"}
FIND_SHARD = """
CREATE FUNCTION public.get_shard_id_for_distribution_column(table_name regclass, value bigint)
RETURNS bigint LANGUAGE sql AS $$ SELECT 100 + value % 2 $$
"""


async def statements_of(*works, postgres, is_split):
    """Do works on a store, one after the other; return what was sent for each.

    With `is_split`, the tables are split over a cluster, as far as the store can see.
    """
    sent = [set()]

    async def is_distributed(_):
        return is_split

    class Recording(connections.Connection):
        def __init__(self, *arguments, **more):
            super().__init__(*arguments, **more)
            self.add_query_logger(lambda logged: sent[-1].add(logged.query))

    database = new_database(postgres)
    await (await PostgresStore.open(database, 8, wall_clock.now)).close()
    if is_split:
        execute(database, FIND_SHARD)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(connections, "Connection", Recording)
        patched.setattr(migration, "is_distributed", is_distributed)
        store = await PostgresStore.open(database, 8, wall_clock.now)
        for work in works:
            await work(store)
            sent.append(set())
        await store.close()
    drop_database(postgres, database)
    return sent[: len(works)]


@pytest.fixture(scope="module")
def sent(postgres):
    """Statements of requests, of everything else, and of a new password, by `is_split`."""
    works = (every_request, fill_and_read, lock_out)
    return {
        is_split: asyncio.run(statements_of(*works, postgres=postgres, is_split=is_split))
        for is_split in (True, False)
    }


@pytest.fixture
def sent_if_split(sent):
    """Statements that requests send to a cluster."""
    return sent[True][0]


async def fill_and_read(store):
    for one in (BOB, 8, 4):
        await store.accounts.delete(one)
    await store.fill(library(2, 3))
    async with store.archive() as archive:
        assert await archive.count() == sum([len(some) async for some in archive.records()])
    assert await store.faults() == []


async def lock_out(store):
    [person, *_] = await store.accounts.people("", 1)
    await store.accounts.set_password(person.account.id, "other")
    await store.accounts.set_disabled(person.account.id, True)


def parts(sent):
    """Return each statement by itself: those that were sent together, and what went with BEGIN.

    Each part has its parameters from $1 on, and instead of ids in its text, the first parameter.
    """
    found = set()
    for script in sent:
        statement = script.rpartition(";")[2] if script.lstrip().startswith("BEGIN") else script
        statement = re.sub(r"'\{[0-9,]+\}'::bigint\[\]", "$1::bigint[]", statement)
        for part in re.split(r"(?:WITH|,) w\d+ AS \(", statement):
            before = min([int(number) for number in re.findall(r"\$(\d+)", part)], default=1) - 1
            from_one = re.sub(r"\$(\d+)", lambda number, n=before: f"${int(number[1]) - n}", part)
            found.add(re.sub(r" RETURNING 1\).*", "", from_one, flags=re.DOTALL))
    return found


async def every_request(store):
    for one in (account(ALICE, "alice"), account(BOB, "bob")):
        await store.accounts.create(one, one.name)
    items = [(URL, None), ("https://b.example", None)]
    await asyncio.gather(add(store, *items), add(store, *items, to=BOB))
    for url in ("https://c.example", URL):  # there, and back: a pointer is forgotten
        await update(store, GUID, url)
    await every_request_about_history(store)
    deletion = await delete(store, GUID)
    await asyncio.gather(store.entries.view(ALICE, GUID), store.entries.view(BOB, GUID))
    await store.entries.page(ALICE, model.PageRequest(-1, None, 1, 50))
    await store.entries.deletion(ALICE, deletion.id)
    await store.entries.whole(ALICE)
    await store.accounts.find("alice")
    assert await store.accounts.are_there()
    token = await store.tokens.add(ALICE, model.Token(0, b"\1" * 32, "", 0))
    await store.tokens.find(ALICE, token.hash, GUID)
    cookieless = model.DocumentName(model.DocumentKind.COOKIELESS, "app")
    await store.tokens.find(ALICE, token.hash, document=cookieless)
    await store.tokens.of(ALICE)
    await store.tokens.revoke(ALICE, token.id, 1)
    await every_request_of_apps(store)
    await every_request_about_accounts(store)
    await every_request_about_feeds(store)
    await store.accounts.set_password(ALICE, "other")
    await store.accounts.replace_hash(ALICE, "other", "a dearer one")
    await store.accounts.set_disabled(ALICE, True)
    await store.accounts.delete(ALICE)


async def every_request_about_history(store):
    def turn(_):
        """Begin another state of the entry."""
        nonlocal stamp
        stamp += 1
        saved = [model.Subscription(GUID, URL, stamp % 2 == 0, stamp)]
        counts = model.Counts(1, 1, 1)
        return model.Decision(None, saved, [], stamp, counts, stamp=stamp, ended=[GUID])

    def restamp(snapshot):
        """Change only stamps."""
        decided = turn(snapshot)
        return model.Decision(*astuple(decided)[:-2], [], [GUID])

    async def change(*decides):
        await asyncio.gather(
            *(store.entries.change(ALICE, [GUID], one, author="{}") for one in decides)
        )

    stamp = (await store.entries.whole(ALICE)).last_stamp
    await change(turn, turn, restamp)
    await change(restamp)
    await change(restamp, turn)  # in one batch, what only has other stamps now, and is ended then
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(changes_module, "MAX_FORMER_STATES", 2)
        await store.entries.change(ALICE, None, turn, author="{}", history_from=stamp)
    await store.entries.whole(ALICE, stamp)
    for named in (None, GUID):
        assert (await store.history.page(ALICE, stamp + 1, 2, named)).stamps != []
    after = 0
    while (found := await store.history.forget(after, stamp, 1, with_authors=True)) is not None:
        after = found
    assert (await store.history.page(ALICE, stamp + 1, 2)).stamps == []


async def every_request_about_feeds(store):
    urls = {derived(url): url for url in (URL, "https://b.example")}
    for now in (0, 10**12):
        await store.feeds.want(urls, now)
    feed, other = await store.feeds.lease(1, 2, 9)
    picture = model.Picture("image/webp", b"", digest="")
    episodes = model.NewestEpisodes("")
    assert await store.feeds.save(replace(feed, looked=1), 2, picture, None, episodes)
    assert await store.feeds.episodes([feed.guid, other.guid]) == {feed.guid: ()}
    await store.feeds.release([other.guid], 2)
    await store.feeds.renew([other])
    assert await store.feeds.next_fetch() == 0
    assert await store.feeds.picture(feed.guid) is not None
    after, _ = await store.feeds.subscribed(0, 1)
    assert after == BOB
    await store.feeds.subscribed(BOB, 100)
    assert len(await store.feeds.known(urls)) == 2
    health = (await store.totals.of_feeds("00000000-0000-0000-0000-000000000000", 9)).health
    assert health == {model.FeedHealth.NEW: 1, model.FeedHealth.READ: 1}
    assert await store.totals.of_accounts(0, 9, 0) is not None
    assert await store.feeds.forget(10**12 + 1, 9) == 2


async def every_request_about_accounts(store):
    invitation, pages = model.Purpose.INVITATION, model.Purpose.PAGES
    made = [model.Token(0, bytes([7, n]) * 16, "", 0, purpose=invitation) for n in range(2)]
    await store.tokens.change(ALICE, invitation, lambda *_: model.TokenDecision(made))
    changed = await store.tokens.change(
        ALICE, invitation, lambda _, known: model.TokenDecision([], [known[0].id], "hash")
    )
    assert changed.account.password_hash == "hash"
    await store.tokens.mark_used([(ALICE, 1), (BOB, 1)], 1)
    admits = (ALICE, made[1].hash), lambda *_: True
    await store.accounts.sign_up(account(8, "carol"), "carol", *admits)
    await store.accounts.create_many([(account(4, "dan"), "dan")])
    await store.accounts.set_admin(ALICE, True)
    session = model.Token(0, b"\x08" * 32, "", 0, 9, is_session=True, purpose=pages)
    first = await store.tokens.add_session(changed.account, session, 1, 1)
    session = replace(session, hash=b"\x09" * 32)
    await store.tokens.add_session(changed.account, session, 1, 1, first.id)


async def every_request_of_apps(store):
    session = model.Token(0, b"\2" * 32, "", 0, 9, is_session=True)
    alice = account(ALICE, "alice")
    of_token = replace(session, hash=b"\5" * 32, of_token=1)
    with contextlib.suppress(NotAuthorized):  # since the token is revoked
        await store.tokens.add_session(alice, of_token, 1, 1)
    session = await store.tokens.add_session(alice, session, 1, 1)
    await store.tokens.extend(ALICE, session.id, 10)
    for clock in model.Clock:
        await store.accounts.advance(ALICE, clock, lambda stamp: stamp + 1)
        note = model.TokenProgress(session.id, clock, model.SyncProgress(1))
        await store.tokens.save_progress(ALICE, note)
        named = [model.DocumentName("device", f"{clock.value}{number}") for number in range(2)]
        saved = [model.Document("device", named[0].name, "{}")]

        def decide(given, note=note, saved=saved):
            return replace(look(given), documents=saved, token_progress=note)

        for _ in range(2):  # new, and known
            await store.entries.change(ALICE, [], decide, named)
    await store.entries.changed(ALICE, 0)
    actions = store.episode_actions
    played = (GUID, URL, URL, "phone", "play", 1)
    action = model.EpisodeAction(b"\3" * 16, *played, file=bytes(10))
    assert await actions.weights(ALICE) == (0, 0)
    await actions.record(ALICE, [action], lambda *_: model.ActionDecision([action], 1), max)
    assert await actions.of_episodes(ALICE, GUID, [b"\3" * 10]) == [action]
    for podcast_guid in (None, GUID):
        await actions.page(ALICE, model.ActionRequest(0, podcast_guid, 1))
        await actions.last_of_each(ALICE, model.ActionRequest(0, podcast_guid, 1))
    await actions.newest_plays(ALICE, model.PlayRequest(None, None, 1))
    await actions.of_episode(ALICE, GUID, action.key[:10])
    await store.feed_labels.change(ALICE, lambda _: [model.FeedLabel(GUID, "Title", "Folder")])
    await store.feed_labels.of(ALICE)
    for body in ("{}", '{"a":1}'):
        await store.documents.change(ALICE, "device", "phone", lambda _, __, body=body: body)
    await store.documents.of(ALICE, "device")
    await store.documents.body(ALICE, "device", "phone")
    grant = model.Grant(b"\4" * 32, ALICE, "", 1)
    await store.logins.save(alice, grant, 0)
    await store.logins.find(grant.login)
    await store.logins.fetch(grant, model.Token(0, b"\6" * 32, "", 0), 1)
    await store.attempts.save([model.CountedAttempts(b"\7" * 16, 1, array("I", [1]))])
    await store.attempts.saved_since(0, 9)
    assert await store.attempts.forget(0, 9, 9) == 1


def strays(statement, allowed):
    """Return the tables of a statement that are not tied to the account of the request."""
    tree = sqlglot.parse_one(statement, dialect="postgres")
    tied = {side.table for side, other in comparisons(tree) if other in allowed}
    target = tree.this.find(exp.Table) if isinstance(tree, exp.Insert) else None
    return [
        table.name
        for table in tree.find_all(exp.Table)
        if table.db == "feedkeep"
        and table.name not in NOT_BY_ACCOUNT
        and not ("" in tied and len(list(tree.find_all(exp.Table))) == 1)
        and table.alias not in tied
        and not (table is target and inserts_for_account(tree, allowed, tied))
    ]


def comparisons(tree):
    """Return each comparison of an account_id that has to hold, from either side."""
    return [
        (side, other.sql(dialect="postgres"))
        for node in tree.find_all(exp.EQ)
        if not node.find_ancestor(exp.Or, exp.Not, exp.Case)
        for side, other in ((node.left, node.right), (node.right, node.left))
        if isinstance(side, exp.Column) and side.name == "account_id"
    ]


def inserts_for_account(tree, allowed, tied):
    """Whether an INSERT's first column is the account, and of this request."""
    first = tree.this.expressions[0].name
    source = tree.expression
    values = source.expressions[0]
    value = values.expressions[0] if isinstance(source, exp.Values) else values
    is_tied = value.name == "account_id" and getattr(value, "table", "") in tied - {""}
    return first == "account_id" and (is_tied or value.sql(dialect="postgres") in allowed)


@pytest.mark.parametrize("is_split", [True, False])
def test_every_table_of_every_statement_is_tied_to_the_account(sent, is_split):
    found = {statement for statement in parts(sent[is_split][0]) if "feedkeep." in statement}
    found -= {COUNT_OTHERS, *LOOKS, *feeds_module.LOOKS, *totals_module.LOOKS}
    assert len(found) > 40
    allowed = OF_ONE_SHARD if is_split else OF_MANY
    assert {statement: stray for statement in found if (stray := strays(statement, allowed))} == {}
    for statement in found:
        if "w.account_id" in statement:  # then the rows of w have their accounts from $1
            assert "unnest($1::bigint[]" in statement.replace("\n", " ")
            assert "AS w (account_id" in statement


def test_in_a_cluster_the_machine_of_the_account_inserts_rows_by_itself(sent_if_split):
    inserts = [
        sqlglot.parse_one(statement, dialect="postgres")
        for statement in sent_if_split
        if "INSERT INTO" in statement
        and "feedkeep.attempt" not in statement
        and "feedkeep.account_name" not in statement  # which every machine has
    ]
    of_rows = [tree for tree in inserts if isinstance(tree.expression, exp.Select)]
    assert len(of_rows) == 8
    for tree in of_rows:
        read = {table.name: table.alias for table in tree.expression.find_all(exp.Table)}
        tied = {side.table for side, other in comparisons(tree) if other in OF_ONE_SHARD}
        assert {read.get("account"), read.get("entry")} & tied


def test_in_a_cluster_a_statement_that_writes_of_feeds_is_of_one_feed(sent_if_split):
    about = [
        sqlglot.parse_one(statement, dialect="postgres")
        for statement in sent_if_split
        if any(f"feedkeep.{table} " in statement for table in BY_FEED)
        and statement not in (*feeds_module.LOOKS, *totals_module.LOOKS)
    ]
    assert len(about) == 10
    for tree in about:
        assert len(list(tree.find_all(exp.Table))) == 1
        if isinstance(tree, exp.Insert):
            assert isinstance(tree.expression, exp.Values)
            written = tree.this.expressions[0].name, tree.expression.expressions[0].expressions[0]
        else:
            sides = [(node.left.name, node.right) for node in tree.find_all(exp.EQ)]
            [written] = [side for side in sides if side[0] == "guid"]
        assert (written[0], written[1].sql(dialect="postgres")) == ("guid", "$1")


def test_in_a_cluster_a_statement_about_attempts_reads_no_split_table(sent_if_split):
    about = [statement for statement in sent_if_split if "feedkeep.attempt" in statement]
    assert len(about) == 4
    for statement in about:
        tables = sqlglot.parse_one(statement, dialect="postgres").find_all(exp.Table)
        assert {table.name for table in tables if table.db == "feedkeep"} == {"attempt"}


def test_new_password_is_written_on_the_one_machine_of_the_account(sent):
    writes = re.compile(r"(?:INSERT INTO|UPDATE|DELETE FROM) feedkeep\.(\w+)")
    found = {table for statement in sent[True][2] for table in writes.findall(statement)[:1]}
    assert found == {"account", "token"}


def test_statement_that_a_cluster_passes_on_to_its_machines_is_sent_alone(sent):
    """Citus passes on the whole string that a command came in, with all else that is in it."""
    statements = set().union(*sent[True])
    strings = [re.sub(r"\$\$.*?\$\$", "", statement, flags=re.DOTALL) for statement in statements]
    commands = [[part.strip() for part in string.split(";") if part.strip()] for string in strings]
    passed_on = [some for some in commands if any(PASSED_ON.match(command) for command in some)]
    assert len(passed_on) >= 3
    assert [some for some in passed_on if len(some) > 1] == []


@pytest.mark.parametrize("is_split", [True, False])
def test_new_connection_asks_for_no_types_of_parameters(sent, is_split):
    statements = set().union(*sent[is_split])
    assert [one for one in statements if "pg_type" in one or "jit" in one] == []


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM feedkeep.entry e WHERE e.guid = $1",
        "SELECT * FROM feedkeep.entry e WHERE e.account_id = $2",
        "SELECT * FROM feedkeep.entry e WHERE e.account_id = $1 OR e.guid = $2",
        "SELECT * FROM feedkeep.entry e JOIN feedkeep.entry s ON s.guid = e.new_guid"
        " WHERE e.account_id = $1",
        "DELETE FROM feedkeep.token WHERE id = $1",
        "UPDATE feedkeep.account SET last_stamp = 1",
        "INSERT INTO feedkeep.token (id, account_id) VALUES ($1, $2)",
        "INSERT INTO feedkeep.deletion (account_id, id) SELECT account_id, 1 FROM feedkeep.account",
    ],
)
def test_inspection_finds_what_is_not_tied(statement):
    assert strays(statement, OF_MANY) != []


KEYS = """
SELECT c.conrelid::regclass::text, c.contype::text, a.attname FROM pg_constraint c
JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
WHERE c.connamespace = 'feedkeep'::regnamespace AND c.contype IN ('p', 'u', 'f')
UNION ALL
SELECT c.confrelid::regclass::text, 'target', a.attname FROM pg_constraint c
JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = c.confkey[1]
WHERE c.connamespace = 'feedkeep'::regnamespace AND c.contype = 'f'
UNION ALL
SELECT i.indrelid::regclass::text, 'index', a.attname FROM pg_index i
JOIN pg_class t ON t.oid = i.indrelid
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
WHERE t.relnamespace = 'feedkeep'::regnamespace
"""


async def test_every_key_of_the_schema_starts_with_the_account(emptied_database):
    await (await PostgresStore.open(emptied_database, 1, wall_clock.now)).close()
    rows = with_connection(emptied_database, lambda connection: connection.fetch(KEYS))
    found = [(row[0].removeprefix("feedkeep."), row[1], row[2]) for row in rows]
    found.remove(("account", "index", "identity"))  # sought on all machines, when a person signs in
    assert len(found) >= 28
    not_by_account = {table for table, _, column in found if column != "account_id"}
    assert not_by_account == NOT_BY_ACCOUNT - {"schema_version"}
    by_feed = {(kind, column) for table, kind, column in found if table in BY_FEED}
    others = {("index", "next_fetch"), ("index", "wanted")}
    assert by_feed - others == {(kind, "guid") for kind in ("p", "f", "target", "index")}


STAND_IN = """
CREATE TABLE public.pg_dist_partition (logicalrelid regclass, asked text);
CREATE FUNCTION public.create_reference_table(table_name regclass) RETURNS void LANGUAGE sql AS
    $$ INSERT INTO public.pg_dist_partition VALUES ($1, 'reference') $$;
CREATE FUNCTION public.get_shard_id_for_distribution_column(table_name regclass, value bigint)
    RETURNS bigint LANGUAGE sql AS $$ SELECT 100 + value % 2 $$;
CREATE FUNCTION public.truncate_local_data_after_distributing_table(function_name regclass)
    RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        ASSERT $1 IN (SELECT logicalrelid FROM public.pg_dist_partition);
        EXECUTE 'TRUNCATE ' || $1 || ' CASCADE';
    END $$;
CREATE FUNCTION public.create_distributed_table(
    table_name regclass, distribution_column text, colocate_with text
) RETURNS void LANGUAGE sql AS
    $$ INSERT INTO public.pg_dist_partition VALUES ($1, $2 || ' with ' || $3) $$;
SET allow_system_table_mods = on;
INSERT INTO pg_extension
    (oid, extname, extowner, extnamespace, extrelocatable, extversion)
SELECT 4242, 'citus', 10, oid, false, '13.0' FROM pg_namespace WHERE nspname = 'public';
"""
BY_ACCOUNT = (
    "token", "entry", "former_entry", "feed_label", "deletion", "episode_action", "document"
)  # fmt: skip
SPLIT = {
    "account_name": "reference",
    "login_grant": "reference",
    "account": "account_id with none",
    **dict.fromkeys(BY_ACCOUNT, "account_id with feedkeep.account"),
    "feed": "guid with none",
    "feed_picture": "guid with feedkeep.feed",
    "feed_episodes": "guid with feedkeep.feed",
}
"""Distribution of each table that is requested from Citus, in order."""


@pytest.fixture
def command(tmp_path, database):
    return FeedkeepProcess(tmp_path, database)


@pytest.fixture
def citus(database):
    with_connection(database, lambda connection: connection.execute(STAND_IN))


@pytest.fixture
async def split(citus, database):
    """A store whose tables are split."""
    await (await opened(database, split=True)).close()
    store = await opened(database)
    yield store
    await store.close()


async def opened(database, *, split=False):
    store = await PostgresStore.open(database, 4, wall_clock.now)
    if split:
        assert [told async for told in store.distribute()] != []
    return store


@pytest.mark.usefixtures("citus")
def test_every_table_is_split_by_account_or_by_feed_once_and_kept_together(command, database):
    told = command.must("database", "distribute")
    by = {
        "reference": "kept on every machine",
        "account_id": "split over the machines by account",
        "guid": "split over the machines by feed",
    }
    sentences = [f"{table} is {by[asked.split()[0]]}." for table, asked in SPLIT.items()]
    assert told.splitlines() == sentences
    asked = execute(
        database,
        "SELECT array_agg(relname || ': ' || asked)"
        " FROM pg_dist_partition JOIN pg_class ON oid = logicalrelid",
    )
    assert asked == [f"{table}: {asked}" for table, asked in SPLIT.items()]
    assert "nothing to do" in command.must("database", "distribute")
    execute(
        database, "DELETE FROM pg_dist_partition WHERE logicalrelid = 'feedkeep.entry'::regclass"
    )
    told = command.must("database", "distribute")
    assert told == "entry is split over the machines by account.\n"


@pytest.mark.usefixtures("citus")
def test_rows_that_were_copied_to_the_machines_are_deleted_here(command, database):
    command.must("account", "create", "alice", "--password-stdin", stdin="correct horse\n")
    told = command.must("database", "distribute")
    assert told.splitlines()[-2:] == [
        "account_name has no copy left on the coordinator.",
        "account has no copy left on the coordinator.",
    ]
    assert execute(database, "SELECT count(*) FROM feedkeep.account") == 0
    assert "nothing to do" in command.must("database", "distribute")


@pytest.mark.usefixtures("split")
async def test_newer_program_splits_the_tables_that_it_adds(database, monkeypatch):
    split = "SELECT count(*) FROM pg_dist_partition"
    assert execute(database, split) == len(SPLIT)
    monkeypatch.setattr(migrate, "migrations", with_further("added"))
    monkeypatch.setattr(migration, "_BY_ACCOUNT", (*migration._BY_ACCOUNT, "further"))
    await (await opened(database)).close()
    assert execute(database, split) == len(SPLIT) + 1


def test_database_without_citus_and_a_file_cannot_be_split(command, tmp_path):
    done = command.run("database", "distribute")
    assert done.returncode == 1
    assert "CREATE EXTENSION citus" in done.stderr
    done = FeedkeepProcess(tmp_path).run("database", "distribute")
    assert done.returncode == 1
    assert done.stderr == "feedkeep: Only a PostgreSQL database with Citus can be distributed.\n"


async def test_batches_of_each_shard_run_side_by_side(split, monkeypatch):
    most = under_way = 0
    batches = []
    for account_id in range(1, 5):
        await split.accounts.create(account(account_id, f"user{account_id}"), f"user{account_id}")
    making = split.entries._making
    make = making.make

    async def noted(given, changes, *, may_wait):
        nonlocal most, under_way
        batches.append({change.account_id for change in changes})
        under_way += 1
        most = max(most, under_way)
        try:
            return await make(given, changes, may_wait=may_wait)
        finally:
            under_way -= 1

    monkeypatch.setattr(making, "make", noted)
    await asyncio.gather(
        *(split.entries.change(account_id, [G1], look) for account_id in (1, 2, 3, 4) * 5)
    )
    shards = [{1, 3}, {2, 4}]
    assert all(any(batch <= shard for shard in shards) for batch in batches)
    assert all(shard in batches for shard in shards)
    assert most == len(shards)


@pytest.mark.usefixtures("citus")
async def test_machines_of_a_split_database_are_told_to_wait_for_their_disks(database):
    await (await opened(database, split=True)).close()
    name = database.rpartition("/")[2]
    execute(database, f"ALTER DATABASE {name} SET synchronous_commit = off")
    seen = []

    async def look(connection):
        seen.append(await connection.fetchval("SHOW synchronous_commit"))
        seen.append(await connection.fetchval("SHOW citus.propagate_set_commands"))

    store = await opened(database)
    await store._runner.connections.transact(look)
    await store.close()
    assert seen == ["on", "local"]


async def test_shard_is_requested_once_a_minute_and_few_are_remembered(monkeypatch):
    now, first, asked = 1_000.0, 100, []
    monkeypatch.setattr(runner, "time", SimpleNamespace(monotonic=lambda: now))

    async def find(account_id):
        asked.append(account_id)
        return first + account_id % 10

    known = Shards(find)
    assert [await known.of(account_id) for account_id in (7, 17, 8, 7)] == [107, 107, 108, 107]
    assert asked == [7, 17, 8]
    first = 200  # it was split
    assert await known.of(7) == 107
    now += REMEMBERED_SECONDS + 1
    assert [await known.of(account_id) for account_id in (7, 8)] == [207, 208]
    assert asked == [7, 17, 8, 7, 8]
    known = Shards(find)
    for number in range(MAX_REMEMBERED + 10):
        await known.of(number)
    assert len(known._known) == 10
