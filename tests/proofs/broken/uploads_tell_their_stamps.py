"""Nothing is broken: what apps upload leaves its stamps in a file, since its replies have none."""

from __future__ import annotations

import os
from pathlib import Path

from feedkeep.apps import Apps
from feedkeep.model import Admitted
from feedkeep.rules.spellings import Spellings
from feedkeep.rules.url_lists import Synced

STAMPS = Path(os.environ["RAN_FIRST"]).with_name("stamps")
note_list = Apps._note_list


async def note_and_tell(
    apps: Apps, app: Admitted, device: str, known: Spellings, synced: Synced
) -> int:
    with STAMPS.open("a") as told:
        told.write(f"{device} {synced.began} {synced.ended}\n")
    return await note_list(apps, app, device, known, synced)


Apps._note_list = note_and_tell
