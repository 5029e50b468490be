"""Formatting and parsing of dates with the vendor's format specifiers and English names."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta

DEFAULT = "YYYY-MM-DDTHH:mm:ssZ"
MONTHS = tuple("January February March April May June July August September October November December".split())  # noqa: SIM905
DAYS = tuple("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split())  # noqa: SIM905
TOKEN = re.compile(
    r"\[([^\]]*)\]|(LTS|LT|L{1,4}|l{1,4}|M{1,4}|Q|Do|D{1,4}|d{1,4}|E|e|w{1,2}|W{1,2}|YYYY|YY|A|a|H{1,2}|h{1,2}"
    r"|m{1,2}|s{1,2}|S{1,3}|Z{1,2}|X|x)"
)
ALIASES = {
    "LT": "h:mm A",
    "LTS": "h:mm:ss A",
    "L": "MM/DD/YYYY",
    "LL": "MMMM D, YYYY",
    "LLL": "MMMM D, YYYY h:mm A",
    "LLLL": "dddd, MMMM D, YYYY h:mm A",
    "l": "M/D/YYYY",
    "ll": "MMM D, YYYY",
    "lll": "MMM D, YYYY h:mm A",
    "llll": "ddd, MMM D, YYYY h:mm A",
}
"""Format specifiers that stand for others."""

Write = Callable[[datetime], object]

FORMATTERS: Mapping[str, Write] = {
    "M": lambda at: at.month,
    "MM": lambda at: f"{at.month:02}",
    "MMM": lambda at: MONTHS[at.month - 1][:3],
    "MMMM": lambda at: MONTHS[at.month - 1],
    "Q": lambda at: (at.month + 2) // 3,
    "D": lambda at: at.day,
    "DD": lambda at: f"{at.day:02}",
    "Do": lambda at: ordinal(at.day),
    "DDD": lambda at: at.timetuple().tm_yday,
    "DDDD": lambda at: f"{at.timetuple().tm_yday:03}",
    "d": lambda at: at.isoweekday() % 7,
    "dd": lambda at: DAYS[at.weekday()][:2],
    "ddd": lambda at: DAYS[at.weekday()][:3],
    "dddd": lambda at: DAYS[at.weekday()],
    "e": lambda at: at.isoweekday() % 7,
    "E": lambda at: at.isoweekday(),
    "w": lambda at: week_number(at.date(), 6)[1],
    "ww": lambda at: f"{week_number(at.date(), 6)[1]:02}",
    "W": lambda at: at.isocalendar().week,
    "WW": lambda at: f"{at.isocalendar().week:02}",
    "YY": lambda at: f"{at.year % 100:02}",
    "YYYY": lambda at: f"{at.year:04}",
    "A": lambda at: "AM" if at.hour < 12 else "PM",
    "a": lambda at: "am" if at.hour < 12 else "pm",
    "H": lambda at: at.hour,
    "HH": lambda at: f"{at.hour:02}",
    "h": lambda at: at.hour % 12 or 12,
    "hh": lambda at: f"{at.hour % 12 or 12:02}",
    "m": lambda at: at.minute,
    "mm": lambda at: f"{at.minute:02}",
    "s": lambda at: at.second,
    "ss": lambda at: f"{at.second:02}",
    "S": lambda at: at.microsecond // 100_000,
    "SS": lambda at: f"{at.microsecond // 10_000:02}",
    "SSS": lambda at: f"{at.microsecond // 1000:03}",
    "Z": lambda at: _offset(at, ":"),
    "ZZ": lambda at: _offset(at, ""),
    "X": lambda at: int(at.timestamp()),
    "x": lambda at: int(at.timestamp() * 1000),
}

PATTERNS: Mapping[str, str] = {
    **dict.fromkeys(("YYYY",), r"(?P<year>\d{4})"),
    **dict.fromkeys(("YY",), r"(?P<short>\d{2})"),
    **dict.fromkeys(("M", "MM"), r"(?P<month>\d{1,2})"),
    **dict.fromkeys(("MMM", "MMMM"), r"(?P<name>[A-Za-z]{3,9})"),
    **dict.fromkeys(("D", "DD"), r"(?P<day>\d{1,2})"),
    "Do": r"(?P<day>\d{1,2})(?:st|nd|rd|th)",
    **dict.fromkeys(("d", "dd", "ddd", "dddd"), r"\w+"),
    **dict.fromkeys(("H", "HH", "h", "hh"), r"(?P<hour>\d{1,2})"),
    **dict.fromkeys(("m", "mm"), r"(?P<minute>\d{1,2})"),
    **dict.fromkeys(("s", "ss"), r"(?P<second>\d{1,2})"),
    **dict.fromkeys(("A", "a"), r"(?P<half>[AaPp])[Mm]"),
}

SPANS = (
    (45, 1, "a few seconds", ""),
    (90, 60, "a minute", ""),
    (45 * 60, 60, "", "minutes"),
    (90 * 60, 3600, "an hour", ""),
    (22 * 3600, 3600, "", "hours"),
    (36 * 3600, 86_400, "a day", ""),
    (26 * 86_400, 86_400, "", "days"),
    (45 * 86_400, 2_629_746, "a month", ""),
    (320 * 86_400, 2_629_746, "", "months"),
    (548 * 86_400, 31_556_952, "a year", ""),
)
"""The wording of time spans: maximum seconds, seconds per unit, fixed words and unit."""


def format_datetime(at: datetime, form: str) -> str:
    """Format *at*. Text in brackets is copied."""

    def replace(match: re.Match[str]) -> str:
        literal, token = match[1], match[2]
        if token is None:
            return str(literal)
        return format_datetime(at, ALIASES[token]) if token in ALIASES else str(FORMATTERS[token](at))

    return TOKEN.sub(replace, form)


def parse_datetime(text: str, form: str) -> datetime | None:
    """Parse *text* as a time in UTC. Returns None if it does not match the format."""
    for short, long in sorted(ALIASES.items(), key=lambda pair: -len(pair[0])):
        form = long if form == short else form
    try:
        match = re.fullmatch(_pattern(form), text.strip())
        return _to_datetime(match.groupdict()) if match else None
    except (re.error, ValueError):
        return None


def _pattern(form: str) -> str:
    """Return the pattern of *form*."""
    pattern, position = "", 0
    for match in TOKEN.finditer(form):
        pattern += re.escape(form[position : match.start()])
        pattern += re.escape(match[1]) if match[2] is None else PATTERNS.get(match[2], r"\S+")
        position = match.end()
    return pattern + re.escape(form[position:])


def _to_datetime(parts: Mapping[str, str | None]) -> datetime:
    """Return the time of the parsed parts. The year is required, because a default would depend on the current day."""
    fields = {name: value for name, value in parts.items() if value is not None}
    if "short" in fields:
        # As in most programs, 69 and above mean the last century.
        fields["year"] = str(int(fields["short"]) + (1900 if int(fields["short"]) > 68 else 2000))
    if "name" in fields:
        fields["month"] = str(1 + [month[:3] for month in MONTHS].index(fields["name"][:3].capitalize()))
    hour = int(fields.get("hour", 0))
    if "half" in fields:
        hour = hour % 12 + (12 if fields["half"] in "Pp" else 0)
    if "year" not in fields:
        raise ValueError(fields)
    day = datetime(int(fields["year"]), int(fields.get("month", 1)), int(fields.get("day", 1)), hour, tzinfo=UTC)
    return day.replace(minute=int(fields.get("minute", 0)), second=int(fields.get("second", 0)))


def week_number(day: date, start: int) -> tuple[int, int]:
    """Return year and week of *day*. Weeks start on weekday *start*, and the first week contains January 1."""
    week_start = day - timedelta(days=(day.weekday() - start) % 7)
    year = (week_start + timedelta(days=6)).year
    first_week = date(year, 1, 1)
    first_week -= timedelta(days=(first_week.weekday() - start) % 7)
    return year, (week_start - first_week).days // 7 + 1


def ordinal(number: int) -> str:
    """Return an ordinal number: ``1st``, ``2nd``."""
    ending = "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def format_span(seconds: float) -> str:
    """Return a time span in words."""
    for max_seconds, unit, words, plural in SPANS:
        if seconds < max_seconds:
            return words or f"{max(2, int(seconds / unit + 0.5))} {plural}"
    return f"{max(2, int(seconds / 31_556_952 + 0.5))} years"


def _offset(at: datetime, separator: str) -> str:
    minutes = int((at.utcoffset() or timedelta()).total_seconds() // 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}{separator}{abs(minutes) % 60:02}"
