"""Adding feeds by the form: looking at each address first, and asking which feed is meant."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from feedkeep.config.settings import Settings
from feedkeep.feeds.first_looks import FirstLooks, Found
from feedkeep.formats.feed_text import feeds_of_line, lines
from feedkeep.formats.listed_feed import ListedFeed, check_count
from feedkeep.http.error_responses import BAD_REQUEST
from feedkeep.http.pages.forms import Form, read_form
from feedkeep.http.pages.notes import Note
from feedkeep.http.pages.rendering import Pages
from feedkeep.http.requests import AdmittedRequest
from feedkeep.model import AccountId, Value
from feedkeep.model.errors import InvalidInput, Sentence
from feedkeep.rules import subscriptions
from feedkeep.rules.feed_names import headline_of, trouble_of
from feedkeep.rules.feed_urls import as_pasted, parse_feed_url
from feedkeep.rules.first_looks import FoundFeed
from feedkeep.rules.personal_urls import may_look_at
from feedkeep.rules.subscriptions import Refused, Wanted, want
from feedkeep.runtime.cooperative import LONG_BYTES, LONG_LIST, in_thread_if
from feedkeep.runtime.tasks import end
from feedkeep.service import Service
from feedkeep.web.authenticator import HOME
from feedkeep.web.feeds import FeedsPage
from feedkeep.web.page import Page

MAX_LINES = 500
"""Maximum number of lines in the form for new feeds; longer lists are imported."""

MAX_LOOKED_AT = 20
"""Number of lines that are looked at before they are added; the others are added as typed."""

SECONDS = 5.0
"""Maximum time for which a person who adds feeds waits for other hosts."""

_SHOWN_CHARACTERS = 200
_NO_ADDRESS = Sentence(
    "This is not an address. Paste that of the feed or of its page, or a link from an app."
)
_NOTHING_TYPED = Sentence("Type or paste the address of a feed.")


class Question(Value, frozen=True):
    """A typed address with several feeds behind it."""

    typed: str
    feeds: Sequence[FoundFeed]


class Missing(Value, frozen=True):
    """A typed address without a feed.

    Attributes:
        advice: What to do instead; None if the reason says it all.
    """

    typed: str
    why: Sentence
    advice: Sentence | None = None


class Settled(Value, frozen=True):
    """Typed items after the look at them.

    Attributes:
        items: Items to add, with the only feed behind an address in its place.
    """

    items: Sequence[Wanted | Refused]
    questions: Sequence[Question]
    missing: Sequence[Missing]


def settle(items: Sequence[Wanted | Refused], found: Found) -> Settled:
    """Sort typed items by what was found behind them."""
    settled: list[Wanted | Refused] = []
    questions: list[Question] = []
    missing: list[Missing] = []
    for item in items:
        behind = found.get(item.url.text) if isinstance(item, Wanted) else None
        if isinstance(item, Refused) or behind is None:
            settled.append(item)
        elif behind.why is not None:
            missing.append(Missing(item.sent, behind.why, behind.advice))
        elif len(behind.feeds) == 1:
            settled.append(_chosen_item(behind.feeds[0].url))
        else:
            questions.append(Question(item.sent, behind.feeds))
    return Settled(settled, questions, missing)


class AddPage(Page):
    """/feeds/add.

    Nothing is stored of an address before it is clear which feed is meant.
    """

    def __init__(
        self,
        service: Service,
        settings: Settings,
        pages: Pages,
        feeds: FeedsPage,
        looks: FirstLooks | None,
    ) -> None:
        super().__init__(service, settings, pages)
        self._feeds = feeds
        self._looks = looks

    async def add(self, request: AdmittedRequest) -> Response:
        """Add feeds, one per line; ask about pages with several feeds or none.

        The only feed of a page is added in its place. Refused lines are shown again with the
        reason.
        """
        until = asyncio.get_running_loop().time() + SECONDS
        form = await read_form(request, self.settings.max_body_bytes)
        typed = form.text("urls")
        is_long = len(typed) > LONG_BYTES or typed.count("\n") > LONG_LIST
        try:
            items = await in_thread_if(is_long, _typed_items, typed)
        except InvalidInput:
            problem = Sentence(
                "At most {max} lines fit here: import a longer list.", {"max": MAX_LINES}
            )
            problems = {"urls": [("", problem)]}
            return await self._feeds.show_list(
                request, BAD_REQUEST, is_long, typed=form, problems=problems
            )
        found = {} if form.text("anyway") else await self._found(request, items[:MAX_LOOKED_AT])
        settled = settle(items, found)
        chosen = filter(None, (form.text(f"feed{number}") for number in range(MAX_LOOKED_AT)))
        items = [*settled.items, *map(_chosen_item, chosen)]
        changed = await self.service.subscriptions.add(
            request.admitted.account.id, items, request.author()
        )
        count = subscriptions.count_added(changed.outcome)
        refused = [result for result in changed.outcome if isinstance(result, Refused)]
        urls = [item.sent for item in items if isinstance(item, Wanted)]
        guid = parse_feed_url(urls[0]).guid if len(urls) == 1 else None
        seconds = until - asyncio.get_running_loop().time()
        feed = await self.wait_for_first_fetch(request, guid, seconds) if guid and count else None
        note = await self._feeds.note(request, "added", count, changed.stamp, urls)
        if settled.questions or settled.missing:
            values = {"note": note} if count else {}
            return await self._ask(request, settled, refused, is_long, **values)
        if urls and not count:
            name = await self.name(request, urls[0]) if len(urls) == 1 else ""
            note = Note("already-subscribed", {"name": name})
        if not refused and items:
            has_trouble = feed and trouble_of(headline_of(feed), self.service.now())
            return self.redirect(request, f"/feeds/{guid}" if has_trouble else HOME, note)
        reasons = [(item.feed_url[:_SHOWN_CHARACTERS], item.reason) for item in refused]
        again = Form({"urls": ["\n".join(item.feed_url for item in refused)]})
        return await self._feeds.show_list(
            request,
            BAD_REQUEST,
            is_long,
            typed=again,
            problems={"urls": reasons or [("", _NOTHING_TYPED)]},
            **({"note": note} if count else {}),
        )

    async def _ask(
        self,
        request: AdmittedRequest,
        settled: Settled,
        refused: Sequence[Refused],
        is_long: bool,
        **values: Any,
    ) -> Response:
        """Ask which feeds are meant, and show the lines without one again."""
        missing = [*settled.missing, *(Missing(item.feed_url, item.reason) for item in refused)]
        return await self.show(
            request,
            "add.html",
            is_long=is_long,
            questions=settled.questions,
            missing=missing,
            shown=MAX_LOOKED_AT,
            can_add_anyway=bool(settled.missing),
            advice={item.advice.text: item.advice for item in missing if item.advice}.values(),
            **values,
        )

    async def _found(self, request: AdmittedRequest, items: Sequence[Wanted | Refused]) -> Found:
        """Return the feeds behind items; nothing if the person leaves and cannot be asked.

        Feeds that the account has are omitted.
        """
        account_id = request.admitted.account.id
        some = [item for item in items if isinstance(item, Wanted) and self._may_look_at(item)]
        known = await asyncio.gather(*(self._has(account_id, item) for item in some))
        urls = [item.url.text for item, has in zip(some, known, strict=True) if not has]
        if self._looks is None or not urls:
            return {}
        looking = asyncio.create_task(
            self._looks.look(account_id, list(dict.fromkeys(urls)), SECONDS)
        )
        leaving = asyncio.create_task(request.wait_until_left())
        try:
            await asyncio.wait({looking, leaving}, return_when=asyncio.FIRST_COMPLETED)
            return {} if leaving.done() else looking.result()
        finally:
            await end(looking, leaving)

    def _may_look_at(self, item: Wanted) -> bool:
        return may_look_at(item.url.text, self.settings.fetch)

    async def _has(self, account_id: AccountId, item: Wanted) -> bool:
        """Whether an item's feed is in the list, under any of its addresses."""
        urls = filter(None, (item.url, item.unescaped))
        views = [await self.service.subscriptions.view(account_id, url.guid) for url in urls]
        return any(view and view.subscription.deleted is None for view in views)


def _typed_items(text: str) -> list[Wanted | Refused]:
    """Parse the lines of the form for new feeds.

    Raises:
        InvalidInput: There are more than `MAX_LINES` lines.
    """
    feeds: list[ListedFeed] = []
    for number, line in lines(text, MAX_LINES):
        feeds += feeds_of_line(number, line, MAX_LINES)
        check_count(len(feeds), MAX_LINES)
    return [_typed_item(feed) for feed in feeds]


def _typed_item(feed: ListedFeed) -> Wanted | Refused:
    if feed.doubt:
        return Refused(feed.feed_url, feed.doubt)
    url = as_pasted(feed.feed_url)
    return _chosen_item(url) if "://" in url else Refused(feed.seen, _NO_ADDRESS)


def _chosen_item(url: str) -> Wanted | Refused:
    return want(url, None, is_from_file=True)
