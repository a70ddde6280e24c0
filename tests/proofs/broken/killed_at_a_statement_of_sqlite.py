"""Each statement that changes SQLite's file is counted, and one kills the process."""

from typing import Any

import apsw

from broken.killed_at_a_statement import strike
from feedkeep.store.sqlite import connection

_open_file = connection.open_file


def open_file(*what: Any, **how: Any) -> apsw.Connection:
    opened, is_changing = _open_file(*what, **how), False

    def trace(_cursor: apsw.Cursor, statement: str, _values: object) -> bool:
        nonlocal is_changing
        is_changing |= "IMMEDIATE" in statement or "CREATE" in statement
        if is_changing:
            strike()
        return True

    opened.exec_trace = trace
    return opened


connection.open_file = open_file
