"""Storing what podcast apps keep here: episode actions, and documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from feedkeep.model import (
    AccountId,
    ActionDecision,
    ActionRequest,
    ActionSnapshot,
    Document,
    DocumentKind,
    DocumentName,
    EpisodeAction,
    KnownDocument,
    Recorded,
    Stamp,
    TokenProgress,
)

DecideActions: TypeAlias = Callable[[ActionSnapshot, Sequence[EpisodeAction]], ActionDecision]
"""A rule about episode actions: decides what is saved of a chunk of those that were sent."""


MAX_OF_AN_EPISODE = 20
"""Maximum number of stored actions that a rule is given for each guid, and for each file."""


DecideDocument: TypeAlias = Callable[[str | None, int], str]
"""Returns a document's new body; is given the fields of `KnownDocument`."""


Learn: TypeAlias = Callable[
    [Recorded, Mapping[DocumentName, KnownDocument]], TokenProgress | Document | None
]
"""Returns what is to be stored of the app that sent actions; is given what became of them."""


def learn_nothing(_: Recorded, __: Mapping[DocumentName, KnownDocument]) -> None:
    """Store nothing of the app: a `Learn`."""


class EpisodeActions(Protocol):
    """The episode actions of all accounts."""

    async def record(
        self,
        account_id: AccountId,
        sent: Sequence[EpisodeAction],
        decide: DecideActions,
        until: Callable[[Stamp, Stamp], Stamp],
        learn: Learn = learn_nothing,
        documents: Sequence[DocumentName] = (),
    ) -> Recorded:
        """Save what `decide` makes of the actions `sent`, in one commit, however many they are.

        They are taken in order, in chunks: `decide` is given the stored actions of the same
        episodes (`ActionSnapshot.known`), and those that were sent; it sees what was decided about
        the chunks before. In the end the clock of actions is set to what `until`
        returns. It is given where the clock stood before, and where the last decision moved it.
        What `learn` then returns of the app that sent them is stored, too; it is given the
        `documents` as they are. All else is as in `Entries.change`.

        Raises:
            NotAuthorized: The account is gone.
            FeedkeepError: Whatever `decide` raises; nothing is changed then.
        """

    async def weights(self, account_id: AccountId) -> tuple[int, int]:
        """Return an account's `action_count`, and the same added up now; all read at one moment.

        Raises:
            NotAuthorized: The account is gone.
        """

    async def page(self, account_id: AccountId, request: ActionRequest) -> list[EpisodeAction]:
        """Return the episode actions that are wanted, by rising revision."""

    async def last_of_each(self, account_id: AccountId, request: ActionRequest) -> Sequence[Stamp]:
        """Return the revision of the last action of each kind with each episode, as they rise.

        The last action is the one that was done last, of those that can be told
        (`rules.episode_actions.can_be_sent`, `sent_second`). An episode is known by its guid; one
        that was sent by its URL alone is the one with the only guid that is wanted here and has
        this URL, or else another one. The limit of the request does not apply:
        revisions are numbers, which take eight bytes each.
        """


class Documents(Protocol):
    """Small texts that are stored for apps."""

    async def of(self, account_id: AccountId, kind: DocumentKind) -> Sequence[Document]:
        """Return all documents of a kind, ordered by name."""

    async def body(self, account_id: AccountId, kind: DocumentKind, name: str) -> str | None:
        """Return the body of a document, if it exists."""

    async def change(
        self, account_id: AccountId, kind: DocumentKind, name: str, decide: DecideDocument
    ) -> str:
        """Load a document, save what `decide` makes of it, and return that.

        Raises:
            NotAuthorized: The account is gone.
            FeedkeepError: Whatever `decide` raises; nothing is changed then.
        """
