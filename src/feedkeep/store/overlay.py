"""An account's entries during a batch: each job sees the changes of the jobs before it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from feedkeep.entry_index import EntryIndex
from feedkeep.model import (
    AccountId,
    Clock,
    Counts,
    Decision,
    Deletion,
    Document,
    DocumentName,
    Entry,
    Guid,
    KnownDocument,
    Snapshot,
    Stamp,
    T,
    TokenId,
    TokenProgress,
)


class Overlay:
    """The loaded entries of one account, with the decisions of a batch on top.

    Loaded are the entries of all guids of all jobs, the subscriptions that they lead to, and all
    pointers to these. That stays complete, since a decision changes only entries that it was given.
    So every job can be given its snapshot without another query.

    Attributes:
        account_id: The account.
        last_stamp: Its clock.
        counts: The counts of its list.
        saved: The entries to save, as they are at the end.
        forgotten: The guids whose entries are to be deleted.
        deletions: The deletions to remember.
        documents: The documents that were asked for, with the changes so far.
        saved_documents: The documents to save.
        token_progress: How far apps know what changed: the latest of each token and clock.
    """

    def __init__(
        self,
        account_id: AccountId,
        last_stamp: Stamp,
        counts: Counts,
        entries: Iterable[Entry] = (),
    ) -> None:
        self.account_id = account_id
        self.last_stamp = last_stamp
        self.counts = counts
        self.saved: dict[Guid, Entry] = {}
        self.forgotten: set[Guid] = set()
        self.deletions: list[Deletion] = []
        self.documents: dict[DocumentName, KnownDocument] = {}
        self.saved_documents: dict[DocumentName, Document] = {}
        self.token_progress: dict[tuple[TokenId, Clock], TokenProgress] = {}
        self._index = EntryIndex({entry.guid: entry for entry in entries})

    def load(self, entry: Entry) -> None:
        """Add an entry as it is stored."""
        self._index.set(entry.guid, entry)

    def run(
        self,
        guids: Iterable[Guid] | None,
        decide: Callable[[Snapshot], Decision[T]],
        now: Stamp,
        documents: Iterable[DocumentName] = (),
    ) -> T:
        """Give `decide` its snapshot, and apply its decision; return the decision's outcome.

        `guids` is None for all entries of the account, which have to be loaded already.

        Raises what `decide` raises; nothing is changed then.
        """
        entries = self._index.whole() if guids is None else self._index.closure(guids)
        known = {name: self.documents[name] for name in documents}
        decision = decide(Snapshot(entries, self.last_stamp, now, self.counts, known))
        for document in decision.documents:
            self._set_document(document)
        if decision.token_progress:
            self.token_progress[decision.token_progress.token_id, decision.token_progress.clock] = (
                decision.token_progress
            )
        if not decision.saved and not decision.forgotten:
            return decision.outcome
        for entry in decision.saved:
            self._index.set(entry.guid, entry)
            self.saved[entry.guid] = entry
            self.forgotten.discard(entry.guid)
        for guid in decision.forgotten:
            self._index.set(guid, None)
            self.saved.pop(guid, None)
            self.forgotten.add(guid)
        if decision.deletion:
            self.deletions.append(decision.deletion)
        self.last_stamp = decision.last_stamp
        self.counts = decision.counts
        return decision.outcome

    def _set_document(self, document: Document) -> None:
        """Save a document; the jobs that follow see it, and that there is one more of its kind."""
        saved = DocumentName(document.kind, document.name)
        if self.documents[saved].body is None:
            for name, known in self.documents.items():
                if name.kind == saved.kind and known.body is None:
                    self.documents[name] = KnownDocument(None, known.others + 1)
        self.documents[saved] = KnownDocument(document.body)
        self.saved_documents[saved] = document
