"""Lists the licences of all installed packages, and fails if one is not known to be free.

Argument: a bill of materials in CycloneDX JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

FREE = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause",
    "CC0-1.0", "HPND", "ISC", "MIT", "MIT-0", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Python-2.0",
    "Unlicense", "Zlib",
}  # fmt: skip
"""Licences that permit anyone to use, change and redistribute a program with the package."""

SAID_OTHERWISE = {
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "OSI Approved :: Apache Software License": "Apache-2.0",
    "any-OSI": "MIT",
}
"""Identifiers of licences by the names that some projects use instead."""

IN_A_FILE_ALONE = {"zxcvbn-rs-py": {"MIT"}}
"""Licences that are in a project's files but not in its metadata."""


def licences(component: dict) -> Iterator[str]:
    """Yield the identifiers of a component's licences, all of which must be free."""
    for found in component.get("licenses", []):
        if "expression" in found:
            yield from _parts(found["expression"])
        else:
            licence = found["license"]
            name = licence.get("id") or licence.get("name", "")
            name = name.removeprefix("License :: OSI Approved :: ")
            yield SAID_OTHERWISE.get(name, name)


def _parts(expression: str) -> Iterator[str]:
    for part in expression.replace("(", "").replace(")", "").split(" AND "):
        choices = part.split(" OR ")
        yield next((choice for choice in choices if choice in FREE), part)


def main() -> None:
    """Print a line for each package; exit with a message if one is not known to be free."""
    bill = json.loads(Path(sys.argv[1]).read_text())
    refused = []
    for component in sorted(bill["components"], key=lambda component: component["name"]):
        name = component["name"]
        found = sorted({*licences(component)} or {*IN_A_FILE_ALONE.get(name, ())})
        told = ", ".join(found) or "not told"
        sys.stdout.write(f"{name} {component['version']}: {told}\n")
        if not found or not FREE.issuperset(found):
            refused.append(name)
    if refused:
        sys.exit(
            f"Look at the licences of {', '.join(refused)}, and add what is free to {__file__}."
        )


main()
