"""The canonical form of a guid (contract, section 3). Pure."""

from __future__ import annotations

import re

from feedkeep.errors import InvalidInput
from feedkeep.model import Guid

_CANONICAL = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def parse_guid(text: str) -> Guid:
    """Return the canonical form of `text`: 8-4-4-4-12 hexadecimal digits, in lower case.

    Any version and variant is accepted, in any case.

    Raises:
        InvalidInput: `text` has another form.
    """
    # Folding only ASCII: a letter like U+212A would otherwise become one of ours.
    lowered = text.lower() if text.isascii() else text
    if not _CANONICAL.fullmatch(lowered):
        raise InvalidInput(
            "Not a guid: 32 hexadecimal digits in the form 8-4-4-4-12 are expected,"
            " such as 9b024349-ccf0-5f69-a609-6b82873eab3c."
        )
    return Guid(lowered)
