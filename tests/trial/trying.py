"""`feedkeep try` as a process, and what an app's test tells it."""

import re
from pathlib import Path

import httpx
import pytest
from feedkeep_process import FeedkeepProcess


class Trial(FeedkeepProcess):
    """Starts on entering, and is gone with its lists on leaving."""

    serves = "try"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.environment["TMPDIR"] = str(folder)

    def _told(self, pattern: str) -> str:
        return re.search(pattern, "".join(self.printed))[1]

    @property
    def token(self) -> str:
        return self._told(r"Token: +(\S+)")

    @property
    def password(self) -> str:
        return self._told(r"password (\S+)")

    def do(self, what: str, **form: str) -> None:
        httpx.post(f"{self.base_url}/try/{what}", data=form).raise_for_status()

    def requests(self):
        return httpx.get(f"{self.base_url}/try/requests.json").json()

    def app(self, name: str = "an-app/1.0") -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.token}", "User-Agent": name}
        return httpx.Client(base_url=self.base_url, headers=headers, timeout=30)


@pytest.fixture
def trial(tmp_path_factory):
    with Trial(tmp_path_factory.mktemp("trial")) as process:
        yield process
