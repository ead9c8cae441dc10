"""Decimals as the reference page describes them: integers that count units of 10^-S, which Python's fractions compute with
exactly."""

import math
from fractions import Fraction

from values import fault, is_decimal, is_float, is_integer, is_number, is_text, loose, read_decimal, scale_of, undefined

WORDS = ["to_decimal", "is_decimal"]
LIMIT = 2**63


class too_large(undefined):
    """The run ends with an error, also where the value isn't looked at: no test draws that."""


def within(units):
    if not -LIMIT <= units < LIMIT:
        raise too_large("a decimal beyond 64 bits")
    return units


def type_of(scale):
    return f"decimal[{scale}]"


def rounded(x):
    """The nearest integer of a fraction; halves away from 0."""
    size = math.floor(abs(x) + Fraction(1, 2))
    return -size if x < 0 else size


def real(units, kind):
    return units / 10 ** scale_of(kind)  # Python rounds a quotient of integers once


def need_fit(units):
    """A constant that is too large is wrong also where no row comes. `units`: None of what is no constant."""
    if units is not None and not -LIMIT <= units < LIMIT:
        raise fault("a constant beyond the decimals")


def exact(value):
    """(scale, function to units, the units if they are constant) of a decimal, an integer, or a constant that spells
    one; None: of a float."""
    run = value.run
    if is_decimal(value.kind):
        return scale_of(value.kind), run, None
    if is_integer(value.kind):
        return 0, lambda row: within(run(row)), value.known
    if value.constant:
        if value.digits is None:
            raise undefined("which digits a computed constant has")
        scale, units = value.digits
        return scale, lambda row: units, units
    if is_float(value.kind):
        return None
    raise fault(f"{value.kind} beside a decimal")


def at_scale(known, scale):
    of, run, units = known
    need_fit(None if units is None else units * 10 ** (scale - of))
    return lambda row: within(run(row) * 10 ** (scale - of))


def real_of(value):
    run, kind = value.run, value.kind
    if is_decimal(kind):
        return lambda row: real(run(row), kind)
    return run if is_float(kind) else lambda row: float(run(row))  # a NaN stays the one that it is


def arithmetic(op, a, b, float_ops):
    """(type, function)."""
    for v in (a, b):
        if not is_number(v.kind) and not is_decimal(v.kind) and v.digits is None:
            raise fault(f"{op} of {v.kind} and a decimal")
    if op not in "+-*/%":
        raise fault(f"{op} of decimals")
    x, y = exact(a), exact(b)
    if op == "/" or x is None or y is None:
        f, p, q = float_ops[op], real_of(a), real_of(b)
        return "f64", lambda row: loose(f(p(row), q(row)))
    if op == "*":
        scale = x[0] + y[0]
        if scale > 18:
            raise fault("more than 18 digits behind the point")
        need_fit(x[2])
        need_fit(y[2])
        return type_of(scale), lambda row: within(x[1](row) * y[1](row))
    scale = max(x[0], y[0])
    p, q = at_scale(x, scale), at_scale(y, scale)
    if op == "%":
        return type_of(scale), lambda row: remainder(p(row), q(row))
    return type_of(scale), lambda row: within(p(row) + q(row) if op == "+" else p(row) - q(row))


def remainder(a, b):
    size = abs(a) % abs(b) if b != 0 else 0
    return -size if a < 0 else size


def sides(a, b):
    """What comparisons of them compare: fractions, or floats."""
    if is_float(a.kind) and not a.constant or is_float(b.kind) and not b.constant:
        return real_of(a), real_of(b)

    def fraction(value):
        if is_integer(value.kind):
            return value.run  # also beyond the range of decimals
        scale, run, _ = exact(value)
        return lambda row: Fraction(run(row), 10**scale)

    return fraction(a), fraction(b)


def one_type(values):
    """(type, functions) for min, max and if."""
    known = [exact(v) for v in values]
    if any(k is None for k in known):
        return "f64", [real_of(v) for v in values]
    scale = max(k[0] for k in known)
    return type_of(scale), [at_scale(k, scale) for k in known]


def cast(kind, source, x, convert):
    """T(x) of units."""
    if kind == "bool":
        return x != 0
    if is_float(kind):
        return convert(real(x, source), "f64", kind)
    size = abs(x) // 10 ** scale_of(source)
    return convert(-size if x < 0 else size, "i64", kind)


def constant_of(argument):
    if argument.known is None:
        raise fault("a number of digits is a constant")
    return argument.known


def to_scale(argument, scale):
    run, kind = argument.run, argument.kind
    if is_text(kind):
        if argument.constant:
            raise undefined("a constant text as a decimal")
        return lambda row: read_decimal(run(row), scale, True) or 0
    if argument.constant and not is_decimal(kind):
        raise undefined("a constant as a decimal")
    if is_decimal(kind) or is_integer(kind):
        of = scale_of(kind) if is_decimal(kind) else 0
        return lambda row: within(rounded(Fraction(run(row) * 10**scale, 10**of)))
    if not is_float(kind):
        raise fault(f"to_decimal of {kind}")

    def of_float(row):
        x = run(row)
        if x != x or math.isinf(x):
            raise too_large("no decimal")
        return within(rounded(Fraction(x) * 10**scale))

    return of_float


def with_digits(word, x, kind, digits):
    """round, trunc, floor and ceil: (type, function)."""
    if digits >= scale_of(kind):
        return kind, x
    unit = Fraction(10) ** (scale_of(kind) - digits)
    f = {"round": rounded, "trunc": math.trunc, "floor": math.floor, "ceil": math.ceil}[word]
    more = 10 ** max(0, -digits)
    return type_of(max(0, digits)), lambda row: within(f(x(row) / unit) * more)


def compiled(word, arguments):
    first = arguments[0]
    x, kind = first.run, first.kind
    if word == "is_decimal":
        if not is_text(kind):
            raise fault(f"{word} of {kind}")
        scale = constant_of(arguments[1])
        return "bool", lambda row: read_decimal(x(row), scale) is not None
    if word == "to_decimal":
        scale = constant_of(arguments[1])
        if not 0 <= scale <= 18:
            raise fault("more than 18 digits behind the point")
        return type_of(scale), to_scale(first, scale)
    if word in ("round", "trunc", "floor", "ceil"):
        return with_digits(word, x, kind, constant_of(arguments[1]) if len(arguments) > 1 else 0)
    if word == "abs":
        return kind, lambda row: within(abs(within(-x(row))))
    if word == "sign":
        return "i64", lambda row: (x(row) > 0) - (x(row) < 0)
    return None
