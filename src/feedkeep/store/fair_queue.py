"""Fair queue: round-robin over accounts, with a bounded share of each batch. Pure."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator
from itertools import chain
from typing import Generic, TypeVar

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """Queued items, each with a weight and an owner.

    A batch has a weight of up to `max_share` per owner, in turn, and up to `max_weight` in total.
    An item heavier than a share is bulk and gets its own batch: bulk batches alternate with shared
    batches, and their owners take turns, too. So other items wait for one bulk batch at most,
    however much bulk one owner has queued.
    """

    def __init__(self, max_weight: int, max_share: int) -> None:
        self._max_weight = max_weight
        self._max_share = max_share
        self._shared: OrderedDict[Hashable, deque[tuple[int, Item]]] = OrderedDict()
        self._bulk: dict[Hashable, deque[tuple[int, Item]]] = {}
        self._is_turn_of_bulk = False

    def __bool__(self) -> bool:
        return bool(self._shared or self._bulk)

    def __iter__(self) -> Iterator[Item]:
        for items in chain(self._shared.values(), self._bulk.values()):
            yield from (item for _, item in items)

    def add(self, item: Item, weight: int, owner: Hashable) -> None:
        """Queue an item behind the owner's other items."""
        queues = self._bulk if weight > self._max_share else self._shared
        queue = queues.get(owner)
        if queue is None:
            queue = queues[owner] = deque()
        queue.append((weight, item))

    def put_back(self, item: Item, weight: int, owner: Hashable) -> None:
        """Queue an item again, before all others, because its batch ended before it ran."""
        self._shared.setdefault(owner, deque()).appendleft((weight, item))
        self._shared.move_to_end(owner, last=False)

    def next_batch(self) -> list[Item]:
        """Remove and return the items of the next batch; an empty list if nothing is queued."""
        is_bulk = bool(self._bulk) and (self._is_turn_of_bulk or not self._shared)
        self._is_turn_of_bulk = not is_bulk
        return self._next_bulk() if is_bulk else self._next_shares()

    def _next_bulk(self) -> list[Item]:
        owner = next(iter(self._bulk))
        queue = self._bulk.pop(owner)
        _, item = queue.popleft()
        if queue:
            self._bulk[owner] = queue
        return [item]

    def _next_shares(self) -> list[Item]:
        batch: list[Item] = []
        room = self._max_weight
        for owner in list(self._shared):
            queue = self._shared[owner]
            share = left = min(room, self._max_share)
            while queue and queue[0][0] <= left:
                weight, item = queue.popleft()
                batch.append(item)
                left -= weight
            if queue and left == share:  # it leads the next batch, not to be overtaken
                break
            room -= share - left
            del self._shared[owner]
            if queue:
                self._shared[owner] = queue
        return batch
