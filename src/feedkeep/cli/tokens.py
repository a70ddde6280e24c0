"""feedkeep token: manage tokens, which apps use instead of a password."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from feedkeep.cli.accounts import NameArgument
from feedkeep.cli.common import (
    ConfigOption,
    DatabaseOption,
    day,
    moment,
    say,
    settings,
    show_table,
    with_service,
)
from feedkeep.model import Scope, Stamp, Token, TokenId
from feedkeep.runtime import wall_clock

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Create, list and revoke the tokens of an account.",
)

MAX_DAYS = 36_500


@app.command("create")
def create(
    name: NameArgument,
    label: Annotated[
        str, typer.Option("--label", metavar="TEXT", help="What it is for, such as: phone.")
    ] = "",
    expires_days: Annotated[
        int | None,
        typer.Option(
            "--expires-days",
            metavar="N",
            min=1,
            max=MAX_DAYS,
            help="Expire after N days. Default: never.",
            show_default=False,
        ),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Allow reading only.")] = False,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Create a token, and print only the token. It is shown once and stored as a hash."""
    scope = Scope.READ if read_only else Scope.WRITE
    made = with_service(
        settings(database, config),
        lambda service: service.tokens.create(name, label, expires_days, scope),
    )
    say(made.text)


@app.command("list")
def list_tokens(
    name: NameArgument, database: DatabaseOption = None, config: ConfigOption = None
) -> None:
    """List the tokens of an account, including expired and revoked tokens."""
    found = with_service(settings(database, config), lambda service: service.tokens.of(name))
    show_tokens(["ID", "STATE", "SCOPE", "CREATED", "EXPIRES", "LAST USED", "LABEL"], found)


@app.command("revoke")
def revoke(
    name: NameArgument,
    token_id: Annotated[
        int,
        typer.Argument(
            metavar="ID", min=1, max=2**63 - 1, help="Its number, as `token list` shows it."
        ),
    ],
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Revoke a token."""
    with_service(
        settings(database, config),
        lambda service: service.tokens.revoke(name, TokenId(token_id)),
    )
    say(f"Revoked token {token_id} of {name}.")


def show_tokens(columns: list[str], tokens: Sequence[Token]) -> None:
    """Print tokens or sessions as a table."""
    now = wall_clock.now()
    rows = [
        [
            str(token.id),
            _state(token, now),
            token.scope.value,
            moment(token.created),
            moment(token.expires),
            day(token.last_used),
            token.label,
        ]
        for token in tokens
    ]
    show_table(columns, rows)


def _state(token: Token, now: Stamp) -> str:
    if token.revoked is not None:
        return "revoked"
    return "expired" if token.expires is not None and token.expires <= now else "active"
