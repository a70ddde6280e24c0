"""Takes the pictures of the pages that the documents show: `make pictures`.

They show a service that was made for them, with feeds that everybody can subscribe to.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from feedkeep_process import FeedkeepProcess
from playwright.sync_api import Browser, sync_playwright
from visitor import Visitor, chromium_path, launched

PUBLIC_URL = "https://feeds.example.org"
NAME, PASSWORD = "anna", "correct horse battery"
PHONE = 390
SHARPNESS = 1.5
FEEDS = [
    "https://podnews.net/rss",
    "https://atp.fm/rss",
    "https://changelog.com/podcast/feed",
    "https://talkpython.fm/episodes/rss",
    "https://realpython.com/podcasts/rpp/feed",
    "https://xkcd.com/atom.xml",
    "https://lwn.net/headlines/rss",
    "https://blog.rust-lang.org/feed.xml",
    "https://feeds.npr.org/510289/podcast.xml",
    "https://feeds.megaphone.fm/darknetdiaries",
    "https://logbuch-netzpolitik.de/feed/opus",
    "https://www.theguardian.com/science/series/science/podcast.xml",
]
LIST = """<opml version="2.0"><body>
<outline xmlUrl="https://overreacted.io/rss.xml"/>
<outline xmlUrl="https://feeds.feedburner.com/codinghorror"/>
<outline xmlUrl="https://completedeveloperpodcast.com/feed/podcast/"/>
<outline xmlUrl="https://jvns.ca/atom.xml"/>
<outline xmlUrl="https://atp.fm/rss"/>
<outline xmlUrl="https://xkcd.com/atom.xml"/>
<outline xmlUrl="feeds.npr.org/500005/podcast.xml"/>
<outline xmlUrl="file:///home/anna/recordings.xml"/>
</body></opml>"""


def take(visitor: Visitor, file: Path) -> None:
    visitor.page.evaluate("document.activeElement.blur()")
    visitor.page.mouse.move(0, 0)
    visitor.page.screenshot(path=file)


def take_all(browser: Browser, process: FeedkeepProcess, folder: Path) -> None:
    found = re.search(r"/sign-up/\S+", "".join(process.printed))
    assert found
    anna = Visitor(browser, process.base_url, sharpness=SHARPNESS)
    anna.sign_up(found[0], NAME, PASSWORD)
    anna.add(*FEEDS)
    anna.sees_many("Added %(number)s feed.", "Added %(number)s feeds.", len(FEEDS))
    take(anna, folder / "feeds.png")

    anna.follow("Import")
    anna.chosen_file({"name": "feeds.opml", "mimeType": "text/x-opml", "buffer": LIST.encode()})
    anna.sees_heading("What would change")
    take(anna, folder / "import.png")

    anna.follow("Apps")
    anna.follow("Connect an app")
    anna.follow("AntennaPod")
    anna.type("What do you call it?", "AntennaPod on my phone")
    anna.press("Make a password")
    anna.sees("The password for this app:")
    take(anna, folder / "connect.png")
    anna.close()

    phone = Visitor(
        browser, process.base_url, width=PHONE, scheme="dark", sharpness=SHARPNESS, is_phone=True
    )
    phone.sign_in(NAME, PASSWORD)
    phone.sees_many("%(number)s feed", "%(number)s feeds", len(FEEDS))
    take(phone, folder / "phone.png")
    phone.close()


if __name__ == "__main__":
    path = chromium_path()
    if path is None:
        sys.exit("There is no Chromium on this machine, which takes the pictures.")
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    with (
        TemporaryDirectory() as name,
        FeedkeepProcess(Path(name), public_url=PUBLIC_URL) as running,
        sync_playwright() as playwright,
    ):
        take_all(launched(playwright, path), running, target)
