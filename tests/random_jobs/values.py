"""Values as the reference page describes them: types, conversions, texts, order, and bytes in files.

An integer is an int, a float a float (an f32 one that single precision holds), a text bytes, a bool a bool. Which sign
a NaN has that was computed is nobody's promise: it is a `loose_nan`, and whoever asks for its bits gets `undefined`.
"""

import math
import re
import struct
from datetime import date
from decimal import Decimal
from fractions import Fraction

INTEGERS = {f"u{n}": (0, 2**n - 1) for n in (8, 16, 24, 32, 40, 48, 64)}
INTEGERS.update({f"i{n}": (-(2 ** (n - 1)), 2 ** (n - 1) - 1) for n in (8, 16, 32, 64)})
FLOATS = ("f32", "f64")
DAY = 86_400_000_000  # microseconds
# Days and microseconds since 1970-01-01, of the years 1 to 9999.
TIMES = {"date": (-719162, 2932896), "timestamp": (-719162 * DAY, 2932897 * DAY - 1)}


class undefined(Exception):
    """The reference page doesn't say what comes out: no test draws that."""


class fault(Exception):
    """The job is wrong: flowrun refuses it."""


class job_fails(Exception):
    """The job is right and its data isn't: the run ends with an error."""


class loose_nan(float):
    def __new__(cls):
        return super().__new__(cls, "nan")


def is_integer(kind):
    return kind in INTEGERS


def is_float(kind):
    return kind in FLOATS


def is_number(kind):
    return is_integer(kind) or is_float(kind)


def is_text(kind):
    return kind == "string" or kind.startswith("bytes")


def is_time(kind):
    return kind in TIMES


def is_decimal(kind):
    return kind.startswith("decimal")


def scale_of(kind):
    """S of decimal[S]."""
    return int(kind[8:-1])


def is_signed(kind):
    return kind in INTEGERS and kind[0] == "i"


def length_of(kind):
    """N of bytes[N]."""
    return int(kind[6:-1])


def bits_of(kind):
    return int(kind[1:])


def width(kind):
    if is_decimal(kind):
        return 8
    if is_time(kind):
        return 4 if kind == "date" else 8
    return 1 if kind == "bool" else length_of(kind) if kind.startswith("bytes") else bits_of(kind) // 8


def nothing(kind):
    if kind == "string":
        return b""
    if kind.startswith("bytes"):
        return bytes(length_of(kind))
    return False if kind == "bool" else 0.0 if is_float(kind) else 0


def holds(kind, number):
    least, most = INTEGERS[kind]
    return least <= number <= most


def low_bits(kind, number):
    number %= 2 ** bits_of(kind)
    return number - 2 ** bits_of(kind) if is_signed(kind) and number >= 2 ** (bits_of(kind) - 1) else number


def loose(x):
    """What a computation gives: of a NaN nobody knows the sign."""
    return loose_nan() if x != x else x


def single(number):
    """The nearest single precision number of an int or a float, ties to even."""
    if isinstance(number, float) and (number != number or math.isinf(number)):
        return loose(number)
    if number == 0:
        return float(number)
    exact = abs(Fraction(number))
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > exact
    unit = Fraction(2) ** (max(exponent, -126) - 23)
    rounded = round(exact / unit) * unit  # Python's round of a fraction takes the even one of two
    size = math.inf if rounded >= Fraction(2) ** 128 else float(rounded)
    return math.copysign(size, -1.0 if number < 0 else 1.0)


def convert(value, source, target):
    """T(x), and what happens where a type is declared."""
    if source == target:
        return value
    if target == "string":
        return text_of(value, source)
    if target.startswith("bytes"):
        raise fault("no conversion to bytes")
    if is_text(source) or is_time(source) or is_time(target) or is_decimal(source) or is_decimal(target):
        raise fault("texts and times are read with to_...")
    if target == "bool":
        return value != 0
    if target == "f64":
        return loose(float(value))
    if target == "f32":
        return single(int(value) if source == "bool" else value)
    if is_float(source):
        if value != value:
            return 0
        least, most = INTEGERS[target]
        return least if value <= least else most if value >= most else int(value)
    return low_bits(target, int(value))


# Texts


def shortest_digits(x, kind):
    """(digits, exponent): x = 0.digits * 10^exponent, with the fewest digits that read back the same; the nearest of
    these. At powers of two that isn't always x rounded to so many digits."""
    if kind == "f64":
        text = Decimal(repr(x)).normalize().as_tuple()  # Python promises the same of repr
        return "".join(str(d) for d in text.digits), text.exponent + len(text.digits)
    for precision in range(10):
        mantissa, exponent = f"{x:.{precision}e}".split("e")
        unit, middle = Fraction(10) ** (int(exponent) - precision), int(mantissa.replace(".", ""))
        near = [n for n in (middle - 1, middle, middle + 1) if single(n * unit) == x]
        if near:
            digits = str(min(near, key=lambda n: (abs(n * unit - Fraction(x)), n % 2)))
            return digits.rstrip("0") or "0", int(exponent) + len(digits) - precision
    raise AssertionError(x)


def float_text(x, kind):
    if x != x:
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    if x == 0:
        return "-0" if math.copysign(1, x) < 0 else "0"
    sign, x = ("-" if x < 0 else ""), abs(x)
    digits, point = shortest_digits(x, kind)
    power = point - 1
    scientific = (
        digits[0] + ("." + digits[1:] if len(digits) > 1 else "") + f"e{'-' if power < 0 else '+'}{abs(power):02}"
    )
    if point <= 0:
        plain = "0." + "0" * -point + digits
    elif point >= len(digits):
        plain = str(int(x))  # a whole number is written in full
    else:
        plain = digits[:point] + "." + digits[point:]
    return sign + (plain if len(plain) <= len(scientific) else scientific)


def time_text(value, kind):
    day = date.fromordinal(719163 + (value if kind == "date" else value // DAY))
    out = f"{day.year:04}-{day.month:02}-{day.day:02}"
    if kind == "timestamp":
        seconds, us = divmod(value % DAY, 10**6)
        out += f"T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}" + (f".{us:06}Z" if us else "Z")
    return out.encode()


DECIMAL = re.compile(rb"([+-]?)([0-9]*)(?:\.([0-9]*))?\Z")


def read_decimal(text, scale, rounds=False):
    """Units, or None: it is none."""
    found = DECIMAL.match(text)
    if not found or not (found[2] or found[3]):
        return None
    exact = Fraction(int(found[2] + (found[3] or b"")) * 10**scale, 10 ** len(found[3] or b""))
    if exact.denominator != 1 and not rounds:
        return None
    units = math.floor(exact + Fraction(1, 2)) * (-1 if found[1] == b"-" else 1)
    return units if -(2**63) <= units < 2**63 else None


def decimal_text(units, scale):
    digits = f"{abs(units):0{scale + 1}}"
    return ("-" * (units < 0) + (digits[:-scale] + "." + digits[-scale:] if scale else digits)).encode()


def text_of(value, kind):
    if is_text(kind):
        return value
    if kind == "bool":
        return b"true" if value else b"false"
    if is_decimal(kind):
        return decimal_text(value, scale_of(kind))
    if is_time(kind):
        return time_text(value, kind)
    return (float_text(value, kind) if is_float(kind) else str(value)).encode()


# Order


def key_of(value, kind):
    """What sorts and compares as the value does as a key; equal keys are equal bits."""
    if is_float(kind):
        if isinstance(value, loose_nan):
            raise undefined("the sign of a NaN that was computed")
        bits = int.from_bytes(packed(value, kind), "little")
        top = 1 << (8 * width(kind) - 1)
        return -(bits - top) - 1 if bits & top else bits
    return int(value) if kind == "bool" else value


# Packed rows


def packed(value, kind):
    if is_float(kind):
        if isinstance(value, loose_nan):
            raise undefined("the sign of a NaN that was computed")
        if kind == "f32":
            return struct.pack("<f", value)
        return struct.pack("<d", value)
    if is_text(kind):
        return value
    return int(value).to_bytes(width(kind), "little", signed=is_signed(kind) or is_time(kind) or is_decimal(kind))


def unpacked(data, kind):
    if is_float(kind):
        return struct.unpack("<f" if kind == "f32" else "<d", data)[0]
    if is_text(kind):
        return data
    number = int.from_bytes(data, "little", signed=is_signed(kind) or is_time(kind) or is_decimal(kind))
    return number != 0 if kind == "bool" else number
