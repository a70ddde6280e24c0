"""Write servers.md from the results of runs in `results/`, one file for each server.

`servers.py REPORT VERSION`: store a report of --json as a result, named like the server. Its
`confirmed` are failures that were reproduced by hand, each with what the server did.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_MAX_CHARACTERS = 200
LEVELS = ("kept", "agreed", "tolerant", "complete")
HEAD = """# Other servers, scored

Written by `servers.py` from `results/`. Each server was built from its public source, and run on
one machine as its README says, with an account that no app had used. "14 of 15" means that 14 of
a level's 15 applicable checks passed. The suite was written together with feedkeep, so feedkeep's
passes say less than the failures of others. A failure is a question to a server's authors, who
may have a reason.

| server | version | scored | protocol | kept | agreed | tolerant | complete | causes |
|---|---|---|---|---|---|---|---|---|
"""
TAIL = """
## Not scored

mygpo (e2642086) and podsync (61acb48) were scored on 2026-11-27, by another version of the suite,
whose results were not stored: mygpo passed 14 of 15, 6 of 11, 15 of 18 and 9 of 10 checks of the
four levels, podsync 14 of 15, 3 of 11, 11 of 18 and 4 of 10.

gpodder-nano-server has a single route, the list of devices. Sintoniza, PodFetch and PinePods need
databases and toolchains that were not at hand; of malipod, gpodsync and goPodder no source was.
"""


def stored(report: dict[str, Any], version: str) -> dict[str, Any]:
    """Return what is stored of a report."""
    bad = [one for one in report["checks"] if one["outcome"] in {"failed", "not run"}]
    names = ("level", "name", "protocol", "outcome", "said", "cause")
    return {
        "version": version,
        "began": report["began"],
        "podsync-check": report["podsync-check"],
        "seconds": report["seconds"],
        "scores": {
            protocol: {level: levels[level] for level in LEVELS}
            for protocol, levels in report["scores"].items()
        },
        "failed": [{name: one[name] for name in names} for one in bad],
        "confirmed": {},
    }


def page(results: dict[str, dict[str, Any]]) -> str:
    """Return the page: the table, and the failures of each server."""
    rows = (row for name, result in results.items() for row in _rows(name, result))
    parts = (part for name, result in results.items() for part in _details(name, result))
    return "\n".join([HEAD + "\n".join(rows), *parts, TAIL])


def _rows(name: str, result: dict[str, Any]) -> Iterator[str]:
    about = f"{name} | {result['version']} | {result['began'][:10]}"
    for protocol, levels in result["scores"].items():
        scores = [f"{got} of {of}" if of else "" for got, of in (levels[one] for one in LEVELS)]
        causes = {one["cause"] for one in result["failed"] if one["protocol"] == protocol}
        yield f"| {about} | {protocol} | {' | '.join(scores)} | {len(causes)} |"
        about = "| |"


def _details(name: str, result: dict[str, Any]) -> Iterator[str]:
    if not result["failed"]:
        return
    yield f"\n## {name}\n"
    for cause in dict.fromkeys(one["cause"] for one in result["failed"]):
        failed = [one for one in result["failed"] if one["cause"] == cause]
        checks = list(dict.fromkeys(f"`{one['level']}/{one['name']}`" for one in failed))
        told = (
            failed[0]["said"] if len(checks) == 1 else f"one cause, {len(checks)} checks: {cause}"
        )
        yield f"- {', '.join(checks)}: {_plain(told)}"
    if result["confirmed"]:
        yield "\nReproduced with curl, without the suite:\n"
        yield from (f"- `{check}`: {told}" for check, told in result["confirmed"].items())


def _plain(text: str) -> str:
    """Shorten a text, and quote what Markdown would read as its own."""
    told = " ".join(text.split())
    told = told if len(told) < _MAX_CHARACTERS else f"{told[:_MAX_CHARACTERS]} ..."
    return "".join(f"\\{one}" if one in "<>*_[]`|" else one for one in told)


def read() -> dict[str, dict[str, Any]]:
    """Return the stored results by the names of the servers."""
    files = sorted((HERE / "results").glob("*.json"), key=lambda file: file.stem.lower())
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}


if __name__ == "__main__":
    if sys.argv[1:]:
        source = Path(sys.argv[1])
        found = stored(json.loads(source.read_text(encoding="utf-8")), sys.argv[2])
        target = HERE / "results" / source.name
        target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (HERE / "servers.md").write_text(page(read()), encoding="utf-8")
