"""Error responses: status, text and JSON."""

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
    """An error response.

    Attributes:
        text: Fixed text for the kind of error.
        detail: Advice to the client.
        changed_since: Timestamps of the conflicting changes, newest first.
        challenges: Authentication challenges, omitted from pages: browsers would show a prompt.
    """

    status: int
    text: str
    detail: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    changed_since: Sequence[int] = ()
    challenges: Sequence[str] = ()

    @property
    def message(self) -> str:
        """Text and detail (C7.2)."""
        return f"{self.text} {self.detail}" if self.detail else self.text

    def response(self) -> JsonResponse:
        """Return the error as JSON, in the format of all errors (C7.1)."""
        problem = Problem(str(self.status), self.message)
        if self.changed_since:
            problem = Conflict(str(self.status), self.message, list(self.changed_since))
        response = JsonResponse(encode(problem), self.status, self.headers)
        for challenge in self.challenges:
            response.headers.append("WWW-Authenticate", challenge)
        return response

    def last_response(self) -> JsonResponse:
        """Return the response for a request without a route, or whose route can no longer respond.

        It has the headers of every response, and closes the connection.
        """
        response = self.response()
        response.headers.update(_OF_THE_LAST)
        return response
