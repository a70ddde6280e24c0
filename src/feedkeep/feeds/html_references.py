"""HTML character references such as `&eacute;` or `&#8217;`."""

from __future__ import annotations

import html
from html.entities import html5


def characters_of(name: str) -> str | None:
    """Decode an HTML character reference (`name`: the text after `&`) as browsers do.

    Returns None for unknown names. Numbers of Windows-1252 are its characters; numbers without a
    character become "".
    """
    if name.startswith("#"):
        return html.unescape(f"&{name}")
    # For an unknown name, unescape() replaces its beginning: `&notebook;` would start with "¬".
    return html5.get(name)
