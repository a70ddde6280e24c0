"""Entries by their guids, and pointers by what they lead to: one index for rules and stores. Pure.

It decides nothing: what may lead where is for `rules/draft.py` to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from feedkeep.model import Entry, Guid, Pointer, Subscription


def target_guid(entry: Entry) -> Guid:
    """Return the guid of the subscription that an entry is, or leads to."""
    return entry.new_guid if isinstance(entry, Pointer) else entry.guid


class EntryIndex:
    """Entries that can be changed, each under its own guid.

    A subscription can have a thousand pointers, and an account a hundred thousand entries: so the
    pointers to a guid are looked up, never searched for.
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
        """Return the entry of a guid that is known to have one."""
        return self._entries[guid]

    def get(self, guid: Guid) -> Entry | None:
        """Return the entry of a guid, if it has one."""
        return self._entries.get(guid)

    def find(self, guid: Guid) -> Subscription | None:
        """Return the subscription that `guid` is the present guid of, or leads to; deleted too."""
        entry = self._entries.get(guid)
        if isinstance(entry, Pointer):
            entry = self._entries[entry.new_guid]
            assert isinstance(entry, Subscription), "a pointer leads to another pointer"
        return entry

    def pointers_to(self, guid: Guid) -> list[Guid]:
        """Return the guids of all pointers to `guid`: a copy, so the index can change meanwhile."""
        return list(self._pointers.get(guid, ()))

    def pointer_count(self, guid: Guid) -> int:
        """Return how many pointers lead to `guid`."""
        return len(self._pointers.get(guid, ()))

    def closure(self, guids: Iterable[Guid]) -> dict[Guid, Entry]:
        """Return the entries of `guids`, what they lead to, and all pointers to that."""
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
        """Let `entry`, or nothing, be what `guid` has from now on; return what it had."""
        # Entries and pointers change together here, and nowhere else.
        old = self._entries.pop(guid, None)
        if isinstance(old, Pointer):
            self._pointers[old.new_guid].discard(guid)
        if entry is not None:
            self._entries[guid] = entry
        if isinstance(entry, Pointer):
            self._pointers.setdefault(entry.new_guid, set()).add(guid)
        return old
