"""Instants written and read in the form of the vendor's format specifiers, with English names."""

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
LOCAL = {
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
"""Forms that stand for others."""

Write = Callable[[datetime], object]

WRITTEN: Mapping[str, Write] = {
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
    "w": lambda at: week_of(at.date(), 6)[1],
    "ww": lambda at: f"{week_of(at.date(), 6)[1]:02}",
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

READ: Mapping[str, str] = {
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
"""Up to how many seconds a span is told so: in words, or as a number of units of so many seconds."""


def formatted(at: datetime, form: str) -> str:
    """*at* in the *form*; what stands in brackets is kept."""

    def one(found: re.Match[str]) -> str:
        kept, token = found[1], found[2]
        if token is None:
            return str(kept)
        return formatted(at, LOCAL[token]) if token in LOCAL else str(WRITTEN[token](at))

    return TOKEN.sub(one, form)


def parsed(text: str, form: str) -> datetime | None:
    """The instant, in UTC, that *text* tells in the *form*; None where it does not."""
    for short, long in sorted(LOCAL.items(), key=lambda pair: -len(pair[0])):
        form = long if form == short else form
    try:
        found = re.fullmatch(_reading(form), text.strip())
        return _told(found.groupdict()) if found else None
    except (re.error, ValueError):
        return None


def _reading(form: str) -> str:
    """The pattern of *form*."""
    made, at = "", 0
    for found in TOKEN.finditer(form):
        made += re.escape(form[at : found.start()])
        made += re.escape(found[1]) if found[2] is None else READ.get(found[2], r"\S+")
        at = found.end()
    return made + re.escape(form[at:])


def _told(parts: Mapping[str, str | None]) -> datetime:
    """The instant of what was read; today's year would make tests depend on the day, so a year is needed."""
    given = {name: value for name, value in parts.items() if value is not None}
    if "short" in given:
        # As most programs do: 69 is of the last century.
        given["year"] = str(int(given["short"]) + (1900 if int(given["short"]) > 68 else 2000))
    if "name" in given:
        given["month"] = str(1 + [month[:3] for month in MONTHS].index(given["name"][:3].capitalize()))
    hour = int(given.get("hour", 0))
    if "half" in given:
        hour = hour % 12 + (12 if given["half"] in "Pp" else 0)
    if "year" not in given:
        raise ValueError(given)
    day = datetime(int(given["year"]), int(given.get("month", 1)), int(given.get("day", 1)), hour, tzinfo=UTC)
    return day.replace(minute=int(given.get("minute", 0)), second=int(given.get("second", 0)))


def week_of(day: date, start: int) -> tuple[int, int]:
    """Year and week of *day*; the first week has the first of January, and weeks start at weekday *start*."""
    begun = day - timedelta(days=(day.weekday() - start) % 7)
    year = (begun + timedelta(days=6)).year
    first = date(year, 1, 1)
    first -= timedelta(days=(first.weekday() - start) % 7)
    return year, (begun - first).days // 7 + 1


def ordinal(number: int) -> str:
    """A number as a place: ``1st``, ``2nd``."""
    ending = "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def told(seconds: float) -> str:
    """A span in words."""
    for most, unit, words, plural in SPANS:
        if seconds < most:
            return words or f"{max(2, int(seconds / unit + 0.5))} {plural}"
    return f"{max(2, int(seconds / 31_556_952 + 0.5))} years"


def _offset(at: datetime, between: str) -> str:
    minutes = int((at.utcoffset() or timedelta()).total_seconds() // 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}{between}{abs(minutes) % 60:02}"
