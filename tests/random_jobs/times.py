"""Dates and timestamps as the reference page describes them: days and microseconds since 1970-01-01, which Python's
datetime counts too, for the years 1 to 9999."""

import re
from datetime import date, datetime, timedelta

from values import DAY, TIMES, fault, is_integer, is_text, is_time, low_bits, undefined

EPOCH, EPOCH_DAY = datetime(1970, 1, 1), date(1970, 1, 1)
US = timedelta(microseconds=1)
UNITS = ["microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year"]
CLOCK = {"microsecond": 1, "millisecond": 10**3, "second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6}
MONTHS = {"month": 1, "quarter": 3, "year": 12}
NAMES = "January February March April May June July August September October November December".split()
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
PATTERNS = [b"%Y-%m-%d", b"%d.%m.%Y", b"%d.%m.%Y %H:%M:%S.%f", b"%b %d %Y", b"%H:%M %d/%B/%Y"]
WORDS = (
    "to_date to_timestamp is_date is_timestamp strftime date_trunc date_add date_diff year quarter month day hour minute "
    "second microsecond weekday day_of_year week"
).split()


def within(kind, lane):
    least, most = TIMES[kind]
    return max(least, min(most, lane))


def day(lane, kind):
    return EPOCH_DAY + timedelta(lane if kind == "date" else lane // DAY)


def lane_of_day(d, kind):
    return (d - EPOCH_DAY).days * (1 if kind == "date" else DAY)


# Parts


def part(word, lane, kind):
    d = day(lane, kind)
    rest = 0 if kind == "date" else lane % DAY
    return {
        "year": lambda: d.year,
        "quarter": lambda: (d.month + 2) // 3,
        "month": lambda: d.month,
        "day": lambda: d.day,
        "weekday": lambda: d.isoweekday(),
        "day_of_year": lambda: d.timetuple().tm_yday,
        "week": lambda: d.isocalendar()[1],
        "hour": lambda: rest // CLOCK["hour"],
        "minute": lambda: rest // CLOCK["minute"] % 60,
        "second": lambda: rest // CLOCK["second"] % 60,
        "microsecond": lambda: rest % CLOCK["second"],
    }[word]()


# Units


def number_of(unit, lane, kind):
    """Which one of its kind it is, from anywhere."""
    if unit in CLOCK:
        return (lane * DAY if kind == "date" else lane) // CLOCK[unit]
    d = day(lane, kind)
    if unit == "day":
        return d.toordinal()
    if unit == "week":
        return (d.toordinal() - 1) // 7  # 0001-01-01 is a Monday
    return (d.year * 12 + d.month - 1) // MONTHS[unit]


def trunc(unit, lane, kind):
    if unit in CLOCK:
        return lane - lane % CLOCK[unit]
    d = day(lane, kind)
    if unit == "week":
        return within(kind, lane_of_day(d - timedelta(min(d.weekday(), d.toordinal() - 1)), kind))
    if unit in MONTHS:
        first = {"month": d.month, "quarter": (d.month - 1) // 3 * 3 + 1, "year": 1}[unit]
        d = d.replace(month=first, day=1)
    return lane_of_day(d, kind)


def add(unit, n, lane, kind):
    if unit not in MONTHS:
        size = CLOCK.get(unit) or (7 if unit == "week" else 1) * (1 if kind == "date" else DAY)
        return within(kind, lane + n * size)
    d = day(lane, kind)
    month = d.year * 12 + d.month - 1 + n * MONTHS[unit]
    rest = 0 if kind == "date" else lane % DAY
    if month < 12:
        return within(kind, TIMES[kind][0] + rest)
    if month >= 10000 * 12:
        return within(kind, lane_of_day(date(9999, 12, 31), kind) + rest)
    first = date(month // 12, month % 12 + 1, 1)
    length = 31 if first.month == 12 else (date(first.year, first.month + 1, 1) - first).days
    return lane_of_day(first.replace(day=min(d.day, length)), kind) + rest


# Texts

FORM = re.compile(
    rb"(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|z|[+-]\d\d(?::?\d\d)?)?)?\Z", re.ASCII
)


def read(text, kind):
    """None: it is none."""
    found = FORM.match(text)
    if not found or (kind == "date" and len(text) != 10):
        return None
    year, month, of_month, hour, minute, second = (int(found[i] or 0) for i in range(1, 7))
    try:
        d = date(year, month, of_month)
    except ValueError:
        return None
    if kind == "date":
        return lane_of_day(d, kind)
    if hour > 23 or minute > 59 or second > 59:
        return None
    lane = lane_of_day(d, kind) + (hour * 3600 + minute * 60 + second) * 10**6
    lane += int(((found[7] or b"") + b"000000")[:6])
    zone = found[8] or b"Z"
    if zone not in b"Zz":
        hours, minutes = int(zone[1:3]), int(zone[3:].lstrip(b":") or 0)
        if hours > 23 or minutes > 59:
            return None
        lane -= (hours * 60 + minutes) * 60 * 10**6 * (-1 if zone[:1] == b"-" else 1)
    return lane if lane == within(kind, lane) else None


def printed(lane, pattern):
    t = EPOCH + lane * US
    parts = {
        "Y": f"{t.year:04}", "m": f"{t.month:02}", "d": f"{t.day:02}", "H": f"{t.hour:02}", "M": f"{t.minute:02}",
        "S": f"{t.second:02}", "f": f"{t.microsecond:06}", "B": NAMES[t.month - 1], "b": NAMES[t.month - 1][:3],
    }  # fmt: skip
    return re.sub(r"%(.)", lambda m: parts[m[1]], pattern.decode()).encode()


NUMBERS = {"Y": r"\d{1,4}+", "f": r"\d{1,9}+", "B": "|".join(NAMES) + "|" + "|".join(n[:3] for n in NAMES)}
NUMBERS["b"] = NUMBERS["B"]


def read_with(text, pattern):
    """Microseconds, or None."""
    letters = re.findall(r"%(.)", pattern.decode())
    form = re.sub(r"%(.)", lambda m: "(" + NUMBERS.get(m[1], r"\d{1,2}+") + ")", re.escape(pattern.decode()))
    found = re.fullmatch(form, text.decode("latin-1"), re.ASCII | re.IGNORECASE)
    if not found:
        return None
    value = {"Y": 1970, "m": 1, "d": 1, "H": 0, "M": 0, "S": 0, "f": 0}
    for letter, said in zip(letters, found.groups()):
        if letter in "bB":
            value["m"] = [n[:3].lower() for n in NAMES].index(said[:3].lower()) + 1
        elif letter == "f":
            value["f"] = int((said + "000000")[:6])
        else:
            value[letter] = int(said)
    try:
        t = datetime(value["Y"], value["m"], value["d"], value["H"], value["M"], value["S"], value["f"])
    except ValueError:
        return None
    return (t - EPOCH) // US


# Calls


def constant_of(argument, choices):
    if not argument.constant or argument.kind != "string" or argument.run({}) not in choices:
        raise fault("a unit or a pattern is a constant")
    return argument.run({})


def need_time(kind):
    if not is_time(kind):
        raise fault(f"{kind} is no time")


def from_text(word, kinds, arguments):
    kind = word.split("_")[1]
    run = arguments[0].run
    if arguments[0].constant:
        raise undefined("a constant text as a time")
    if len(arguments) > 1:
        pattern = constant_of(arguments[1], PATTERNS)

        def lane(row):
            us = read_with(run(row), pattern)
            return us if us is None or kind == "timestamp" else us // DAY

    else:

        def lane(row):
            return read(run(row), kind)

    if word.startswith("is_"):
        return "bool", lambda row: lane(row) is not None
    return kind, lambda row: lane(row) or 0


def compiled(word, arguments):
    kinds = [a.kind for a in arguments]
    runs = [a.run for a in arguments]
    if word in ("is_date", "is_timestamp") and not is_text(kinds[0]):
        raise fault(f"{word} of {kinds[0]}")
    if word.split("_")[0] in ("to", "is"):
        kind, source, run = word.split("_")[1], kinds[0], runs[0]
        if is_text(source):
            return from_text(word, kinds, arguments)
        if len(arguments) > 1 or arguments[0].constant:
            raise undefined("a constant as a time")
        if is_integer(source):
            return kind, lambda row: within(kind, run(row))
        need_time(source)
        if source == kind:
            return kind, run
        return kind, (lambda row: run(row) // DAY) if kind == "date" else lambda row: run(row) * DAY
    if word == "strftime":
        need_time(kinds[0])
        pattern, scale, run = constant_of(arguments[1], PATTERNS), DAY if kinds[0] == "date" else 1, runs[0]
        return "string", lambda row: printed(run(row) * scale, pattern)
    if word in ("date_trunc", "date_add", "date_diff"):
        unit = constant_of(arguments[0], [u.encode() for u in UNITS]).decode()
        times = range(1, 3) if word == "date_diff" else [len(arguments) - 1]
        for i in times:
            need_time(kinds[i])
            if word != "date_diff" and kinds[i] == "date" and unit in CLOCK:
                raise fault(f"a date has no {unit}s")
        if any(a.constant for a in arguments[1:]) and word == "date_diff":
            raise undefined("a difference of constants")
        last = kinds[-1]
        if word == "date_trunc":
            return last, lambda row: trunc(unit, runs[1](row), last)
        if word == "date_diff":
            return "i64", lambda row: number_of(unit, runs[2](row), kinds[2]) - number_of(unit, runs[1](row), kinds[1])
        if not is_integer(kinds[1]):
            raise fault(f"{kinds[1]} units")
        return last, lambda row: add(unit, runs[1](row), runs[2](row), last)
    need_time(kinds[0])
    if word in CLOCK and word != "day" and kinds[0] == "date":
        raise fault("a date has no time of day")
    return "i64", lambda row: part(word, runs[0](row), kinds[0])


def arithmetic(op, a, b):
    """(type, function) of date + n, n + date, date - n and differences."""
    x, y = a.run, b.run
    if op == "-" and a.kind == b.kind:
        return "i64", lambda row: low_bits("i64", x(row) - y(row))
    if op == "+" and is_integer(a.kind) and b.kind == "date":
        return "date", lambda row: within("date", y(row) + x(row))
    if op in "+-" and a.kind == "date" and is_integer(b.kind):
        return "date", lambda row: within("date", x(row) + y(row) if op == "+" else x(row) - y(row))
    raise fault(f"{a.kind} {op} {b.kind}")
