"""Reads mutated feeds, or mutated pictures, and writes down what is wrong with any of them.

A program, so that a crash ends it alone: `mutated.py KIND COUNT SEED BROKEN...`. Each line is a
complaint, with the number of the document, but the last one, which says that it came to its end.
The seed and the number make a document again.
"""

import io
import random
import re
import signal
import sys
import time
import unicodedata
from urllib.parse import urlsplit

import broken
from corpus_of_feeds import URL, documents
from corpus_of_pictures import PICTURES
from peaks import Peak
from PIL import Image

from feedkeep.feeds import pictures, reading
from feedkeep.model import Stamp
from feedkeep.model.errors import NotAFeed, NotAPicture
from feedkeep.rules.episodes import MAX_EPISODES

MOST_SECONDS = 2
"""On a machine that counts to `_COUNTED` in `_COUNTING_SECONDS`; slower ones have more."""
_COUNTED, _COUNTING_SECONDS = 5_000_000, 0.06  # kernels count the processor's time by 4 ms
MOST_TIMES_SLOWER = 3
MOST_BYTES = 64 * 1024 * 1024
SECONDS_UNTIL_THE_END = 20  # of the processor, which no other load takes from it
MOST_REPEATED_BYTES = 1_000_000
CONTENT_TYPES = ["", "text/xml", "text/html; charset=utf-16", "x; charset=gbk", "charset=nonsense"]
WORTH_TRYING = [
    b"<", b">", b"&", b"]]>", b"<![CDATA[", b"<!--", b"-->", b"<?", b"\0", b"\xff",
    b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff\0", b"&nbsp;", b"&#0;",
    b"&#x110000;", b"&lt;script&gt;", b"&amp;lt;b&amp;gt;", b"<b>", b"<script>", b"<title>",
    b"</title>", b"</channel>", b"<item>", b"</item>", b"<image>", b"<channel>", b"xmlns=''",
    b" xmlns:itunes='x'", b" xml:base='http://['", b"<!DOCTYPE x [<!ENTITY a 'b'>]>",
    b"\xe2\x80\xae", b"\xe2\x81\xa6", b"\xcc\x81" * 99, b"\x1b$B", b"javascript:alert(1)",
    b"https://[::1", b"https://x.example:99999/", b"http://\xc2\xad/", b"{", b"[", b'"',
    b"\\ud800", b"null", b"1e999", b"<rss>", b"<feed>", b"<html>", b'encoding="utf-7"',
    b'encoding="punycode"', b'encoding="utf-16"', b"<a a='" + b"=" * 999 + b"'/>",
    b"<itunes:title>",
]  # fmt: skip
MARKUP = re.compile(
    r"</?(?:(?:a|b|i|p)(?:\s[^<>]*=[^<>]*)?|(?:br|div|em|img|script|span)(?:\s[^<>]*)?)/?>",
    re.IGNORECASE,
)
UNSEEN = re.compile("[\u200b\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
UNTIL = Stamp(2_000_000_000_000_000)
"""In 2033, as in a service of that time: later dates are ignored."""
GUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
HASH = re.compile("[0-9a-f]{16}")


def mutated(chance, good):
    data = bytearray(chance.choice(good))
    for _ in range(chance.choice([1, 1, 1, 2, 3, 8])):
        place = chance.randrange(len(data) + 1)
        end = min(len(data), place + chance.choice([4, 40, 400]))
        match chance.randrange(8):
            case 0:
                data[place:place] = chance.choice(WORTH_TRYING)
            case 1:
                data[place:end] = chance.choice(WORTH_TRYING)
            case 2:
                del data[place:end]
            case 3:
                data[place:place] = data[place:end]
            case 4:
                del data[place:]
            case 5 if end > place and not chance.randrange(4):
                times = chance.randrange(2, MOST_REPEATED_BYTES // (end - place))
                data[place:end] = data[place:end] * times
            case 6 if place < len(data):
                data[place] ^= 1 << chance.randrange(8)
            case _:
                other = chance.choice(good)
                start = chance.randrange(len(other) + 1)
                data[place:end] = other[start : start + chance.choice([4, 40, 4_000])]
    return bytes(data)


def read(document, content_type):
    try:
        found = reading.read_with_episodes(document, content_type, URL, UNTIL, MAX_EPISODES)
    except NotAFeed as refusal:
        return complaints_of_reason(str(refusal))
    return [*complaints_of_content(found[0]), *complaints_of_episodes(found[1])]


def complaints_of_content(content):
    found = []
    for text, limit in {"title": 200, "description": 2_000, "author": 200}.items():
        found += complaints_of_text(getattr(content, text), limit)
    urls = (content.site_url, content.picture_url, content.new_feed_url)
    found += [f"a URL is none: {url!a}" for url in urls if url and not is_url(url)]
    if content.language and not re.fullmatch("[A-Za-z0-9-]{2,35}", content.language):
        found.append(f"a language is none: {content.language!a}")
    if content.podcast_guid and not GUID.fullmatch(content.podcast_guid):
        found.append(f"a guid is none: {content.podcast_guid!a}")
    if len(content.items) > 50 or not all(map(HASH.fullmatch, content.items)):
        found.append(f"items are none: {content.items}")
    if not content.title and not content.items:
        found.append("nothing was read, and not refused")
    return found


def complaints_of_text(text, limit):
    found = []
    if len(text) > limit or text != text.strip() or MARKUP.search(text) or UNSEEN.search(text):
        found.append(f"a text is not plain: {text!a}")
    if any(unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"} for letter in text):
        found.append(f"a text has control characters: {text!a}")
    return found


def complaints_of_episodes(episodes):
    found = [complaint for one in episodes for complaint in complaints_of_text(one.title, 200)]
    links = [one.link for one in episodes if one.link]
    found += [f"a link is none: {link!a}" for link in links if len(link) > 500 or not is_url(link)]
    if len(episodes) > MAX_EPISODES or not all(one.title for one in episodes):
        found.append(f"episodes are none: {episodes!a}")
    dates = [-1 if one.published is None else one.published for one in episodes]
    if dates != sorted(dates, reverse=True) or any(date > UNTIL for date in dates):
        found.append(f"dates are none: {dates}")
    if any(one.duration_seconds is not None and one.duration_seconds <= 0 for one in episodes):
        found.append(f"lengths are none: {episodes!a}")
    return found


def _times_slower():
    """Return the current slowdown of this machine, as a factor."""
    begun = time.process_time()
    for _ in range(_COUNTED):
        pass
    slower = (time.process_time() - begun) / _COUNTING_SECONDS
    return min(max(1.0, slower), MOST_TIMES_SLOWER)


def is_url(url):
    parts = urlsplit(url)
    is_clean = len(url) <= 8_192 and not re.search(r"""[\s\x00-\x1f"<>]""", url)
    return is_clean and parts.scheme in {"http", "https"} and bool(parts.hostname)


def complaints_of_reason(reason):
    return [] if 10 < len(reason) < 120 and reason.endswith(".") else [f"no reason: {reason!a}"]


def shrink(picture, _content_type):
    try:
        small = pictures.shrink(picture)
    except NotAPicture as refusal:
        return complaints_of_reason(str(refusal))
    return complaints_of_picture(small)


def complaints_of_picture(small):
    image = Image.open(io.BytesIO(small.data), formats=["WEBP", "JPEG"])
    size, told = len(small.data), image.info.keys()
    if image.size != (300, 300) or size > 100_000 or told & {"exif", "icc_profile"}:
        return [f"a picture is not small: {image.size}, {size} bytes, {told}"]
    return []


def judged(judge, document, content_type):
    """Return all that is wrong with how a document is read, and with the time and memory of it."""
    found = _judged_once(judge, document, content_type)
    # Another machine beside this one can have slowed it down for a moment.
    took_long = any(complaint.startswith("it took") for complaint in found)
    return _judged_once(judge, document, content_type) if took_long else found


def _judged_once(judge, document, content_type):
    peak = Peak("self")
    begun = time.process_time()
    # It ends this process, whatever that is busy with.
    signal.setitimer(signal.ITIMER_PROF, SECONDS_UNTIL_THE_END)
    try:
        found = judge(document, content_type)
    except Exception as error:  # noqa: BLE001 - none is expected
        found = [f"an error: {error!r}"]
    seconds = time.process_time() - begun
    if seconds > MOST_SECONDS and seconds > MOST_SECONDS * _times_slower():
        found.append(f"it took {seconds:.1f} s")
    if (added := peak.added_bytes) > MOST_BYTES:
        found.append(f"it took {added} bytes")
    return found


def main(kind, count, seed, *programs):
    for program in programs:
        broken.run(program)
    judge = read if kind == "feeds" else shrink
    good = documents() if kind == "feeds" else [make() for make in PICTURES.values()]
    for number in range(int(count)):
        chance = random.Random(f"{seed} {number}")
        document, content_type = mutated(chance, good), chance.choice(CONTENT_TYPES)
        for complaint in judged(judge, document, content_type):
            sys.stdout.write(f"{number}: {complaint}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{count}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
