"""Build podsync-check as one file to run, byte for byte the same from the same source.

`zipapp` takes times, modes and the order of files from the disk.
"""

from __future__ import annotations

import sys
from pathlib import Path
from zipfile import ZipFile, ZipInfo

SOURCE = Path(__file__).parent / "src"


def build(target: Path) -> None:
    """Write the archive, which Python runs."""
    target.parent.mkdir(parents=True, exist_ok=True)
    files = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
    files["__main__.py"] = SOURCE / "podsync_check" / "__main__.py"
    with target.open("wb") as file:
        file.write(b"#!/usr/bin/env python3\n")
        with ZipFile(file, "w") as archive:  # stored: versions of zlib compress differently
            for name, path in sorted(files.items()):
                archive.writestr(ZipInfo(name), path.read_bytes())
    target.chmod(0o755)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
