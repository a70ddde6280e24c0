"""When the process ends that looks at feeds, the one ends that serves."""

import os

from feedkeep.feeds.fetcher_process import _Process

kill = _Process._kill


async def _kill(process: _Process) -> None:
    await kill(process)
    os._exit(1)


_Process._kill = _kill
