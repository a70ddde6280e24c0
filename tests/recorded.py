"""Values that a recorder has counted."""

from __future__ import annotations

from feedkeep.runtime.recorder import Recorder

COMMITS = "feedkeep_store_commit_duration_seconds_count"
FAILED_COMMITS = "feedkeep_store_failed_commits_total"


def recorded(recorder: Recorder, sample: str, **labels: str) -> float:
    """Return the value of a sample, which has to be there."""
    value = recorder.registry.get_sample_value(sample, labels)
    assert value is not None, sample
    return value
