"""Who changes lists in tests."""

from __future__ import annotations

from feedkeep.model import Author, CredentialKind

TESTER = Author(CredentialKind.COMMAND, name="test")
