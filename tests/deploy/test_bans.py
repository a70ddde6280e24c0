"""The examples for fail2ban and CrowdSec read the log that the service writes."""

import configparser
import json
import re
from pathlib import Path

import httpx
import yaml
from feedkeep_process import FeedkeepProcess

from feedkeep.security.throttle import PER_ACCOUNT_AND_ADDRESS

DEPLOY = Path(__file__).parents[2] / "deploy"


def test_who_guesses_on_is_banned_and_a_phone_with_an_old_password_is_not(tmp_path):
    asked_as = {"X-Forwarded-For": "2001:db8::7"}
    with FeedkeepProcess(tmp_path, trusted_proxies="127.0.0.1") as process:
        for _ in range(PER_ACCOUNT_AND_ADDRESS + 1):
            reply = httpx.get(
                f"{process.base_url}/subscriptions", auth=("anna", "guess"), headers=asked_as
            )
        assert reply.status_code == 429
    lines = process.log.read_text().splitlines()  # all of it, since the service has stopped
    told = configparser.RawConfigParser()
    told.read(DEPLOY / "fail2ban" / "filter.conf")
    pattern = told["Definition"]["failregex"].replace("<ADDR>", r"(?P<address>[0-9a-f.:]+)")
    found = [match["address"] for line in lines if (match := re.search(pattern, line))]
    assert found == ["2001:db8::7"]

    refused = [line for text in lines if (line := json.loads(text))["event"] == "login refused"]
    assert len(refused) == PER_ACCOUNT_AND_ADDRESS + 1
    parser = yaml.safe_load((DEPLOY / "crowdsec" / "parser.yaml").read_text())
    read = re.findall(r"JsonExtract\(evt\.Parsed\.message, '(\w+)'\)", str(parser))
    assert set(read) <= set(refused[-1])
    scenario = yaml.safe_load((DEPLOY / "crowdsec" / "scenario.yaml").read_text())
    [reason] = re.findall(r"evt\.Meta\.reason == '([^']*)'", scenario["filter"])
    assert [line["address"] for line in refused if line["reason"] == reason] == found
