"""Import of a list with a preview, and export."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from starlette.responses import Response

from feedkeep.formats.feed_list import Format, decoded, read_feed_list, write_feed_list
from feedkeep.formats.feed_table import UnclearColumn
from feedkeep.formats.listed_feed import FeedList, ListedFeed, check_count, plan_import
from feedkeep.http.error_responses import OK
from feedkeep.http.pages.forms import Form, read_form, read_number
from feedkeep.http.pages.notes import Note
from feedkeep.http.requests import AdmittedRequest, BodyTooLarge
from feedkeep.model import Fetch, Stamp, Value
from feedkeep.model.errors import InvalidInput, Sentence
from feedkeep.rules import subscriptions
from feedkeep.rules.feed_labels import FiledFeed, typed_folder
from feedkeep.rules.feed_names import address_of, name_of
from feedkeep.rules.subscriptions import Added, Refused, Wanted
from feedkeep.rules.text_limits import MAX_TITLE, line_of
from feedkeep.runtime.cooperative import LONG_BYTES, LONG_LIST, in_thread_if
from feedkeep.web.page import Page, stamps_text, status_of

SHOWN = 500
"""Maximum number of feeds of each kind in a preview; the rest are counted."""

_OTHER_FIELDS = 10

_AT_ONCE = 5_000
_FORM_BYTES = 65_536
_TIMES = 3
"""Maximum growth of a text in UTF-8, compared with the encoding of its file."""
_MAX_FILE_BYTES_DISCARDED = 256 * 1024 * 1024
_ENDINGS = {Format.OPML: "opml", Format.JSON: "json", Format.URLS: "txt"}
_TYPES = {
    Format.OPML: "text/x-opml; charset=utf-8",
    Format.JSON: "application/json",
    Format.URLS: "text/plain; charset=utf-8",
}


class PreviewRow(Value, frozen=True):
    """A feed of a preview.

    Attributes:
        host: Host of the address; "" if the name shows it already.
        doubt: Reason for not checking its box; None if there is none.
    """

    name: str
    host: str
    folder: str
    doubt: Sentence | None


class ImportPage(Page):
    """/import and /export."""

    async def get(self, request: AdmittedRequest) -> Response:
        """Show the forms for a file and pasted addresses."""
        return await self.show_forms(request)

    async def preview(self, request: AdmittedRequest) -> Response:
        """Preview an import; nothing is changed."""
        form = Form()
        try:
            form = await self._read(request)
            found = await _sent_list(form, self.settings.max_items)
            return await self.show_preview(request, found.feeds, found.notes)
        except UnclearColumn as error:
            text = decoded(form.files["file"]) if form.files.get("file") else form.text("text")
            return await self.show_forms(
                request,
                status_of(error),
                typed=Form({"text": [text]}),
                columns=error.names,
                problems={"column": error.sentence},
            )
        except (InvalidInput, BodyTooLarge) as error:
            return await self.show_forms(
                request, status_of(error), typed=form, problems={"file": error.sentence}
            )

    async def show_preview(
        self,
        request: AdmittedRequest,
        feeds: Sequence[ListedFeed],
        notes: Sequence[Sentence] = (),
        source: str = "",
    ) -> Response:
        """Show a preview of adding feeds; `source`: sealed account that they come from."""
        is_long = len(feeds) > LONG_LIST
        items = await in_thread_if(is_long, _items, feeds)
        account_id = request.admitted.account.id
        results = await self.service.subscriptions.preview_add(account_id, items)
        plan = await in_thread_if(is_long, plan_import, feeds, results)
        # What is in doubt has no effect without its box.
        new = [*plan.new[:SHOWN], *(feed for feed in plan.new[SHOWN:] if feed.doubt is None)]
        labelled = [feed for feed in plan.known if feed.title or feed.folder]
        filed = await in_thread_if(is_long, _filed, labelled)
        labels = await self.service.feed_labels.preview_take(account_id, filed)
        labelled = labelled if labels else []
        return await self.show(
            request,
            "import_preview.html",
            is_long=is_long,
            plan=plan,
            new=new,
            new_rows=[_row(feed) for feed in new[:SHOWN]],
            known_rows=[_row(feed) for feed in plan.known[:SHOWN]],
            notes=notes,
            source=source,
            list=await in_thread_if(is_long, _lines, new),
            known_list=await in_thread_if(is_long, _lines, labelled),
            labels=labels,
            shown=SHOWN,
        )

    async def carry_out(self, request: AdmittedRequest) -> Response:
        """Add the new feeds of a preview, except unchecked feeds."""
        form = await self.read_preview(request)
        place, note = await self.add_chosen(request, form)
        return self.redirect(request, place, note)

    async def read_preview(self, request: AdmittedRequest) -> Form:
        """Read the form of a preview."""
        # It repeats the file's addresses and titles, whose encoding may take fewer bytes.
        max_bytes = _TIMES * self.settings.max_body_bytes + _FORM_BYTES
        return await read_form(request, max_bytes, SHOWN + _OTHER_FIELDS)

    async def add_chosen(self, request: AdmittedRequest, form: Form) -> tuple[str, Note]:
        """Add the feeds chosen in a preview; return the path to redirect to, and its note."""
        account_id = request.admitted.account.id
        is_long = len(form.text("list")) + len(form.text("known")) > LONG_BYTES
        max_items = self.settings.max_items
        feeds = await in_thread_if(is_long, _listed, form.text("list"), max_items)
        known = await in_thread_if(is_long, _listed, form.text("known"), max_items - len(feeds))
        wanted = [*_checked(feeds, form)]
        if feeds and not wanted and not known:
            return "/import", Note("nothing-chosen")
        feeds = wanted
        stamps: list[Stamp] = []
        count = refused = 0
        for start in range(0, len(feeds), _AT_ONCE):
            chunk = feeds[start : start + _AT_ONCE]
            items = await in_thread_if(len(chunk) > LONG_LIST, _items, chunk)
            changed = await self.service.subscriptions.add(account_id, items, request.author())
            refused += sum(not isinstance(result, Added) for result in changed.outcome)
            count += subscriptions.count_added(changed.outcome)
            stamps += [changed.stamp] if changed.stamp else []
        filed = await in_thread_if(is_long, _filed, [*feeds, *known])
        labels = await self.service.feed_labels.take(account_id, filed)
        if not count and not refused and labels:
            return "/", Note("saved")
        if not count and refused:
            return "/", Note("none-added", {"refused": refused})
        if not count:
            return "/", Note("nothing-changed")
        values: dict[str, str | int | bool | list[str]] = {
            "count": count,
            "refused": refused,
            "name": "",
            "stamps": stamps_text(stamps),
        }
        return "/", Note("added", values)

    async def export(self, request: AdmittedRequest) -> Response:
        """Download the list as a file."""
        kind = Format(request.parameters["format"])
        account = request.admitted.account
        subscribed = await self.service.subscriptions.subscribed(account.id)
        urls = [feed.feed_url for feed in subscribed]
        request.hold(urls)
        cards = await self.service.known_feeds.cards(() if kind is Format.URLS else subscribed)
        labels = await self.service.feed_labels.of(account.id)
        data = await in_thread_if(
            len(subscribed) > LONG_LIST, write_feed_list, subscribed, kind, cards, labels
        )
        return Response(
            data,
            headers={
                "Content-Type": _TYPES[kind],
                "Content-Disposition": f'attachment; filename="feeds.{_ENDINGS[kind]}"',
            },
        )

    async def show_forms(
        self,
        request: AdmittedRequest,
        status: int = OK,
        columns: Sequence[str] = (),
        **values: Any,
    ) -> Response:
        """Render the forms, with their problems if any, and the columns to choose from."""
        max_bytes = self.settings.max_body_bytes
        moving = await self.service.migrations.moving(request.admitted.account.id)
        return await self.show(
            request,
            "import.html",
            status,
            max_bytes=max_bytes,
            columns=columns,
            can_move=self.settings.fetch is not Fetch.OFF,
            moving=moving,
            is_moving=moving is not None and moving.is_under_way(self.service.now()),
            count=request.admitted.account.counts.subscribed,
            **values,
        )

    async def _read(self, request: AdmittedRequest) -> Form:
        try:
            return await read_form(request, self.settings.max_body_bytes)
        except BodyTooLarge:
            # Browsers show no response until they have sent everything: discard the rest.
            await request.discard_body(_MAX_FILE_BYTES_DISCARDED)
            raise BodyTooLarge(
                "This file is too large: a list of feeds has at most {max} bytes.",
                max=self.settings.max_body_bytes,
            ) from None


async def _sent_list(form: Form, max_items: int) -> FeedList:
    """Read the list from the file, or else from the pasted text.

    Raises:
        InvalidInput: The list is missing, empty or unreadable, or has more than `max_items` feeds.
    """
    file = form.files.get("file")
    data = file or form.text("text").encode(errors="replace")
    if "file" in form.files and not data.strip():
        raise InvalidInput("This file is empty. Choose the one that your app exported.")
    if not data.strip():
        raise InvalidInput("Choose a file, or paste a list.")
    column = form.text("column")
    # Always in a thread: 16 KB of JSON can take half a second.
    found = await in_thread_if(True, read_feed_list, data, max_items, column)
    if not found.feeds:
        raise InvalidInput("There is no feed in this list.")
    return found


def _row(feed: ListedFeed) -> PreviewRow:
    title, address = line_of(feed.title, MAX_TITLE), address_of(feed.feed_url)
    host = address.host if title else ""
    folder = line_of(feed.folder, MAX_TITLE)
    return PreviewRow(name_of(feed.feed_url, title), host, folder, feed.doubt)


def _checked(feeds: Sequence[ListedFeed], form: Form) -> Iterator[ListedFeed]:
    """Yield the checked feeds, and feeds that had no checkbox."""
    count, checked = read_number(form.text("boxes")) or 0, set(form.several("take"))
    for number, feed in enumerate(feeds):
        if number >= count or str(number) in checked:
            yield feed


def _items(feeds: Sequence[ListedFeed]) -> list[Wanted | Refused]:
    return [feed.wanted() for feed in feeds]


def _filed(feeds: Iterable[ListedFeed]) -> list[FiledFeed]:
    return [feed.filed() for feed in feeds]


def _lines(feeds: Iterable[ListedFeed]) -> str:
    r"""Write feeds as lines of a form field: "URL guid\ttitle", or "\tfolder" before its feeds.

    URLs and guids contain no spaces; titles and folders are one line each, without tabs.
    """
    lines: list[str] = []
    folder = ""
    for feed in feeds:
        if feed.folder != folder:
            folder = feed.folder
            lines.append(f"\t{typed_folder(folder)}")
        title = line_of(feed.title, MAX_TITLE)
        guid = f" {feed.guid}" if feed.guid else ""
        lines.append(f"{feed.feed_url.strip()}{guid}" + (f"\t{title}" if title else ""))
    return "\n".join(lines)


def _listed(text: str, max_items: int) -> list[ListedFeed]:
    """Read feeds from a form field written by `_lines`.

    Raises:
        InvalidInput: There are more than `max_items` feeds.
    """
    check_count(text.count("\n") // 2, max_items)  # each feed may follow a line for its folder
    feeds: list[ListedFeed] = []
    folder = ""
    for line in filter(None, (line.rstrip("\r") for line in text.split("\n"))):
        address, tab, title = line.partition("\t")
        if tab and not address:
            folder = title
            continue
        check_count(len(feeds) + 1, max_items)
        url, _, guid = address.partition(" ")
        feeds.append(ListedFeed(0, url, guid or None, title=title, folder=folder))
    return feeds
