"""Takes the pictures of the pages that the documents show, and draws the icons: `make pictures`.

They show a service that was made for them, with public feeds.
"""

from __future__ import annotations

import io
import re
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from feedkeep_process import FeedkeepProcess
from known_feeds import know, picture
from page_client import PASSWORD, app_of, close_all
from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from visitor import Contexts, Visitor, chromium_path, launched

from feedkeep.model import Episode, Picture, Stamp
from feedkeep.rules.clock import MINUTE_US
from feedkeep.rules.episodes import digest_of_file

PUBLIC_URL = "https://feeds.example.org"
ICONS = Path(__file__).parents[2] / "src/feedkeep/http/pages/static"
NAME = "anna"
PHONE = 390
SHARPNESS = 1.5
FEEDS = {
    "https://podnews.net/rss": "Podnews Daily",
    "https://atp.fm/rss": "Accidental Tech Podcast",
    "https://changelog.com/podcast/feed": "The Changelog",
    "https://talkpython.fm/episodes/rss": "Talk Python To Me",
    "https://realpython.com/podcasts/rpp/feed": "The Real Python Podcast",
    "https://xkcd.com/atom.xml": "xkcd.com",
    "https://lwn.net/headlines/rss": "LWN.net",
    "https://blog.rust-lang.org/feed.xml": "Rust Blog",
    "https://feeds.npr.org/510289/podcast.xml": "Planet Money",
    "https://feeds.megaphone.fm/darknetdiaries": "Darknet Diaries",
    "https://logbuch-netzpolitik.de/feed/opus": "Logbuch:Netzpolitik",
    "https://www.theguardian.com/science/series/science/podcast.xml": "Science Weekly",
}
PLAYS = [
    ("AntennaPod/3.11", "phone", 900, 3_600),
    ("gPodder/3.11", "laptop", 2_710, 6_300),
    ("AntennaPod/3.11", "phone", 1_130, 2_460),
    ("Kasts/25.8", "laptop", 310, 4_150),
    ("AntennaPod/3.11", "phone", 2_905, 3_310),
]
"""User-Agent, device, position and length of the plays of the first feeds."""

WITHOUT_PICTURE = ("LWN.net", "Rust Blog")
SHAPES = (
    '<circle cx="150" cy="150" r="68" fill="none" stroke="{light}" stroke-width="48"/>',
    '<path d="M0 300 300 0v300z" fill="{light}"/><circle cx="96" cy="96" r="40" fill="{light}"/>',
    '<path d="M40 210h40V90H40zM110 240h40V60h-40zM180 190h40v-80h-40z" fill="{light}"/>',
    '<path d="M60 60h180v120H130l-40 50v-50H60z" fill="{light}"/>',
    '<path d="M150 40 260 240H40z" fill="{light}"/><path d="M150 130 200 220H100z" fill="{dark}"/>',
)
"""Covers of our own, since those of the feeds belong to others."""


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


def cover(browser: Browser, number: int) -> Picture:
    """Draw a picture for a feed."""
    page = browser.new_page(viewport={"width": 300, "height": 300})
    hue = number * 67 % 360
    shape = SHAPES[number % len(SHAPES)].format(
        light=f"hsl({hue} 70% 82%)", dark=f"hsl({hue} 55% 34%)"
    )
    page.set_content(
        f"<style>body{{margin:0;background:hsl({hue} 55% 34%)}}</style>"
        f'<svg width="300" height="300">{shape}</svg>'
    )
    drawn = picture(page.screenshot())
    page.close()
    return drawn


def file_of(number: int) -> str:
    return f"https://cdn.example/{number}.mp3"


def know_all(browser: Browser, process: FeedkeepProcess) -> None:
    """Store the feeds and their newest episodes, as after a day of fetching."""
    now = time.time_ns() // 1_000
    for number, (url, title) in enumerate(FEEDS.items()):
        shown = None if title in WITHOUT_PICTURE else cover(browser, number)
        published = Stamp(now - (number * 7 % 12 * 20 + 3) * 60 * MINUTE_US)
        newest = Episode(
            f"Episode {512 - 31 * number}", published, file_hash=digest_of_file(file_of(number))
        )
        know(process, url, title, shown=shown, episodes=[newest])


def play_some(process: FeedkeepProcess) -> None:
    """Upload plays as two apps do."""
    for number, (agent, device, position, total) in enumerate(PLAYS):
        done = datetime.now(UTC) - timedelta(hours=5 * number, minutes=7)
        action = {
            "podcast": list(FEEDS)[number], "episode": file_of(number), "action": "play",
            "timestamp": done.isoformat(timespec="seconds"), "device": device,
            "started": 0, "position": position, "total": total,
        }  # fmt: skip
        app = app_of(process, NAME, agent)
        app.post(f"/api/2/episodes/{NAME}.json", json=[action]).raise_for_status()
    close_all()


def take(visitor: Visitor, file: Path) -> None:
    visitor.page.evaluate("document.activeElement.blur()")
    visitor.page.mouse.move(0, 0)
    visitor.page.screenshot(path=file)


def take_all(browser: Browser, process: FeedkeepProcess, folder: Path) -> None:
    found = re.search(r"/sign-up/\S+", "".join(process.printed))
    assert found
    contexts = Contexts(browser)
    anna = Visitor(contexts, process.base_url, device_scale_factor=SHARPNESS)
    anna.sign_up(found[0], NAME, PASSWORD)
    know_all(browser, process)
    anna.add(*FEEDS)
    anna.sees_many("Added %(number)s feed.", "Added %(number)s feeds.", len(FEEDS))
    anna.has_pictures(len(FEEDS) - len(WITHOUT_PICTURE))
    take(anna, folder / "feeds.png")

    play_some(process)
    anna.follow("Listening")
    anna.has_pictures(len(PLAYS))
    take(anna, folder / "listening.png")

    anna.follow("Import")
    anna.chosen_file({"name": "feeds.opml", "mimeType": "text/x-opml", "buffer": LIST.encode()})
    anna.sees_heading("What would change")
    take(anna, folder / "import.png")

    anna.follow("Apps")
    anna.follow("Connect an app")
    anna.follow("AntennaPod")
    anna.type("Name for this app", "AntennaPod on my phone")
    anna.press("Create a password")
    anna.sees("The password for this app:")
    take(anna, folder / "connect.png")
    anna.close()

    looks = {"color_scheme": "dark", "device_scale_factor": SHARPNESS}
    phone = Visitor(contexts, process.base_url, width=PHONE, is_phone=True, **looks)
    phone.sign_in(NAME, PASSWORD)
    phone.sees_many("%(number)s feed", "%(number)s feeds", len(FEEDS))
    phone.has_pictures(1)
    take(phone, folder / "phone.png")
    phone.close()


def draw_icons(browser: Browser) -> None:
    """Draw the mark as squares that phones cut to their own shape, and as the icon of a tab."""
    mark = (ICONS / "mark.svg").read_text("utf-8")
    page = browser.new_page()

    def drawn(svg: str, side: int) -> Image.Image:
        page.set_viewport_size({"width": side, "height": side})
        page.set_content(f"<style>body {{ margin: 0 }} svg {{ display: block }}</style>{svg}")
        shot = page.locator("svg").screenshot(omit_background=True)
        return Image.open(io.BytesIO(shot))

    for side in (192, 512):
        image = drawn(mark.replace('rx="8"', 'rx="0"'), side).convert("RGB").quantize(64)
        image.save(ICONS / f"icon-{side}.png", optimize=True)
    drawn(mark, 48).save(ICONS / "favicon.ico", sizes=[(16, 16), (32, 32), (48, 48)])
    page.close()


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
        browser = launched(playwright, path)
        draw_icons(browser)
        take_all(browser, running, target)
