"""Secrets are compared in constant time, or found by their hash; never with `==`."""

import ast
import re
from pathlib import Path

import feedkeep

FILES = sorted(Path(feedkeep.__file__).parent.rglob("*.py"))
SECRET = re.compile(
    r"token|password|secret|digest|hash(?!able)|fingerprint|authorization", re.IGNORECASE
)
NO_SECRET = re.compile(r"\blen\([^()]*\)|\b[A-Z][A-Z_]+\b")
"""Lengths, and constants of the source."""
COMPARING = ast.Eq | ast.NotEq | ast.In | ast.NotIn


def comparisons_of_secrets(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and any(isinstance(op, COMPARING) for op in node.ops):
            compared = (node.left, *node.comparators)
            if any(SECRET.search(NO_SECRET.sub("", ast.unparse(side))) for side in compared):
                yield f"line {node.lineno}: {ast.unparse(node)}"


def test_no_secret_is_compared_with_an_operator():
    found = {path: [*comparisons_of_secrets(path.read_text("utf-8"))] for path in FILES}
    assert {path: lines for path, lines in found.items() if lines} == {}
    for source in (
        "token == shown",
        "if x and account.password_hash != stored: pass",
        "a < b == secret",
        "sha256(text).digest() in known",
        'req.get_header("Authorization") == expected',
    ):
        assert [*comparisons_of_secrets(source)] != []
