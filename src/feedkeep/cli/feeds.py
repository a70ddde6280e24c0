"""feedkeep list, import, export, move and fetch: the feeds of an account, and fetching feeds."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from feedkeep.assembly import fetching, open_service, telling_metrics
from feedkeep.cli.accounts import NameArgument
from feedkeep.cli.common import (
    FEEDS_AT_ONCE,
    ConfigOption,
    DatabaseOption,
    FileError,
    command_author,
    end_at_a_signal,
    metrics_url,
    moment,
    progress_bar,
    say,
    settings,
    shortened,
    show_table,
    warn,
    with_service,
)
from feedkeep.config.settings import InvalidSettings, Settings, is_postgres, shown
from feedkeep.formats.feed_list import Format, read_feed_list, write_feed_list
from feedkeep.formats.listed_feed import ListedFeed, plan_import
from feedkeep.http.serving import listen_for_metrics
from feedkeep.model import Fetch, Subscription
from feedkeep.model.errors import FeedUrlTaken, InvalidInput, Sentence
from feedkeep.rules.feed_labels import Labels
from feedkeep.rules.feed_names import Headline, trouble_of
from feedkeep.rules.feed_urls import as_linked
from feedkeep.rules.subscriptions import Refused
from feedkeep.runtime import wall_clock
from feedkeep.runtime.logs import configure_logs
from feedkeep.runtime.recorder import Recorder
from feedkeep.runtime.tasks import stop_signals
from feedkeep.service import Service

_SHOWN = 100
"""Maximum number of refused feeds that an import lists; the rest are counted."""


@dataclass
class _Tally:
    """Results of an import.

    Attributes:
        dropped: Feeds that were not used, with the reasons; of these, some were `refused`.
    """

    added: int = 0
    already_there: int = 0
    refused: int = 0
    dropped: list[tuple[ListedFeed, Sentence]] = field(default_factory=list)


def import_feeds(
    name: NameArgument,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="OPML, JSON, a table, or text with one address a line (- for standard input).",
        ),
    ],
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Add the feeds of a file to an account's list.

    A feed that the account already has keeps its guid and URL, and becomes subscribed. Feeds that
    you had left in the app, or that may be something else, are not added. The first 100 feeds that
    were not used are listed at the end with the reasons. A file without any feed is rejected.
    """
    try:
        found = read_feed_list(_read(file))
    except InvalidInput as error:
        raise FileError(
            f"{_name_of(file)} is not a list of feeds (OPML, JSON, CSV, or one address a line), so"
            f" nothing was imported. {error}"
        ) from error
    _refuse_what_names_no_feed(file, found.feeds)
    tally = with_service(
        settings(database, config), lambda service: _import(service, name, found.feeds)
    )
    for note in found.notes:
        warn(str(note))
    say(f"{tally.added} added, {tally.already_there} already there, {tally.refused} refused.")
    for feed, why in tally.dropped[:_SHOWN]:
        seen = f" ({shortened(feed.seen)})" if feed.seen else ""
        say(f"{feed.place}: {shortened(str(why))}{seen}")
    if len(tally.dropped) > _SHOWN:
        say(f"And {len(tally.dropped) - _SHOWN} more.")


def export_feeds(
    name: NameArgument,
    kind: Annotated[
        Format,
        typer.Option(
            "--format",
            metavar="|".join(Format),
            help="The format; urls has no guids.",
        ),
    ] = Format.OPML,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="FILE", help="The file to write. Default, and -: standard output."
        ),
    ] = None,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Export an account's subscribed feeds in a format that `import` reads."""

    async def export(service: Service) -> bytes:
        account = await service.accounts.named(name)
        subscribed = await service.subscriptions.subscribed(account.id)
        cards = await service.known_feeds.cards(subscribed)
        labels = await service.feed_labels.of(account.id)
        return write_feed_list(subscribed, kind, cards, labels)

    data = with_service(settings(database, config), export)
    if output is None or str(output) == "-":
        sys.stdout.buffer.write(data)
        return
    try:
        output.write_bytes(data)
    except OSError as error:
        raise FileError(f"Cannot write {output}: {error.strerror}.") from error


def list_feeds(
    name: NameArgument,
    failing: Annotated[
        bool, typer.Option("--failing", help="Only feeds that cannot be read.")
    ] = False,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """List an account's subscribed feeds by title, and when each failing feed began to fail."""

    async def read(
        service: Service,
    ) -> tuple[Sequence[Subscription], Mapping[str, Headline], Labels]:
        account = await service.accounts.named(name)
        subscribed = await service.subscriptions.subscribed(account.id)
        known = await service.known_feeds.headlines(subscribed)
        return subscribed, known, await service.feed_labels.of(account.id)

    subscribed, known, labels = with_service(settings(database, config), read)
    rows = []
    for feed in subscribed:
        headline = known.get(feed.feed_url)
        trouble = trouble_of(headline, wall_clock.now())
        if trouble or not failing:
            title = labels.title(feed.feed_url, headline.title if headline else "")
            why = f"{moment(trouble.since)}: {trouble.why}" if trouble else ""
            rows.append([title or "-", feed.feed_url, moment(feed.status_changed), why])
    rows.sort(key=lambda row: (row[0] == "-", row[0].casefold(), row[1]))
    show_table(["title", "address", "subscribed", "failing since"], rows)


def move_feed(
    name: NameArgument,
    old_url: Annotated[str, typer.Argument(metavar="OLD-URL", help="The feed's current URL.")],
    new_url: Annotated[str, typer.Argument(metavar="NEW-URL", help="The feed's new URL.")],
    tell_apps: Annotated[
        bool,
        typer.Option(
            "--tell-apps",
            help="Make apps replace the old URL by the new one. Only if the old URL is dead: apps"
            " delete their downloads of it.",
        ),
    ] = False,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Change the URL of a feed in an account's list.

    Apps that identify feeds by URL keep the old URL, which most publishers redirect. With
    --tell-apps, they get the new URL as added, the old URL as removed, and the feed's episode
    actions again.
    """

    async def move(service: Service) -> None:
        account = await service.accounts.named(name)
        try:
            await service.url_lists.move(
                account.id,
                as_linked(old_url),
                as_linked(new_url),
                command_author("move"),
                notify_apps=tell_apps,
            )
        except FeedUrlTaken as error:
            raise InvalidInput(
                f"Both URLs are feeds in the list of {account.name}, so nothing was moved. If they"
                " are the same feed, merge them on the page of either one."
            ) from error

    with_service(settings(database, config), move)
    say("Moved; apps get the new URL." if tell_apps else "Moved; apps keep the old URL.")


def _read(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise FileError(f"Cannot read {file}: {error.strerror}.") from error


def _refuse_what_names_no_feed(file: str, feeds: Sequence[ListedFeed]) -> None:
    """Refuse a file of another kind in one sentence, instead of each of its lines.

    Raises:
        FileError: The file has no items, or none of them is accepted as a feed.
    """
    judged = [feed.wanted() for feed in feeds]
    refused = [item for item in judged if isinstance(item, Refused)]
    if len(refused) == len(feeds):
        seen = f" ({shortened(feeds[0].seen)})" if feeds and feeds[0].seen else ""
        why = f" {feeds[0].place}: {shortened(refused[0].message)}{seen}" if feeds else ""
        raise FileError(f"{_name_of(file)} has no feed URLs, so nothing was imported.{why}")


def _name_of(file: str) -> str:
    return "Standard input" if file == "-" else file


async def _import(service: Service, name: str, feeds: Sequence[ListedFeed]) -> _Tally:
    account = await service.accounts.named(name)
    wanted = [feed.wanted() for feed in feeds]
    results = await service.subscriptions.preview_add(account.id, wanted)
    plan = plan_import(feeds, results)
    in_doubt = [(feed, feed.doubt) for feed in plan.new if feed.doubt]
    tally = _Tally(
        0, len(plan.known) + len(plan.twice), len(plan.refused), [*plan.dropped, *in_doubt]
    )
    sure, author = plan.sure, command_author("import")
    with progress_bar() as progress:
        task = progress.add_task("Importing", total=len(sure))
        for start in range(0, len(sure), FEEDS_AT_ONCE):
            chunk = sure[start : start + FEEDS_AT_ONCE]
            items = [feed.wanted() for feed in chunk]
            added = await service.subscriptions.add(account.id, items, author)
            for feed, result in zip(chunk, added.outcome, strict=True):
                if isinstance(result, Refused):
                    tally.refused += 1
                    tally.dropped.append((feed, result.reason))
                else:
                    tally.added += 1
            progress.advance(task, len(chunk))
        filed = [feed.filed() for feed in [*sure, *plan.known]]
        await service.feed_labels.take(account.id, filed)
    return tally


def fetch(database: DatabaseOption = None, config: ConfigOption = None) -> None:
    """Run a dedicated feed fetcher until SIGTERM, SIGHUP or Ctrl-C; needs PostgreSQL.

    One or a few fetchers do most of the fetching instead of the serving processes. Keep `fetch` on
    in the serving processes: they schedule new feeds, which otherwise wait for up to an hour.
    """
    chosen = settings(database, config)
    if not is_postgres(chosen.database):
        raise InvalidSettings("With SQLite, the process that serves looks at feeds by itself.")
    if chosen.fetch is Fetch.OFF:
        raise InvalidSettings("The setting fetch is off, so there is nothing to do.")
    configure_logs(chosen.log_level)
    end_at_a_signal()
    (listener,) = listen_for_metrics(chosen, 1)
    uvloop.run(_look_until_stopped(chosen, listener))


async def _look_until_stopped(chosen: Settings, listener: socket.socket | None) -> None:
    is_over = asyncio.Event()
    recorder = Recorder() if listener else None
    async with open_service(chosen, waits=True, recorder=recorder) as service:
        for number in stop_signals():
            asyncio.get_running_loop().add_signal_handler(number, is_over.set)
        telling = telling_metrics(service, recorder, listener, counts_what_is_stored=False)
        async with fetching(service, chosen, recorder), telling:
            if listener:
                say(f"Metrics: {metrics_url(listener)}")
            say(f"Fetching the feeds of {shown(chosen.database)}; stop with Ctrl-C")
            await is_over.wait()
