"""feedkeep account: manage accounts."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from feedkeep.cli.account_import import import_accounts
from feedkeep.cli.common import (
    ConfigOption,
    DatabaseOption,
    PasswordStdinOption,
    StreamedTable,
    ask_password,
    moment,
    say,
    settings,
    warn,
    with_service,
)
from feedkeep.config.networks import leads_to_loopback
from feedkeep.config.settings import Settings, public_base, shown
from feedkeep.model import Account, NewToken
from feedkeep.model.errors import AccountError
from feedkeep.rules.accounts import identity_of
from feedkeep.rules.credentials import apps_that_refuse
from feedkeep.service import Service

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Create, list, change and delete accounts.",
)

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The account's name; case does not matter.")
]

app.command("import")(import_accounts)


@app.command("create")
def create(
    name: NameArgument,
    admin: Annotated[
        bool, typer.Option("--admin", help="Make it an administrator, who manages all accounts.")
    ] = False,
    password_stdin: PasswordStdinOption = False,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Create an account.

    The command prompts for the password. Without one, the account is used with tokens only.
    """
    password = ask_password(password_stdin)
    chosen = settings(database, config)
    account = with_service(
        chosen,
        lambda service: service.accounts.create(name, password, is_admin=admin),
        may_create=True,
    )
    how = "" if password else ", without a password: make a token for it"
    say(f"Created account {account.name} in {shown(chosen.database)}{how}.")
    for sentence in apps_that_refuse(account.name):
        say(str(sentence))


@app.command("list")
def list_accounts(
    prefix: Annotated[
        str,
        typer.Option(
            "--prefix",
            metavar="TEXT",
            help="Only accounts whose names begin with this; case does not matter.",
            show_default=False,
        ),
    ] = "",
    after: Annotated[
        str,
        typer.Option(
            "--after",
            metavar="NAME",
            help="Only accounts that come after this name.",
            show_default=False,
        ),
    ] = "",
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            min=1,
            help="At most N accounts; if there are more, the last line says how to continue.",
            show_default=False,
        ),
    ] = None,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """List accounts, ordered by name.

    Accounts are printed as they are read, so memory use does not grow with their number.
    """

    async def show(service: Service) -> str | None:
        table = StreamedTable("NAME", "CREATED", "PASSWORD", "ROLE", "STATE")
        left, last = limit, after
        async for page in service.accounts.by_name(after, prefix):
            if left == 0:
                return last
            shown = page[:left]
            table.add([_row(account) for account in shown])
            last = shown[-1].name
            if len(shown) < len(page):
                return last
            left = None if left is None else left - len(shown)
        table.add([])  # prints the head even without accounts
        return None

    last = with_service(settings(database, config), show)
    if last is not None:
        warn(f"There are more accounts: continue with --after {last}.")


def _row(account: Account) -> list[str]:
    return [
        account.name,
        moment(account.created),
        "yes" if account.password_hash else "no",
        "administrator" if account.is_admin else "-",
        "disabled" if account.is_disabled else "enabled",
    ]


@app.command("password")
def password(
    name: NameArgument,
    password_stdin: PasswordStdinOption = False,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Set a new password; the old one stops working immediately. Tokens stay valid."""
    new = ask_password(password_stdin)
    if new is None:
        raise AccountError(
            "No password was given; use --password-stdin where there is no terminal."
        )
    with_service(
        settings(database, config), lambda service: service.accounts.set_password(name, new)
    )
    say(f"Changed the password of {name}.")


@app.command("admin")
def admin(
    name: NameArgument,
    remove: Annotated[
        bool, typer.Option("--remove", help="Revoke the right; the account stays.")
    ] = False,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Make an account an administrator, or with --remove an ordinary account.

    The last administrator cannot be removed.
    """
    with_service(
        settings(database, config), lambda service: service.accounts.set_admin(name, not remove)
    )
    say(f"{name} is {'no longer an administrator' if remove else 'an administrator'}.")


@app.command("link")
def link(
    name: NameArgument,
    subject: Annotated[
        str,
        typer.Argument(
            metavar="SUBJECT", help="What the provider calls the person: `sub` in its ID tokens."
        ),
    ],
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Link an account to a person at the sign-in provider (oidc_issuer).

    People who sign in with a password can do this themselves on their account's page.
    """
    chosen = settings(database, config)
    if not chosen.oidc_issuer:
        raise AccountError("There is no provider: set oidc_issuer first.")

    async def link_account(service: Service) -> Account:
        account = await service.accounts.named(name)
        await service.identities.link(account, identity_of(chosen.oidc_issuer, subject))
        return account

    account = with_service(chosen, link_account)
    say(f"{account.name} is linked.")


@app.command("invite")
def invite(
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="NAME",
            help="The administrator who invites. Default: the oldest.",
            show_default=False,
        ),
    ] = None,
    label: Annotated[
        str, typer.Option("--label", metavar="TEXT", help="Who it is for, such as: aunt Emma.")
    ] = "",
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Print a link with which one person can create an account within seven days."""

    async def make(service: Service) -> NewToken:
        return await service.invitations.invite(await _inviter(service, by), label)

    chosen = settings(database, config)
    _say_link(chosen, f"/sign-up/{with_service(chosen, make).text}")


@app.command("reset-link")
def reset_link(
    name: NameArgument, database: DatabaseOption = None, config: ConfigOption = None
) -> None:
    """Print a link with which an account's owner can set a new password once, within a day.

    It replaces earlier links.
    """
    chosen = settings(database, config)
    made = with_service(chosen, lambda service: service.recovery.reset_link(name))
    _say_link(chosen, f"/reset/{made.text}")


@app.command("disable")
def disable(
    name: NameArgument, database: DatabaseOption = None, config: ConfigOption = None
) -> None:
    """Reject all credentials of an account until it is enabled again. Its list and tokens stay."""
    with_service(
        settings(database, config), lambda service: service.accounts.set_disabled(name, True)
    )
    say(f"Disabled {name}.")


@app.command("enable")
def enable(
    name: NameArgument, database: DatabaseOption = None, config: ConfigOption = None
) -> None:
    """Accept the credentials of a disabled account again."""
    with_service(
        settings(database, config), lambda service: service.accounts.set_disabled(name, False)
    )
    say(f"Enabled {name}.")


@app.command("delete")
def delete(
    name: NameArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Delete an account with its list and its tokens, permanently."""
    if not yes and not sys.stdin.isatty():
        raise AccountError(
            f"There is no terminal to confirm on; give --yes to delete {name} and its whole list."
        )
    if not yes:
        typer.confirm(f"Delete {name} and its whole list for good?", abort=True)
    with_service(settings(database, config), lambda service: service.accounts.delete(name))
    say(f"Deleted {name}.")


def _say_link(chosen: Settings, path: str) -> None:
    base = public_base(chosen)
    say(base + path)
    if leads_to_loopback(base):
        warn(
            "The link opens only on this machine. Set FEEDKEEP_PUBLIC_URL to the address at which"
            " others reach the service."
        )
    elif not chosen.public_url:
        warn(f"If the service is not at {base}, set FEEDKEEP_PUBLIC_URL to its address.")


async def _inviter(service: Service, name: str | None) -> Account:
    if name is not None:
        return await service.accounts.named(name)
    administrators = await service.accounts.administrators()
    if not administrators:
        raise AccountError(
            "Only administrators can invite, and there is none: `feedkeep account admin` makes an"
            " account an administrator."
        )
    return administrators[0]
