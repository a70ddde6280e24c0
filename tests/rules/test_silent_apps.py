"""Which apps have fallen silent, and what a card tells of an app; as pure functions."""

import pytest

from feedkeep.model import Author, CredentialKind, Guid, Scope, Stamp, TokenId
from feedkeep.rules.apps import SILENT_DAYS, AppKind, AppUse, ConnectedApp, fallen_silent
from feedkeep.rules.clock import DAY_US
from feedkeep.rules.list_changes import ChangeKind, FeedChange, ListChange
from feedkeep.service.history import ListedChanges
from feedkeep.web.apps import shown_app

NOW = Stamp(100 * DAY_US)


def app(number: int, days_ago: int | None) -> ConnectedApp:
    used = None if days_ago is None else Stamp(NOW - days_ago * DAY_US)
    return ConnectedApp([TokenId(number)], "phone", AppKind.TOKEN, Stamp(1), used, Scope.WRITE)


@pytest.mark.parametrize(
    ("days_ago", "silent"),
    [
        ([0, SILENT_DAYS], [2]),
        ([0, SILENT_DAYS - 1], []),
        ([0, None], []),
        ([SILENT_DAYS, SILENT_DAYS + 9], []),
        ([99, 1, 99], [1, 3]),
        ([], []),
    ],
)
def test_an_app_is_silent_that_was_not_used_for_weeks_while_another_one_was(days_ago, silent):
    apps = [app(number, days) for number, days in enumerate(days_ago, 1)]
    assert [one.ids[0] for one in fallen_silent(apps, NOW)] == silent


def changed(stamp: int, author: str, count: int) -> ListChange:
    feeds = [
        FeedChange(ChangeKind.ADDED, Guid(str(number)), f"https://{number}.example")
        for number in range(count)
    ]
    return ListChange(Stamp(stamp), author, feeds)


def test_a_card_tells_the_last_change_that_an_app_has_sent_and_its_name_without_a_version():
    authors = {
        "browser": Author(CredentialKind.BROWSER, TokenId(1)),
        "phone": Author(CredentialKind.TOKEN, TokenId(1)),
        "other": Author(CredentialKind.SESSION, TokenId(2)),
    }
    changes = [changed(9, "browser", 1), changed(8, "other", 2), changed(7, "phone", 3)]
    changes += [changed(6, "phone", 4), changed(5, "", 1)]
    listed = ListedChanges(changes, authors, Stamp(0), has_more=False)
    uses = [AppUse("Kasts/24.02", None)]
    phone = ConnectedApp(
        [TokenId(1)], "AntennaPod/3.9.0", AppKind.NEXTCLOUD, Stamp(1), None, Scope.WRITE, uses
    )
    shown = shown_app(phone, listed)
    assert (shown.name, shown.sent, shown.sent_at) == ("AntennaPod", 3, 7)
    assert shown.uses == [AppUse("Kasts", None)]
    assert shown_app(app(3, 0), listed).sent_at is None
