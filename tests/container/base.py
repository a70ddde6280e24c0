"""A small Debian without a registry of images: from this machine's own mirror, by debootstrap."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from engine import Failed, run

NOT_IN_A_SLIM_ONE = (
    "usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale", "usr/share/groff",
    "usr/share/lintian", "var/cache/apt", "var/lib/apt/lists", "var/log",
)  # fmt: skip
"""Paths that the slim variants of Debian's images also omit."""


def make_base(suite: str, archive: Path) -> None:
    """Write a Debian's files to an archive, which later runs can take again.

    Raises:
        Failed: debootstrap did not get through.
    """
    with tempfile.TemporaryDirectory(prefix="feedkeep-base-") as name:
        root = Path(name) / "root"
        run("debootstrap", "--variant=minbase", suite, str(root), *_mirror())
        for folder in NOT_IN_A_SLIM_ONE:
            for item in (root / folder).glob("*"):
                if item.is_dir() and not item.is_symlink():
                    shutil.rmtree(item)
                else:
                    item.unlink()
        archive.parent.mkdir(parents=True, exist_ok=True)
        half = archive.with_suffix(".half")
        run("tar", "--directory", str(root), "--create", "--file", str(half), ".")
        half.rename(archive)


def _mirror() -> list[str]:
    """Return from where this machine has its packages, if it is a Debian; debootstrap has a way."""
    with contextlib.suppress(FileNotFoundError, Failed, subprocess.SubprocessError):
        found = run(
            "apt-get", "indextargets", "--format", "$(REPO_URI)", "Origin: Debian", "Label: Debian"
        )
        return sorted(set(found.split()))[:1]
    return []
