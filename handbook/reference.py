"""Generates reference documents in docs/ from the code: `make reference`."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, cast

import msgspec
from typer.main import get_command

from feedkeep.cli.main import app
from feedkeep.config.settings import (
    ENVIRONMENT_PREFIX,
    IN_A_FILE,
    NEVER_IN_THE_ENVIRONMENT,
    Settings,
)
from feedkeep.edges import edges
from feedkeep.http.routing import PublicRoute, Target, targets
from feedkeep.runtime import wall_clock
from feedkeep.service import Service
from handbook.contract import index_page

DOCS = Path(__file__).parent.parent / "docs"

_WRITTEN_BY = "<!-- Written by `make reference` from the code: change it there. -->"
_ATTRIBUTE = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
_SETTINGS = """# Settings

{written_by}

A setting is a variable of the environment, a line of a TOML file under its name, or, if it has
one, a flag of `serve`. Flags override the environment, and the environment overrides the file,
which `--config` or `FEEDKEEP_CONFIG` names. In the environment, commas separate the values of a
list, which has at most 1,000.
[configuration.md](configuration.md#configure) explains how some of them work together.
"""
_COMMANDS = """# Commands

{written_by}

Commands other than `serve` and `try` work on the same database, also while the service runs, unless
they say otherwise. Exit status: 1 failure, 2 usage error. `--help` or `-h` explains a command.

All commands have these options, except `health` and `copy` (`--config` only), `try` and `version`
(none):

{common}

`NAME` is {name}.
"""


_LINE = 120
_NAME = "the account's name; case does not matter"
_NAME_DESCRIBED = f"- `NAME`: {_NAME.capitalize()}."

_PAGES = """# Addresses of the pages

{written_by}

The log and the metrics name a page by its route, with the values that a name can have
(`{{format:...}}`). GET includes HEAD. Forms are accepted from this service's own pages only. The
interface and the apps' protocols are in `/docs` of a running service.

## With a session

Without one, GET redirects to `/sign-in`. `/people` is for administrators.

{signed_in}
## Without a session

{public}"""


def settings_page() -> str:
    """Return the text of docs/settings.md."""
    told = dict(
        _ATTRIBUTE.findall(inspect.cleandoc(Settings.__doc__ or "").partition("Attributes:")[2])
    )
    flags = {param.name: param.opts[0] for param in _command("serve").params}
    parts = [_SETTINGS.format(written_by=_WRITTEN_BY)]
    for field in msgspec.structs.fields(Settings):
        default = "`feedkeep/feedkeep.db` in your data directory"
        if field.default is not msgspec.NODEFAULT:
            default = _shown(field.default)
        lines = [f"## {field.name}", "", _wrapped(told[field.name]), ""]
        variable = f"{ENVIRONMENT_PREFIX}{field.name.upper()}"
        if field.name in NEVER_IN_THE_ENVIRONMENT:
            lines += [f"- Environment: `{variable}{IN_A_FILE}`, which names a file with it"]
        else:
            lines += [f"- Environment: `{variable}`"]
        lines += [f"- Flag of `serve`: `{flags[field.name]}`"] if field.name in flags else []
        parts.append("\n".join([*lines, f"- Default: {default}", ""]))
    return "\n".join(parts)


def commands_page() -> str:
    """Return the text of docs/commands.md."""
    common = _common_options()
    shown = "\n".join(_wrapped(line, "  ") for line in common)
    parts = [_COMMANDS.format(written_by=_WRITTEN_BY, common=shown, name=_NAME)]
    for path, command in commands():
        arguments = [param for param in command.params if param.param_type_name == "argument"]
        options = [param for param in command.params if param.param_type_name == "option"]
        usage = " ".join([path, *(param.metavar or param.name.upper() for param in arguments)])
        usage += "".join(f" {param.opts[0]} {param.metavar}" for param in options if param.required)
        lines = [f"## {path}", "", f"    {usage}{' [OPTIONS]' if options else ''}", ""]
        lines += [_paragraphs(command.help or ""), ""]
        described = map(_described, [*arguments, *options])
        own = (line for line in described if line not in (*common, _NAME_DESCRIBED))
        lines += [_wrapped(line, "  ") for line in own]
        parts.append("\n".join(lines).rstrip() + "\n")
    return "\n".join(parts)


def _common_options() -> list[str]:
    """Return the options that nearly all commands have, which the page lists once."""
    each = [_described(param) for _, command in commands() for param in command.params]
    return [line for line, count in Counter(each).items() if count > len(list(commands())) * 3 // 4]


def _described(param: Any) -> str:
    is_option = param.param_type_name == "option"
    names = ", ".join(param.opts) if is_option else param.metavar or param.name
    value = f" {param.metavar}" if is_option and param.metavar else ""
    told = f"{_one_line(param.help or '')}{_default(param)}"
    return f"- `{names}{value}`: {told}".rstrip(": ")


def pages_page() -> str:
    """Return the text of docs/pages.md."""
    public: list[str] = []
    signed_in: list[str] = []
    for target in sorted(pages(), key=lambda target: target.path):
        rows = public if isinstance(target.route, PublicRoute) else signed_in
        for method, handler in target.route.methods.items():
            if method != "HEAD":
                what = _one_line((handler.__doc__ or "").partition("\n\n")[0])
                rows.append(f"- `{method} {_bare(target.path)}`: {what}\n")
    return _PAGES.format(
        written_by=_WRITTEN_BY, signed_in="".join(signed_in), public="".join(public)
    )


def pages() -> Iterator[Target]:
    """Yield the route of each page; without a store, they cannot answer requests."""
    service = Service(cast("Any", None), wall_clock.now, cast("Any", None), history_days=0)
    everything = targets(edges(service, Settings()))
    return (target for target in everything if target.edge.is_for_own_pages)


def commands() -> Iterator[tuple[str, Any]]:
    """Yield each command with its full name, in the order of `--help`."""
    yield from _below("feedkeep", get_command(app))


def _default(param: Any) -> str:
    """Return the default as a sentence; "" for flags, as in `--help`."""
    if not (param.show_default and param.default):
        return ""
    default = param.default.value if isinstance(param.default, Enum) else param.default
    return f" Default: {default}."


def _below(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
        return
    for name, each in inner.items():
        yield from _below(f"{path} {name}", each)


def _bare(template: str) -> str:
    """Return the path of a route without the patterns of its parameters."""
    return re.sub(r"{(\w+):(?:[^{}]|{\d+})+}", r"{\1}", template)


def _command(name: str) -> Any:
    return dict(commands())[f"feedkeep {name}"]


def _shown(default: object) -> str:
    if isinstance(default, Enum):
        default = default.value
    return f"`{default}`" if default not in ("", (), None) else "none"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _wrapped(text: str, indent: str = "") -> str:
    """Wrap a paragraph; all lines but the first are indented."""
    lines = textwrap.wrap(
        _one_line(text),
        _LINE,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines)


def _paragraphs(text: str) -> str:
    return "\n\n".join(
        part if part.startswith("    ") else _wrapped(part) for part in text.split("\n\n")
    )


if __name__ == "__main__":
    (DOCS / "settings.md").write_text(settings_page(), "utf-8")
    (DOCS / "commands.md").write_text(commands_page(), "utf-8")
    (DOCS / "pages.md").write_text(pages_page(), "utf-8")
    (DOCS / "contract-index.md").write_text(index_page(), "utf-8")
