"""The states of a list that is kept in memory, kept as a store keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from feedkeep.model import Decision, Entry, EntryState, Guid, History, HistoryPage, Stamp, replace


class KeptStates:
    """All states of a list, and the stamps of its changes, oldest first."""

    def __init__(self) -> None:
        self.states: list[EntryState] = []
        self.stamps: list[Stamp] = []

    def keep(self, decision: Decision[Any], author: str = "") -> bool:
        """Keep the states that a change ended and began; return whether it was more than stamps."""
        present = {state.entry.guid: state for state in self.states if state.ended is None}
        past = [state for state in self.states if state.ended is not None]
        past += [replace(present.pop(guid), ended=decision.stamp) for guid in decision.ended]
        for entry in decision.saved:
            if entry.guid in decision.restamped:
                present[entry.guid] = replace(present[entry.guid], entry=entry)
            else:
                present[entry.guid] = EntryState(entry, decision.stamp, author)
        self.states = [*past, *present.values()]
        if not decision.ended and len(decision.restamped) == len(decision.saved):
            return False
        self.stamps.append(decision.stamp)
        return True

    def history(self) -> History:
        return History(self.states, Stamp(0))

    def page(self) -> HistoryPage:
        return HistoryPage(self.stamps[::-1], self.states, Stamp(0))

    def present(self) -> Mapping[Guid, Entry]:
        return {state.entry.guid: state.entry for state in self.states if state.ended is None}
