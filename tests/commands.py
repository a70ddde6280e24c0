"""Runs feedkeep's commands, each in a process of its own that has imported everything already.

A process that begins from nothing spends most of its time on importing.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["feedkeep.cli", "typer._adapters"])  # the latter comes late


def run(
    arguments: Sequence[str], environment: Mapping[str, str], data: bytes
) -> CompletedProcess[str]:
    """Run a command to its end, with `data` as its standard input."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "0").write_bytes(data)
        process = _processes.Process(target=_run, args=(arguments, dict(environment), folder))
        process.start()
        process.join()
        out, err = ((folder / number).read_text() for number in "12")
        status = process.exitcode
    assert status is not None
    return CompletedProcess(arguments, status, out, err)


def _run(arguments: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
    written = os.O_CREAT | os.O_WRONLY
    for number, flags in enumerate((os.O_RDONLY, written, written)):
        opened = os.open(folder / str(number), flags)
        if opened != number:
            os.dup2(opened, number)
            os.close(opened)
    sys.stdin = os.fdopen(0, closefd=False)  # multiprocessing took the one that was there away
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["feedkeep", *arguments]
    importlib.import_module("feedkeep.cli").main()
