"""The page of the episodes that an account's apps have played."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from feedkeep.http.error_responses import BAD_REQUEST, OK
from feedkeep.http.pages.forms import read_form, read_number
from feedkeep.http.pages.notes import Note
from feedkeep.http.requests import AdmittedRequest
from feedkeep.http.routing import NoSuchRoute
from feedkeep.model import (
    EPISODE_KEY_BYTES,
    AccountId,
    Author,
    CredentialKind,
    Episode,
    EpisodeAction,
    Guid,
    PlayRequest,
    Second,
    Stamp,
    Subscription,
    Value,
)
from feedkeep.model.errors import InvalidInput
from feedkeep.rules.app_identity import PAGES
from feedkeep.rules.episode_actions import episode_of, sent_second
from feedkeep.rules.episodes import episode_name, is_finished
from feedkeep.rules.feed_labels import NO_LABELS
from feedkeep.rules.feed_names import web_url
from feedkeep.rules.guids import guid_or_none
from feedkeep.rules.seconds import first_stamp
from feedkeep.rules.text_limits import line_of
from feedkeep.runtime.cooperative import in_thread_if
from feedkeep.web.changes import Actor, who_of
from feedkeep.web.page import Page
from feedkeep.web.rows import Row, row_of

PLACE = "/listening"
EPISODES_ON_A_PAGE = 50

_MAX_NAME_CHARACTERS = 61
_MARK = re.compile(rf"(\S+)\.([0-9a-f]{{{2 * EPISODE_KEY_BYTES}}})")


class Show(StrEnum):
    """Subset of the played episodes to show."""

    IN_PROGRESS = ""
    FINISHED = "finished"
    ALL = "all"


_IS_FINISHED = {Show.IN_PROGRESS: False, Show.FINISHED: True, Show.ALL: None}


class PlayedEpisode(Value, frozen=True):
    """An episode on the page.

    Attributes:
        link: URL of its web page, as its feed has it; "" if unknown.
        feed: The row of its podcast.
        is_listed: Whether the podcast is in the list, and so has a page.
        position: Seconds up to which it was played.
        length: Length in seconds; 0 if unknown.
        at: Time of the play, as apps are sent it.
        who: App and device that played it.
        mark: Form value that identifies the episode; "" if it cannot be marked as finished.
    """

    name: str
    link: str
    feed: Row
    is_listed: bool
    position: int
    length: int
    is_finished: bool
    at: Stamp
    who: Actor
    mark: str


class ListeningPage(Page):
    """/listening and its form."""

    async def get(self, request: AdmittedRequest) -> Response:
        """Show episodes in progress, finished ones or all, those played last first."""
        return await self._show(request, request.query("show"), request.query("before"))

    async def finish(self, request: AdmittedRequest) -> Response:
        """Mark an episode as finished on all devices.

        Raises:
            NoSuchRoute: The account has no such episode, or its length is unknown.
        """
        form = await read_form(request)
        show, before = form.text("show"), form.text("before")
        mark = _MARK.fullmatch(form.text("episode"))
        guid = guid_or_none(mark[1]) if mark else None
        if not mark or not guid:
            raise NoSuchRoute
        try:
            play = await self.service.episode_actions.finish(
                request.admitted, guid, bytes.fromhex(mark[2])
            )
        except InvalidInput as error:
            problems = {"episode": error.sentence}
            return await self._show(request, show, before, BAD_REQUEST, problems=problems)
        if play is None:
            raise NoSuchRoute
        feeds = await self._feeds(request.admitted.account.id, [play.podcast_guid])
        found = await self.service.episodes.of_plays(feeds, [play])
        name = line_of(_name_of(play, found.get(play.key)), _MAX_NAME_CHARACTERS)
        return self.redirect(request, _place(show, before), Note("finished", {"name": name}))

    async def _show(
        self, request: AdmittedRequest, asked: str, before: str, status: int = OK, **values: Any
    ) -> Response:
        account_id = request.admitted.account.id
        show = Show(asked) if asked in set(Show) else Show.IN_PROGRESS
        start = _read_start(before)
        plays = await self.service.episode_actions.newest_plays(
            account_id, PlayRequest(_IS_FINISHED[show], start, EPISODES_ON_A_PAGE + 1)
        )
        shown = plays[:EPISODES_ON_A_PAGE]
        feeds = await self._feeds(account_id, {play.podcast_guid for play in shown})
        known = await self.service.known_feeds.headlines(feeds.values())
        labels = await self.service.feed_labels.of(account_id) if feeds else NO_LABELS
        now = self.service.now()
        rows = {
            guid: row_of(feed, known.get(feed.feed_url), now, labels)
            for guid, feed in feeds.items()
        }
        devices = await self.devices(account_id, map(_author_of, shown))
        found = await self.service.episodes.of_plays(feeds, shown)
        return await self.show(
            request,
            "listening.html",
            status,
            is_long=True,
            episodes=await in_thread_if(
                True, lambda: [_played(play, found, rows, devices, now) for play in shown]
            ),
            show=show,
            before=before if start else "",
            earlier=_place(show, _start(shown[-1])) if len(plays) > len(shown) else "",
            is_new=not plays and await self._has_none(account_id),
            now=now,
            **values,
        )

    async def _has_none(self, account_id: AccountId) -> bool:
        """Whether no app has sent a play yet."""
        return not await self.service.episode_actions.newest_plays(
            account_id, PlayRequest(None, None, 1)
        )

    async def _feeds(
        self, account_id: AccountId, podcasts: Iterable[Guid]
    ) -> Mapping[Guid, Subscription]:
        """Return the feeds of the list by the guids of their podcasts' first URLs."""
        guids = list(podcasts)
        views = await asyncio.gather(
            *(self.service.subscriptions.view(account_id, guid) for guid in guids)
        )
        return {
            guid: view.subscription
            for guid, view in zip(guids, views, strict=True)
            if view and view.subscription.deleted is None
        }


def _name_of(play: EpisodeAction, episode: Episode | None) -> str:
    """Return the title of a play's episode, or else the name of its file."""
    return episode.title if episode and episode.title else episode_name(play.episode)


def _played(
    play: EpisodeAction,
    found: Mapping[bytes, Episode],
    rows: Mapping[Guid, Row],
    devices: Mapping[str, str],
    now: Stamp,
) -> PlayedEpisode:
    feed, is_done = rows.get(play.podcast_guid), is_finished(play.position, play.total)
    episode = found.get(play.key)
    mark = f"{play.podcast_guid}.{episode_of(play).hex()}"
    return PlayedEpisode(
        _name_of(play, episode),
        web_url(episode.link) if episode else "",
        feed or row_of(_unlisted(play), None, now),
        feed is not None,
        play.position or 0,
        play.total or 0,
        is_done,
        first_stamp(Second(sent_second(play))),
        who_of(_author_of(play), devices),
        mark if play.total and not is_done else "",
    )


def _unlisted(play: EpisodeAction) -> Subscription:
    return Subscription(play.podcast_guid, play.podcast, False, Stamp(0))


def _author_of(play: EpisodeAction) -> Author:
    if play.app == PAGES:
        return Author(CredentialKind.BROWSER)
    return Author(CredentialKind.TOKEN, name=play.app or "", device=play.device)


def _place(show: str, before: str = "") -> str:
    view = {
        "show": show if show in set(Show) else "",
        "before": before if _read_start(before) else "",
    }
    asked = urlencode({name: value for name, value in view.items() if value})
    return f"{PLACE}?{asked}" if asked else PLACE


def _start(play: EpisodeAction) -> str:
    """Return the query value of the page that begins after a play."""
    return f"{sent_second(play)}.{play.revision}"


def _read_start(text: str) -> tuple[Second, Stamp] | None:
    second, revision = (read_number(part) for part in text.partition(".")[::2])
    if second is None or revision is None:
        return None
    return Second(second), Stamp(revision)
