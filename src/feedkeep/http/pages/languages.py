"""Languages: choosing one, and saying sentences, dates and numbers in it (Babel, CLDR)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from importlib import resources
from io import BytesIO
from zoneinfo import ZoneInfo, available_timezones

from babel import Locale, dates, lists, numbers, units
from babel.messages import mofile, pofile
from babel.support import NullTranslations, Translations

from feedkeep.errors import Sentence
from feedkeep.model import Stamp

LANGUAGES: Mapping[str, str] = {
    "en": "English",
    "de": "Deutsch",
    "fr": "Français",
    "es": "Español",
}
"""The languages that pages are in, each with its own name."""

DEFAULT_LANGUAGE = "en"
UTC_NAME = "UTC"

_MAX_ACCEPTED = 20
_ACCEPTED = re.compile(
    r"\s*([A-Za-z]{1,8})(?:-[A-Za-z0-9-]{1,35})?\s*(?:;\s*q=([01](?:\.\d{0,3})?))?\s*"
)
_MICROSECONDS = 1_000_000
_DAY_US = 86_400 * _MICROSECONDS
_KILO = 1_000
_SIZES = ("digital-kilobyte", "digital-megabyte", "digital-gigabyte")


def chosen_language(preferred: str | None, accepted: str) -> str:
    """Return the language of an account, else the best one that an Accept-Language header names."""
    if preferred is not None and preferred in LANGUAGES:
        return preferred
    best, best_quality = DEFAULT_LANGUAGE, 0.0
    for item in accepted.split(",", _MAX_ACCEPTED)[:_MAX_ACCEPTED]:
        match = _ACCEPTED.fullmatch(item)
        if match and (language := match[1].lower()) in LANGUAGES:
            quality = float(match[2] or 1)
            if quality > best_quality:
                best, best_quality = language, quality
    return best


@lru_cache(1)
def time_zones() -> tuple[str, ...]:
    """Return the names of all time zones, as the IANA database has them."""
    return tuple(sorted(available_timezones() - {"localtime"}))


class Words:
    """Says things in one language and time zone.

    Attributes:
        language: One of `LANGUAGES`.
        locale: What Babel knows of it.
    """

    def __init__(self, language: str, time_zone: str = UTC_NAME) -> None:
        """Take a language and a time zone that are known."""
        self.language = language
        self.locale = _locale(language)
        self._zone = ZoneInfo(time_zone)
        self._translations = _translations(language)

    def gettext(self, text: str) -> str:
        """Return a text in this language."""
        translated: str = self._translations.gettext(text)
        return translated

    def ngettext(self, one: str, many: str, count: int) -> str:
        """Return the one of two texts that fits a count, in this language."""
        translated: str = self._translations.ngettext(one, many, count)
        return translated

    def say(self, sentence: Sentence) -> str:
        """Return a sentence with its values."""
        values = {
            name: self.number(value) if isinstance(value, int) else value
            for name, value in sentence.values.items()
        }
        text = self.gettext(sentence.text)
        return text.format_map(values) if values else text

    def number(self, number: int) -> str:
        """Return a whole number."""
        return _number(self.language, number)

    def day(self, stamp: Stamp) -> str:
        """Return the day of a stamp in this time zone."""
        offset_us = self._offset_us(stamp)
        return _day(self.language, (stamp + offset_us) // _DAY_US)

    def moment(self, stamp: Stamp) -> str:
        """Return day, hour and minute of a stamp in this time zone."""
        return dates.format_datetime(
            _utc(stamp).astimezone(self._zone), "medium", locale=self.locale
        )

    def days_ago(self, stamp: Stamp, now: Stamp) -> str:
        """Return how many days ago a stamp is: "today", "yesterday", or the day."""
        offset_us = self._offset_us(now)
        days = (now + offset_us) // _DAY_US - (stamp + offset_us) // _DAY_US
        if days <= 0:
            return self.gettext("today")
        return self.gettext("yesterday") if days == 1 else self.day(stamp)

    def several(self, items: list[str]) -> str:
        """Return several things in a row: "a, b and c"."""
        return lists.format_list(items, locale=self.locale)

    def size(self, count_bytes: int) -> str:
        """Return a number of bytes as a person reads it."""
        amount, unit = count_bytes / _KILO, 0
        while amount >= _KILO and unit < len(_SIZES) - 1:
            amount, unit = amount / _KILO, unit + 1
        return units.format_unit(round(amount, 1), _SIZES[unit], "short", locale=self.locale)

    def _offset_us(self, stamp: Stamp) -> int:
        offset = _utc(stamp).astimezone(self._zone).utcoffset()
        assert offset is not None
        return int(offset.total_seconds()) * _MICROSECONDS


def _utc(stamp: Stamp) -> datetime:
    return datetime.fromtimestamp(stamp / _MICROSECONDS, UTC)


@lru_cache
def _locale(language: str) -> Locale:
    return Locale.parse(language)


@lru_cache(4_096)
def _day(language: str, days: int) -> str:
    day = datetime.fromtimestamp(days * 86_400, UTC)
    return dates.format_date(day, "medium", locale=_locale(language))


@lru_cache(4_096)
def _number(language: str, number: int) -> str:
    return numbers.format_decimal(number, locale=_locale(language))


@lru_cache
def _translations(language: str) -> NullTranslations:
    """Return the texts of a language, read once from its catalogue of text."""
    if language == DEFAULT_LANGUAGE:
        return NullTranslations()
    catalogue = resources.files(__package__).joinpath("locale", f"{language}.po").read_bytes()
    compiled = BytesIO()
    mofile.write_mo(compiled, pofile.read_po(BytesIO(catalogue), locale=language))
    compiled.seek(0)
    return Translations(compiled)
