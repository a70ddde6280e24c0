"""Lets a year of many accounts pass on each store, and tells whether everything agrees at the end.

`make prove-year` runs it. What was measured goes to build/year, with a picture where matplotlib is.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from machines_of_a_year import PostgresMachine, SqliteMachine
from simulation import Year

MACHINES = {"sqlite": SqliteMachine, "postgres": PostgresMachine}
BUILD = Path(__file__).parent.parent.parent / "build" / "year"
SHOWN = 20


def main() -> int:
    """Return 0 if everything agreed."""
    options = _options()
    BUILD.mkdir(parents=True, exist_ok=True)
    if options.store != "both":
        return _pass_a_year(options)
    command = [sys.executable, __file__, *sys.argv[1:], "--store"]
    stores = [subprocess.Popen([*command, store]) for store in MACHINES]
    wrong = [store.wait() for store in stores]
    _draw()
    return max(wrong)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accounts", type=int, default=2_000)
    parser.add_argument("--only", type=int, help="the number of one account, to look at it alone")
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--seed", type=int, default=1, help="another one gives another year")
    parser.add_argument("--store", choices=[*MACHINES, "both"], default="both")
    parser.add_argument(
        "--broken", action="append", default=[], help="a module of tests/proofs/broken"
    )
    return parser.parse_args()


def _pass_a_year(options: argparse.Namespace) -> int:
    numbers = range(options.accounts)
    if options.only is not None:
        numbers = range(options.only, options.only + 1)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="feedkeep-year-") as folder:
        machine = MACHINES[options.store](Path(folder), options.days)
        machine.process.first += [f"broken.{module}" for module in options.broken]
        year = Year(machine, numbers, options.days, options.seed)
        report = asyncio.run(year.live(lambda text: print(f"{options.store}: {text}", flush=True)))
    seconds = time.monotonic() - began
    told = asdict(report) | {"accounts": len(numbers), "days": options.days, "seconds": seconds,
                             "seed": options.seed, "store": options.store}  # fmt: skip
    (BUILD / f"{options.store}.json").write_text(json.dumps(told, indent=1))
    for wrong in report.wrong[:SHOWN]:
        print(f"{options.store}: {wrong}")
    print(
        f"{options.store}: {len(numbers)} accounts, {report.syncs} syncs, {report.requests}"
        f" requests in {seconds:.0f} s;"
        f" {report.left} of {report.wishes} removals were told once more;"
        f" {len(report.wrong)} wrong"
    )
    return 1 if report.wrong else 0


def _draw() -> None:
    try:
        from picture import draw  # noqa: PLC0415 - it needs what only the bench has
    except ModuleNotFoundError:
        print("No picture is drawn: `make .venv/bench` installs what draws it.")
        return
    years = [json.loads((BUILD / f"{store}.json").read_text()) for store in MACHINES]
    draw(years, BUILD / "year.png")


if __name__ == "__main__":
    sys.exit(main())
