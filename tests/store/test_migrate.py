"""The numbered migrations of a schema, and its columns: a reader that lacks one is an error."""

import json
import re

import apsw
import pytest
import sqlglot
from further_steps import EACH, with_further
from postgres_server import execute

from feedkeep.model import Guid, Pointer
from feedkeep.model.errors import StoreUnusable
from feedkeep.runtime import wall_clock
from feedkeep.store import migrate
from feedkeep.store.migrate import (
    Migration,
    PendingMigrations,
    check_version,
    migrations,
    newest_version,
    pending_migrations,
)
from feedkeep.store.postgres import PostgresStore
from feedkeep.store.postgres.entry_write_statements import SQL_TYPES
from feedkeep.store.rows import Rows, account_of, token_of
from feedkeep.store.tables import ACCOUNT, COUNTS, ENTRIES, ENTRY, FORMER_ENTRIES, TOKEN, TYPES

FIRST = 101
KINDS = ["sqlite", "postgres"]


@pytest.mark.parametrize(("kind", "prefix"), [("sqlite", ""), ("postgres", "feedkeep.")])
def test_migrations_begin_with_all_tables_and_count_up(kind, prefix):
    steps = migrations(kind)
    assert steps[0].number >= FIRST
    assert steps[0].name == f"{steps[0].number:04}_initial.sql"
    assert [step.number - steps[0].number for step in steps] == list(range(len(steps)))
    for table in ("account", "feed_picture"):
        assert f"CREATE TABLE {prefix}{table} (" in steps[0].sql


def test_statements_of_a_migration_are_its_whole_content():
    for step in with_further(*EACH)("postgres"):
        one_by_one = [tree for statement in step.statements for tree in parsed(statement)]
        assert one_by_one == parsed(step.sql)
        assert len(one_by_one) == len(step.statements)


def test_later_migrations_of_postgres_say_whether_older_programs_work_and_of_sqlite_none_do():
    for step in with_further(*EACH)("postgres")[1:]:
        head = step.sql.strip().partition("\n\n")[0]
        told = re.search(
            r"^-- (?:Compatible from version (\d+)|Not compatible): \w.*\.$", head, re.MULTILINE
        )
        assert told is not None, step.name
        assert step.compatible_from == int(told[1] or step.number)
        assert FIRST <= step.compatible_from <= step.number
    for step in with_further(*EACH)("sqlite")[1:]:
        assert step.compatible_from == step.number


def test_each_migration_has_a_summary_of_one_sentence():
    told = [step.summary for kind in KINDS for step in with_further(*EACH)(kind)]
    assert told[0] == "The tables of accounts and of feeds."
    assert [one for one in told if not re.fullmatch(r"[A-Z][^.]{20,160}\.", one)] == []


def test_older_programs_work_beneath_migrations_that_all_permit_it():
    heads = {
        **dict.fromkeys(range(101, 106), "-- Not compatible: it is new."),
        **dict.fromkeys(range(106, 109), "-- Compatible from version 105: none is."),
    }
    for found, work in ((0, False), (104, False), (105, True), (106, True), (108, True)):
        steps = [Migration(n, f"{n}.sql", head) for n, head in heads.items() if n > found]
        assert PendingMigrations(found, steps).older_programs_work is work


@pytest.mark.parametrize("kind", KINDS)
def test_pending_migrations_are_those_after_a_version(kind, monkeypatch):
    everything = with_further(*EACH)(kind)
    monkeypatch.setattr(migrate, "migrations", with_further(*EACH))
    newest = newest_version(kind)
    assert newest == everything[-1].number
    for missing in range(len(everything)):
        pending = pending_migrations(kind, newest - missing).steps
        assert list(pending) == everything[len(everything) - missing :]
    assert list(pending_migrations(kind, 0).steps) == everything
    assert list(pending_migrations(kind, newest + 2).steps) == []


@pytest.mark.parametrize("kind", KINDS)
def test_version_of_another_program_is_refused(kind, monkeypatch):
    first = migrations(kind)[0].number
    monkeypatch.setattr(migrate, "migrations", with_further("added"))
    for found in (0, first, first + 1):
        check_version(kind, found, "It")
    check_version(kind, first + 9, "It", compatible_from=first + 1)
    for found in (1, first - 1):
        with pytest.raises(StoreUnusable, match=r"It was made by a build before 1\.0"):
            check_version(kind, found, "It")
    for compatible_from in (None, first + 2):
        with pytest.raises(StoreUnusable, match=r"It has .* Install the newer feedkeep"):
            check_version(kind, first + 2, "It", compatible_from)


def parsed(sql):
    """Return statements as a parser reads them."""
    trees = sqlglot.parse(sql, dialect="postgres")
    told = [tree.sql(dialect="postgres", comments=False) for tree in trees if tree]
    return [statement for statement in told if statement]  # a comment alone is none


def test_added_columns_have_no_constraint_since_a_cluster_refuses_those():
    statements = [one for step in with_further(*EACH)("postgres") for one in step.statements]
    columns = re.compile(r"ADD COLUMN (.*?)(?:, ADD|$)", re.DOTALL)
    added = [column for statement in statements for column in columns.findall(statement)]
    assert len(added) > 10
    constrained = re.compile(r"\b(CHECK|REFERENCES|UNIQUE|PRIMARY)\b")
    assert [column for column in added if constrained.search(column)] == []


NO_UPLOADS = {"own_subscriptions": None, "own_actions": None}


async def test_tables_have_the_columns_and_types_that_are_described(emptied_database):
    connection = apsw.Connection(":memory:")
    for step in migrations("sqlite"):
        for statement in step.statements:
            connection.execute(statement)
    await (await PostgresStore.open(emptied_database, 2, wall_clock.now)).close()
    for table in (ENTRIES, FORMER_ENTRIES):
        rows = connection.execute(f"SELECT name FROM pragma_table_info('{table.name}')")
        assert {name for (name,) in rows} == {"account_id", *table.columns}
        described = {"account_id": "bigint"} | {n: SQL_TYPES[TYPES[n]] for n in table.columns}
        found = execute(
            emptied_database,
            "SELECT json_object_agg(column_name, data_type) FROM information_schema.columns"
            f" WHERE table_schema = 'feedkeep' AND table_name = '{table.name}'",
        )
        assert json.loads(found) == described


def entry_of(row):
    return Rows(str, Guid, list).entry_of(row)


# A null is kept, and so is what is not read as a flag: each other column has a number of its own.
@pytest.mark.parametrize(
    ("read", "columns", "fixed"),
    [
        (entry_of, ENTRY, {"new_guid": None}),
        (account_of, ("id", *ACCOUNT), {}),
        (token_of, TOKEN, {"purpose": "apps", "scope": "read", **NO_UPLOADS}),
    ],
    ids=["subscription", "account", "token"],
)
def test_each_column_is_read_into_the_field_of_its_name(read, columns, fixed):
    row = {name: number for number, name in enumerate(columns, 2)} | fixed
    value = read([*row.values(), "what comes after"])
    for name, column in row.items():
        found = field_of(value, name)
        expected = bool(column) if isinstance(found, bool) else column
        assert found == expected or (found, column) == ((), None), name


def test_pointer_is_read_from_its_columns():
    row = dict.fromkeys(ENTRY) | {"guid": "a", "new_guid": "b", "guid_changed": 7}
    assert entry_of(list(row.values())) == Pointer("a", "b", 7)


def field_of(value, column):
    """Return the field of a value that a column has: `alias_url` is `url` of `alias`."""
    if column in value.__struct_fields__:
        return getattr(value, column)
    if column in COUNTS:
        return getattr(value.counts, column.partition("_")[0].replace("entry", "entries"))
    return None if column == "new_guid" else getattr(value.alias, column.removeprefix("alias_"))
