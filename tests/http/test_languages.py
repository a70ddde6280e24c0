"""Languages: which one is chosen, and how numbers, dates and sentences are said in each."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from babel.dates import format_timedelta
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.http.pages import languages
from feedkeep.http.pages.languages import LANGUAGES, Localizer, chosen_language, time_zones
from feedkeep.model import Stamp
from feedkeep.model.errors import InvalidInput, Sentence

MAX_HEADER = 16_384


def stamp(*moment: int) -> Stamp:
    return Stamp(int(datetime(*moment, tzinfo=UTC).timestamp()) * 1_000_000)  # type: ignore[arg-type]


NOON = stamp(2026, 3, 29, 12, 5)


# Choosing one.


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("de-AT", "de"),
        ("FR-ca", "fr"),
        ("es-419,es;q=0.9", "es"),
        ("fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5", "fr"),
        ("en;q=0.5, de;q=0.8", "de"),
        ("de;q=0.8 , en ; q=0.9", "en"),
        ("es;q=0.5, fr;q=0.5", "es"),
        ("it, pt-BR, de;q=0.1", "de"),
        ("de;q=0", "en"),
        ("*", "en"),
        ("zh, ja", "en"),
        ("german", "en"),
        ("de;q=2, fr;q=0.1", "fr"),
        ("de;q=x, fr", "fr"),
        ("e\u017f,fr", "fr"),  # a long s, which is an s if case does not matter
        (",,;q=1,de,", "de"),
    ],
)
def test_the_best_language_that_a_browser_accepts_is_chosen(accepted, language):
    assert chosen_language(None, accepted) == language


def test_an_account_knows_better_than_its_browser():
    assert chosen_language("fr", "de") == "fr"
    assert chosen_language("en", "de") == "en"


@pytest.mark.parametrize("stored", ["it", "", "DE", "de-DE", "../de"])
def test_a_stored_language_that_is_not_known_is_passed_over(stored):
    assert chosen_language(stored, "de") == "de"
    assert chosen_language(stored, "") == "en"


HEADERS = st.text(st.characters(max_codepoint=255)) | st.lists(
    st.sampled_from(["de", "en", "-AT", ";q=", "0.5", "1", ",", " ", "\t", "-", ";", "q", "*", "."])
).map("".join)


@given(st.none() | st.text(max_size=8), HEADERS)
def test_whatever_is_asked_for_a_known_language_is_chosen(stored, header):
    assert chosen_language(stored, header) in LANGUAGES


@given(st.sampled_from(["de", "es", "fr"]), st.lists(st.sampled_from(["xx", "*;q=0.1"])))
def test_what_is_not_known_changes_no_choice(language, others):
    assert chosen_language(None, ",".join([*others[:10], language, *others[10:]])) == language


class Counting:
    """Matches as a pattern does, and counts what it is given."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self.given: list[str] = []

    def fullmatch(self, text: str) -> re.Match[str] | None:
        self.given.append(text)
        return self._pattern.fullmatch(text)


HOSTILE = {
    "spaces": "de" + " " * (MAX_HEADER - 3) + "x",
    "spaces before a weight": "de" + " " * (MAX_HEADER - 6) + ";q=x",
    "a subtag": "de-" + "a" * (MAX_HEADER - 4) + "!",
    "hyphens": "de" + "-" * (MAX_HEADER - 2),
    "items": "de;q=0.1," * (MAX_HEADER // 9),
    "commas": "," * MAX_HEADER,
    "long items": (("de" + " " * 500 + "x,") * 100)[:MAX_HEADER],
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_header_is_looked_at_in_a_few_short_pieces(monkeypatch, kind):
    counting = Counting(languages._ACCEPTED)
    monkeypatch.setattr(languages, "_ACCEPTED", counting)
    assert chosen_language(None, HOSTILE[kind]) in LANGUAGES
    assert len(counting.given) <= 20
    assert all(len(text) <= 64 for text in counting.given)


# Saying things.


@pytest.mark.parametrize(
    ("language", "number", "day", "moment", "size"),
    [
        ("en", "12,345", "Mar 29, 2026", "Mar 29, 2026, 12:05 PM", "1.5 MB"),
        ("de", "12.345", "29.03.2026", "29.03.2026, 12:05", "1,5 MB"),
        ("fr", "12 345", "29 mars 2026", "29 mars 2026, 12:05", "1,5 Mo"),
        ("es", "12.345", "29 mar 2026", "29 mar 2026, 12:05", "1,5 MB"),
    ],
)
def test_numbers_days_moments_and_sizes_are_written_as_the_language_writes_them(
    language, number, day, moment, size
):
    words = Localizer(language)
    said = words.number(12_345), words.day(NOON), words.moment(NOON), words.size(1_500_000)
    # Which spaces may not be broken changes with the version of CLDR.
    assert [" ".join(text.split()) for text in said] == [number, day, moment, size]


@pytest.mark.parametrize(
    ("count", "size"),
    [
        (0, "0 kB"),
        (4_096, "4.1 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1 MB"),
        (999_950_000, "1 GB"),
        (5_000_000_000_000, "5,000 GB"),
    ],
)
def test_a_size_has_the_unit_in_which_it_is_short(count, size):
    assert Localizer("en").size(count) == size


@pytest.mark.parametrize(
    ("language", "row"), [("en", "a, b, and c"), ("de", "a, b und c"), ("fr", "a, b et c")]
)
def test_several_things_stand_in_a_row(language, row):
    assert Localizer(language).several(["a", "b", "c"]) == row


def test_a_day_and_a_moment_are_those_of_the_time_zone():
    late = stamp(2026, 3, 28, 23, 30)
    berlin, tokyo = Localizer("de", "Europe/Berlin"), Localizer("de", "Asia/Tokyo")
    assert Localizer("de").day(late) == "28.03.2026"
    assert berlin.day(late) == "29.03.2026"
    assert berlin.moment(late) == "29.03.2026, 00:30"
    assert berlin.moment(stamp(2026, 3, 29, 1, 0)) == "29.03.2026, 03:00"  # summer begins
    assert tokyo.moment(late) == "29.03.2026, 08:30"


@given(st.integers(0, 4_000_000_000), st.sampled_from(["UTC", "Asia/Tokyo", "America/St_Johns"]))
def test_a_day_is_the_one_on_which_its_moment_is(seconds, zone):
    words, moment = Localizer("de", zone), Stamp(seconds * 1_000_000)
    assert words.moment(moment).startswith(f"{words.day(moment)}, ")


@pytest.mark.parametrize(
    "zone", ["Mars/Phobos", "", "Europe", "../UTC", "/etc/passwd", "\0", "x" * 9_999]
)
def test_in_a_time_zone_that_is_not_known_it_is_utc(zone):
    assert Localizer("en", zone).moment(NOON) == Localizer("en").moment(NOON)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, {"en": "just now", "de": "gerade eben"}),
        (59, {"en": "just now", "de": "gerade eben"}),
        (60, {"en": "1 minute ago", "de": "vor 1 Minute"}),
        (2 * 3_600 + 60, {"en": "2 hours ago", "fr": "il y a 2 heures"}),
        (3 * 86_400, {"en": "3 days ago", "es": "hace 3 días"}),
    ],
)
def test_how_long_ago_something_was_is_said_roughly(seconds, said):
    now = stamp(2026, 3, 29)
    for language, expected in said.items():
        assert Localizer(language).ago(Stamp(now - seconds * 1_000_000), now) == expected


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/St_Johns", "No/Where"])
def test_a_minute_of_a_form_is_read_as_it_was_written_in_the_time_zone(zone):
    words = Localizer("en", zone)
    moment = Stamp(stamp(2026, 7, 1) + 61_000_000)
    assert words.read_local(words.local_minute(moment)) == moment - 1_000_000
    assert words.time_zone == (zone if zone != "No/Where" else "UTC")


def test_a_minute_that_no_calendar_has_is_none():
    words = Localizer("en", "Europe/Berlin")
    for text in (
        "",
        "x",
        "2026-02-30T00:00",
        "2026-01-01",
        "\uff12026-01-01T00:00",
        "0000-01-01T00:00",
    ):
        assert words.read_local(text) is None
    assert words.read_local("2026-01-01T01:00:30") == stamp(2026, 1, 1) + 30_000_000


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Pacific/Kiritimati"])
@pytest.mark.parametrize(
    ("language", "today", "yesterday", "before"),
    [
        ("en", "today", "yesterday", "Mar 27, 2026"),
        ("de", "heute", "gestern", "27.03.2026"),
        ("fr", "aujourd\u2019hui", "hier", "27 mars 2026"),
        ("es", "hoy", "ayer", "27 mar 2026"),
    ],
)
def test_administrators_are_told_the_day_of_the_last_use_in_utc(
    language, today, yesterday, before, zone
):
    words, now = Localizer(language, zone), stamp(2026, 3, 29, 0, 10)
    assert words.last_used(stamp(2026, 3, 29), now) == today
    assert words.last_used(stamp(2026, 3, 30), now) == today  # another process's clock is ahead
    assert words.last_used(stamp(2026, 3, 28), now) == yesterday
    assert words.last_used(stamp(2026, 3, 27), now) == before


ONE, MANY = "%(number)s new feed", "%(number)s new feeds"


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("en", {0: MANY, 1: ONE, 2: MANY}),
        ("de", {0: "neue Feeds", 1: "neuer Feed", 2: "neue Feeds"}),
        ("fr", {0: "nouveau", 1: "nouveau", 2: "nouveaux"}),
        ("es", {0: "feeds nuevos", 1: "feed nuevo", 2: "feeds nuevos"}),
    ],
)
def test_a_count_has_the_form_that_its_language_gives_it(language, forms):
    for count, form in forms.items():
        assert form in Localizer(language).ngettext(ONE, MANY, count)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "At most 12,345 lines fit here: import a longer list."),
        (
            "de",
            "Hier passen höchstens 12.345 Zeilen hinein: Eine längere Liste kannst du impor­tieren.",
        ),
    ],
)
def test_a_sentence_is_said_with_its_values(language, said):
    text = "At most {max} lines fit here: import a longer list."
    assert Localizer(language).say(Sentence(text, {"max": 12_345})) == said
    assert Localizer(language).say(InvalidInput(text, max=12_345).sentence) == said


@pytest.mark.parametrize("language", LANGUAGES)
def test_values_are_not_read_as_part_of_a_sentence(language):
    values: dict[str, Any] = {"protocol": "{protocol} %(x)s <b>"}
    sentence = Sentence('Unsupported protocol "{protocol}": use "https" or "http".', values)
    assert "{protocol} %(x)s <b>" in Localizer(language).say(sentence)


def test_a_text_that_no_catalogue_has_is_said_in_english():
    assert Localizer("de").gettext("This is not translated.") == "This is not translated."
    assert Localizer("de").say(Sentence("{this} neither", {"this": 1})) == "1 neither"


def test_everything_is_read_before_the_first_page(monkeypatch):
    languages.read_all()

    def read_now(*_, **__):
        raise AssertionError("a person waits for this")

    monkeypatch.setattr(languages.pofile, "read_po", read_now)
    monkeypatch.setattr(languages, "available_timezones", read_now)
    for language in LANGUAGES:
        Localizer(language)
    assert "Europe/Berlin" in time_zones()


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0:00"),
        (65, "1:05"),
        (3_600, "60:00"),
        (5_999, "99:59"),
        (6_000, "1:40:00"),
        (7_325, "2:02:05"),
        (2_147_483, "596:31:23"),
    ],
)
def test_a_length_is_said_as_players_do(seconds, said):
    assert Localizer.length(seconds) == said


def test_a_time_is_rounded_as_babel_does_without_its_cost():
    english = Localizer("en")
    for seconds in (60, 3_000, 3_060, 5_399, 5_401, 73_000, 73_440, 300_000, 3_456_000):
        delta = timedelta(seconds=-seconds)
        said = format_timedelta(delta, "minute", add_direction=True, locale="en")
        assert english.ago(Stamp(0), Stamp(seconds * 1_000_000)) == said
