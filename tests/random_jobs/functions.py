"""The functions of the expression language, each as its line in the reference page says, and as the page of sort(1)
says where that line names one of its options."""

import math
import re
import zlib
from decimal import Decimal
from fractions import Fraction

import decimals
import times
from values import convert, fault, holds, is_decimal, is_float, is_integer, is_number, is_signed, is_text, is_time, length_of, loose, text_of
from values import low_bits, undefined

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def mixed(x):
    """splitmix64: one step behind x."""
    x = (x + GOLDEN) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def rand(seed, i):
    return mixed((mixed(seed & MASK) + (i & MASK) * GOLDEN) & MASK)


# Numbers


def square_root(x):
    return loose(math.sqrt(x) if x >= 0 else math.nan)


def whole(f):
    def run(x):
        if x != x or math.isinf(x):
            return loose(x)
        return math.copysign(float(f(x)), x)

    return run


def leading_zeros(x):
    return 64 - x.bit_length()


def trailing_zeros(x):
    return 64 if x == 0 else (x & -x).bit_length() - 1


BITS = {
    "bit_reverse": lambda x: int(f"{x:064b}"[::-1], 2),
    "popcount": lambda x: f"{x:b}".count("1"),
    "parity": lambda x: f"{x:b}".count("1") % 2,
    "clz": leading_zeros,
    "ctz": trailing_zeros,
}


def half_away(x):
    size = math.floor(abs(Fraction(x)) + Fraction(1, 2))
    return -size if x < 0 else size


def logarithm(f):
    return lambda x: loose(f(x) if x > 0 else -math.inf if x == 0 else math.nan)


def power_of_e(x):
    try:
        return loose(math.exp(x))
    except OverflowError:
        return math.inf


REALS = {
    "sqrt": square_root,
    "floor": whole(math.floor),
    "ceil": whole(math.ceil),
    "trunc": whole(math.trunc),
    "round": whole(half_away),
    "exp": power_of_e,
    "log": logarithm(math.log),
    "log2": logarithm(math.log2),
    "log10": logarithm(math.log10),
}


def power(x, y):
    try:
        return loose(math.pow(x, y))
    except (OverflowError, ValueError):
        raise undefined("powers beyond the range of f64")


def rounded(x, digits):
    """x times the power of ten, rounded, and divided by it."""
    if x != x or math.isinf(x) or not -20 < digits < 20:
        raise undefined("rounding to very many digits")
    unit = 10.0 ** abs(digits)
    scaled = x * unit if digits >= 0 else x / unit
    if abs(scaled) >= 2**52:
        raise undefined("rounding what has no digits there")
    n = math.copysign(float(half_away(scaled)), x)
    return n / unit if digits >= 0 else n * unit


# Texts


def ascii_case(text, first, last, distance):
    return bytes(b + distance if first <= b <= last else b for b in text)


NUMBER = re.compile(rb"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")
NAMED = re.compile(rb"[+-]?(inf|infinity|nan)\Z", re.I)


def whole_number(kind):
    def run(text):
        if not re.match(rb"-?[0-9]+\Z" if kind == "i64" else rb"[0-9]+\Z", text):
            return 0
        n = int(text)
        return n if holds(kind, n) else 0

    return run


def real_number(text):
    """The number, or None."""
    if NAMED.match(text):
        raise undefined("inf and nan as texts")
    if not NUMBER.match(text):
        if re.search(rb"[xXpP]", text) and re.match(rb"[+-]?0", text):
            raise undefined("numbers of base 16")
        return None
    x = float(text)
    exact = (
        Fraction(Decimal(text.decode()))
        if len(text) < 40 and abs(int((re.search(rb"[eE](.*)", text) or [b"", b"0"])[1])) < 1000
        else None
    )
    if math.isinf(x) or exact is None or (exact != 0 and abs(x) < 2.3e-308):
        raise undefined("numbers beyond the range of f64")
    return x


WHITE = b" \t\n\v\f\r"


def bytes_of_hex(text):
    return bytes.fromhex(text.decode()) if re.fullmatch(rb"([0-9a-fA-F]{2})*", text) else b""


def part_of(text, separator, n):
    parts = text.split(separator) if separator else [text]
    if n < 0:
        n += len(parts) + 1
    return parts[n - 1] if 1 <= n <= len(parts) else b""


TRIMS = {"trim": bytes.strip, "trim_left": bytes.lstrip, "trim_right": bytes.rstrip}
PADS = {"pad_left": bytes.rjust, "pad_right": bytes.ljust}


def pattern_of(pattern):
    """Python's, of one that is drawn: its $ is before a newline at the end, too."""
    return re.compile(pattern.replace(b"$", rb"\Z"))


TEXTS = {
    "length": ("u64", 1, len),
    "starts_with": ("bool", 2, lambda a, b: a.startswith(b)),
    "ends_with": ("bool", 2, lambda a, b: a.endswith(b)),
    "contains": ("bool", 2, lambda a, b: b in a),
    "lower": ("string", 1, lambda a: ascii_case(a, 65, 90, 32)),
    "upper": ("string", 1, lambda a: ascii_case(a, 97, 122, -32)),
    "find": ("i64", 2, bytes.find),
    "replace": ("string", 3, lambda a, b, c: a.replace(b, c) if b else a),
    "unhex": ("string", 1, lambda a: bytes_of_hex(a)),
    "to_u64": ("u64", 1, whole_number("u64")),
    "to_i64": ("i64", 1, whole_number("i64")),
    "to_f64": ("f64", 1, lambda a: real_number(a) or 0.0 if real_number(a) != 0 else real_number(a)),
    "is_number": ("bool", 1, lambda a: real_number(a) is not None),
    "crc32": ("u32", 1, zlib.crc32),
}

BLANKS = b" \t\n"


def field_bounds(text, separator):
    """[(from, to)] of the fields."""
    out, start = [], 0
    if separator is not None:
        for part in text.split(separator):
            out.append((start, start + len(part)))
            start += len(part) + 1
        return out
    while start < len(text):
        end = start
        while end < len(text) and text[end] in BLANKS:
            end += 1
        while end < len(text) and text[end] not in BLANKS:
            end += 1
        out.append((start, end))
        start = end
    return out


def field_range(text):
    match = re.match(rb"([1-9]\d*)(\.[1-9]\d*)?(b)?(,([1-9]\d*)(\.\d+)?(b)?)?\Z", text)
    if not match:
        raise fault("no range of fields")
    field, byte, b, rest, last, last_byte, last_b = match.groups()
    first = (int(field), int(byte[1:]) if byte else 1, b is not None)
    return first, (int(last), int(last_byte[1:]) if last_byte else 0, last_b is not None) if rest else None


def cut(text, spec, separator):
    """The key of sort -k: from byte c of field f up to byte c of field f, or to its end."""
    (field, byte, skips), last = field_range(spec)
    bounds = field_bounds(text, separator)

    def place(n, skip_blanks):
        start, end = bounds[n - 1]
        # Blanks are skipped to the end of the text, not of the field.
        while skip_blanks and start < len(text) and text[start] in BLANKS:
            start += 1
        return start, end

    if field > len(bounds):
        return b""
    start = min(place(field, skips)[0] + byte - 1, len(text))
    if last is None or last[0] > len(bounds):
        return text[start:]
    end = bounds[last[0] - 1][1] if last[1] == 0 else min(place(last[0], last[2])[0] + last[1], len(text))
    return text[start:end] if start < end else b""


def members_of(spec):
    out, i = set(), 0
    while i < len(spec):
        if i + 2 < len(spec) and spec[i + 1] == ord("-"):
            out.update(range(spec[i], spec[i + 2] + 1))
            i += 3
        else:
            out.add(spec[i])
            i += 1
    return out


def kept(text, spec):
    members = members_of(spec)
    return bytes(b for b in text if b in members)


MONTHS = [b"JAN", b"FEB", b"MAR", b"APR", b"MAY", b"JUN", b"JUL", b"AUG", b"SEP", b"OCT", b"NOV", b"DEC"]


def month(text):
    begin = text.lstrip(BLANKS)[:3].upper()
    return MONTHS.index(begin) + 1 if begin in MONTHS else 0


def decimal_number(text):
    match = re.match(rb"[ \t\n]*(-?)([0-9]*)(\.[0-9]*)?", text)
    sign, digits, rest = match.groups()
    n = Fraction((digits or b"0").decode()) + (Fraction("0" + rest.decode()) if rest and len(rest) > 1 else 0)
    return -n if sign else n, match.end()


def size_number(text):
    """Sign, unit, number."""
    n, end = decimal_number(text)
    if text[end - 1 : end] == b".":
        raise undefined("a point without digits behind it")
    unit = b"KMGTPEZYRQ".find(text[end : end + 1]) + 1 if end < len(text) else 0
    if text[end : end + 1] == b"k":
        unit = 1
    if not re.match(rb"[ \t\n]*-?[0-9]", text) and unit:
        raise undefined("a unit without digits")
    if n == 0:
        return (0, 0, Fraction(0))
    sign = -1 if n < 0 else 1
    return (sign, sign * unit, n)


def real_prefix(text):
    """No number, NaN, or a number: what strtold reads, whose numbers have 64 binary digits."""
    match = re.match(rb"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", text)
    if re.match(rb"\s*[+-]?(inf|nan|0[xX])", text, re.I) or re.match(rb"\s*\+", text):
        raise undefined("what strtold reads beside decimal numbers")
    if not match:
        return (0, 0)
    exponent = match.group(3)
    if exponent and abs(int(exponent[1:])) > 300 or len(match.group()) > 300:
        raise undefined("numbers of very many digits")
    return (2, with_digits(Fraction(match.group().strip().decode()), 64))


def with_digits(number, digits):
    """The nearest number with so many binary digits, ties to even."""
    if number == 0:
        return number
    exponent = number.numerator.bit_length() - number.denominator.bit_length() - digits
    while abs(number) >= Fraction(2) ** (exponent + digits):
        exponent += 1
    while abs(number) < Fraction(2) ** (exponent + digits - 1):
        exponent -= 1
    return round(number / Fraction(2) ** exponent) * Fraction(2) ** exponent


def version_order(c):
    return -1 if c == ord("~") else c if chr(c).isalpha() and c < 128 else c + 256


class version:
    """Names with versions, as the page of sort -V (filevercmp) puts them in order."""

    def __init__(self, text):
        self.text = text

    def stem(self):
        ending = re.compile(rb"(\.[A-Za-z~][A-Za-z0-9~]*)*\Z").search(self.text)
        return self.text[: ending.start()]

    @staticmethod
    def verrevcmp(a, b):
        i = j = 0
        while i < len(a) or j < len(b):
            while (i < len(a) and not 48 <= a[i] <= 57) or (j < len(b) and not 48 <= b[j] <= 57):
                x = 0 if i >= len(a) or 48 <= a[i] <= 57 else version_order(a[i])
                y = 0 if j >= len(b) or 48 <= b[j] <= 57 else version_order(b[j])
                # The end of a text comes behind ~ and before everything else.
                x, y = (-0.5 if i >= len(a) else x), (-0.5 if j >= len(b) else y)
                if x != y:
                    return -1 if x < y else 1
                i, j = i + 1, j + 1
            p, q = re.match(rb"[0-9]*", a[i:]).group(), re.match(rb"[0-9]*", b[j:]).group()
            x, y = int(p or b"0"), int(q or b"0")
            if x != y:
                return -1 if x < y else 1
            i, j = i + len(p), j + len(q)
        return 0

    def compared(self, other):
        a, b = self.text, other.text
        if a == b:
            return 0
        for special in (lambda t: t == b"", lambda t: t == b".", lambda t: t == b"..", lambda t: t[:1] == b"."):
            if special(a) != special(b):
                return -1 if special(a) else 1
        x, y = self.stem(), other.stem()
        return self.verrevcmp(x, y) or self.verrevcmp(a, b)

    def __lt__(self, other):
        return self.compared(other) < 0

    def __gt__(self, other):
        return self.compared(other) > 0

    def __eq__(self, other):
        return self.compared(other) == 0

    def __le__(self, other):
        return self.compared(other) <= 0

    def __ge__(self, other):
        return self.compared(other) >= 0

    def __hash__(self):
        raise undefined("versions in a table")


# Their bytes are nobody's promise, only how they compare.
KEYS = {
    "decimal_key": lambda t: decimal_number(t)[0],
    "size_key": size_number,
    "real_key": real_prefix,
    "version_key": version,
}


def hashed(arguments):
    """What hashes compare like: the values without their width."""
    kinds = [a.kind for a in arguments[1:]]
    runs = [a.run for a in arguments]

    def run(row):
        seed, *values = (r(row) for r in runs)
        out = [seed & MASK]
        for value, kind in zip(values, kinds):
            if is_float(kind):
                raise undefined("hashes of floats")
            out.append(value if is_text(kind) else int(value) & MASK)
        return tuple(out)

    return run


def pure(f, arguments):
    runs = [a.run for a in arguments]
    return lambda row: f(*(r(row) for r in runs))


def mixed_text(word, arguments):
    """Texts with a number: how long, or which part."""
    kinds = [a.kind for a in arguments]
    number = 2 if word == "split_part" else 1
    if not all(is_integer(k) if i == number else is_text(k) for i, k in enumerate(kinds)):
        raise fault(f"{word} of {kinds}")
    if word == "split_part":
        return "string", pure(part_of, arguments)
    if word == "bytes":
        n = arguments[1].known
        if n is None or not 1 <= n <= 65536:
            raise fault("no length of bytes[N]")
        return f"bytes[{n}]", pure(lambda t, _: t[:n].ljust(n, b"\0"), arguments)

    def padded(text, n, fill=b" "):
        if n > 1000:
            raise undefined("long texts")
        return PADS[word](text, max(n, 0), fill)

    return "string", pure(padded, arguments)


def regular_expression(word, arguments):
    if not all(a.constant for a in arguments[1:]) or arguments[0].constant:
        raise fault("patterns are constants")
    pattern = pattern_of(arguments[1].run({}))
    if word == "regex_matches":
        return "bool", pure(lambda t: pattern.search(t) is not None, arguments[:1])
    if word == "regex_extract":
        def extracted(t):
            found = pattern.search(t)
            return (found.group(0) or b"") if found else b""

        return "string", pure(extracted, arguments[:1])
    by = arguments[2].run({})
    return "string", pure(lambda t: pattern.sub(lambda m: by.replace(rb"\0", m.group(0)), t), arguments[:1])


def compiled(word, arguments):
    """(type, function of a row)."""
    kinds = [a.kind for a in arguments]
    if word == "concat":
        pairs = [(a.run, a.kind) for a in arguments]
        return "string", lambda row: b"".join(text_of(run(row), kind) for run, kind in pairs)
    if word in times.WORDS and not (word == "month" and is_text(kinds[0])):
        return times.compiled(word, arguments)
    if word == "to_i64" and is_time(kinds[0]):
        return "i64", arguments[0].run
    if word in BITS:
        if not is_integer(kinds[0]):
            raise fault(f"{word} of {kinds[0]}")
        return "u64", pure(lambda x: BITS[word](x & MASK), arguments)
    if word in REALS and len(arguments) == 1:
        if is_decimal(kinds[0]):
            return "f64", pure(lambda x: REALS[word](decimals.real(x, kinds[0])), arguments)
        if not is_number(kinds[0]):
            raise fault(f"{word} of {kinds[0]}")
        return "f64", pure(lambda x: REALS[word](convert(x, kinds[0], "f64")), arguments)
    if word in ("pow", "round"):
        if not is_number(kinds[0]) or not (is_number(kinds[1]) if word == "pow" else is_integer(kinds[1])):
            raise fault(f"{word} of {kinds}")
        f = power if word == "pow" else rounded
        target = "f64" if word == "pow" else "i64"
        return "f64", pure(lambda x, y: f(convert(x, kinds[0], "f64"), convert(y, kinds[1], target)), arguments)
    if word in ("sign", "is_nan"):
        if not is_number(kinds[0]):
            raise fault(f"{word} of {kinds[0]}")
        if word == "is_nan":
            return "bool", pure(lambda x: x != x, arguments)
        return "i64", pure(lambda x: (x > 0) - (x < 0), arguments)
    if word == "hex" and not is_text(kinds[0]):
        if not is_integer(kinds[0]) or is_signed(kinds[0]):
            raise fault(f"hex of {kinds[0]}")
        return "string", pure(lambda x: b"%x" % x, arguments)
    if word in ("split_part", "bytes", "pad_left", "pad_right"):
        return mixed_text(word, arguments)
    if word == "abs":
        if not is_number(kinds[0]):
            raise fault(f"abs of {kinds[0]}")
        kind = "f64" if is_float(kinds[0]) else "i64" if is_signed(kinds[0]) else "u64"
        return kind, pure(lambda x: loose(abs(x)) if kind == "f64" else low_bits(kind, abs(x)), arguments)
    if word in ("rand", "rand_f64", "hash64"):
        if not is_integer(kinds[0]) or (word != "hash64" and not is_integer(kinds[1])):
            raise fault(f"{word} of {kinds}")
        if word == "hash64":
            return "hash", hashed(arguments)
        if word == "rand":
            return "u64", pure(rand, arguments)
        return "f64", pure(lambda seed, i: (rand(seed, i) >> 11) / 2**53, arguments)
    if not all(is_text(k) for k in kinds):
        raise fault(f"{word} of {kinds}")
    if word == "hex":
        return "string", pure(lambda t: t.hex().encode(), arguments)
    if word in TRIMS:
        sets = bytes(members_of(arguments[1].run({}))) if len(arguments) > 1 else WHITE
        return "string", pure(lambda t: TRIMS[word](t, sets), arguments[:1])
    if word.startswith("regex_"):
        return regular_expression(word, arguments)
    if word in TEXTS:
        kind, count, f = TEXTS[word]
        if len(arguments) != count:
            raise fault(f"{word} takes {count}")
        if word == "length" and kinds[0] != "string":
            raise undefined(f"the length of bytes[{length_of(kinds[0])}], a constant or not")
        return kind, pure(f, arguments)
    if word == "month":
        return "u8", pure(month, arguments)
    if word in KEYS:
        return f"key {word}", pure(KEYS[word], arguments)
    if word in ("fields", "keep"):
        if arguments[0].constant or not all(a.constant for a in arguments[1:]):
            raise fault(f"{word} wants constants")
        spec, *more = (a.run({}) for a in arguments[1:])
        if word == "keep":
            return "string", pure(lambda t: kept(t, spec), arguments[:1])
        field_range(spec)
        if more and len(more[0]) != 1:
            raise fault("a separator is one byte")
        return "string", pure(lambda t: cut(t, spec, more[0] if more else None), arguments[:1])
    raise fault(f"unknown function {word}")
