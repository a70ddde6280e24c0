"""feedkeep session: list and revoke sessions."""

from __future__ import annotations

from typing import Annotated

import typer

from feedkeep.cli.accounts import NameArgument
from feedkeep.cli.common import ConfigOption, DatabaseOption, say, settings, with_service
from feedkeep.cli.tokens import show_tokens
from feedkeep.model import Purpose, TokenId, replace

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="List and revoke the sessions that apps and browsers have begun by logging in.",
)


@app.command("list")
def list_sessions(
    name: NameArgument, database: DatabaseOption = None, config: ConfigOption = None
) -> None:
    """List the stored sessions of an account, including expired and revoked sessions."""
    found = with_service(
        settings(database, config), lambda service: service.tokens.sessions_of(name)
    )
    shown = [
        replace(session, label=f"browser: {session.label}")
        if session.purpose is Purpose.PAGES
        else session
        for session in found
    ]
    show_tokens(["ID", "STATE", "SCOPE", "BEGAN", "ENDS", "LAST USED", "APP"], shown)


@app.command("revoke")
def revoke(
    name: NameArgument,
    session_id: Annotated[
        int,
        typer.Argument(
            metavar="ID", min=1, max=2**63 - 1, help="Its number, as `session list` shows it."
        ),
    ],
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Revoke a session. An app that stored the password or a token starts a new session."""
    with_service(
        settings(database, config),
        lambda service: service.tokens.revoke_session(name, TokenId(session_id)),
    )
    say(
        f"Revoked session {session_id} of {name}. An app that stored the password logs in again by"
        f" itself, unless you set a new one: `feedkeep account password {name}`. An app that stored"
        f" a token does so until the token is revoked: `feedkeep token list {name}` lists tokens."
    )
