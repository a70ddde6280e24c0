"""feedkeep history, undo and restore-list: show and revert changes of a list."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from feedkeep.assembly import open_backup
from feedkeep.cli.accounts import NameArgument
from feedkeep.cli.common import (
    ConfigOption,
    DatabaseOption,
    command_author,
    moment,
    say,
    settings,
    shortened,
    show_table,
    warn,
    with_service,
)
from feedkeep.formats.moments import read_moment
from feedkeep.model import Account, AccountId, Author, CredentialKind, Stamp, replace
from feedkeep.model.errors import AccountError, ChangedSince, UnknownChange
from feedkeep.rules.list_changes import ChangeKind, FeedChange, in_kinds
from feedkeep.rules.undo import ConflictPolicy, ListAt, ListRestored, Undo
from feedkeep.service import Service
from feedkeep.service.history import NEWEST, ListedChanges, RestorePreview

_MAX_FEEDS_SHOWN = 20
_MAX_CHANGES_TOLD = 3

_DONE_TO_ONE = {
    ChangeKind.ADDED: "added {url}",
    ChangeKind.SUBSCRIBED: "subscribed to {url} again",
    ChangeKind.UNSUBSCRIBED: "unsubscribed {url}",
    ChangeKind.DELETED: "deleted {url}",
    ChangeKind.MOVED: "moved {old} to {url}",
    ChangeKind.RENAMED: "gave {url} another guid",
    ChangeKind.MERGED: "merged {url} with {old}",
    ChangeKind.SPLIT: "separated {url} again",
    ChangeKind.LED: "made another URL resolve to {url}",
}
_DONE_TO_MANY = {
    ChangeKind.ADDED: "added {count} feeds",
    ChangeKind.SUBSCRIBED: "subscribed to {count} feeds again",
    ChangeKind.UNSUBSCRIBED: "unsubscribed {count} feeds",
    ChangeKind.DELETED: "deleted {count} feeds",
    ChangeKind.MOVED: "moved {count} feeds",
    ChangeKind.RENAMED: "gave {count} feeds another guid",
    ChangeKind.MERGED: "merged {count} feeds with others",
    ChangeKind.SPLIT: "separated {count} feeds again",
    ChangeKind.LED: "made other URLs resolve to {count} feeds",
}

StampArgument = Annotated[
    int,
    typer.Argument(
        metavar="CHANGE",
        min=1,
        max=NEWEST,
        help="The timestamp of the change, as `history` shows it.",
    ),
]


class ChangedSinceChoice(StrEnum):
    """Treatment of feeds that changed again since; without a choice, the command fails."""

    LEAVE = ConflictPolicy.LEAVE.value
    OVERWRITE = ConflictPolicy.OVERWRITE.value


def show_history(
    name: NameArgument,
    limit: Annotated[
        int,
        typer.Option("--limit", metavar="N", min=1, max=1_000, help="How many changes to show."),
    ] = 20,
    before: Annotated[
        int | None,
        typer.Option(
            "--before",
            metavar="STAMP",
            min=1,
            max=NEWEST,
            help="Show changes before this one. Default: the newest.",
            show_default=False,
        ),
    ] = None,
    feeds: Annotated[bool, typer.Option("--feeds", help="Name each feed of a change.")] = False,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Show the changes of an account's list, newest first: time, app and feeds.

    `feedkeep undo` takes a change's timestamp.
    """

    async def read(service: Service) -> tuple[int, ListedChanges]:
        account = await service.accounts.named(name)
        first = NEWEST if before is None else Stamp(before)
        return service.history.days, await service.history.page(account.id, first, limit)

    days, listed = with_service(settings(database, config), read)
    if not days:
        say("No history is kept here, since history_days is 0.")
        return
    rows = []
    for change in listed.changes:
        who = _who(listed.author_of(change))
        rows.append([str(change.stamp), moment(change.stamp), who, _what(change.feeds)])
        if feeds and len(change.feeds) > 1:
            rows += [["", "", "", f"- {_one_change(feed)}"] for feed in change.feeds]
    if rows:
        show_table(["stamp", "when", "who", "what"], rows)
    if listed.has_more:
        before = listed.changes[-1].stamp
        say(f"There is more: `feedkeep history {name} --before {before}`")
    else:
        since = moment(listed.known_from)
        say(f"The history begins at {since}; nothing before that can be restored.")


def undo(
    name: NameArgument,
    change: StampArgument,
    changed_since: Annotated[
        ChangedSinceChoice | None,
        typer.Option(
            "--changed-since",
            metavar="|".join(ChangedSinceChoice),
            help="Whether to leave or overwrite feeds that changed again since. Default: if there"
            " are any, change nothing, and fail.",
            show_default=False,
        ),
    ] = None,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Undo a change of an account's list.

    Apps get the result with their next sync. The undo can itself be undone.
    """
    choice = ConflictPolicy(changed_since or ConflictPolicy.ASK)

    async def take_back(service: Service) -> tuple[ListRestored, str]:
        account = await service.accounts.named(name)
        wanted = Undo([Stamp(change)], None, choice)
        try:
            done = await service.history.undo(account.id, wanted, command_author("undo"))
        except UnknownChange:
            raise AccountError(
                f"The history of {account.name} has no change {change};"
                f" `feedkeep history {account.name}` lists its changes."
            ) from None
        except ChangedSince as error:
            raise _asking(error) from None
        return done, await _done_by(service, account.id, done)

    done, what = with_service(settings(database, config), take_back)
    _tell(name, done, what)


def restore_list(
    name: NameArgument,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="MOMENT",
            help='Such as "2 days ago", "2026-11-20" (its beginning), "2026-11-20 18:00" or'
            " 2026-11-20T18:00:00Z.",
        ),
    ] = None,
    backup: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="BACKUP",
            help="Read the list from a file of `feedkeep backup`, as it was then or --at an"
            " earlier moment. The file stays unchanged.",
        ),
    ] = None,
    drop_added: Annotated[
        bool, typer.Option("--drop-added", help="Delete feeds that were added since.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Restore an account's list to an earlier time, after a preview and a confirmation.

    Feeds that were added since then stay, unless --drop-added is given. The service may run. Apps
    get the change with their next sync, and `feedkeep undo` can undo it.
    """
    chosen = settings(database, config)
    if at is None and backup is None:
        raise typer.BadParameter("Give --at MOMENT, --from BACKUP, or both.")
    then = _list_of_backup(backup, name, at) if backup else None

    async def look(service: Service) -> tuple[Account, Stamp, RestorePreview]:
        account = await service.accounts.named(name)
        if then is not None:
            preview = await service.history.preview_from(
                account.id, then, keep_added=not drop_added
            )
            return account, then.moment, preview
        wanted = _moment_of(service, account, at or "")
        preview = await service.history.preview(account.id, wanted, keep_added=not drop_added)
        return account, wanted, preview

    account, wanted, preview = with_service(chosen, look)
    if not preview.feeds:
        told = "is as it was" if drop_added else "has all feeds that it had"
        say(f"The list of {account.name} {told} at {moment(wanted)}; there is nothing to do.")
        return
    _show_preview(account, wanted, preview)
    if not yes and not sys.stdin.isatty():
        warn("Nothing was done: there is no terminal to confirm on; give --yes.")
        raise typer.Exit(1)
    if not yes:
        typer.confirm(f"Restore the list of {account.name}?", abort=True)

    async def restore(service: Service) -> tuple[ListRestored, str]:
        author, keep_added = command_author("restore-list"), not drop_added
        if then is None:
            done = await service.history.restore(
                account.id, wanted, keep_added=keep_added, author=author
            )
        else:
            done = await service.history.restore_from(
                account.id, then, keep_added=keep_added, author=author
            )
        return done, await _done_by(service, account.id, done)

    done, what = with_service(chosen, restore)
    _tell(account.name, done, what)


def _moment_of(service: Service, account: Account, at: str) -> Stamp:
    """Parse a time.

    Raises:
        AccountError: The time is in the future.
    """
    wanted = read_moment(at, service.now(), datetime.astimezone)
    # After a database was restored, lists' clocks are a day ahead of the machine's.
    if wanted > max(service.now(), account.last_stamp):
        raise AccountError(f"{moment(wanted)} is in the future: choose an earlier time.")
    return wanted


def _list_of_backup(backup: Path, name: str, at: str | None) -> ListAt:
    """Return an account's list from a backup.

    Raises:
        AccountError: The backup has no account with this name, or it was created after `at`.
    """

    async def read() -> ListAt:
        async with open_backup(backup) as service:
            try:
                account = await service.accounts.named(name)
            except AccountError:
                raise AccountError(
                    f"{backup} has no account {name}: it may have had another name then, or be"
                    " newer than the backup."
                ) from None
            wanted = None if at is None else _moment_of(service, account, at)
            if wanted is not None and wanted < account.created:
                raise AccountError(
                    f"{moment(wanted)} is before {account.name} was created: choose a later time."
                )
            if wanted is not None and wanted >= account.last_stamp:
                wanted = None  # nothing had changed since
            then = await service.history.list_at(account.id, wanted)
            return replace(then, moment=max(then.moment, account.created))

    return asyncio.run(read())


def _asking(error: ChangedSince) -> AccountError:
    """Return the error that asks for --changed-since."""
    some = ", ".join(str(stamp) for stamp in error.stamps[:_MAX_CHANGES_TOLD])
    others = len(error.stamps) - _MAX_CHANGES_TOLD
    more = f" and {others:,} more" if others > 0 else ""
    return AccountError(
        f"Nothing was done: {_feeds(error.feeds)} changed again since then, by {some}{more}."
        " Give --changed-since leave to leave these unchanged, or --changed-since overwrite to undo"
        " those changes, too."
    )


async def _done_by(service: Service, account_id: AccountId, done: ListRestored) -> str:
    """Describe the change made by an undo or restore, from the history."""
    if done.stamp is None:
        return ""
    return _what(await service.history.feeds_of_change(account_id, done.stamp))


def _tell(name: str, done: ListRestored, what: str) -> None:
    say(f"Done: {what}." if done.stamp else "There was nothing to change.")
    if done.left:
        say(f"{_feeds(done.left)} changed again since then, and left unchanged.")
    if done.stamp:
        say(f"To undo this: `feedkeep undo {name} {done.stamp}`")


def _feeds(count: int) -> str:
    return "1 of the feeds was" if count == 1 else f"{count:,} of the feeds were"


def _show_preview(account: Account, wanted: Stamp, preview: RestorePreview) -> None:
    say(f"To restore the list of {account.name} to its state at {moment(wanted)}:")
    kinds = in_kinds(preview.feeds)
    for title, feeds in (
        ("Restored", kinds.back),
        ("Removed", kinds.gone),
        ("Changed", kinds.others),
    ):
        if feeds:
            say(f"{title}: {len(feeds):,}")
            for feed in feeds[:_MAX_FEEDS_SHOWN]:
                say(f"  {_one_change(feed) if feeds is kinds.others else shortened(feed.feed_url)}")
            if len(feeds) > _MAX_FEEDS_SHOWN:
                say(f"  and {len(feeds) - _MAX_FEEDS_SHOWN:,} more")
    if preview.ahead_until is not None:
        warn(
            f"The clock of this list is ahead until {moment(preview.ahead_until)}, as after a"
            f" database restore. Changes since then count as later than {moment(wanted)}, and are"
            f" undone, too; `feedkeep history {account.name}` shows the times to name instead."
        )


def _what(feeds: Sequence[FeedChange]) -> str:
    """Describe a change in words."""
    of_kind = {what: [feed for feed in feeds if feed.what is what] for what in ChangeKind}
    done = [
        _one_change(alike[0])
        if len(alike) == 1
        else _DONE_TO_MANY[what].format(count=f"{len(alike):,}")
        for what, alike in of_kind.items()
        if alike
    ]
    return ", ".join(done) or "changed nothing that can be seen"


def _one_change(feed: FeedChange) -> str:
    url, old = shortened(feed.feed_url), shortened(feed.old or "-")
    return _DONE_TO_ONE[feed.what].format(url=url, old=old)


def _who(author: Author | None) -> str:
    """Describe an author in words."""
    if author is None:
        return "-"
    name = shortened(author.name)
    match author.kind:
        case CredentialKind.COMMAND:
            who = f"feedkeep {name}"
        case CredentialKind.FEEDKEEP:
            who = "feedkeep itself"
        case CredentialKind.BROWSER:
            who = "the pages"
        case _:
            number = "" if author.token_id is None else f" {author.token_id}"
            who = f"{author.kind}{number}{f' ({name})' if name else ''}"
    return f"{who} on {author.device}" if author.device else who
