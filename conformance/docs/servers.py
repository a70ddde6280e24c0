"""Write servers.md from the results of runs in `results/`, one file for each server.

`servers.py REPORT VERSION`: store a report of --json as a result, named like the server. Its
`confirmed` are failures that were reproduced by hand, each with what the server did; they stay as
long as their checks fail.
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
one busy machine as its README says, with an account that no app had used. "14 of 15" means that 14
of a level's 15 applicable checks passed. The suite was written together with feedkeep, so
feedkeep's passes say less than the failures of others.

A failure is a question to a server's authors, who may have a reason: many servers leave parts of
the protocol out on purpose (level "complete"). `podsync-check URL --check kept/a_position_is_kept`
shows the requests and replies of one check.

| server | version | scored | protocol | kept | agreed | tolerant | complete | causes |
|---|---|---|---|---|---|---|---|---|
"""
TAIL = """
## Not scored

- Did not start here: Sintoniza (1ad71b6). It needs PHP 8.4, and packages that were not at hand;
  with PHP 8.2, `php artisan` ends with "Failed opening required 'vendor/autoload.php'".
- Not tried: PodFetch, PinePods, malipod, gpodsync, goPodder, and Nextcloud with gpoddersync.
- Scored on 2026-11-27 by an earlier version of the suite, and not again: mygpo (e2642086) and
  podsync (61acb48). Those results were not stored.
- gpodder-nano-server has only the list of devices, so that there is nothing to score.
"""


def stored(report: dict[str, Any], version: str, confirmed: dict[str, str]) -> dict[str, Any]:
    """Return the stored form of a report, with the confirmed causes of checks that still fail."""
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
        "confirmed": {
            check: told
            for check, told in confirmed.items()
            if check in {f"{one['level']}/{one['name']}" for one in bad}
        },
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
        if len(checks) == 1:
            yield f"- {checks[0]}: {_plain(failed[0]['said'])}"
        else:
            yield f"- {_plain(cause)} {len(checks)} checks: {', '.join(checks)}."
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
        target = HERE / "results" / source.name
        before = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
        report = json.loads(source.read_text(encoding="utf-8"))
        found = stored(report, sys.argv[2], before.get("confirmed", {}))
        target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (HERE / "servers.md").write_text(page(read()), encoding="utf-8")
