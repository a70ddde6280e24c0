"""What an error becomes: a status, a text, and the JSON that says it."""

from __future__ import annotations

from dataclasses import dataclass, field

from feedkeep.http.json_bodies import Problem, encode
from feedkeep.http.responses import JsonResponse


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error's status, its fixed text, and a detail that says what to do."""

    status: int
    text: str
    detail: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def response(self) -> JsonResponse:
        """Return the one shape that all errors have."""
        message = f"{self.text} {self.detail}" if self.detail else self.text
        body = encode(Problem(str(self.status), message))
        return JsonResponse(body, self.status, self.headers)
