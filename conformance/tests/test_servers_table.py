"""docs/servers.md is what its stored results say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[1] / "docs" / "servers.py"


def loaded() -> Any:
    spec = importlib.util.spec_from_file_location("servers_table", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_written_from_the_stored_results() -> None:
    table = loaded()
    assert (SCRIPT.parent / "servers.md").read_text() == table.page(table.read())


def test_each_confirmed_failure_is_one_of_the_server() -> None:
    for name, result in loaded().read().items():
        failed = {f"{one['level']}/{one['name']}" for one in result["failed"]}
        assert set(result["confirmed"]) <= failed, name
