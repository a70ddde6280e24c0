"""The processors that a process may use: its affinity, and the quotas of its control groups."""

import os

import pytest

from feedkeep.runtime.processors import count_processors

MANY = 64


@pytest.mark.parametrize(
    ("own_groups", "quotas", "expected"),
    [
        ("0::/\n", {"": "100000 100000"}, 1),
        ("0::/\n", {"": "150000 100000"}, 2),
        ("0::/\n", {"": "1000 100000"}, 1),
        ("0::/\n", {"": "max 100000"}, MANY),
        ("0::/a.slice/b\n", {"a.slice/b": "max 100000", "a.slice": "300000 100000"}, 3),
        ("0::/a/b\n", {"a/b": "400000 100000", "a": "300000 100000"}, 3),
        ("0::/a\n", {"": "max 100000", "other": "100000 100000"}, MANY),
        ("1:cpu:/a\n", {"a": "100000 100000"}, MANY),
        ("0::/\n", {"": "no quota"}, MANY),
        ("0::/\n", {"": "100000 0"}, MANY),
        (None, {}, MANY),
    ],
)
def test_quotas_limit_the_processors(tmp_path, monkeypatch, own_groups, quotas, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(MANY))
    own = tmp_path / "cgroup"
    if own_groups is not None:
        own.write_text(own_groups)
    for group, quota in quotas.items():
        folder = tmp_path / "groups" / group
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cpu.max").write_text(f"{quota}\n")
    assert count_processors(own, tmp_path / "groups") == expected
