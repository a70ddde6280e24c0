"""Author of the changes that tests make."""

from __future__ import annotations

from feedkeep.model import Author, CredentialKind

TESTER = Author(CredentialKind.COMMAND, name="test")
