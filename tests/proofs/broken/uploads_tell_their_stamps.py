"""Nothing is broken: what apps upload leaves its stamps in a file, since its replies have none."""

from __future__ import annotations

import os
from pathlib import Path

from feedkeep.model import Admitted
from feedkeep.rules.spellings import Spellings
from feedkeep.rules.url_lists import Synced
from feedkeep.service.url_lists import UrlLists

STAMPS = Path(os.environ["RAN_FIRST"]).with_name("stamps")
note_list = UrlLists._note_list


async def note_and_tell(
    lists: UrlLists, admitted: Admitted, device: str, known: Spellings, synced: Synced
) -> int:
    with STAMPS.open("a") as told:
        told.write(f"{device} {synced.began} {synced.ended}\n")
    return await note_list(lists, admitted, device, known, synced)


UrlLists._note_list = note_and_tell
