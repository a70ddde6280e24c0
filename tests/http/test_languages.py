"""Languages: which one is chosen, and how numbers, dates and sentences are said in each."""

from datetime import UTC, datetime, timedelta
from unittest import mock

import pytest
from babel.dates import format_timedelta
from hypothesis import given
from hypothesis import strategies as st

from feedkeep.http.pages import languages
from feedkeep.http.pages.languages import LANGUAGES, Localizer, chosen_language, time_zones
from feedkeep.model import Stamp
from feedkeep.model.errors import InvalidInput, Sentence

MAX_HEADER = 16_384


def stamp(*moment):
    return Stamp(int(datetime(*moment, tzinfo=UTC).timestamp()) * 1_000_000)


NOON = stamp(2026, 3, 29, 12, 5)


# Choosing one.


@pytest.mark.parametrize(
    ("stored", "accepted", "language"),
    [
        (None, "", "en"), (None, "de", "de"), (None, "de-AT", "de"), (None, "FR-ca", "fr"),
        (None, "es-419,es;q=0.9", "es"), (None, "en;q=0.5, de;q=0.8", "de"),
        (None, "fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5", "fr"),
        (None, "de;q=0.8 , en ; q=0.9", "en"), (None, "es;q=0.5, fr;q=0.5", "es"),
        (None, "it, pt-BR, de;q=0.1", "de"), (None, "de;q=0", "en"), (None, "*", "en"),
        (None, "zh, ja", "en"), (None, "german", "en"), (None, "de;q=2, fr;q=0.1", "fr"),
        (None, "de;q=x, fr", "fr"), (None, ",,;q=1,de,", "de"),
        (None, "e\u017f,fr", "fr"),  # a long s, which is an s if case does not matter
        # An account knows better than its browser.
        ("fr", "de", "fr"), ("en", "de", "en"), ("it", "", "en"),
        *((unknown, "de", "de") for unknown in ("it", "", "DE", "de-DE", "../de")),
    ],
)  # fmt: skip
def test_language_is_of_the_account_or_the_best_of_the_browser(stored, accepted, language):
    assert chosen_language(stored, accepted) == language


HEADERS = st.text(st.characters(max_codepoint=255)) | st.lists(
    st.sampled_from(["de", "en", "-AT", ";q=", "0.5", "1", ",", " ", "\t", "-", ";", "q", "*", "."])
).map("".join)


@given(st.none() | st.text(max_size=8), HEADERS)
def test_whatever_is_asked_for_a_known_language_is_chosen(stored, header):
    assert chosen_language(stored, header) in LANGUAGES


@given(st.sampled_from(["de", "es", "fr"]), st.lists(st.sampled_from(["xx", "*;q=0.1"])))
def test_what_is_not_known_changes_no_choice(language, others):
    assert chosen_language(None, ",".join([*others[:10], language, *others[10:]])) == language


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
def test_hostile_header_is_matched_in_a_few_short_pieces(monkeypatch, kind):
    pattern = mock.Mock(wraps=languages._ACCEPTED)
    monkeypatch.setattr(languages, "_ACCEPTED", pattern)
    assert chosen_language(None, HOSTILE[kind]) in LANGUAGES
    matched = [call.args[0] for call in pattern.fullmatch.call_args_list]
    assert len(matched) <= 20
    assert all(len(text) <= 64 for text in matched)


# Saying things.


@pytest.mark.parametrize(
    ("language", "written"),
    [
        ("en", ["12,345", "Mar 29, 2026", "Mar 29, 2026, 12:05 PM", "1.5 MB", "a, b, and c"]),
        ("de", ["12.345", "29.03.2026", "29.03.2026, 12:05", "1,5 MB", "a, b und c"]),
        ("fr", ["12 345", "29 mars 2026", "29 mars 2026, 12:05", "1,5 Mo", "a, b et c"]),
        ("es", ["12.345", "29 mar 2026", "29 mar 2026, 12:05", "1,5 MB", "a, b y c"]),
    ],
)
def test_numbers_days_times_sizes_and_rows_are_as_in_the_language(language, written):
    words = Localizer(language)
    said = words.number(12_345), words.day(NOON), words.moment(NOON), words.size(1_500_000)
    # Non-breaking spaces differ between versions of CLDR.
    said = [" ".join(text.split()) for text in (*said, words.several(["a", "b", "c"]))]
    assert said == written


@pytest.mark.parametrize(
    ("count", "size"),
    [
        (0, "0 kB"), (4_096, "4.1 kB"), (999_949, "999.9 kB"), (999_950, "1 MB"),
        (999_950_000, "1 GB"), (5_000_000_000_000, "5,000 GB"),
    ],
)  # fmt: skip
def test_size_has_the_unit_in_which_it_is_short(count, size):
    assert Localizer("en").size(count) == size


def test_day_and_moment_are_those_of_the_time_zone():
    late = stamp(2026, 3, 28, 23, 30)
    berlin, tokyo = Localizer("de", "Europe/Berlin"), Localizer("de", "Asia/Tokyo")
    assert Localizer("de").day(late) == "28.03.2026"
    assert berlin.day(late) == "29.03.2026"
    assert berlin.moment(late) == "29.03.2026, 00:30"
    assert berlin.moment(stamp(2026, 3, 29, 1, 0)) == "29.03.2026, 03:00"  # summer begins
    assert tokyo.moment(late) == "29.03.2026, 08:30"


@given(st.integers(0, 4_000_000_000), st.sampled_from(["UTC", "Asia/Tokyo", "America/St_Johns"]))
def test_day_is_the_one_on_which_its_moment_is(seconds, zone):
    words, moment = Localizer("de", zone), Stamp(seconds * 1_000_000)
    assert words.moment(moment).startswith(f"{words.day(moment)}, ")


@pytest.mark.parametrize(
    "zone", ["Mars/Phobos", "", "Europe", "../UTC", "/etc/passwd", "\0", "x" * 9_999]
)
def test_in_a_time_zone_that_is_not_known_it_is_utc(zone):
    assert Localizer("en", zone).moment(NOON) == Localizer("en").moment(NOON)


@pytest.mark.parametrize(
    ("language", "ago"),
    [
        ("en", {-5: "just now", 59: "just now", 60: "1 minute ago", 7_260: "2 hours ago"}),
        ("en", {3 * 86_400: "3 days ago"}),
        ("de", {-5: "gerade eben", 59: "gerade eben", 60: "vor 1 Minute"}),
        ("fr", {7_260: "il y a 2 heures"}),
        ("es", {3 * 86_400: "hace 3 días"}),
    ],
)
def test_how_long_ago_something_was_is_said_roughly(language, ago):
    now = stamp(2026, 3, 29)
    said = {one: Localizer(language).ago(Stamp(now - one * 1_000_000), now) for one in ago}
    assert said == ago


def test_time_is_rounded_as_babel_does_without_its_cost():
    english = Localizer("en")
    for seconds in (60, 3_000, 3_060, 5_399, 5_401, 73_000, 73_440, 300_000, 3_456_000):
        delta = timedelta(seconds=-seconds)
        said = format_timedelta(delta, "minute", add_direction=True, locale="en")
        assert english.ago(Stamp(0), Stamp(seconds * 1_000_000)) == said


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/St_Johns", "No/Where"])
def test_minute_of_a_form_is_read_as_it_was_written_in_the_time_zone(zone):
    words = Localizer("en", zone)
    moment = Stamp(stamp(2026, 7, 1) + 61_000_000)
    assert words.read_local(words.local_minute(moment)) == moment - 1_000_000
    assert words.time_zone == (zone if zone != "No/Where" else "UTC")
    wrong = ("2026-02-30T00:00", "2026-01-01", "\uff12026-01-01T00:00", "0000-01-01T00:00")
    assert [words.read_local(text) for text in ("", "x", *wrong)] == [None] * 6
    berlin = Localizer("en", "Europe/Berlin").read_local("2026-01-01T01:00:30")
    assert berlin == stamp(2026, 1, 1) + 30_000_000


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Pacific/Kiritimati"])
@pytest.mark.parametrize(
    ("language", "days"),
    [
        ("en", ["Mar 27, 2026", "yesterday", "today"]),
        ("de", ["27.03.2026", "gestern", "heute"]),
        ("fr", ["27 mars 2026", "hier", "aujourd\u2019hui"]),
        ("es", ["27 mar 2026", "ayer", "hoy"]),
    ],
)
def test_administrators_are_told_the_day_of_the_last_use_in_utc(language, days, zone):
    words, now = Localizer(language, zone), stamp(2026, 3, 29, 0, 10)
    told = [words.last_used(stamp(2026, 3, day), now) for day in (27, 28, 29, 30)]
    assert told == [*days, days[-1]]  # another process's clock may be ahead


ONE, MANY = "%(number)s new feed", "%(number)s new feeds"


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("en", [MANY, ONE, MANY]),
        ("de", ["neue Feeds", "neuer Feed", "neue Feeds"]),
        ("fr", ["nouveau", "nouveau", "nouveaux"]),
        ("es", ["feeds nuevos", "feed nuevo", "feeds nuevos"]),
    ],
)
def test_count_has_the_form_that_its_language_gives_it(language, forms):
    for count, form in enumerate(forms):
        assert form in Localizer(language).ngettext(ONE, MANY, count)


AT_MOST = "At most {max} lines fit here: import a longer list."
AT_MOST_12_345 = {
    "en": "At most 12,345 lines fit here: import a longer list.",
    "de": "Hier passen höchstens 12.345 Zeilen hinein: Eine längere Liste kannst du impor­tieren.",
}


@pytest.mark.parametrize("language", AT_MOST_12_345)
def test_sentence_is_said_with_its_values(language):
    words, said = Localizer(language), AT_MOST_12_345[language]
    assert words.say(Sentence(AT_MOST, {"max": 12_345})) == said
    assert words.say(InvalidInput(AT_MOST, max=12_345).sentence) == said


@pytest.mark.parametrize("language", LANGUAGES)
def test_values_are_not_read_as_part_of_a_sentence(language):
    values = {"protocol": "{protocol} %(x)s <b>"}
    sentence = Sentence('Unsupported protocol "{protocol}": use "https" or "http".', values)
    words = Localizer(language)
    assert values["protocol"] in words.say(sentence)
    # Texts without a translation are shown in English.
    assert words.gettext("This is not translated.") == "This is not translated."
    assert words.say(Sentence("{this} neither", {"this": 1})) == "1 neither"


def test_everything_is_read_before_the_first_page(monkeypatch):
    languages.read_all()
    monkeypatch.setattr(languages.pofile, "read_po", None)  # a person would wait for this
    monkeypatch.setattr(languages, "available_timezones", None)
    for language in LANGUAGES:
        Localizer(language)
    assert "Europe/Berlin" in time_zones()


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0:00"), (65, "1:05"), (3_600, "60:00"), (5_999, "99:59"), (6_000, "1:40:00"),
        (7_325, "2:02:05"), (2_147_483, "596:31:23"),
    ],
)  # fmt: skip
def test_length_is_said_as_players_do(seconds, said):
    assert Localizer.length(seconds) == said
