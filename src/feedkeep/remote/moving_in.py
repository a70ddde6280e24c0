"""Copy an account's data from another server, in resumable steps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from msgspec.structs import asdict

from feedkeep.model import Account, Admitted, CredentialKind, T, Value, replace
from feedkeep.remote.errors import RemoteError
from feedkeep.remote.other_servers import Remote
from feedkeep.service import Service
from feedkeep.url_sync.messages import sent_actions

MAX_SECONDS = 600.0
"""Timeout of a reply, including retries."""

MAX_PAGES = 2_000
"""Maximum number of replies with episode actions; mygpo's hold 1,000 each."""

_ACTIONS_AT_ONCE = 1_000


class Copied(Value, frozen=True):
    """Progress of copying: copied actions, known actions, and refused URLs."""

    done: int = 0
    total: int = 0
    refused: int = 0


async def copy_actions(
    service: Service,
    account: Account,
    remote: Remote,
    where: str,
    told: Callable[[Copied], Awaitable[None]],
) -> Copied:
    """Copy episode actions page by page, and report the progress to `told`.

    The end of each page is stored under the name `where`, for the next run to resume.

    Raises:
        RemoteError: The other server failed; actions copied so far stay.
    """
    app = Admitted(account, CredentialKind.COMMAND)
    so_far = await service.migrations.so_far(account.id, where)
    copied = Copied()
    for _ in range(MAX_PAGES):
        page = await in_time(remote.episode_actions(so_far.until))
        actions = page.actions or []
        copied = replace(copied, total=copied.done + len(actions))
        for start in range(0, len(actions), _ACTIONS_AT_ONCE):
            chunk = [asdict(one) for one in actions[start : start + _ACTIONS_AT_ONCE]]
            uploaded = await service.episode_actions.record(app, sent_actions(chunk))
            copied = replace(
                copied,
                done=copied.done + len(chunk),
                refused=copied.refused + len(uploaded.update_urls),
            )
            await told(copied)
        is_last = not actions or page.timestamp <= so_far.until
        so_far = replace(so_far, until=page.timestamp)
        await service.migrations.note(account.id, where, so_far)
        if is_last:
            return copied
    raise RemoteError(
        f"After {MAX_PAGES} replies with {copied.done} episode actions, the other server has still"
        " more. All of these are stored; run the command again for the rest."
    )


async def in_time(answer: Awaitable[T]) -> T:
    """Wait for a reply.

    Raises:
        RemoteError: The whole reply took longer than `MAX_SECONDS`, however steadily it came.
    """
    try:
        return await asyncio.wait_for(answer, MAX_SECONDS)
    except TimeoutError:
        raise RemoteError(
            f"The other server takes longer than {MAX_SECONDS / 60:.0f} minutes for a reply."
        ) from None
