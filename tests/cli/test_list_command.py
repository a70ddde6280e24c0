"""feedkeep list and export: what an account has, by title, and which of it cannot be read."""

import re

import httpx
import pytest
from known_feeds import know

from feedkeep.model import Failure, Stamp

URL = "https://of-the-command-line.example"
LONG_AGO = Stamp(1_700_000_000_000_000)


@pytest.fixture
def name(feedkeep):
    """The name of an account with three feeds."""
    failing = {"failing": LONG_AGO, "failures": 1, "failure": Failure.NO_SUCH_HOST}
    name = feedkeep.new_account()
    urls = [f"{URL}/{letter}" for letter in "zax"]
    with feedkeep.client(name) as api:
        add(api, *urls)
    know(feedkeep, f"{URL}/z", "Zebras")
    know(feedkeep, f"{URL}/a", "apples \x1b[31m", fields=failing)
    return name


def add(api: httpx.Client, *urls: str) -> None:
    items = [{"feed_url": url} for url in urls]
    assert api.post("/subscriptions", json={"subscriptions": items}).status_code == 200


def rows(text: str) -> list[list[str]]:
    return [re.split(r" {2,}", line.strip()) for line in text.splitlines()]


def test_feeds_are_listed_by_title_with_what_fails(feedkeep, name):
    head, apples, zebras, unknown = rows(feedkeep.must("list", name))
    assert head == ["title", "address", "subscribed", "failing since"]
    assert apples[:2] == ["apples [31m", f"{URL}/a"]
    assert apples[3] == "2023-11-14T22:13:20Z: There is no server of that name."
    assert zebras[:2] == ["Zebras", f"{URL}/z"]
    assert len(zebras) == 3
    assert unknown[:2] == ["-", f"{URL}/x"]


def test_those_that_cannot_be_read_are_listed_alone(feedkeep, name):
    listed = rows(feedkeep.must("list", name, "--failing"))
    assert [row[1] for row in listed[1:]] == [f"{URL}/a"]


def test_the_list_of_an_unknown_account_is_refused(feedkeep):
    done = feedkeep.run("list", "stranger")
    assert (done.returncode, done.stdout) == (1, "")
    assert 'There is no account "stranger"' in done.stderr


def test_titles_and_folders_of_a_file_are_listed_and_exported(feedkeep, name):
    opml = f'''<opml><outline text="News"><outline text="Radio Z" xmlUrl="{URL}/z"/>
    <outline title="Of the file" xmlUrl="{URL}/x"/></outline></opml>'''
    assert feedkeep.must("import", name, "-", stdin=opml).startswith("0 added, 2 already there")
    assert [row[0] for row in rows(feedkeep.must("list", name))[1:]] == [
        "apples [31m", "Of the file", "Zebras",
    ]  # fmt: skip
    exported = feedkeep.must("export", name)
    assert '<outline text="News" title="News">' in exported
    assert f'text="Of the file" title="Of the file" xmlUrl="{URL}/x"' in exported
    other = feedkeep.new_account()
    feedkeep.must("import", other, "-", stdin=exported)
    assert sorted(feedkeep.must("export", other).split()) == sorted(exported.split())


def test_an_export_has_titles(feedkeep, name):
    written = feedkeep.must("export", name)
    assert f'text="Zebras" title="Zebras" xmlUrl="{URL}/z"' in written
    assert f'text="{URL}/x" xmlUrl="{URL}/x"' in written
    assert '"title": "Zebras"' in feedkeep.must("export", name, "--format", "json")
    assert "Zebras" not in feedkeep.must("export", name, "--format", "urls")
