"""Puts what the generator reads into one folder, build/pages: `make site`.

The documents stay where a code host shows them, with links that work there; here the files beside
docs/ come into one folder with those in it, and the links with them. A link that is called like a
file is called like its page here.
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
"""Whose README.md is a page."""


def gather() -> None:
    """Make the folder anew."""
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
    shutil.copytree(PROJECT / "conformance" / "docs", PAGES / "conformance" / "docs")
    for page in PAGES.rglob("*.md"):
        text = page.read_text("utf-8")
        page.write_text(_NAMED_LIKE_A_FILE.sub(partial(_named_like_its_page, page), text), "utf-8")


def _named_like_its_page(page: Path, link: re.Match[str]) -> str:
    title, _, _ = (page.parent / link[1]).read_text("utf-8").partition("\n")
    return f'["{title.removeprefix("# ")}"]({link[1]}'


if __name__ == "__main__":
    gather()
