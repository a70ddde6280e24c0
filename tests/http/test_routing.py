"""Precedence of routes that match the same path."""

import pytest
from route_table import all_pages, all_routes
from starlette.requests import Request as HTTPRequest
from starlette.responses import Response

from feedkeep.config.settings import OWN_PLACES
from feedkeep.http.requests import Request, own_path
from feedkeep.http.routing import Edge, PublicRoute, Router


@pytest.mark.parametrize("path", ["/", "/feeds/{name}"])
def test_of_two_routes_with_one_path_the_first_one_counts(path):
    first, second = (Edge([PublicRoute(path, get=Response)], None, 400) for _ in range(2))
    asked = {"type": "http", "method": "GET", "path": path.replace("{name}", "x"), "headers": ()}
    assert Router([first, second]).find(Request(HTTPRequest(asked))).edge is first


def test_no_page_hides_what_is_no_page_and_no_path_of_a_proxy_is_one_of_the_service():
    """Pages come first, so one with the path of another route would answer in its place."""
    pages, routes = ({target.path for target in found} for found in (all_pages(), all_routes()))
    assert pages & routes == set()
    firsts = {path.split("/")[1] for path in pages | routes} - {""}
    named = {first for first in firsts if "{" not in first}
    named |= {f"{name}.{end}" for name in ("search", "toplist") for end in ("json", "opml", "txt")}
    assert named == OWN_PLACES
    assert {first.partition(".{")[0] for first in firsts if "{" in first} == {"search", "toplist"}


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("/home/keep", "/"), ("/home/keep/", "/"), ("/home/keep/apps", "/apps"),
        ("/home/keep//apps", "/apps"), ("//home/keep//apps", "/apps"), ("//apps", "/apps"),
        ("/apps", "/apps"), ("/", "/"), ("/home/keeper", "/home/keeper"), ("/home", "/home"),
        ("/home/keepapps", "/home/keepapps"),
    ],
)  # fmt: skip
def test_the_path_of_a_proxy_is_taken_off_where_it_was_left(path, own):
    assert own_path(path, "/home/keep") == own
    assert own_path(own, "") == own
