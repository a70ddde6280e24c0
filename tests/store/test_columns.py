"""The columns of entries stand in one place: a schema or a reader that lacks one is an error."""

from __future__ import annotations

import asyncio
import json

import apsw
import pytest
from postgres_server import execute

from feedkeep.model import Alias
from feedkeep.runtime import wall_clock
from feedkeep.store.migrate import migrations
from feedkeep.store.postgres import PostgresStore
from feedkeep.store.postgres.entry_write_statements import SQL_TYPES
from feedkeep.store.row_readers import compiled, expression, places
from feedkeep.store.tables import ENTRIES, FORMER_ENTRIES, TYPES, Table

TABLES = pytest.mark.parametrize("table", [ENTRIES, FORMER_ENTRIES], ids=lambda table: table.name)


@TABLES
def test_a_table_of_sqlite_has_the_columns_that_are_described(table: Table) -> None:
    connection = apsw.Connection(":memory:")
    for step in migrations("sqlite"):
        for statement in step.statements:
            connection.execute(statement)
    rows = connection.execute(f"SELECT name FROM pragma_table_info('{table.name}')")
    assert {name for (name,) in rows} == {"account_id", *table.columns}


@TABLES
def test_a_table_of_postgres_has_the_columns_and_types_that_are_described(
    emptied_database: str, table: Table
) -> None:
    async def go() -> None:
        await (await PostgresStore.open(emptied_database, 2, wall_clock.now)).close()

    asyncio.run(go())
    described = {"account_id": "bigint"} | {n: SQL_TYPES[TYPES[n]] for n in table.columns}
    found = execute(
        emptied_database,
        f"""
        SELECT json_object_agg(column_name, data_type) FROM information_schema.columns
        WHERE table_schema = 'feedkeep' AND table_name = '{table.name}'
        """,
    )
    assert json.loads(found) == described


def test_a_field_without_a_column_is_an_error() -> None:
    with pytest.raises(KeyError, match="moved_away"):
        expression(Alias, places(["url"]))


def test_columns_are_found_by_name_in_any_order_and_beside_others() -> None:
    fields = ("first_had", "retired", "was_own", "moved_away", "url")
    read = compiled(expression(Alias, places(fields, first=2)), Alias)
    alias = Alias("https://a.example", True, False, None, 7)
    assert read(("x", "y", 7, None, 0, 1, "https://a.example", "z")) == alias
