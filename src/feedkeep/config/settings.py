"""All settings in one frozen record, from flags, FEEDKEEP_* variables and a TOML file."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_origin, get_type_hints
from urllib.parse import unquote, urlsplit

import msgspec

from feedkeep.config.faults import close_to, fault
from feedkeep.config.networks import network
from feedkeep.model import Fetch, Registration
from feedkeep.model.errors import FeedkeepError
from feedkeep.rules.episodes import MAX_EPISODES
from feedkeep.rules.list_limits import MAX_SUBSCRIPTIONS
from feedkeep.rules.undo import HISTORY_DAYS

ENVIRONMENT_PREFIX = "FEEDKEEP_"

IN_A_FILE = "_FILE"
"""Suffix of a variable that names a file with the value."""

_MAX_VALUE_BYTES = 64 * 1024

NEVER_IN_THE_ENVIRONMENT = {"admin_password"}
"""Personal secrets.

Container engines show the environment while the container exists, and processes of the same user
can read it.
"""

_Contact = msgspec.Meta(
    pattern=r"^[!-'*-~]*\Z",  # valid inside the parentheses of a header
    max_length=200,
    description="at most 200 letters, digits and signs, without spaces and parentheses",
)
_Claim = msgspec.Meta(
    pattern=r"^(?:[^=]+=.+)?\Z",
    description="claim=value, such as groups=admins",
)

_PASSWORD_IN_QUERY = re.compile(r"([?&](?:ssl)?password=)[^&]*")

_OWN = """
account api apps changes clientconfig.json deletions docs export favicon.ico feeds history import
index.php listening livez manifest.webmanifest news openapi.json people pictures readyz recover
reset restore search.json search.opml search.txt sign-in sign-out sign-up static subscriptions
suggestions toplist toplist.json toplist.opml toplist.txt v1
"""
OWN_PLACES = frozenset(_OWN.split())
"""First segments of the service's own paths: a proxy may strip the path of `public_url`."""

_PATH = re.compile(r"(?:/[A-Za-z0-9._~-]+)*/?")
"""A path with only one spelling."""

_THIS_MACHINE = {"localhost", "127.0.0.1", "::1"}

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\s,]+")

_LAST_PORT = 65_535

Port = Annotated[int, msgspec.Meta(ge=0, le=_LAST_PORT)]
OtherPort = Annotated[int, msgspec.Meta(ge=1, le=_LAST_PORT)]
Count = Annotated[int, msgspec.Meta(ge=1)]

MAX_LISTED = 1_000
"""Maximum length of a list.

All of `fetch_*` must fit into one environment variable, which Linux limits to 128 KiB, and each
network costs every request a comparison.
"""

_AtMost = msgspec.Meta(max_length=MAX_LISTED)
Texts = Annotated[tuple[str, ...], _AtMost]
OtherPorts = Annotated[tuple[OtherPort, ...], _AtMost]


class LogLevel(StrEnum):
    """Minimum level of logged events."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class InvalidSettings(FeedkeepError):
    """A setting cannot be used; `str()` names it and the reason."""


def default_database() -> str:
    """Return the URL of a file in the user's data directory (XDG Base Directory Specification)."""
    configured = os.environ.get("XDG_DATA_HOME", "")
    # The specification says to ignore relative paths.
    data = Path(configured) if configured.startswith("/") else Path.home() / ".local" / "share"
    return f"sqlite:///{data / 'feedkeep' / 'feedkeep.db'}"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Configuration of feedkeep.

    Attributes:
        database: The database: `sqlite:///relative/path`, `sqlite:////absolute/path` or
            `postgresql://user:password@host:port/name`.
        host: The address that `serve` listens on.
        port: The port that `serve` listens on; 0 picks a free one.
        metrics_host: The address that metrics are served on.
        metrics_port: The port of the first serving process's metrics, for Prometheus; each further
            process uses the next port. 0 picks free ports, empty disables metrics.
        public_url: The base URL that clients use, for links; empty: as requested. It may have a
            path, such as https://home.example/feedkeep, if a proxy forwards requests below it.
        max_body_bytes: Maximum size of a request body, in bytes.
        max_in_flight_bytes: Maximum bytes of bodies and responses in each process's memory, and the
            same amount again for decoded bodies; further requests wait.
        max_items: Maximum number of items in one POST.
        max_subscriptions: Maximum number of feeds that an account subscribes to. Its list may have
            five times that many entries, including deleted and renamed ones.
        trusted_proxies: Addresses or networks of proxies whose X-Forwarded-For and -Proto are
            trusted, such as 10.0.0.7 or 10.0.0.0/8; no names. Every machine in these networks can
            claim any address, so include no network of clients.
        cors_origins: Origins whose web pages may call the service from a browser, such as
            https://player.example; * for all.
        registration: Who may create their own account: closed (only the operator creates accounts),
            invited (people whom an administrator invites) or open (all).
        app_passwords_only: Whether apps need an app password, from the page "Connect an app"
            (true), or may also use the account's own password (false). Pages always accept the
            account's own password.
        password_login: Whether pages and Basic authentication accept names and passwords; false
            leaves the provider of `oidc_issuer` for people, and app passwords and tokens for apps.
        oidc_issuer: The OpenID Connect provider that people may sign in with, such as
            https://auth.example; empty for none.
        oidc_client_id: The client id of this service at the provider.
        oidc_client_secret: The client secret for the provider; empty for a public client.
        oidc_name: Name of the provider on the button "Sign in with ...".
        oidc_new_accounts: Whether people without an account get one when they sign in with the
            provider.
        oidc_admin_claim: The provider's claim that makes administrators, such as groups=admins;
            evaluated at each sign-in. Empty changes no account.
        history_days: Days of history that each list keeps, to undo changes and restore lists; 0
            keeps none, and purges existing history.
        fetch: Which feeds to fetch, for titles, pictures and episodes, and to follow moves: public
            (all but those whose address looks personal), all, or off (none; no connection to other
            hosts).
        fetch_connections: Maximum number of concurrent fetches of each process.
        fetch_allowed: Networks that may be requested although they are not public.
        fetch_denied: Networks that are never requested, even if they are public or allowed.
        fetch_ports: Ports that may be requested besides 80, 443, 8080 and 8443.
        fetch_episodes: Maximum number of stored episodes of each feed, at most 50: the newest, with
            title, date, length and link; 0 for none.
        fetch_contact: Operator contact for the owners of other hosts, sent in the User-Agent: a
            mail address or a URL.
        log_level: The minimum level of logged events: debug, info, warning or error.
        tls_cert: The file with the certificate for HTTPS, and its chain; empty for HTTP.
        tls_key: The file with the certificate's key; empty if the key is in `tls_cert`.
        workers: The number of serving processes.
        drain_seconds: Seconds that the service continues to serve after SIGTERM or SIGHUP, while
            /readyz is 503 and each response closes its connection, so that a load balancer moves to
            other servers. Ctrl-C, or a second signal, ends the wait.
        postgres_connections: Maximum number of PostgreSQL connections of each process.
        admin_name: The first account's name; `serve` creates it if there is no account.
        admin_password: The first account's password at its creation; ignored later.
    """

    database: str = msgspec.field(default_factory=default_database)
    host: str = "127.0.0.1"
    port: Port = 8080
    metrics_host: str = "127.0.0.1"
    metrics_port: Port | None = None
    public_url: str = ""
    max_body_bytes: Count = 4 * 1024 * 1024
    max_in_flight_bytes: Count = 256 * 1024 * 1024
    max_items: Count = 10_000
    max_subscriptions: Count = MAX_SUBSCRIPTIONS
    trusted_proxies: Texts = ()
    cors_origins: Texts = ()
    registration: Registration = Registration.CLOSED
    app_passwords_only: bool = False
    password_login: bool = True
    oidc_issuer: str = ""
    oidc_client_id: str = ""
    oidc_client_secret: str = ""
    oidc_name: Annotated[str, msgspec.Meta(min_length=1, max_length=40)] = "single sign-on"
    oidc_new_accounts: bool = False
    oidc_admin_claim: Annotated[str, _Claim] = ""
    history_days: Annotated[int, msgspec.Meta(ge=0, le=36_500)] = HISTORY_DAYS
    fetch: Fetch = Fetch.PUBLIC
    fetch_connections: Annotated[int, msgspec.Meta(ge=1, le=100)] = 8
    fetch_allowed: Texts = ()
    fetch_denied: Texts = ()
    fetch_ports: OtherPorts = ()
    fetch_episodes: Annotated[int, msgspec.Meta(ge=0, le=MAX_EPISODES)] = 10
    fetch_contact: Annotated[str, _Contact] = ""
    log_level: LogLevel = LogLevel.INFO
    tls_cert: str = ""
    tls_key: str = ""
    workers: Count = 1
    drain_seconds: Annotated[float, msgspec.Meta(ge=0, le=600)] = 0
    postgres_connections: Count = 8
    admin_name: str = ""
    admin_password: str = ""

    def __post_init__(self) -> None:
        has_name, has_password = bool(self.admin_name), bool(self.admin_password)
        if has_name is not has_password:
            raise ValueError("admin_name and admin_password have to be set together")
        if self.max_in_flight_bytes < self.max_body_bytes:
            raise ValueError("max_in_flight_bytes has to be at least max_body_bytes")
        if bool(self.oidc_issuer) is not bool(self.oidc_client_id):
            raise ValueError("oidc_issuer and oidc_client_id have to be set together")
        if not self.password_login and not self.oidc_issuer:
            raise ValueError("without password_login, oidc_issuer has to say who lets people in")


def load_settings(
    flags: Mapping[str, object], config: Path | None, environment: Mapping[str, str]
) -> Settings:
    """Return the settings: flags override the environment, which overrides the file.

    A flag of None was not given. In the environment, lists are separated by commas, and
    `FEEDKEEP_X_FILE` names a file with the value of `FEEDKEEP_X`.

    Raises:
        InvalidSettings: The file cannot be read, or a setting is unknown or not valid.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    layers: Sequence[tuple[dict[str, object], Callable[[str], str]]] = (
        (_from_file(config) if config else {}, lambda name: f"{name} in {config}"),
        (_from_environment(environment), lambda name: _variable(name, environment)),
        (given, lambda name: f"--{name.replace('_', '-')}"),
    )
    values: dict[str, object] = {}
    places: dict[str, str] = {}
    for layer, place in layers:
        values |= layer
        places |= {name: place(name) for name in layer}
    try:
        settings = msgspec.convert(values, Settings, strict=False)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        in_files = {name for name, place in places.items() if place.endswith(IN_A_FILE)}
        told = fault(Settings, values, places, in_files)
        raise InvalidSettings(told or f"A setting is not valid: {error}.") from error
    if settings.metrics_port and settings.metrics_port + settings.workers - 1 > _LAST_PORT:
        raise InvalidSettings(
            "A setting is not valid: with that many workers, metrics_port has to be lower, since"
            " each has the next one."
        )
    if settings.public_url:
        _check_public_url(settings.public_url)
    if settings.oidc_issuer:
        _check_issuer(settings.oidc_issuer)
    for name, read, wanted in _LISTS:
        _check_each(name, getattr(settings, name), read, wanted)
    return settings


def misspelt(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield misspelt variables of settings, each with the likely intended one."""
    names = [name.upper() for name in get_type_hints(Settings)]
    known = {ENVIRONMENT_PREFIX + name + end for name in names for end in ("", IN_A_FILE)}
    for variable in environment:
        capitals = variable.upper()
        if capitals.startswith(ENVIRONMENT_PREFIX) and variable not in known:
            end = IN_A_FILE if capitals.endswith(IN_A_FILE) else ""
            name = capitals.removeprefix(ENVIRONMENT_PREFIX).removesuffix(end)
            if meant := close_to(name, names):
                yield variable, ENVIRONMENT_PREFIX + meant + end


def local_host(host: str) -> str:
    """Return the address for connections from this machine to a server that listens on `host`.

    For servers that listen on all addresses, that is loopback.
    """
    return {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound


def own_url(settings: Settings, host: str, port: int) -> str:
    plain = plain_url(host, port)
    return plain.replace("http", "https", 1) if settings.tls_cert else plain


def plain_url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def base_path(settings: Settings) -> str:
    """Return the path prefix of all pages: "", or such as "/feedkeep"."""
    return urlsplit(settings.public_url).path.rstrip("/")


def public_base(settings: Settings) -> str:
    """Return the base URL of pages, as far as the settings determine it."""
    own = own_url(settings, local_host(settings.host), settings.port)
    return settings.public_url.rstrip("/") or own


def is_postgres(database: str) -> bool:
    return database.lower().startswith(("postgresql://", "postgres://"))


def shown(database: str) -> str:
    """Return a database URL without its password, for display."""
    head, at, rest = database.rpartition("@")
    scheme, colon_slashes, user = head.partition("://")
    name, colon, _ = user.partition(":")
    shown = f"{scheme}{colon_slashes}{name}{':***' if colon else ''}{at}{rest}"
    return _PASSWORD_IN_QUERY.sub(r"\1***", shown)


def sqlite_path(database: str) -> Path:
    """Return the file that a database URL names.

    Raises:
        InvalidSettings: The URL does not name a SQLite file.
    """
    try:
        parts = urlsplit(database)
    except ValueError:
        parts = urlsplit("")
    path = unquote(parts.path[1:])
    if parts.scheme != "sqlite" or parts.netloc or not path or "\0" in path:
        raise InvalidSettings(
            f'Cannot use "{shown(database)}" as the database: give sqlite:///relative/path,'
            " sqlite:////absolute/path or postgresql://user@host/name."
        )
    return Path(path).absolute()


def _check_public_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in {"http", "https"} and bool(parts.hostname)
        is_valid = is_valid and _PATH.fullmatch(parts.path) is not None
    except ValueError:
        is_valid = False
    if not is_valid or parts.query or parts.fragment:
        raise InvalidSettings(
            f'A setting is not valid: public_url is "{url}", and has to be an address such as'
            " https://feeds.example or https://home.example/feedkeep."
        )
    if (first := parts.path.split("/")[1:2]) and first[0] in OWN_PLACES:
        raise InvalidSettings(
            f'A setting is not valid: public_url is "{url}", and what the service has of its own'
            f" begins with /{first[0]}: choose another path, such as /feedkeep."
        )


def _check_issuer(url: str) -> None:
    try:
        parts = urlsplit(url)
        is_here = parts.scheme == "http" and parts.hostname in _THIS_MACHINE
        is_valid = bool(parts.hostname) and (parts.scheme == "https" or is_here)
    except ValueError:
        is_valid = False
    if not is_valid or parts.query or parts.fragment or parts.username is not None:
        raise InvalidSettings(
            f'A setting is not valid: oidc_issuer is "{url}", and has to be the address by which'
            " the provider calls itself, such as https://auth.example."
        )


def _check_each(
    name: str, texts: Iterable[str], read: Callable[[str], object], wanted: str
) -> None:
    for text in texts:
        try:
            read(text)
        except ValueError:
            raise InvalidSettings(
                f'A setting is not valid: {name} has "{text}", and has to name {wanted}.'
            ) from None


def _read_origin(text: str) -> None:
    if text != "*" and not _ORIGIN.fullmatch(text):
        raise ValueError(text)


_NETWORKS = "networks or addresses, such as 192.168.1.0/24 or fd00::7"
_LISTS: tuple[tuple[str, Callable[[str], object], str], ...] = (
    ("fetch_allowed", network, _NETWORKS),
    ("fetch_denied", network, _NETWORKS),
    (
        "trusted_proxies",
        network,
        "networks or addresses, such as 10.0.0.0/8 or fd00::7; names are not taken",
    ),
    (
        "cors_origins",
        _read_origin,
        "origins as browsers send them, such as https://player.example, or * for all",
    ),
)
"""Settings that are lists: parser of one text, and description of a valid text."""


def _from_file(config: Path) -> dict[str, object]:
    try:
        return tomllib.loads(config.read_text("utf-8"))
    except OSError as error:
        raise InvalidSettings(f"Cannot read {config}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSettings(f"{config} is not valid TOML: {error}.") from error


def _from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    values: dict[str, object] = {}
    for name, kind in get_type_hints(Settings).items():
        if text := _text_of(name, environment):
            values[name] = _split(text) if _is_list(kind) else text
    return values


def _variable(name: str, environment: Mapping[str, str]) -> str:
    variable = ENVIRONMENT_PREFIX + name.upper()
    return variable if environment.get(variable) else variable + IN_A_FILE


def _text_of(name: str, environment: Mapping[str, str]) -> str:
    variable = ENVIRONMENT_PREFIX + name.upper()
    text, file = (environment.get(one, "") for one in (variable, variable + IN_A_FILE))
    if text and file:
        raise InvalidSettings(f"Both {variable} and {variable}{IN_A_FILE} are set: give one.")
    if text and name in NEVER_IN_THE_ENVIRONMENT:
        raise InvalidSettings(
            f"{variable} is not taken, since others can see it there. Put it into a file, and name"
            f" that by {variable}{IN_A_FILE}."
        )
    return _content(variable + IN_A_FILE, Path(file)) if file else text


def _content(variable: str, file: Path) -> str:
    """Return a file's content without the final newline."""
    try:
        with file.open("rb") as opened:
            content = opened.read(_MAX_VALUE_BYTES + 1)
        text = content.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except OSError as error:
        reason = (error.strerror or "it cannot be read").lower()
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    except ValueError:
        reason = "that is no name of a file"
    else:
        if text and len(content) <= _MAX_VALUE_BYTES:
            return text
        reason = f"it holds more than {_MAX_VALUE_BYTES:,} bytes" if text else "it holds nothing"
    raise InvalidSettings(f"Cannot use {file}, which {variable} names: {reason}.")


def _is_list(kind: Any) -> bool:
    return get_origin(kind) is tuple


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
