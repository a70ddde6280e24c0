"""A request that adds says so, and goes on when told to: by two FIFOs beside the log."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from feedkeep.model import AccountId, Author
from feedkeep.rules.subscriptions import Added, Refused, Wanted
from feedkeep.service.list_changes import Changed
from feedkeep.service.subscriptions import Subscriptions

FOLDER = Path(os.environ["RAN_FIRST"]).parent

add_at_once = Subscriptions.add


async def add(
    listed: Subscriptions, account_id: AccountId, items: Sequence[Wanted | Refused], author: Author
) -> Changed[list[Added | Refused]]:
    await asyncio.to_thread((FOLDER / "begun").write_text, "")  # returns when the test reads
    await asyncio.to_thread((FOLDER / "go").read_text)  # and when the test writes
    return await add_at_once(listed, account_id, items, author)


Subscriptions.add = add
