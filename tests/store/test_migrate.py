"""The numbered steps of a schema."""

from __future__ import annotations

from feedkeep.store.migrate import migrations


def test_the_steps_of_a_schema_count_up_from_one_and_hold_sql() -> None:
    steps = migrations("sqlite")
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert steps[0].name == "0001_initial.sql"
    assert "CREATE TABLE account" in steps[0].sql
