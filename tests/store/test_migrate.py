"""The numbered steps of a schema."""

from __future__ import annotations

import re

import pytest
import sqlglot

from feedkeep.store.migrate import Migration, MissingSteps, migrations, missing_steps


@pytest.mark.parametrize(("kind", "prefix"), [("sqlite", ""), ("postgres", "feedkeep.")])
def test_the_steps_of_a_schema_count_up_from_one_and_hold_sql(kind: str, prefix: str) -> None:
    steps = migrations(kind)
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert steps[0].name == "0001_initial.sql"
    assert f"CREATE TABLE {prefix}account (" in steps[0].sql
    (feeds,) = (step for step in steps if step.name.endswith("_feeds.sql"))
    assert f"CREATE TABLE {prefix}feed_picture (" in feeds.sql


def test_the_statements_of_a_step_are_all_that_it_holds() -> None:
    for step in migrations("postgres"):
        one_by_one = [tree for statement in step.statements for tree in parsed(statement)]
        assert one_by_one == parsed(step.sql)
        assert len(one_by_one) == len(step.statements)


def test_each_step_says_whether_programs_before_it_go_on_and_why() -> None:
    for step in migrations("postgres")[1:]:
        head = step.sql.partition("\n\n")[0]
        told = re.search(
            r"^-- (?:Compatible from version (\d+)|Not compatible): \w.*\.$", head, re.MULTILINE
        )
        assert told is not None, step.name
        assert step.compatible_from == int(told[1] or step.number)
        assert 0 < step.compatible_from <= step.number
    assert [step.compatible_from for step in migrations("postgres")[:6]] == [1, 2, 3, 4, 5, 5]


def test_each_step_says_in_a_sentence_what_it_is_about() -> None:
    told = [step.summary for kind in ("sqlite", "postgres") for step in migrations(kind)]
    assert told[0] == "Accounts, their tokens, and their lists."
    assert [one for one in told if not re.fullmatch(r"[A-Z][^.]{20,160}\.", one)] == []


@pytest.mark.parametrize(
    ("found", "goes_on"), [(0, False), (4, False), (5, True), (6, True), (8, True), (9, True)]
)
def test_older_programs_go_on_beneath_steps_that_all_say_so(found: int, goes_on: bool) -> None:
    heads = [
        *["-- Not compatible: it is new."] * 5,
        *["-- Compatible from version 5: none is."] * 3,
    ]
    steps = [Migration(number, f"{number}.sql", head) for number, head in enumerate(heads, 1)]
    assert MissingSteps(found, steps[found:]).lets_older_go_on is goes_on


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_steps_that_are_missing_are_those_after_the_version(kind: str) -> None:
    everything = migrations(kind)
    assert list(missing_steps(kind, 3).steps) == everything[3:]
    assert list(missing_steps(kind, len(everything) + 2).steps) == []


def parsed(sql: str) -> list[str]:
    """Return statements as a parser reads them."""
    trees = sqlglot.parse(sql, dialect="postgres")
    told = [tree.sql(dialect="postgres", comments=False) for tree in trees if tree]
    return [statement for statement in told if statement]  # a comment alone is none


def test_a_column_that_is_added_brings_no_constraint_since_a_cluster_refuses_those() -> None:
    added = [
        column
        for step in migrations("postgres")
        for statement in step.statements
        for column in re.findall(r"ADD COLUMN (.*?)(?:, ADD|$)", statement, re.DOTALL)
    ]
    assert len(added) > 10
    constrained = re.compile(r"\b(CHECK|REFERENCES|UNIQUE|PRIMARY)\b")
    assert [column for column in added if constrained.search(column)] == []
