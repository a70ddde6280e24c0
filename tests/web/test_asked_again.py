"""Actions that ask for the password again, ten minutes after it was typed."""

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from page_client import PASSWORD
from playwright.sync_api import Locator, expect
from visitor import Visitor


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """A service that asks each time."""
    process = FeedkeepProcess(tmp_path_factory.mktemp("strict"), trusted_proxies="127.0.0.1")
    process.run_first("no_session_is_fresh", "hashes_are_cheap")
    with process, process.used_often():
        yield process


@pytest.fixture
def admin(strict, visit):
    name = strict.new_account(PASSWORD)
    strict.use(lambda service: service.accounts.set_admin(name, True))
    admin = visit(strict, expected={400, 403}).is_let_in(name)
    admin.sees_heading("Your list is empty")
    return admin


def form_of(visitor: Visitor, button: str) -> Locator:
    return visitor.page.locator("form").filter(has=visitor.button(button))


def password_in(visitor: Visitor, form: Locator) -> Locator:
    return form.get_by_label(visitor.say("Your current password"))


def test_a_wrong_password_or_name_is_told_in_the_form_that_was_sent(strict, admin):
    other = strict.new_account()
    admin.open(f"/people/of/{other}")
    form = form_of(admin, "Delete this account")
    name = admin.field("Type the name, %(name)s, to confirm", name=other)
    for typed, password, field, told in (
        (other, "wrong password", password_in(admin, form), "! This is not your password."),
        ("other", PASSWORD, name, "! Type the name of the account here to delete it."),
    ):
        name.fill(typed)
        password_in(admin, form).fill(password)
        admin.press("Delete this account")
        expect(field).to_have_accessible_description(told)
        expect(field).to_be_focused()
        expect(name).to_have_value(typed)
    name.fill(other)
    password_in(admin, form).fill(PASSWORD)
    admin.press("Delete this account")
    admin.page.wait_for_url("**/people*")


def test_a_form_that_was_open_for_long_asks_for_the_password(admin):
    admin.open("/account")
    form = form_of(admin, "Change the password")
    # The page of ten minutes ago had no such field.
    password_in(admin, form).evaluate("(field) => field.remove()")
    admin.type("New password", "a newer passphrase")
    admin.press("Change the password")
    asked = password_in(admin, form_of(admin, "Change the password"))
    expect(asked).to_have_accessible_description("! Type your current password.")
    expect(asked).to_be_focused()


def test_login_of_an_app_needs_only_the_password_of_who_signed_in_long_ago(strict, visit):
    name = strict.new_account(PASSWORD)
    owner = visit(strict).is_let_in(name)
    owner.open(httpx.post(f"{strict.base_url}/index.php/login/v2").json()["login"])
    expect(owner.field("Name")).to_have_value(name)
    expect(owner.field("Password")).to_be_focused()
    owner.type("Password", PASSWORD)
    owner.press("Sign in and allow access")
    owner.sees_heading("Done")


def test_a_new_password_that_is_refused_ends_no_session(admin):
    admin.open("/account")
    form = form_of(admin, "Change the password")
    password_in(admin, form).fill(PASSWORD)
    admin.field("New password").evaluate("(field) => { field.minLength = 0; }")
    admin.type("New password", "short")
    admin.press("Change the password")
    expect(admin.field("New password")).to_be_focused()
    admin.follow("Feeds")
    admin.sees_heading("Your list is empty")
