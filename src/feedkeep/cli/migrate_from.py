"""feedkeep migrate-from: copying what an account of another server has."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import asdict
from rich.progress import Progress

from feedkeep.cli.accounts import NameArgument
from feedkeep.cli.common import (
    FEEDS_AT_ONCE,
    ConfigOption,
    DatabaseOption,
    PasswordStdinOption,
    command_author,
    progress_bar,
    say,
    settings,
    with_service,
)
from feedkeep.model import Account, Admitted, CredentialKind, T, replace
from feedkeep.model.errors import AccountError
from feedkeep.outbound.policy import policy_of
from feedkeep.remote.errors import RemoteError
from feedkeep.rules.feed_labels import FiledFeed
from feedkeep.rules.subscriptions import Added, Refused
from feedkeep.rules.url_lists import to_add
from feedkeep.service import Service
from feedkeep.url_sync.messages import sent_actions

if TYPE_CHECKING:
    from feedkeep.remote.other_servers import DeviceThere, Remote

MAX_SECONDS = 600.0
"""How long a reply may take, including all attempts."""

MAX_PAGES = 2_000
"""How many replies with episode actions are asked for; mygpo's hold 1,000 each."""

_ACTIONS_AT_ONCE = 1_000


def migrate_from(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="The other server, such as https://gpodder.net.")
    ],
    name: NameArgument,
    remote_name: Annotated[
        str,
        typer.Option(
            "--remote-name",
            metavar="NAME",
            help="The account's name on the other server. Default: NAME.",
            show_default=False,
        ),
    ] = "",
    allow_private: Annotated[
        bool,
        typer.Option(
            "--allow-private",
            help="Allow a server on this machine or in its network.",
        ),
    ] = False,
    from_stdin: PasswordStdinOption = False,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Copy devices, subscriptions and episode actions from another server to an account.

    The other server may be gpodder.net, oPodSync, gpodder2go, goPodder, podsync, PinePods, another
    feedkeep, or a Nextcloud with gpoddersync.

    An interrupted run continues where it stopped, and adds nothing twice. Run it again once the
    last app has moved.
    """
    remote_name = remote_name or name
    from feedkeep.remote.other_servers import Remote  # noqa: PLC0415 - aiohttp imports slowly

    chosen = settings(database, config)
    remote = Remote(
        url,
        remote_name,
        _password(url, remote_name, from_stdin),
        policy_of(chosen),
        allow_private=allow_private,
    )

    async def migrate(service: Service) -> None:
        account = await service.accounts.named(name)
        async with remote:
            await bring(service, account)

    async def bring(service: Service, account: Account) -> None:
        with progress_bar() as progress:
            devices = await _devices(service, account, remote)
            where = f"{url} {remote_name}"
            await _subscriptions(service, account, remote, devices, where)
            await _episode_actions(service, account, remote, where, progress)

    with_service(chosen, migrate)


async def _devices(service: Service, account: Account, remote: Remote) -> list[DeviceThere]:
    found = await _in_time(remote.devices())
    for device in found:
        await service.devices.describe(
            account.id, device.id, device.caption or "", device.type or ""
        )
    say(f"{len(found)} devices.")
    return found


async def _subscriptions(
    service: Service,
    account: Account,
    remote: Remote,
    devices: Sequence[DeviceThere],
    where: str,
) -> None:
    """Add what is new there since the last run.

    What was added then may have been unsubscribed here since, so it is not added again.
    """
    so_far = await service.migrations.so_far(account.id, where)
    feeds = await _in_time(remote.subscriptions(devices))
    known = set(so_far.feeds)
    new_there = [feed for feed in feeds if feed not in known]
    author = command_author("migrate-from")
    results: list[Added | Refused] = []
    for start in range(0, len(new_there), FEEDS_AT_ONCE):
        items = [to_add(feed) for feed in new_there[start : start + FEEDS_AT_ONCE]]
        results += (await service.subscriptions.add(account.id, items, author)).outcome
    titles = [FiledFeed(feed, remote.titles.get(feed, ""), "") for feed in new_there]
    await service.feed_labels.take(account.id, titles)
    refused = {result.feed_url for result in results if isinstance(result, Refused)}
    here = [feed for feed in feeds if feed not in refused]
    await service.migrations.note(account.id, where, replace(so_far, feeds=here))
    added = sum(isinstance(result, Added) and not result.was_subscribed for result in results)
    there, bad = len(here) - added, len(refused)
    say(f"Subscriptions: {added} added, {there} already there, {bad} refused.")


async def _episode_actions(
    service: Service, account: Account, remote: Remote, where: str, progress: Progress
) -> None:
    """Fetch page after page; store where each ended, so that the next run goes on from there."""
    app = Admitted(account, CredentialKind.COMMAND)
    so_far = await service.migrations.so_far(account.id, where)
    count, refused = 0, 0
    task = progress.add_task("Episode actions", total=None)
    for _ in range(MAX_PAGES):
        page = await _in_time(remote.episode_actions(so_far.until))
        actions = page.actions or []
        progress.update(task, total=count + len(actions))
        for start in range(0, len(actions), _ACTIONS_AT_ONCE):
            chunk = [asdict(one) for one in actions[start : start + _ACTIONS_AT_ONCE]]
            uploaded = await service.episode_actions.record(app, sent_actions(chunk))
            refused += len(uploaded.update_urls)
            progress.advance(task, len(chunk))
        count += len(actions)
        is_last = not actions or page.timestamp <= so_far.until
        so_far = replace(so_far, until=page.timestamp)
        await service.migrations.note(account.id, where, so_far)
        if is_last:
            say(f"{count} episode actions; {refused} URLs refused.")
            return
    raise RemoteError(
        f"After {MAX_PAGES} replies with {count} episode actions, the other server has still more."
        " All of these are stored; run the command again for the rest."
    )


async def _in_time(answer: Awaitable[T]) -> T:
    """Wait for an answer.

    Raises:
        RemoteError: The whole answer took longer than `MAX_SECONDS`, however steadily it came.
    """
    try:
        return await asyncio.wait_for(answer, MAX_SECONDS)
    except TimeoutError:
        raise RemoteError(
            f"The other server takes longer than {MAX_SECONDS / 60:.0f} minutes for a reply."
        ) from None


def _password(url: str, name: str, from_stdin: bool) -> str:
    """Return the password of the other server, from standard input or asked for on the terminal.

    Raises:
        AccountError: There is no terminal and no `from_stdin`, or the password is empty.
    """
    if from_stdin:
        password = sys.stdin.readline().rstrip("\r\n")
    elif sys.stdin.isatty():
        password = typer.prompt(f"Password of {name} on {url}", hide_input=True)
    else:
        raise AccountError("Give the password on standard input, with --password-stdin.")
    if not password:
        raise AccountError("No password was given for the other server.")
    return password
