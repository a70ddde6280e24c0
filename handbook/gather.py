"""Collects the sources of the documentation site in build/pages: `make site`.

In the repository, links between documents work on a code host. Here files from outside docs/ are
put into one folder with docs/, and links are adapted. A link named after a file gets the page's
title.
"""

from __future__ import annotations

import re
import shutil
from functools import partial
from pathlib import Path

PROJECT = Path(__file__).parent.parent
PAGES = PROJECT / "build" / "pages"
_NAMED_LIKE_A_FILE = re.compile(r"\[[\w./-]+\.md\]\(([\w./-]+\.md)")
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
FOLDERS = ("bench", "conformance")
"""Folders whose README.md is a page."""


def gather() -> None:
    """Create the folder, replacing an earlier one."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(PROJECT / "docs", PAGES)
    shutil.copy(Path(__file__).with_name("style.css"), PAGES)
    for page in PAGES.glob("*.md"):
        page.write_text(page.read_text("utf-8").replace("](../", "]("), "utf-8")
    for name in BESIDE:
        text = (PROJECT / name).read_text("utf-8")
        (PAGES / name).write_text(text.replace("](docs/", "]("), "utf-8")
    for folder in FOLDERS:
        (PAGES / folder).mkdir()
        text = (PROJECT / folder / "README.md").read_text("utf-8")
        (PAGES / folder / "README.md").write_text(text.replace("](../docs/", "](../"), "utf-8")
    only_pages = shutil.ignore_patterns("*.py", "__pycache__", "results")
    shutil.copytree(
        PROJECT / "conformance" / "docs", PAGES / "conformance" / "docs", ignore=only_pages
    )
    for page in PAGES.rglob("*.md"):
        text = page.read_text("utf-8")
        page.write_text(_NAMED_LIKE_A_FILE.sub(partial(_named_like_its_page, page), text), "utf-8")


def _named_like_its_page(page: Path, link: re.Match[str]) -> str:
    title, _, _ = (page.parent / link[1]).read_text("utf-8").partition("\n")
    return f'["{title.removeprefix("# ")}"]({link[1]}'


if __name__ == "__main__":
    gather()
