"""Expressions as the reference page describes them: compiled(e, types) checks one and makes it a function of a row.

`types` says which names are known ({name: type}); the function gets {name: value}. A name may have dots and brackets:
a.x, row[-1].x, rows(input).
"""

import functools
import math
import re

import decimals
import functions
import times
from values import (
    INTEGERS,
    convert,
    fault,
    holds,
    is_decimal,
    is_float,
    is_integer,
    is_number,
    is_signed,
    is_text,
    is_time,
    length_of,
    loose,
    low_bits,
    read_decimal,
    undefined,
)


def once_a_row(run):
    """The same function, which computes a row once where it is asked for it several times on end. Where each operand is
    asked twice, the innermost of ten is asked a thousand times."""
    last, value, why = object(), None, None

    def asked(row):
        nonlocal last, value, why
        if row is not last:
            try:
                value, why = run(row), None
            except undefined as e:
                why = e
            last = row
        if why is not None:
            raise why
        return value

    return asked


class typed:
    """A checked expression. `known`: the number of a constant integer; `literal`: one without a type; `constant`: no
    column is in it; `digits`: (scale, units) of the decimal that a literal or a text spells; `wraps`: a difference of
    unsigned numbers, whose sign must not be asked for."""

    def __init__(self, kind, run, known=None, literal=False, constant=False, digits=None, wraps=False):
        self.kind, self.run, self.known, self.literal, self.constant = kind, once_a_row(run), known, literal, constant
        self.digits, self.wraps = digits, wraps


def spelled(text):
    """The `digits` of a text."""
    scale = len(text.split(b".", 1)[1]) if b"." in text else 0
    units = read_decimal(text, scale) if scale <= 18 else None
    return None if units is None else (scale, units)


def all_of(taken, *others):
    """The first one's value, where the others are computed as well: a decimal among them may be too large."""
    for run in others:
        try:
            run()
        except decimals.too_large:
            raise
        except undefined:
            pass
    return taken()


def constant_number(n, kind=None):
    if kind is None:
        if not -(2**63) <= n < 2**64:
            raise fault(f"{n} does not fit in 64 bits")
        return typed("i64" if n < 0 else "u64", lambda row: n, n, literal=True, constant=True)
    if not holds(kind, n):
        raise fault(f"{n} is not a {kind}")
    return typed(kind, lambda row: n, n, constant=True)


def common(values):
    """The type in which numbers meet."""
    if any(is_float(v.kind) for v in values):
        return "f64"
    if all(not is_signed(v.kind) for v in values):
        return "u64"
    if all(v.kind != "u64" or (v.known is not None and v.known < 2**63) for v in values):
        return "i64"
    if all(not is_signed(v.kind) or (v.known is not None and v.known >= 0) for v in values):
        return "u64"
    raise fault("no integer type holds both")


def to(value, kind):
    """Brought to a type that holds it."""
    if value.kind == kind:
        return value
    run, source = value.run, value.kind
    return typed(
        kind,
        lambda row: convert(run(row), source, kind),
        value.known if is_integer(kind) else None,
        constant=value.constant,
    )


def one_type(values):
    """What min, max and if do: the same type stays, numbers meet, a literal text becomes bytes[N] beside its like."""
    kinds = {v.kind for v in values}
    if any(is_decimal(k) for k in kinds):
        kind, runs = decimals.one_type(values)
        return kind, [typed(kind, run, constant=v.constant) for run, v in zip(runs, values)]
    if len(kinds) == 1 and not (all(v.literal for v in values)):
        return values[0].kind, values
    if all(is_number(k) for k in kinds):
        kind = common(values)
    elif all(is_text(k) for k in kinds):
        if any(v.constant for v in values):
            raise undefined("which type a constant text takes beside others")
        kind = "string"
    else:
        raise fault("no common type")
    return kind, [to(v, kind) for v in values]


def divided(a, b):
    """Toward 0; by 0 it is 0."""
    if b == 0:
        return 0
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


def remainder(a, b):
    return 0 if b == 0 else a - b * divided(a, b)


def shifted(op, a, b):
    if not 0 <= b < 64:
        return 0
    return a << b if op == "<<" else a >> b


INTEGER_OPS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": divided,
    "%": remainder,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}


def float_divided(a, b):
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def float_remainder(a, b):
    return math.nan if b == 0 or math.isinf(a) or a != a or b != b else math.fmod(a, b)


FLOAT_OPS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": float_divided,
    "%": float_remainder,
}
COMPARISONS = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def compared(op, a, b):
    """The two sides of a comparison, as functions of which Python's comparison is right."""
    if is_decimal(a.kind) or is_decimal(b.kind):
        x, y = decimals.sides(a, b)
        a, b = typed(a.kind, x, constant=a.constant), typed(b.kind, y, constant=b.constant)
    elif is_number(a.kind) and is_number(b.kind):
        if is_float(a.kind) or is_float(b.kind):
            a, b = to(a, "f64"), to(b, "f64")
    elif not (is_text(a.kind) and is_text(b.kind)) and not a.kind == b.kind == "bool" and not a.kind == b.kind:
        raise fault(f"{a.kind} and {b.kind} can't be compared")
    for text, other in ((a, b), (b, a)):
        if op in ("==", "!=") and text.constant and text.kind == "string" and other.kind.startswith("bytes["):
            if len(text.run(None)) != int(other.kind[len("bytes[") : -1]):
                raise fault("a constant that never equals one of another length")
    f, x, y = COMPARISONS[op], a.run, b.run
    return typed("bool", lambda row: f(x(row), y(row)), constant=a.constant and b.constant)


def tuples(op, left, right):
    if len(left) != len(right) or not left:
        raise fault("tuples of different lengths")
    pairs = [(compared("<", a, b).run, compared(">", a, b).run, compared("==", a, b).run) for a, b in zip(left, right)]

    def run(row):
        for less, _, _ in pairs:
            all_of(lambda: None, lambda less=less: less(row))
        for less, greater, equal in pairs:
            if not equal(row):
                if not less(row) and not greater(row):
                    raise undefined("a tuple with a NaN")
                return op in ("!=",) or (op in ("<", "<=") if less(row) else op in (">", ">="))
        return op in ("==", "<=", ">=")

    return typed("bool", run, constant=all(v.constant for v in [*left, *right]))


def refuse_sign(op, a, b):
    for value, bound in ((a, b), (b, a)):
        if op in ("<", "<=", ">", ">=") and value.wraps and bound.known is not None and bound.known <= 0:
            raise fault("a difference of unsigned numbers is never below 0")


def binary(op, a, b):
    if op in ("and", "or"):
        if a.kind != "bool" or b.kind != "bool":
            raise fault(f"{op} needs bools")
        x, y = a.run, b.run
        both = op == "and"
        return typed(
            "bool",
            lambda row: all_of(lambda: (x(row) and y(row)) if both else (x(row) or y(row)), lambda: x(row), lambda: y(row)),
            constant=a.constant and b.constant
        )
    if op in COMPARISONS:
        refuse_sign(op, a, b)
        return compared(op, a, b)
    bits = op in ("&", "|", "^", "<<", ">>")
    if is_time(a.kind) or is_time(b.kind):
        if a.constant and b.constant:
            raise undefined("times that are constants")
        return typed(*times.arithmetic(op, a, b))
    if is_decimal(a.kind) or is_decimal(b.kind):
        if a.constant and b.constant:
            raise undefined("decimals that are constants")
        return typed(*decimals.arithmetic(op, a, b, FLOAT_OPS))
    for v in (a, b):
        if not (is_integer(v.kind) if bits else is_number(v.kind)):
            raise fault(f"{op} of {v.kind}")
    literals = a.literal and b.literal
    if op in ("<<", ">>"):
        kind = "i64" if is_signed(a.kind) else "u64"
        if a.constant and b.constant:
            raise undefined("shifts of constants")
        x, y = a.run, b.run
        return typed(kind, lambda row: low_bits(kind, shifted(op, x(row), y(row))))
    if literals or (a.known is not None and b.known is not None):
        if bits or (op in "/%" and b.known == 0):
            raise undefined("bits of constants, and constants by 0")
        n = INTEGER_OPS[op](a.known, b.known)
        return constant_number(n) if literals else constant_number(n, common([a, b]))
    kind = common([a, b])
    a, b = to(a, kind), to(b, kind)
    x, y = a.run, b.run
    if kind == "f64":
        f = FLOAT_OPS[op]
        return typed(kind, lambda row: loose(f(x(row), y(row))), constant=a.constant and b.constant)
    f = INTEGER_OPS[op]
    if a.constant and b.constant:
        raise undefined("arithmetic of what is a constant in other ways")
    return typed(
        kind, lambda row: low_bits(kind, f(low_bits(kind, x(row)), low_bits(kind, y(row)))), wraps=op == "-" and kind == "u64"
    )


def unary(op, a):
    x = a.run
    if op == "not":
        if a.kind != "bool":
            raise fault("not of what is no bool")
        return typed("bool", lambda row: not x(row), constant=a.constant)
    if is_decimal(a.kind) and op in "+-":
        return a if op == "+" else typed(a.kind, lambda row: decimals.within(-x(row)), constant=a.constant)
    if not (is_integer(a.kind) if op == "~" else is_number(a.kind)):
        raise fault(f"{op} of {a.kind}")
    if op == "+":
        return a
    if is_float(a.kind):
        return typed("f64", lambda row: loose(-x(row)), constant=a.constant)
    if op == "-":
        if a.known is not None:
            return constant_number(-a.known, None if a.literal else "i64")
        if a.kind == "u64":
            raise fault("- of u64")
        return typed("i64", lambda row: low_bits("i64", -x(row)), constant=a.constant)
    if a.constant:
        raise undefined("~ of a constant")
    kind = "i64" if is_signed(a.kind) else "u64"
    return typed(kind, lambda row: low_bits(kind, ~x(row)))


def cast(kind, a):
    if a.known is not None and kind in INTEGERS:
        return constant_number(a.known, kind)
    if a.constant and kind in INTEGERS and a.kind != "bool":
        raise undefined("a float that is a constant as an integer")
    if is_text(a.kind) and kind != "string":
        raise fault("texts are read with to_...")
    run, source = a.run, a.kind
    if is_decimal(source) and kind != "string":
        if a.constant:
            raise undefined("a decimal that is a constant")
        return typed(kind, lambda row: decimals.cast(kind, source, run(row), convert))
    wraps = a.wraps and kind == source
    return typed(kind, lambda row: convert(run(row), source, kind), constant=a.constant, wraps=wraps)


def extreme(largest, values):
    if largest and any(v.wraps for v in values) and any(v.known is not None and v.known <= 0 for v in values):
        raise fault("the larger of a difference of unsigned numbers and 0")
    if any(v.constant for v in values):
        if all(v.literal for v in values):
            return constant_number((max if largest else min)(v.known for v in values))
        if all(v.constant for v in values):
            raise undefined("an extreme of constants")
    kinds = {v.kind for v in values}
    try:
        kind, values = one_type(values)
    except fault:
        if not all(is_integer(k) for k in kinds):
            raise
        kind = "u64" if largest else "i64"  # by value; the result's type holds it always
        if any(v.known is not None for v in values):
            raise undefined("an extreme of u64, i64 and constants") from None
    runs = [v.run for v in values]

    def run(row):
        found = [r(row) for r in runs]
        if is_float(kind) and (any(x != x for x in found) or len({math.copysign(1, x) for x in found if x == 0}) > 1):
            raise undefined("an extreme of NaN, or of 0.0 and -0.0")
        return max(found) if largest else min(found)

    return typed(kind, run)


def choice(condition, a, b):
    if condition.kind != "bool":
        raise fault("a condition is a bool")
    kind, (a, b) = one_type([a, b])
    if condition.constant:
        raise undefined("a condition that is a constant")
    c, x, y = condition.run, a.run, b.run
    return typed(kind, lambda row: all_of(lambda: x(row) if c(row) else y(row), lambda: x(row), lambda: y(row)))


def floor_division(word, a, b):
    if not is_number(a.kind) or not is_number(b.kind):
        raise fault(f"{word} of {a.kind} and {b.kind}")
    if a.constant and b.constant:
        raise undefined("floor_div of constants")
    kind = common([a, b])
    a, b = to(a, kind), to(b, kind)
    x, y = a.run, b.run
    divides = word == "floor_div"

    def of_integers(row):
        p, q = x(row), y(row)
        return 0 if q == 0 else low_bits(kind, p // q if divides else p % q)

    def of_floats(row):
        p, q = x(row), y(row)
        if math.isinf(p) or p != p or q == 0 or q != q:
            raise undefined("floor_div of what has no end")
        return loose(p // q if divides else p % q)

    return typed(kind, of_floats if kind == "f64" else of_integers)


def with_missing(word, arguments):
    kind, values = one_type(arguments)
    if kind != "string" and not is_float(kind):
        raise fault(f"no value of {kind} is missing")
    runs = [v.run for v in values]
    constant = all(v.constant for v in values)
    if word == "nullif":
        x, y = runs
        missing = b"" if kind == "string" else loose(math.nan)
        return typed(kind, lambda row: missing if x(row) == y(row) else x(row), constant=constant)

    def first(row):
        all_of(lambda: None, *(lambda run=run: run(row) for run in runs))
        for run in runs:
            value = run(row)
            if value != b"" and value == value:
                return value
        return value

    return typed(kind, first, constant=constant)


def position(value):
    if not is_integer(value.kind):
        raise fault("a position is an integer")
    return value.run


def byte_of(text, at):
    if not is_text(text.kind):
        raise fault("[...] needs a text")
    f, i = text.run, position(at)

    def run(row):
        data, n = f(row), i(row)
        if n < 0:
            raise undefined("a byte before the first")
        return data[n] if n < len(data) else 0

    return typed("u8", run, constant=text.constant and at.constant)


def slice_of(text, first, last):
    if not is_text(text.kind):
        raise fault("[...:...] needs a text")
    f = text.run
    if text.kind != "string":
        least = 0 if first is None else first.known
        most = length_of(text.kind) if last is None else last.known
        if least is None or most is None or not 0 <= least < most <= length_of(text.kind):
            raise fault("bounds of a slice of bytes[N]")
        return typed(f"bytes[{most - least}]", lambda row: f(row)[least:most], constant=text.constant)
    a = position(first) if first is not None else lambda row: 0
    b = position(last) if last is not None else lambda row: 2**64
    if any(v is not None and v.known is not None and v.known < 0 for v in (first, last)):
        raise fault("a bound below 0")

    def run(row):
        least, most = max(0, a(row)), max(0, b(row))
        return all_of(lambda: f(row)[least:most] if least < most else b"", lambda: f(row))

    return typed("string", run, constant=text.constant)


def of_relation(op, out):
    return unary("not", out) if op.startswith("not ") else out


def among(op, value, others):
    return of_relation(op, functools.reduce(lambda a, b: binary("or", a, b), [compared("==", value, v) for v in others]))


def between(op, value, low, high):
    refuse_sign(">=", value, low)
    refuse_sign("<=", value, high)
    return of_relation(op, binary("and", compared(">=", value, low), compared("<=", value, high)))


# What is one character: of texts that no encoder makes it doesn't matter.
CHARACTER = rb"(?:[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})"


def like(op, text, pattern):
    if not is_text(text.kind):
        raise fault(f"like of {text.kind}")
    wanted = b""
    for escaped, byte in re.findall(rb"(\\?)(.)", pattern, re.S):
        wanted += re.escape(byte) if escaped else {b"%": b".*", b"_": CHARACTER}.get(byte, re.escape(byte))
    run, found = text.run, re.compile(wanted, re.S)
    return of_relation(op, typed("bool", lambda row: found.fullmatch(run(row)) is not None, constant=text.constant))


DECIMALS_TOO = ("round", "trunc", "floor", "ceil", "abs", "sign")


def compiled(e, types):
    head, *parts = e
    if head == "number":
        return constant_number(parts[0])
    if head == "real":
        digits = spelled(repr(parts[0]).encode()) if re.fullmatch(r"[0-9]+\.[0-9]+", repr(parts[0])) else None
        return typed("f64", lambda row, x=parts[0]: x, constant=True, digits=digits)
    if head == "text":
        return typed("string", lambda row, x=parts[0]: x, constant=True, digits=spelled(parts[0]))
    if head == "name":
        if parts[0] in ("true", "false"):
            return typed("bool", lambda row, x=parts[0] == "true": x, constant=True)
        if parts[0] not in types:
            raise fault(f"unknown name {parts[0]}")
        return typed(types[parts[0]], lambda row, n=parts[0]: row[n])
    if head == "unary":
        return unary(parts[0], compiled(parts[1], types))
    if head == "binary":
        return binary(parts[0], compiled(parts[1], types), compiled(parts[2], types))
    if head == "byte":
        return byte_of(compiled(parts[0], types), compiled(parts[1], types))
    if head == "slice":
        return slice_of(*(compiled(p, types) if p is not None else None for p in parts))
    if head == "tuples":
        return tuples(parts[0], *([compiled(p, types) for p in side] for side in parts[1:]))
    if head in ("among", "between"):
        op, value, *others = parts[0], *(compiled(p, types) for p in parts[1:])
        return among(op, value, others) if head == "among" else between(op, value, *others)
    if head == "like":
        return like(parts[0], compiled(parts[1], types), parts[2][1])
    if head != "call":
        raise AssertionError(head)
    word, *arguments = parts
    arguments = [compiled(a, types) for a in arguments]
    if word in INTEGERS or word in ("f32", "f64", "bool", "string"):
        return cast(word, arguments[0])
    if word in ("abs", "sign") and arguments[0].wraps:
        raise fault(f"{word} of a difference of unsigned numbers")
    if word in ("min", "max"):
        return extreme(word == "max", arguments)
    if word == "if":
        return choice(*arguments)
    if word in ("floor_div", "floor_mod"):
        return floor_division(word, *arguments)
    if word in ("coalesce", "nullif"):
        return with_missing(word, arguments)
    if word in decimals.WORDS or (is_decimal(arguments[0].kind) and word in DECIMALS_TOO):
        if arguments[0].constant:
            raise undefined("a decimal that is a constant")
        return typed(*decimals.compiled(word, arguments))
    kind, run = functions.compiled(word, arguments)
    constant = all(a.constant for a in arguments)
    if constant and kind not in ("string", "bool", "f64"):
        raise undefined("an integer that is a constant or not")
    return typed(kind, run, constant=constant)


def condition(e, types):
    out = compiled(e, types)
    if out.kind != "bool":
        raise fault("a condition is a bool")
    return out.run


def declared_decimal(value, kind):
    if not is_decimal(kind):
        if not is_float(kind):
            raise fault(f"{value.kind} is no {kind}")
        run, source = value.run, value.kind
        return lambda row: convert(decimals.real(run(row), source), "f64", kind)
    known = decimals.exact(value)
    if known is None or known[0] > decimals.scale_of(kind):
        if value.constant:
            raise undefined("a constant with more digits, which may be 0")
        raise fault(f"{value.kind} is no {kind}")
    return decimals.at_scale(known, decimals.scale_of(kind))


def declared(e, types, kind):
    """Where a type is declared: integers become that integer type, numbers that float type."""
    value = compiled(e, types)
    if value.kind == kind:
        return value.run
    if is_decimal(kind) or is_decimal(value.kind):
        return declared_decimal(value, kind)
    if value.known is not None and kind in INTEGERS:
        return constant_number(value.known, kind).run
    if (is_integer(value.kind) and kind in INTEGERS) or (is_number(value.kind) and is_float(kind)):
        if value.constant and value.known is None:
            raise undefined("a float that is a constant as a narrower one")
        run, source = value.run, value.kind
        return lambda row: convert(run(row), source, kind)
    raise fault(f"{value.kind} is no {kind}")
