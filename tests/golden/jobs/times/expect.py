"""Times of the years 1 to 9999, a few of them close together, and lines that are none; all in Python's datetime."""

import struct
from datetime import date, datetime, timedelta
from golden_data import csv, rand, write

EPOCH = datetime(1970, 1, 1)
WRONG = [
    ("2026-02-29", "2026-01-01", 1, 'expected date, got "2026-02-29": February 2026 has 28 days'),
    ("2026-13-01", "2026-01-01", 1, 'expected date, got "2026-13-01": there is no month 13'),
    ("2026-01-01", "2026-01-01T24:00", 2, 'expected timestamp, got "2026-01-01T24:00": hours are 00 to 23'),
    ("1.1.2026", "2026-01-01", 1, 'expected date, got "1.1.2026": a date is written as 2026-11-23'),
    ("", "2026-01-01", 1, "expected date (such as 2026-11-23), got an empty field"),
]


def us(at):
    return (at - EPOCH) // timedelta(microseconds=1)


def iso(at):
    text = f"{at.year:04}-{at.month:02}-{at.day:02}T{at.hour:02}:{at.minute:02}:{at.second:02}"
    return text + (f".{at.microsecond:06}Z" if at.microsecond else "Z")


def day_text(day):
    return f"{day.year:04}-{day.month:02}-{day.day:02}"


def given(i, at):
    """One of the forms that a timestamp may have."""
    if i % 7 == 0:
        there = at + timedelta(hours=5, minutes=30)
        return iso(there)[:-1] + "+05:30"
    if i % 7 == 1:
        return iso(at)[:-1].replace("T", " ")
    return iso(at)


def rows():
    for i in range(1000):
        near = i % 3 == 0
        days = 730000 + rand(5, 3 * i) % 800 if near else 40000 + rand(5, 3 * i) % 3_500_000
        day = date.fromordinal(1) + timedelta(days)
        at = datetime(day.year, day.month, day.day) + timedelta(
            days=rand(5, 3 * i + 1) % 900, microseconds=rand(5, 3 * i + 2) % 86_400_000_000
        )
        yield i, day, at - timedelta(microseconds=at.microsecond) if i % 5 == 0 else at


def later_month(day):
    first = date(day.year + day.month // 12, day.month % 12 + 1, 1)
    after = date(first.year + first.month // 12, first.month % 12 + 1, 1)
    return first + timedelta(min(day.day, (after - first).days) - 1)


def parts(i, day, at):
    names = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
    shown = f"{at.day:02} {names[at.month - 1]} {at.year:04}, {at.hour:02}:{at.minute:02}:{at.second:02}.{at.microsecond:06}"
    return [
        i,
        day.year,
        day.month,
        day.isocalendar()[1],
        at.isoweekday(),
        at.hour,
        at.microsecond,
        day_text(date(day.year, (day.month - 1) // 3 * 3 + 1, 1)),
        iso(at.replace(minute=0, second=0, microsecond=0)),
        day_text(later_month(day)),
        iso(at - timedelta(minutes=90)),
        2000 * 12 - (day.year * 12 + day.month - 1),
        (at.date() - day).days,
        shown,
        True,
        us(at),
    ]


all_rows = list(rows())
lines, bad = [], []
for i, day, at in all_rows:
    lines.append(f"{i},{day_text(day)},{given(i, at)}")
    if i % 200 == 199:
        wrong_day, wrong_at, which, reason = WRONG[i // 200]
        lines.append(f"9,{wrong_day},{wrong_at}")
        bad.append([lines[-1], len(lines), 3 if which == 1 else 4 + len(wrong_day), reason])
write("in.csv", "".join(line + "\n" for line in lines).encode())
write("expected/bad.csv", csv(bad))
by_time = sorted(all_rows, key=lambda r: (-r[1].toordinal(), r[2], r[0]))
write("expected/sorted.csv", csv(([i, day_text(day), iso(at)] for i, day, at in by_time), ["id", "day", "at"]))
names = "id year month week weekday hour rest begins hour_begins later sooner ago age shown again number".split()
write("expected/parts.csv", csv((parts(*r) for r in all_rows), names))
months = {}
for _, day, at in all_rows:
    months.setdefault(day.replace(day=1), []).append(at)
write("expected/counts.csv", csv([day_text(m), len(months[m]), iso(min(months[m])), iso(max(months[m]))] for m in sorted(months)))
recent = [(i, (day - EPOCH.date()).days, us(at)) for i, day, at in all_rows if day >= EPOCH.date()]
write("expected/recent.bin", b"".join(struct.pack("<Iiq", *r) for r in recent))
sessions, session, last = [], 0, datetime(1, 1, 1)
for i, _, at in sorted(all_rows, key=lambda r: (r[2], r[0])):
    session += (at.date() - last.date()).days > 1000
    last = at
    sessions.append([i, iso(at), session])
write("expected/sessions.csv", csv(sessions))
