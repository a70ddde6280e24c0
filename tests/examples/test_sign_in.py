"""The example programs that sign an app in, as its owner's browser sees it."""

import os
import re
import subprocess
import sys

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from test_sync import EXAMPLES, NODE

PASSWORD = "a good passphrase"
PROGRAMS = ["sign_in.py", *(["sign_in.mjs"] if NODE else [])]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with FeedkeepProcess(tmp_path_factory.mktemp("sign-in")) as process:
        yield process


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(("scope", "status"), [([], 200), (["read"], 403)])
def test_a_program_gets_a_token_once_its_owner_has_signed_in(
    service, tmp_path, program, scope, status
):
    name = service.new_account(PASSWORD)
    runs = [sys.executable if program.endswith("py") else str(NODE), str(EXAMPLES / program)]
    no_browser = {**os.environ, "BROWSER": "true"}
    with subprocess.Popen(
        [*runs, service.base_url, "My app", *scope],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=no_browser,
    ) as running:  # fmt: skip
        try:
            assert running.stderr is not None
            page = running.stderr.readline().removeprefix("Sign in here: ").strip()
            with httpx.Client() as browser:
                form = browser.get(page)
                assert "<strong>My app</strong>" in form.text
                secret = re.findall(r'name="secret" value="([^"]+)"', form.text)[0]
                typed = {"name": name, "password": PASSWORD, "secret": secret}
                assert browser.post(page, data=typed).is_redirect
            told, complaint = running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode == 0, complaint
    service.tokens.append(token := told.strip())
    bearer = {"Authorization": f"Bearer {token}"}
    reply = httpx.post(
        f"{service.base_url}/subscriptions", json={"subscriptions": []}, headers=bearer
    )
    assert reply.status_code == status
