"""Every request about a list stays on the machine of its account, and commits in one phase.

The coordinator's log says which commands it sends to which machine, in which transaction.
"""

import re
from collections import defaultdict
from urllib.parse import urlsplit

from postgres_server import execute
from test_linearizable import history

_LINE = re.compile(r"^\d+ (\d+/\d+) (?:NOTICE:  issuing (.*)|DETAIL:  on server \S+@(\S+) .*)$")
_OTHER_WORK = re.compile(
    r"account_name|^COMMIT PREPARED|account_id OPERATOR\(pg_catalog\.>\)|\(ROW\(account_id, "
)
"""Making an account writes its name on all machines; what forgets history, and what gives episode
actions new keys, looks through all accounts."""


def test_requests_about_a_list_stay_on_one_machine(own_cluster, start, amount, figures):
    process = start()
    process.stop()
    database = urlsplit(process.database).path[1:]
    for setting in ("citus.log_remote_commands = on", "log_min_messages = notice"):
        execute(own_cluster.coordinator, f"ALTER DATABASE {database} SET {setting}")
    log = own_cluster.servers[0].folder / "log"
    begins = log.stat().st_size
    process.start()
    process.wait_for_workers(2)
    operations = history(process, amount(15, 200), seed=1)
    process.stop()
    machines = defaultdict(set)
    commands = defaultdict(list)
    with log.open(errors="replace") as lines:
        lines.seek(begins)
        for line in lines:
            if not (found := _LINE.match(line.rstrip())):
                continue
            transaction, command, machine = found.groups()
            if command is not None:
                commands[transaction].append(command)
            else:
                machines[transaction].add(machine)
    judged = [one for one in commands if not any(_OTHER_WORK.search(c) for c in commands[one])]
    wide = [one for one in judged if len(machines[one]) > 1]
    prepared = [one for one in judged if "PREPARE TRANSACTION" in str(commands[one])]
    figures(
        f"{len(operations)} requests of all kinds, {len(judged)} transactions on machines:"
        f" {len(wide)} on several of them, {len(prepared)} in two phases"
    )
    assert len(judged) > len(operations) / 2
    assert {one: [c[:900] for c in commands[one]] for one in wide + prepared} == {}
