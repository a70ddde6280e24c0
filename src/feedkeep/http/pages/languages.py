"""Choose a language, and format sentences, dates and numbers in it (Babel, CLDR)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from importlib import resources
from io import BytesIO
from zoneinfo import ZoneInfo, available_timezones

from babel import Locale, dates, lists, numbers, units
from babel.messages import mofile, pofile
from babel.support import NullTranslations, Translations

from feedkeep.model import Stamp
from feedkeep.model.errors import Sentence
from feedkeep.rules.clock import DAY_US

LANGUAGES: Mapping[str, str] = {
    "en": "English",
    "de": "Deutsch",
    "fr": "Français",
    "es": "Español",
}
"""The languages of the pages, with their own names."""

DEFAULT_LANGUAGE = "en"
UTC_NAME = "UTC"

_MAX_ACCEPTED = 20
_MAX_ACCEPTED_CHARACTERS = 64
_ACCEPTED = re.compile(
    r"([a-z]{1,8})(?:-[a-z0-9-]{1,35})?(?:\s*;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?",
    re.IGNORECASE | re.ASCII,
)
_LOCAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(?::[0-9]{2})?")
_MINUTE_SECONDS = 60
_HOUR_SECONDS = 60 * _MINUTE_SECONDS
_DAY_SECONDS = 24 * _HOUR_SECONDS
_NEARLY = 0.85
"""Part of a unit from which Babel rounds a time up to the unit."""

_MICROSECONDS = 1_000_000
_KILO = 1_000
_LONG_SECONDS = 100 * 60
_SIZES = ("digital-kilobyte", "digital-megabyte", "digital-gigabyte")


def chosen_language(preferred: str | None, accepted: str) -> str:
    """Return the account's language, or else the best match of an Accept-Language header."""
    if preferred is not None and preferred in LANGUAGES:
        return preferred
    best, best_quality = DEFAULT_LANGUAGE, 0.0
    for item in accepted.split(",", _MAX_ACCEPTED - 1):
        if len(item) > _MAX_ACCEPTED_CHARACTERS:  # matching spaces takes quadratic time
            continue
        match = _ACCEPTED.fullmatch(item.strip())
        if match and (language := match[1].lower()) in LANGUAGES:
            quality = float(match[2] or 1)
            if quality > best_quality:
                best, best_quality = language, quality
    return best


@lru_cache(1)
def time_zones() -> tuple[str, ...]:
    return tuple(sorted(available_timezones() - {"localtime"}))


def read_all() -> None:
    """Load all languages at startup: the first use takes a tenth of a second."""
    for language in LANGUAGES:
        localizer = Localizer(language)
        localizer.moment(Stamp(0))
        localizer.size(0)
        localizer.several(["", ""])
        localizer.ago(Stamp(0), Stamp(0))
    time_zones()


class Localizer:
    """Formats text, dates and numbers in one language and time zone.

    Args:
        language: One of `LANGUAGES`.
        time_zone: Name of the time zone; UTC if unknown on this machine.
    """

    def __init__(self, language: str, time_zone: str = UTC_NAME) -> None:
        self.language = language
        self.locale = _locale(language)
        self._zone = _zone(time_zone)
        self.time_zone = time_zone if self._zone is not UTC else UTC_NAME
        self._translations = _translations(language)

    def gettext(self, text: str) -> str:
        translated: str = self._translations.gettext(text)
        return translated

    def ngettext(self, one: str, many: str, count: int) -> str:
        translated: str = self._translations.ngettext(one, many, count)
        return translated

    def say(self, sentence: Sentence) -> str:
        """Translate a sentence and insert its values."""
        values = {
            name: self.number(value) if isinstance(value, int) else value
            for name, value in sentence.values.items()
        }
        text = self.gettext(sentence.text)
        return text.format_map(values) if values else text

    def number(self, number: int) -> str:
        return _number(self.language, number)

    def day(self, stamp: Stamp) -> str:
        offset = _utc(stamp).astimezone(self._zone).utcoffset()
        assert offset is not None
        offset_us = int(offset.total_seconds()) * _MICROSECONDS
        return _day(self.language, (stamp + offset_us) // DAY_US)

    def since(self, stamp: Stamp) -> str:
        """Format the day on which something began: "since Nov 30, 2026"."""
        return self.gettext("since %(day)s") % {"day": self.day(stamp)}

    def moment(self, stamp: Stamp) -> str:
        """Format a timestamp in this time zone, to the minute."""
        moment = _utc(stamp).astimezone(self._zone)
        day = dates.format_date(moment, "medium", locale=self.locale)
        time = dates.format_time(moment, "short", locale=self.locale)
        together = str(dates.get_datetime_format("medium", self.locale))
        return together.replace("'", "").format(time, day)

    def ago(self, stamp: Stamp, now: Stamp) -> str:
        """Format the time since a timestamp: "2 hours ago"."""
        seconds = max(0, now - stamp) // _MICROSECONDS
        if seconds < _MINUTE_SECONDS:
            return self.gettext("just now")
        unit = _MINUTE_SECONDS
        if seconds >= _NEARLY * _DAY_SECONDS:
            unit = _DAY_SECONDS
        elif seconds >= _NEARLY * _HOUR_SECONDS:
            unit = _HOUR_SECONDS
        return _ago(self.language, round(seconds / unit) * unit)

    @staticmethod
    def length(seconds: int) -> str:
        """Format a length or a position as players do: "60:00", from 100 minutes on "1:40:00"."""
        minutes, rest = divmod(seconds, 60)
        if seconds < _LONG_SECONDS:
            return f"{minutes}:{rest:02}"
        return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"

    def local_minute(self, stamp: Stamp) -> str:
        """Format a timestamp in this time zone for a form field."""
        return _utc(stamp).astimezone(self._zone).strftime("%Y-%m-%dT%H:%M")

    def read_local(self, text: str) -> Stamp | None:
        """Parse a form field's time in this time zone; None if invalid."""
        if not _LOCAL.fullmatch(text):
            return None
        try:
            moment = datetime.fromisoformat(text).replace(tzinfo=self._zone)
            return Stamp(int(moment.timestamp()) * _MICROSECONDS)
        except (ValueError, OverflowError):
            return None

    def last_used(self, stamp: Stamp, now: Stamp) -> str:
        """Format the day of the last use: "today", "yesterday", or the date.

        Administrators see only the day, in UTC for every account.
        """
        used, today = stamp // DAY_US, now // DAY_US
        if used >= today:
            return self.gettext("today")
        return self.gettext("yesterday") if used == today - 1 else _day(self.language, used)

    def several(self, items: list[str]) -> str:
        """Format a list: "a, b and c"."""
        return lists.format_list(items, locale=self.locale)

    def named_language(self, code: str) -> str:
        """Return the name of a language by its code, such as "de-AT"; the code if unknown."""
        name = self.locale.languages.get(code.replace("_", "-").partition("-")[0].lower())
        return f"{name} ({code})" if name else code

    def size(self, count_bytes: int) -> str:
        amount, unit = count_bytes / _KILO, 0
        while round(amount, 1) >= _KILO and unit < len(_SIZES) - 1:
            amount, unit = amount / _KILO, unit + 1
        return units.format_unit(round(amount, 1), _SIZES[unit], "short", locale=self.locale)


def _utc(stamp: Stamp) -> datetime:
    return datetime.fromtimestamp(stamp / _MICROSECONDS, UTC)


@lru_cache(1_024)
def _zone(name: str) -> tzinfo:
    """Return a time zone; UTC if unknown: another machine or a newer version may have stored it."""
    if name == UTC_NAME:  # works without a time zone database
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC


@lru_cache
def _locale(language: str) -> Locale:
    return Locale.parse(language)


@lru_cache(4_096)
def _day(language: str, days: int) -> str:
    day = datetime.fromtimestamp(days * 86_400, UTC)
    return dates.format_date(day, "medium", locale=_locale(language))


@lru_cache(4_096)
def _ago(language: str, seconds: int) -> str:
    ago = -timedelta(seconds=seconds)
    return dates.format_timedelta(ago, "minute", add_direction=True, locale=_locale(language))


@lru_cache(4_096)
def _number(language: str, number: int) -> str:
    return numbers.format_decimal(number, locale=_locale(language))


@lru_cache
def _translations(language: str) -> NullTranslations:
    if language == DEFAULT_LANGUAGE:
        return NullTranslations()
    catalogue = resources.files(__package__).joinpath("locale", f"{language}.po").read_bytes()
    compiled = BytesIO()
    mofile.write_mo(compiled, pofile.read_po(BytesIO(catalogue), locale=language))
    compiled.seek(0)
    return Translations(compiled)
