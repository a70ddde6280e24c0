"""The drain period before shutdown, in which load balancers move to other processes."""

from __future__ import annotations


class Draining:
    """State of the drain period.

    Attributes:
        has_begun: Whether it has begun: `/readyz` fails, and each connection closes after its next
            reply.
    """

    has_begun = False

    def begin(self) -> None:
        self.has_begun = True
