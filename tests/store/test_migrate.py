"""The numbered steps of a schema."""

from __future__ import annotations

import pytest

from feedkeep.store.migrate import migrations


@pytest.mark.parametrize(("kind", "prefix"), [("sqlite", ""), ("postgres", "feedkeep.")])
def test_the_steps_of_a_schema_count_up_from_one_and_hold_sql(kind: str, prefix: str) -> None:
    steps = migrations(kind)
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert steps[0].name == "0001_initial.sql"
    assert f"CREATE TABLE {prefix}account (" in steps[0].sql
    assert steps[-1].name.endswith("_real_clients.sql")
    assert f"ALTER TABLE {prefix}account ADD COLUMN entry_count" in steps[-1].sql
