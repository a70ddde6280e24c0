"""The columns of entries stand in one place: a schema or a reader that lacks one is an error."""

import json

import apsw
import pytest
from postgres_server import execute

from feedkeep.model import Guid, Pointer
from feedkeep.runtime import wall_clock
from feedkeep.store.migrate import migrations
from feedkeep.store.postgres import PostgresStore
from feedkeep.store.postgres.entry_write_statements import SQL_TYPES
from feedkeep.store.rows import Rows, account_of, token_of
from feedkeep.store.tables import ACCOUNT, COUNTS, ENTRIES, ENTRY, FORMER_ENTRIES, TOKEN, TYPES

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
