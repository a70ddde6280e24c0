"""An index of entries by guid, and of pointers by target, for rules and stores. Pure.

It decides nothing: `rules/draft.py` decides which guid may resolve to which subscription.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from feedkeep.model import Entry, Guid, Pointer, Subscription


def target_guid(entry: Entry) -> Guid:
    """Return the guid of the subscription that an entry is or resolves to."""
    return entry.new_guid if isinstance(entry, Pointer) else entry.guid


class EntryIndex:
    """A mutable set of entries, each under its own guid.

    An account can have a hundred thousand entries, and a subscription a thousand pointers: so the
    pointers to a guid are indexed and not searched for.
    """

    def __init__(self, entries: Mapping[Guid, Entry]) -> None:
        self._entries = dict(entries)
        self._pointers: dict[Guid, set[Guid]] = {}
        for guid, entry in entries.items():
            if isinstance(entry, Pointer):
                self._pointers.setdefault(entry.new_guid, set()).add(guid)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, guid: Guid) -> Entry:
        return self._entries[guid]

    def get(self, guid: Guid) -> Entry | None:
        return self._entries.get(guid)

    def find(self, guid: Guid) -> Subscription | None:
        """Resolve `guid` to its subscription, deleted ones included."""
        entry = self._entries.get(guid)
        if isinstance(entry, Pointer):
            entry = self._entries[entry.new_guid]
            assert isinstance(entry, Subscription), "a pointer leads to another pointer"
        return entry

    def pointers_to(self, guid: Guid) -> list[Guid]:
        """Return the guids of all pointers to `guid`: a copy, so that the index may change."""
        return list(self._pointers.get(guid, ()))

    def pointer_count(self, guid: Guid) -> int:
        return len(self._pointers.get(guid, ()))

    def closure(self, guids: Iterable[Guid]) -> dict[Guid, Entry]:
        """Return the subscriptions that `guids` resolve to, and all pointers to these, by guid."""
        known = self._entries
        targets = {target_guid(known[guid]) for guid in guids if guid in known}
        found = {guid: known[guid] for guid in targets}
        for target in targets:
            found |= {guid: known[guid] for guid in self._pointers.get(target, ())}
        return found

    def whole(self) -> dict[Guid, Entry]:
        """Return a copy of all entries, by their guids."""
        return dict(self._entries)

    def set(self, guid: Guid, entry: Entry | None) -> Entry | None:
        """Replace the entry of `guid`, or remove it; return the former one."""
        # Entries and pointers change together, and only here.
        old = self._entries.pop(guid, None)
        if isinstance(old, Pointer):
            self._pointers[old.new_guid].discard(guid)
        if entry is not None:
            self._entries[guid] = entry
        if isinstance(entry, Pointer):
            self._pointers.setdefault(entry.new_guid, set()).add(guid)
        return old
