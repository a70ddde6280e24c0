"""An account's entries during a batch: each job sees the changes of the jobs before it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from feedkeep.model import (
    AccountId,
    Clock,
    Counts,
    Decision,
    Deletion,
    Document,
    DocumentName,
    DocumentSelector,
    Entry,
    EntryState,
    Guid,
    History,
    KnownDocument,
    Second,
    Snapshot,
    Stamp,
    T,
    TokenId,
    TokenProgress,
    Value,
    replace,
)
from feedkeep.model.entry_index import EntryIndex
from feedkeep.model.weights import weight_of_document, weight_of_entry


class Origin(Value, frozen=True):
    """Stamp and author of the change that produced an entry's state; None means unknown."""

    began: Stamp | None = None
    author: str | None = None


class Overlay:
    """The loaded entries of one account, with the decisions of a batch on top.

    Entries of all guids of all jobs are loaded, with the subscriptions that they resolve to and all
    pointers to these. This stays complete, since a decision changes only entries of its snapshot.
    So every job gets its snapshot without another query.

    Attributes:
        known_from: Stamp from which every state of its list is stored.
        former_count: Sum of the weights of the stored former states and of those to keep.
        saved: The entries to save, in their last state.
        origins: Origins of saved entries whose state began in this batch. Only stamps of other
            saved entries have changed: their stored origin stays.
        forgotten: The guids whose entries are to be deleted.
        stored_ended: States to keep that are stored exactly as they ended.
        restamped_ended: States to keep that were restamped in this batch; their origin is stored.
        made_and_ended: States to keep that also began in this batch, and are not stored.
        documents: The requested documents, with the changes so far.
        token_progress: Latest sync progress of apps, by token and clock.
    """

    def __init__(
        self,
        account_id: AccountId,
        last_stamp: Stamp,
        counts: Counts,
        entries: Iterable[Entry] = (),
        *,
        known_from: Stamp = Stamp(0),  # noqa: B008 - a number
        former_count: int = 0,
    ) -> None:
        self.account_id = account_id
        self.last_stamp = last_stamp
        self.counts = counts
        self.known_from = known_from
        self.former_count = former_count
        self.saved: dict[Guid, Entry] = {}
        self.origins: dict[Guid, Origin] = {}
        self.forgotten: set[Guid] = set()
        self.stored_ended: list[EntryState] = []
        self.restamped_ended: list[EntryState] = []
        self.made_and_ended: list[EntryState] = []
        self.deletions: list[Deletion] = []
        self.documents: dict[DocumentName, KnownDocument] = {}
        self.saved_documents: dict[DocumentName, Document] = {}
        self.token_progress: dict[tuple[TokenId, Clock], TokenProgress] = {}
        self._index = EntryIndex({entry.guid: entry for entry in entries})
        self._stored_origins: dict[Guid, Origin] = {}
        self._former: list[EntryState] = []

    @property
    def rows(self) -> int:
        return len(self._index) + len(self._former)

    def load(self, entry: Entry) -> None:
        self._index.set(entry.guid, entry)

    def load_state(self, state: EntryState) -> None:
        """Add a stored present or former state."""
        if state.ended is not None:
            self._former.append(state)
            return
        self.load(state.entry)
        self._stored_origins[state.entry.guid] = Origin(state.began, state.author or None)

    def known_documents(
        self, wanted: Iterable[DocumentSelector]
    ) -> dict[DocumentName, KnownDocument]:
        """Return documents with the changes of the jobs so far."""
        chosen = frozenset(wanted)
        return {
            name: known
            for name, known in self.documents.items()
            if name in chosen or (name.kind in chosen and known.body is not None)
        }

    def run(
        self,
        guids: Iterable[Guid] | None,
        decide: Callable[[Snapshot], Decision[T]],
        now: Stamp,
        documents: Iterable[DocumentSelector] = (),
        *,
        author: str | None = None,
        history_from: Stamp | None = None,
    ) -> T:
        """Call `decide` with its snapshot, apply its decision and return the outcome.

        The arguments are those of `Entries.change`. What they name must be loaded: all entries if
        `guids` is None, all states with a `history_from`.

        Raises what `decide` raises; nothing is changed then.
        """
        entries = self._index.whole() if guids is None else self._index.closure(guids)
        known = self.known_documents(documents)
        history = None if history_from is None else self._history(history_from)
        decision = decide(Snapshot(entries, self.last_stamp, now, self.counts, known, history))
        for document in decision.documents:
            self._set_document(document)
        if decision.token_progress:
            self._set_progress(decision.token_progress)
        if not decision.saved and not decision.forgotten:
            return decision.outcome
        if author is None:
            self.known_from = max(self.known_from, decision.stamp)
        else:
            for guid in decision.ended:
                self._keep(guid, decision.stamp)
        self._apply(decision, Origin(decision.stamp, author))
        if decision.deletion:
            self.deletions.append(decision.deletion)
        self.last_stamp = decision.last_stamp
        self.counts = decision.counts
        return decision.outcome

    def _apply(self, decision: Decision[T], origin: Origin) -> None:
        for entry in decision.saved:
            self._index.set(entry.guid, entry)
            self.saved[entry.guid] = entry
            self.forgotten.discard(entry.guid)
            if entry.guid not in decision.restamped:
                self.origins[entry.guid] = origin
        for guid in decision.forgotten:
            self._index.set(guid, None)
            self.saved.pop(guid, None)
            self.origins.pop(guid, None)
            self.forgotten.add(guid)

    def _keep(self, guid: Guid, ended: Stamp) -> None:
        state = self._state(self._index[guid], ended)
        if guid in self.origins:
            self.made_and_ended.append(state)
        elif guid in self.saved:
            self.restamped_ended.append(state)
        else:
            self.stored_ended.append(state)
        self.former_count += weight_of_entry(state.entry)

    def _state(self, entry: Entry, ended: Stamp | None = None) -> EntryState:
        stored = self._stored_origins.get(entry.guid, Origin())
        origin = self.origins.get(entry.guid, stored)
        return EntryState(entry, origin.began, origin.author or "", ended)

    def _history(self, history_from: Stamp) -> History:
        ended = (*self._former, *self.stored_ended, *self.restamped_ended, *self.made_and_ended)
        former = [state for state in ended if (state.ended or 0) >= history_from]
        present = [self._state(entry) for entry in self._index.whole().values()]
        return History([*former, *present], self.known_from)

    def _set_progress(self, changed: TokenProgress) -> None:
        """Save sync progress; what an app has acknowledged stays, as with changes in turn."""
        key = changed.token_id, changed.clock
        before = self.token_progress.get(key)
        if before is not None and before.progress.acknowledged is not None:
            own = changed.progress.acknowledged or Second(0)
            acknowledged = max(before.progress.acknowledged, own)
            changed = replace(
                changed, progress=replace(changed.progress, acknowledged=acknowledged)
            )
        self.token_progress[key] = changed

    def _set_document(self, document: Document) -> None:
        """Save a document, and update the weight of its kind for the following jobs."""
        saved = DocumentName(document.kind, document.name)
        before = self.documents[saved]
        added = weight_of_document(document.body) - weight_of_document(before.body)
        if added:
            for name, known in self.documents.items():
                if name.kind == saved.kind:
                    self.documents[name] = KnownDocument(known.body, known.others + added)
        self.documents[saved] = KnownDocument(document.body, before.others)
        self.saved_documents[saved] = document
