"""feedkeep migrate-from: copy an account from another server."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
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
from feedkeep.model import Account, replace
from feedkeep.model.errors import AccountError
from feedkeep.outbound.policy import policy_of
from feedkeep.rules.feed_labels import FiledFeed
from feedkeep.rules.subscriptions import Added, Refused
from feedkeep.rules.url_lists import parse_added
from feedkeep.service import Service

if TYPE_CHECKING:
    from feedkeep.remote.other_servers import DeviceThere, Remote


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

    After an interruption, run it again: it continues where it stopped, and adds nothing twice. Also
    run it again after the last app has moved.
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
    from feedkeep.remote.other_servers import in_time  # noqa: PLC0415 - as above

    found = await in_time(remote.devices())
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
    """Add feeds that are new on the other server since the last run.

    Feeds of earlier runs are not added again: they may have been unsubscribed here since.
    """
    from feedkeep.remote.other_servers import in_time  # noqa: PLC0415 - as above

    so_far = await service.migrations.so_far(account.id, where)
    feeds = await in_time(remote.subscriptions(devices))
    known = set(so_far.feeds)
    new_there = [feed for feed in feeds if feed not in known]
    author = command_author("migrate-from")
    results: list[Added | Refused] = []
    for start in range(0, len(new_there), FEEDS_AT_ONCE):
        items = [parse_added(feed) for feed in new_there[start : start + FEEDS_AT_ONCE]]
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
    from feedkeep.remote.other_servers import Copied, copy_actions  # noqa: PLC0415 - as above

    task = progress.add_task("Episode actions", total=None)

    async def told(copied: Copied) -> None:
        progress.update(task, completed=copied.done, total=copied.total)

    copied = await copy_actions(service, account, remote, where, told)
    say(f"{copied.done} episode actions; {copied.refused} URLs refused.")


def _password(url: str, name: str, from_stdin: bool) -> str:
    """Return the other server's password, from standard input or from a prompt on the terminal.

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
