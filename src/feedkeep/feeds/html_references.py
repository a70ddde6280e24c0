"""What a reference of HTML such as `&eacute;` or `&#8217;` stands for."""

from __future__ import annotations

import html
from html.entities import html5


def characters_of(name: str) -> str | None:
    """Return what a reference stands for, by what is after its `&`, as browsers read it.

    Returns None if HTML does not know it. Numbers of Windows-1252 stand for its characters, and
    those of no character for none.
    """
    if name.startswith("#"):
        return html.unescape(f"&{name}")
    # Where unescape() does not know a name, it takes a part of it: a `&notebook;` begins with "¬".
    return html5.get(name)
