"""The time before a process stops, in which load balancers turn to other processes."""

from __future__ import annotations


class Draining:
    """Whether a process is about to stop, and is to be sent no more requests.

    Attributes:
        has_begun: Whether it is. Then `/readyz` refuses, so that balancers turn away, and each
            connection ends with its next reply, so that clients do.
    """

    has_begun = False

    def begin(self) -> None:
        """Turn clients and balancers away from now on."""
        self.has_begun = True
