"""A year of many accounts agrees with what is right, and a change that was lost is noticed.

These are short forms; `make prove-year` lets the year itself pass.
"""

import asyncio

from forms import IS_LONG, in_the_long_form
from machines_of_a_year import Machine, PostgresMachine, SqliteMachine
from simulation import Report, Year

ACCOUNTS, DAYS = (8, 35) if IS_LONG else (3, 14)
IN_THE_SHORT_FORM = {"is_backed_up", "forgets_history", "is_restored"}


def pass_days(machine: Machine, accounts: int, days: int) -> Report:
    return asyncio.run(Year(machine, range(accounts), days, seed=1).live())


def test_at_the_end_everything_agrees(tmp_path):
    machine = SqliteMachine(tmp_path, DAYS)
    if not IS_LONG:  # each start of a process takes a second
        for day, happens in machine.plan.items():
            machine.plan[day] = [one for one in happens if one.__name__ in IN_THE_SHORT_FORM]
    report = pass_days(machine, ACCOUNTS, DAYS)
    assert report.wrong == []
    assert report.requests > 10 * ACCOUNTS
    assert report.happened["is_restored"] == 1


@in_the_long_form
def test_it_does_so_on_postgres(tmp_path):
    assert pass_days(PostgresMachine(tmp_path, 14), 3, 14).wrong == []


@in_the_long_form
def test_one_lost_change_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setenv("ONE_CHANGE_LOST_IN", "20")
    machine = SqliteMachine(tmp_path, 30)
    machine.plan.clear()
    machine.process.first.append("broken.one_change_in_many_is_lost")
    assert pass_days(machine, 10, 30).wrong != []
