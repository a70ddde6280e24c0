"""A provider of OpenID Connect that lies as a test tells it to."""

import json
import secrets
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx
from feedkeep_process import FeedkeepProcess, from_elsewhere
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

ODD_KEYS = [
    5, {}, {"kty": "RSA"}, {"kty": "EC", "crv": "P-0", "x": "x"}, {"kty": "oct", "k": "c2VjcmV0"},
    {"kty": "RSA", "use": "enc", "n": "AQAB", "e": "AQAB"},
]  # fmt: skip
"""Unusable keys that a provider may publish besides its signing key."""

CLIENT, SECRET = "feedkeep", "s:e/cret"
LOGOUT = {"http://schemas.openid.net/event/backchannel-logout": {}}


_numbers = count(1)


def new_key() -> RSAKey:
    return RSAKey.generate_key(2048, auto_kid=True)


class FakeProvider:
    """A provider that signs any claims; a context manager that runs its server.

    Attributes:
        change: Changes the claims of an ID token before it is signed.
        sign: Makes a token of claims, in place of the honest way.
        description: Body sent in place of the provider metadata.
        metadata: Values that replace those of the provider metadata.
        asked: Paths of the requests, with their forms.
    """

    def __init__(self):
        self.key = new_key()
        self._codes = {}
        self._port = 0
        self.be_honest()

    def be_honest(self):
        """Clear the recorded requests and all false answers; replace the person who signs in."""
        number = next(_numbers)
        self.person = {"sub": f"person-{number}", "preferred_username": f"zoë{number}"}
        self.change, self.sign = lambda claims: claims, self.signed
        self.metadata, self.description = {}, b""
        self.token_status = self.description_status = 200
        self.asked = []

    @property
    def name(self) -> str:
        """The name of the account that the person is given."""
        return self.person["preferred_username"]

    def count(self, path: str) -> int:
        return sum(asked == f"/realm/{path}" for asked, _ in self.asked)

    def __enter__(self):
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self._send(*provider._get(self.path))

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                credential = self.headers.get("Authorization", "")
                self._send(*provider._post(self.path, dict(parse_qsl(body)), credential))

            def _send(self, status, body):
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_address[1]
        self.issuer = f"http://127.0.0.1:{self._port}/realm"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @contextmanager
    def away(self):
        """Refuse connections to its address meanwhile."""
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()

    def signed(self, claims):
        return jwt.encode({"alg": "RS256", "kid": self.key.kid}, claims, self.key)

    def answer_to(self, location: str) -> dict[str, str]:
        """Sign the person in; return the parameters with which their browser comes back."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}
        code = secrets.token_urlsafe(8)
        self._codes[code] = asked
        return {"code": code, "state": asked["state"], "iss": self.issuer}

    def logout_token(self, **claims) -> str:
        now = int(time.time())
        told = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 120, "jti": "1"}
        return self.sign({**told, "events": LOGOUT, "sub": self.person["sub"], **claims})

    def _get(self, path):
        self.asked.append((path, {}))
        if path == "/realm/.well-known/openid-configuration":
            names = {"authorization_endpoint": "authorize", "token_endpoint": "token"}
            places = names | {"jwks_uri": "keys"}
            metadata = {name: f"{self.issuer}/{place}" for name, place in places.items()}
            scopes = {"issuer": self.issuer, "scopes_supported": ["openid", "profile", "groups"]}
            return self.description_status, self.description or metadata | scopes | self.metadata
        if path == "/realm/keys":
            keys = KeySet([self.key]).as_dict(private=False)["keys"]
            return 200, {"keys": [*ODD_KEYS, *keys]}
        return 404, {}

    def _post(self, path, form, credential):
        self.asked.append((path, form | {"credential": credential}))
        asked = self._codes.pop(form.get("code", ""), None)
        if path != "/realm/token" or asked is None:
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": asked["client_id"], "iat": now, "exp": now + 120}
        token = self.sign(self.change(claims | {"nonce": asked["nonce"], **self.person}))
        return self.token_status, {"access_token": "x", "token_type": "Bearer", "id_token": token}


def settings_for(provider: FakeProvider, **more: str) -> dict[str, str]:
    client = {"oidc_client_id": CLIENT, "oidc_client_secret": SECRET, "oidc_name": "Home"}
    return {"oidc_issuer": provider.issuer, "oidc_new_accounts": "true", **client, **more}


def browser_of(service: FeedkeepProcess) -> httpx.Client:
    """Return a client without a token, at an address of its own."""
    return httpx.Client(base_url=service.base_url, headers=from_elsewhere())


@contextmanager
def signing_in(provider: FakeProvider, folder, *broken: str, **settings: str):
    """Run a service of a test's own, which has an account; yield it with a browser."""
    settings = settings_for(provider, trusted_proxies="127.0.0.1", **settings)
    service = FeedkeepProcess(folder, **settings)
    if broken:
        service.run_first(*broken)
    with service, browser_of(service) as browser:
        service.new_account()  # the first one is not what is looked at here
        yield service, browser
