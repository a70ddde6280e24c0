"""The service asks other hosts in one way only: by the guarded client."""

import ast
from pathlib import Path

import pytest

import feedkeep

SOURCE = Path(feedkeep.__file__).parent
ASKING = {
    "aiohttp", "asyncio.open_connection", "ftplib", "http.client", "httpx", "requests", "smtplib",
    "socket.create_connection", "urllib.request", "urllib3", "xmlrpc.client",
}  # fmt: skip
"""Modules and functions that connect to a host given by URL or name."""


def asks_with(source: str) -> set[str]:
    """Return the members of `ASKING` that a module imports or calls."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found |= {alias.name for alias in names}
            case ast.ImportFrom(module=str(module), names=names):
                found |= {module, *(f"{module}.{alias.name}" for alias in names)}
            case ast.Attribute():
                found.add(ast.unparse(node))
    return {one for one in ASKING if one in found or any(n.startswith(f"{one}.") for n in found)}


def test_nothing_but_the_guarded_client_can_ask_another_host():
    asking = {
        str(path.relative_to(SOURCE)): asks_with(path.read_text("utf-8"))
        for path in SOURCE.rglob("*.py")
    }
    assert {path: found for path, found in asking.items() if found} == {
        "outbound/client.py": {"aiohttp"}
    }


@pytest.mark.parametrize(
    "source",
    ["import aiohttp.web", "from http.client import HTTPSConnection", "from urllib import request",
     "import socket\nsocket.create_connection(x)", "import asyncio\nasyncio.open_connection('a')"],
)  # fmt: skip
def test_the_rule_notices(source):
    assert asks_with(source) != set()
