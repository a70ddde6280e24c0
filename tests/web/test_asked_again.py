"""Where the password is asked for again, as ten minutes after it was typed."""

import re

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import IS_LONG, in_the_long_form
from playwright.sync_api import Locator, expect
from visitor import Visitor

PASSWORD = "a good passphrase"
ACTIONS = ["Delete this account"]
OWN_ACTIONS = ["Change the password"]
if IS_LONG:  # tests/web/test_accounts.py asks for the password in each of them
    ACTIONS += ["Create a link", "Make administrator", "Disable"]
    OWN_ACTIONS += ["Create ten recovery codes", "Delete my account"]


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """A service that asks each time."""
    process = FeedkeepProcess(tmp_path_factory.mktemp("strict"), trusted_proxies="127.0.0.1")
    process.run_first("no_session_is_fresh")
    with process, process.used_often():
        yield process


@pytest.fixture
def admin(strict, visit):
    name = strict.new_account(PASSWORD)

    async def promote(service):
        await service.accounts.set_admin(name, True)

    strict.use(promote)
    admin = visit(strict)
    admin.expected |= {400, 403}
    admin.is_let_in(name, PASSWORD)
    admin.sees_heading("Your list is empty")
    return admin


def form_of(visitor: Visitor, button: str) -> Locator:
    return visitor.page.locator("form").filter(has=visitor.button(button))


def password_in(visitor: Visitor, form: Locator) -> Locator:
    return form.get_by_label(visitor.say("Your current password"))


@pytest.mark.parametrize("action", ACTIONS)
def test_a_wrong_password_is_told_in_the_form_that_was_sent(strict, admin, action):
    other = strict.new_account()
    admin.open(f"/people/of/{other}")
    form = form_of(admin, action)
    if action == "Delete this account":
        form.get_by_role("textbox").last.fill(other)
    password_in(admin, form).fill("wrong password")
    admin.press(action)
    expect(password_in(admin, form)).to_have_accessible_description("! This is not your password.")
    expect(password_in(admin, form)).to_be_focused()
    password_in(admin, form).fill(PASSWORD)
    admin.press(action)
    admin.page.wait_for_url("**/people*" if action != "Create a link" else "**/people/link")


def test_a_wrong_name_is_told_beside_its_field(strict, admin):
    other = strict.new_account()
    admin.open(f"/people/of/{other}")
    form = form_of(admin, "Delete this account")
    password_in(admin, form).fill(PASSWORD)
    label = "Type the name, %(name)s, to confirm"
    admin.type(label, "other", name=other)
    admin.press("Delete this account")
    expect(admin.field(label, name=other)).to_be_focused()
    expect(admin.field(label, name=other)).to_have_value("other")
    admin.open("/people")
    expect(admin.link(other)).to_be_visible()


@pytest.mark.parametrize("action", OWN_ACTIONS)
def test_a_form_that_was_open_for_long_asks_for_the_password(admin, action):
    admin.open("/account")
    form = form_of(admin, action)
    # The page of ten minutes ago had no such field.
    password_in(admin, form).evaluate("(field) => field.remove()")
    for field in form.get_by_role("textbox").all():
        if field.is_editable():
            field.fill(admin.page.get_by_role("heading", level=1).inner_text() + " and more")
    if action == "Delete my account":
        form.get_by_role("textbox").last.fill(
            admin.page.get_by_role("heading", level=1).inner_text()
        )
    admin.press(action)
    told = "! Type your current password."
    expect(password_in(admin, form_of(admin, action))).to_have_accessible_description(told)
    expect(password_in(admin, form_of(admin, action))).to_be_focused()


def test_login_of_an_app_needs_only_the_password_of_who_signed_in_long_ago(strict, visit):
    name = strict.new_account(PASSWORD)
    owner = visit(strict)
    owner.is_let_in(name, PASSWORD)
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


@in_the_long_form  # without a browser, tests/web/test_accounts.py has it
def test_the_last_administrator_stays_and_stays_signed_in(tmp_path, visit):
    process = FeedkeepProcess(tmp_path, trusted_proxies="127.0.0.1")
    process.run_first("no_session_is_fresh")
    with process:
        link = re.search(r"http\S+/sign-up/\S+", "".join(process.printed))
        assert link
        anna = visit(process)
        anna.expected.add(400)
        anna.sign_up(link[0], "anna", PASSWORD)
        anna.open("/account")
        password_in(anna, form_of(anna, "Delete my account")).fill(PASSWORD)
        label = "Type your name, %(name)s, to confirm"
        anna.type(label, "anna", name="anna")
        anna.press("Delete my account")
        expect(anna.field(label, name="anna")).to_be_focused()
        anna.follow("Feeds")
        anna.sees_heading("Your list is empty")
