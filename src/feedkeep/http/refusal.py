"""What an error becomes: a status, a text, and the JSON that says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from feedkeep.http.json_bodies import Conflict, Problem, encode
from feedkeep.http.responses import JsonResponse

_OF_THE_LAST = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Connection": "close",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error's status, its fixed text, and a detail that says what to do.

    Attributes:
        status: The status.
        text: The fixed text.
        detail: What to do.
        headers: Headers that go with it.
        changed_since: The stamps of the changes that are in the way, if that is what is wrong.
        challenges: The ways to authenticate, for clients that are no page: a browser would ask.
    """

    status: int
    text: str
    detail: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    changed_since: Sequence[int] = ()
    challenges: Sequence[str] = ()

    @property
    def message(self) -> str:
        """The fixed text, then the detail (C7.2)."""
        return f"{self.text} {self.detail}" if self.detail else self.text

    def response(self) -> JsonResponse:
        """Return the one shape that all errors have (C7.1)."""
        problem = Problem(str(self.status), self.message)
        if self.changed_since:
            problem = Conflict(str(self.status), self.message, list(self.changed_since))
        response = JsonResponse(encode(problem), self.status, self.headers)
        for challenge in self.challenges:
            response.headers.append("WWW-Authenticate", challenge)
        return response

    def last_response(self) -> JsonResponse:
        """Return it for a request that reaches no route, or whose route cannot answer any more.

        It has the headers of every response, and the connection is closed after it.
        """
        response = self.response()
        response.headers.update(_OF_THE_LAST)
        return response
