"""JSON report for programs."""

from __future__ import annotations

import json
from typing import Any

from podsync_check.checking import Level
from podsync_check.curl import MAX_WRITTEN, commands
from podsync_check.running import Report, Result


def as_json(report: Report) -> str:
    scores = {
        protocol: {level: list(report.score(level, protocol)) for level in Level}
        for protocol in report.protocols
    }
    found = {
        "server": report.address,
        "podsync-check": report.version,
        "began": report.began,
        "seed": report.seed,
        "requests": report.requests,
        "seconds": round(report.seconds, 1),
        "scores": scores,
        "notes": report.notes,
        "left_behind": report.left_behind,
        "checks": [_result(result) for result in report.results],
    }
    return json.dumps(found, indent=2)


def _result(result: Result) -> dict[str, Any]:
    check = result.check
    return {
        "name": check.name,
        "level": check.level,
        "protocol": result.protocol,
        "outcome": result.outcome,
        "sentence": check.sentence,
        "said": result.said,
        "why": check.why,
        "seen": check.seen,
        "spec": check.spec,
        "notes": result.notes,
        "seconds": round(result.seconds, 3),
        "curl": commands(result.exchanges, MAX_WRITTEN),
    }
