"""Routes of the pages."""

from __future__ import annotations

from functools import partial

from feedkeep.config.settings import Settings
from feedkeep.feeds.first_looks import FirstLooks
from feedkeep.formats.feed_list import Format
from feedkeep.http import error_responses
from feedkeep.http.pages.rendering import Pages
from feedkeep.http.routing import Edge, PublicRoute, Route
from feedkeep.service import Service
from feedkeep.web.account import AccountPage
from feedkeep.web.adding import AddPage
from feedkeep.web.apps import AppsPage
from feedkeep.web.authenticator import PageAuthenticator, refused
from feedkeep.web.feed import FeedPage
from feedkeep.web.feeds import FeedsPage, PicturePage
from feedkeep.web.history import ListHistoryPage
from feedkeep.web.imports import ImportPage
from feedkeep.web.listening import ListeningPage
from feedkeep.web.move_in import MoveInPage
from feedkeep.web.news import NewsPage
from feedkeep.web.people import PeoplePage
from feedkeep.web.provider_sign_in import ProviderSignIn
from feedkeep.web.sign_in import RecoverPage, ResetPage, SignInPage
from feedkeep.web.sign_up import SignUpPage

_FORMAT = f"{{format:{'|'.join(Format)}}}"


def web_edge(
    service: Service,
    settings: Settings,
    pages: Pages,
    first_secret: str,
    looks: FirstLooks | None = None,
) -> Edge:
    """Return the pages' edge.

    `first_secret` is the setup link's secret, "" without a link; without `looks`, feeds are added
    as they are typed.
    """
    return Edge(
        _routes(service, settings, pages, first_secret, looks),
        PageAuthenticator(service),
        error_responses.BAD_REQUEST,
        show=partial(refused, pages),
        is_for_own_pages=True,
    )


def _routes(
    service: Service,
    settings: Settings,
    pages: Pages,
    first_secret: str,
    looks: FirstLooks | None,
) -> list[Route | PublicRoute]:
    known = (service, settings, pages)
    sign_in, recover, reset = SignInPage(*known), RecoverPage(*known), ResetPage(*known)
    sign_up = SignUpPage(*known, first_secret)
    feeds, feed, imports = FeedsPage(*known), FeedPage(*known), ImportPage(*known)
    adding, move_in = AddPage(*known, feeds, looks), MoveInPage(*known, imports)
    listening, history, news = ListeningPage(*known), ListHistoryPage(*known), NewsPage(*known)
    apps, account, people = AppsPage(*known), AccountPage(*known), PeoplePage(*known)
    provider = ProviderSignIn(*known, sign_in, account)
    return [
        PublicRoute("/static/{name}", get=pages.static.get),
        PublicRoute("/favicon.ico", get=pages.static.icon),
        PublicRoute("/manifest.webmanifest", get=pages.static.manifest),
        PublicRoute("/sign-in", get=sign_in.get, post=sign_in.post),
        PublicRoute("/sign-in/provider", get=provider.begin),
        PublicRoute("/sign-in/provider/back", get=provider.come_back),
        PublicRoute("/sign-in/provider/logout", post=provider.log_out),
        Route("/sign-out", post=sign_in.sign_out),
        PublicRoute("/sign-up", get=sign_up.get, post=sign_up.post),
        PublicRoute("/sign-up/{link}", get=sign_up.open),
        PublicRoute("/recover", get=recover.get, post=recover.post),
        PublicRoute("/reset", get=reset.get, post=reset.post),
        PublicRoute("/reset/{link}", get=reset.open),
        Route("/", get=feeds.get),
        Route("/feeds", get=feeds.above_forms),
        Route("/feeds/changed", get=feeds.changed),
        Route("/feeds/add", post=adding.add),
        Route("/feeds/unsubscribe", post=feeds.unsubscribe),
        Route("/feeds/subscribe", post=feeds.subscribe),
        Route("/feeds/file", post=feeds.file),
        Route("/feeds/rename-folder", post=feeds.rename_folder),
        Route("/feeds/remove-folder", post=feeds.remove_folder),
        Route("/feeds/{guid}", get=feed.get),
        Route("/feeds/{guid}/move", post=feed.move),
        Route("/feeds/{guid}/merge", post=feed.merge),
        Route("/feeds/{guid}/apart", post=feed.keep_apart),
        Route("/feeds/{guid}/look", post=feed.permit),
        Route("/feeds/{guid}/label", post=feed.label),
        Route("/feeds/{guid}/delete", post=feed.delete),
        Route("/pictures/{guid}", get=PicturePage(*known).get),
        Route("/listening", get=listening.get),
        Route("/listening/finished", post=listening.finish),
        Route("/news", get=news.get),
        Route("/news/dismiss", post=news.dismiss),
        Route("/news/address", post=news.make_address),
        Route("/news/address/end", post=news.end_address),
        PublicRoute("/news/{secret}.atom", get=news.feed),
        Route("/changes", get=history.get),
        Route("/changes/undo", post=history.undo),
        Route("/changes/rescue", post=history.rescue),
        Route("/changes/meant", post=history.dismiss_mass_unsubscribe),
        Route("/changes/restore", get=history.choose, post=history.restore),
        Route("/import", get=imports.get, post=imports.preview),
        Route("/import/carry-out", post=imports.carry_out),
        Route("/import/from", post=move_in.read),
        Route("/import/from/carry-out", post=move_in.carry_out),
        Route(f"/export/{_FORMAT}", get=imports.export),
        Route("/apps", get=apps.get),
        Route("/apps/connect", get=apps.choose),
        Route("/apps/connect/{app}", get=apps.guide, post=apps.connect),
        Route("/apps/connected", get=apps.connected),
        Route("/apps/disconnect", get=apps.ask, post=apps.disconnect),
        Route("/account", get=account.get),
        Route("/account/password", post=account.change_password),
        Route("/account/preferences", post=account.change_preferences),
        Route("/account/codes", get=account.codes, post=account.make_codes),
        Route("/account/sign-out-others", post=account.sign_out_others),
        Route("/account/download", get=account.download),
        Route("/account/link", post=provider.link),
        Route("/account/unlink", post=provider.unlink),
        Route("/account/delete", post=account.delete),
        Route("/people", get=people.get),
        Route("/people/invite", post=people.invite),
        Route("/people/withdraw", post=people.withdraw),
        Route("/people/link", get=people.link),
        Route("/people/reset-link", post=people.reset_link),
        Route("/people/change", post=people.change),
        Route("/people/of/{name}", get=people.one),
    ]
