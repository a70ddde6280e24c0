"""Scrapes of metrics, parsed like Prometheus does."""

import re
import time

import httpx
from feedkeep_process import FeedkeepProcess, from_elsewhere
from prometheus_client.parser import text_string_to_metric_families

PASSWORD = "correct horse battery"
FEED = "https://podcast.example/rss"
ELSEWHERE = from_elsewhere()


class Scrape:
    """One answer of the page of metrics."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.families = list(text_string_to_metric_families(text))
        self.samples = [sample for family in self.families for sample in family.samples]

    def of(self, name: str, **labels: str) -> float:
        """Return the sum of all samples of a name that have these labels."""
        return sum(
            sample.value
            for sample in self.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    def values(self, name: str, label: str) -> set[str]:
        return {one.labels[label] for one in self.samples if one.name == name}


def metrics_urls(process: FeedkeepProcess) -> list[str]:
    """Return the URLs of the metrics that the service printed."""
    [line] = [line for line in process.printed if line.startswith("Metrics:")]
    return re.findall(r"http://[^, \n]+", line)


def scrape(url: str) -> Scrape:
    reply = httpx.get(url, timeout=20)
    assert reply.status_code == httpx.codes.OK, reply.text
    return Scrape(reply.text)


def some_traffic(process: FeedkeepProcess) -> str:
    """Send some requests of each kind; return the name of the account."""
    name = process.new_account(PASSWORD)
    with process.client(name) as client:
        client.headers.update(ELSEWHERE)
        added = client.post("/subscriptions", json={"subscriptions": [{"feed_url": FEED}]})
        guid = added.json()["success"][0]["guid"]
        client.get(f"/subscriptions/{guid}")
        client.get("/subscriptions", params={"since": "yesterday"})
    with httpx.Client(base_url=process.base_url, headers=ELSEWHERE) as stranger:
        stranger.get(f"/api/2/devices/{name}.json", auth=(name, PASSWORD))
        stranger.get("/subscriptions", auth=(name, "wrong password"))
        stranger.get(f"/{name}/nowhere")
        stranger.get("/elsewhere/path?feed=" + FEED)
        stranger.request("PROPFIND", "/subscriptions")
        stranger.request("REPORT", f"/{name}")
    return name


def once(url: str, is_so) -> Scrape:
    """Return the first scrape that meets a condition; each reply is shared for a second."""
    while not is_so(found := scrape(url)):
        time.sleep(0.02)
    return found


class Told:
    """A service that tells metrics, and what its processes told after some traffic.

    The first of them has counted what is stored.
    """

    def __init__(self, process: FeedkeepProcess) -> None:
        self.process, self.urls = process, metrics_urls(process)
        self.account = some_traffic(process)
        first = once(self.urls[0], lambda found: "feedkeep_accounts" in found.text)
        self.each = [first, *map(scrape, self.urls[1:])]
