"""Random expressions over known columns: drawn loosely, and drawn again where the reference says that they are wrong."""

import draw_values
import times
from expressions import compiled
from job_text import call, ex, name, number
from values import FLOATS, INTEGERS, TIMES, fault, is_decimal, is_float, is_integer, is_number, is_text, is_time, length_of, scale_of, undefined

COMPARED = ["==", "!=", "<", "<=", ">", ">="]
RANGES = [b"1", b"2", b"2,2", b"1.3,1.5", b"1,2", b"2b,3", b"1.2b,2.1b", b"3", b"2.2,2", b"1,1.0"]
SETS = [b"a-z0-9_", b"abc", b"A-Z-", b" 0-9", b"\x00-\x1f"]
PATTERNS = [b"[a-z]+", b"([0-9]+)", b"^a", b"b$", b"(a|b)(1?)", b"[0-9]+ *[a-z]", b"(?i)AB"]
REPLACEMENTS = [b"", b"x", rb"<\0>", rb"\0\0"]
LIKE = [b"a%", b"%b", b"%1%", b"a%b", b"", b"%", b"a", b"_", b"%a_%", b"__%", b"%a%b%", rb"%\%%", rb"\_%", b"% %a"]
PARTS = [b"a", b"ab", b"", b" ", b"1", b"b", b"zebra", b"\xff"]


WITH_TEXT = {
    "string",
    "concat",
    "to_u64",
    "to_i64",
    "to_f64",
    "is_number",
    "month",
    "crc32",
    "length",
    "starts_with",
    "ends_with",
    "contains",
    "decimal_key",
    "size_key",
    "real_key",
    "version_key",
    "find",
    "hex",
    "regex_matches",
    "to_date",
    "to_timestamp",
    "is_date",
    "is_timestamp",
    "strftime",
    "to_decimal",
    "is_decimal",
}


def has_text(e):
    return isinstance(e, tuple) and (
        e[:1] in (("text",), ("byte",), ("slice",))
        or e[0] == "call"
        and e[1] in WITH_TEXT
        or any(has_text(x) for x in e)
    )


def mentions(e, names):
    return isinstance(e, tuple) and (e[:1] == ("name",) and e[1] in names or any(mentions(x, names) for x in e))


def makes_decimals(e):
    return isinstance(e, tuple) and (e[:2] == ("call", "to_decimal") or any(makes_decimals(x) for x in e))


class expression_drawer:
    def __init__(self, r, types, texts=True, scalars=()):
        self.r, self.types, self.texts, self.scalars = r, types, texts, scalars

    def may_fail_without_rows(self, e):
        """What is made of scalars alone is computed once, and a decimal may be too large then, also if there is no row."""
        return bool(self.scalars) and makes_decimals(e) and mentions(e, self.scalars)

    def names(self, fits):
        return [c for c, kind in self.types.items() if fits(kind)]

    def draw(self, fits, depth=2):
        """An expression whose type fits; None where none was found."""
        for attempt in range(12):
            e = self.any(fits, depth if attempt < 8 else 0)
            if e is None:
                continue
            try:
                if self.may_fail_without_rows(e):
                    continue
                if fits(compiled(e, self.types).kind) and (self.texts or not has_text(e)):
                    return e
            except (fault, undefined):
                pass
        return None

    def any(self, fits, depth):
        makers = []
        if any(fits(k) for k in INTEGERS):
            makers.append(self.integer)
        if fits("string") or fits("bytes[1]"):
            makers.append(self.text)
        if fits("f64") or fits("f32"):
            makers.append(self.real)
        if fits("bool"):
            makers.append(self.boolean)
        if fits("date") or fits("timestamp"):
            makers.append(self.time)
        # Where rules of events and of pairs are drawn, what is computed of which rows isn't said.
        if self.texts and any(fits(k) for k in draw_values.DECIMALS):
            makers.append(self.decimal)
        return self.r.choice(makers)(depth) if makers else None

    def column(self, fits):
        names = self.names(fits)
        return name(self.r.choice(names)) if names else None

    def literal(self):
        r = self.r
        return number(r.choice([0, 1, 2, 3, 7, 10, 100, 255, 256, 2**32, 2**63, r.randrange(1000), -1, -5]))

    def integer(self, depth):
        r = self.r
        if depth == 0 or r.random() < 0.2:
            return self.column(is_integer) or (
                call("length", self.column(is_text)) if self.names(is_text) else self.literal()
            )
        a = self.integer(depth - 1)
        what = r.randrange(22)
        if what >= 20:
            return self.number_of_time(depth - 1)
        if what == 17:
            b = self.literal() if r.random() < 0.6 else self.integer(depth - 1)
            return call(r.choice(["floor_div", "floor_mod"]), a, b)
        if what == 18:
            return call("sign", self.real(depth - 1) if r.random() < 0.5 else a)
        if what == 19:
            return call("find", self.text(depth - 1), ex("text", r.choice(PARTS)))
        if what == 16:
            return call(r.choice(["bit_reverse", "popcount", "parity", "clz", "ctz"]), a)
        if what < 5:
            b = self.literal() if r.random() < 0.5 else self.integer(depth - 1)
            return ex("binary", r.choice("+-*/%&|^"), a, b)
        if what == 5:
            return ex("binary", r.choice(["<<", ">>"]), a, number(r.choice([0, 1, 3, 8, 31, 63, 64, 70])))
        if what == 6:
            return ex("unary", r.choice("-+~"), a)
        if what == 7:
            inner = self.real(depth - 1) if r.random() < 0.3 else self.boolean(depth - 1) if r.random() < 0.2 else a
            return call(r.choice(list(INTEGERS)), inner)
        if what == 8:
            return call(
                r.choice(["min", "max"]), *[a, self.integer(depth - 1), self.integer(depth - 1)][: r.randint(2, 3)]
            )
        if what == 9:
            return call(r.choice(["bit_reverse", "popcount", "parity", "clz", "ctz", "abs", "abs"]), a)
        if what == 10:
            return call("rand", number(r.randrange(5)), a)
        if what == 11:
            return call(
                "if", self.boolean(depth - 1), a, self.integer(depth - 1) if r.random() < 0.7 else self.literal()
            )
        if what == 12:
            small = ex("binary", r.choice(["+", "-", "*"]), number(r.randrange(9)), number(r.randrange(1, 9)))
            return ex("binary", r.choice(["+", "-"]), call("i64", a), small)
        if what == 13:
            return ex("binary", r.choice(["<<", ">>"]), a, self.integer(0))
        words = ["to_u64", "to_i64", "month", "crc32", "length", "byte"]
        word, text = r.choice(words), self.text(depth - 1)
        if word == "byte":
            return ex("byte", text, number(r.randrange(4)) if r.random() < 0.6 else call("u8", self.integer(0)))
        return call(word, text)

    def unit(self, least=0):
        return ex("text", self.r.choice(times.UNITS[least:]).encode())

    def number_of_time(self, depth):
        r = self.r
        what, t = r.randrange(8), self.time(depth)
        if what == 0:
            return ex("binary", "-", t, self.time(depth))
        if what == 1:
            return call("to_i64", t)
        if what < 4:
            return call("date_diff", self.unit(), t, self.time(depth))
        return call(r.choice(times.WORDS[8:]), t)

    def time(self, depth):
        r, pattern = self.r, ex("text", self.r.choice(times.PATTERNS))
        if depth <= 0 or r.random() < 0.2:
            return self.column(is_time) or call(r.choice(["to_date", "to_timestamp"]), self.integer(0))
        a = self.time(depth - 1)
        what = r.randrange(9)
        if what == 0:
            return ex("binary", r.choice("+-"), a, self.integer(0) if r.random() < 0.5 else number(r.randrange(400)))
        if what == 1:
            return ex("binary", "+", number(r.randrange(400)), a)
        if what == 2:
            return call("date_trunc", self.unit(r.choice([0, 5])), a)
        if what == 3:
            n = number(r.randrange(-30, 30)) if r.random() < 0.7 else self.integer(0)
            return call("date_add", self.unit(r.choice([0, 5])), n, a)
        if what == 4:
            return call(r.choice(["to_date", "to_timestamp"]), r.choice([a, self.text(0), self.integer(0)]))
        if what == 5:
            word = r.choice(["to_date", "to_timestamp"])
            return call(word, call("strftime", a, pattern) if r.random() < 0.7 else self.text(0), pattern)
        if what == 6:
            return call(r.choice(["min", "max"]), a, self.time(depth - 1))
        if what == 7:
            return call("if", self.boolean(depth - 1), a, self.time(depth - 1))
        return a

    def decimal(self, depth):
        r = self.r
        scale = number(r.choice([0, 1, 2, 2, 3, 5]))
        made = call("to_decimal", r.choice([self.text(0), self.integer(0), self.real(0)]), scale)
        if depth <= 0 or r.random() < 0.2:
            return self.column(is_decimal) or made
        a = self.decimal(depth - 1)
        what = r.randrange(10)
        if what < 4:
            small = [number(r.randrange(-5, 20)), ex("real", r.choice([0.5, 1.19, 0.25, 100.125])), ex("text", b"-0.05")]
            b = r.choice([*small, self.decimal(depth - 1), self.decimal(0), self.integer(0)])
            return ex("binary", r.choice("+-*%/"), *((a, b) if r.random() < 0.7 else (b, a)))
        if what == 4:
            return call(r.choice(["round", "trunc"]), a, number(r.randrange(-2, 4)))
        if what == 5:
            return call(r.choice(["round", "trunc", "floor", "ceil", "abs"]), a)
        if what == 6:
            return call(r.choice(["min", "max"]), a, r.choice([self.decimal(0), self.integer(0), ex("real", 12.75)]))
        if what == 7:
            return call("if", self.boolean(depth - 1), a, self.decimal(depth - 1))
        if what == 8:
            return ex("unary", r.choice("+-"), a)
        return made

    def real(self, depth):
        r = self.r
        if depth == 0 or r.random() < 0.2:
            return self.column(is_float) or call("f64", self.column(is_integer) or self.literal())
        a = self.real(depth - 1)
        what = r.randrange(12)
        if what == 8:
            return call(r.choice(["trunc", "round", "exp", "log", "log2", "log10"]), r.choice([a, self.integer(depth - 1)]))
        if what == 9:
            return call("round", a, number(r.choice([0, 1, 2, 3, -1, -2])))
        if what == 10:
            return call("pow", a, r.choice([number(2), ex("real", 0.5), self.real(0)]))
        if what == 11:
            return call(r.choice(["coalesce", "nullif", "floor_div", "floor_mod"]), a, self.real(depth - 1))
        if what < 3:
            b = r.choice(
                [ex("real", r.choice([0.5, 2.0, 0.1, 1e10, 3.25])), self.real(depth - 1), self.integer(depth - 1)]
            )
            return ex("binary", r.choice("+-*/%"), a, b)
        if what == 3:
            return call(r.choice(["sqrt", "floor", "ceil", "abs"]), a)
        if what == 4:
            return call(r.choice(FLOATS), r.choice([a, self.integer(depth - 1)]))
        if what == 5:
            return r.choice([ex("unary", "-", a), call(r.choice(["min", "max"]), a, self.real(depth - 1))])
        if what == 6:
            return call("rand_f64", number(r.randrange(5)), self.integer(depth - 1))
        return (
            call("to_f64", self.text(depth - 1))
            if r.random() < 0.5
            else call("if", self.boolean(depth - 1), a, self.real(0))
        )

    def text(self, depth):
        r = self.r
        if depth == 0 or r.random() < 0.2:
            return self.column(is_text) or call("string", self.column(lambda k: True) or self.literal())
        a = self.text(depth - 1)
        what = r.randrange(15)
        if what == 14:
            return call("strftime", self.time(depth - 1), ex("text", r.choice(times.PATTERNS)))
        if what == 10:
            return self.cut_text(a)
        if what == 11:
            word = r.choice(["regex_extract", "regex_replace"])
            more = [ex("text", r.choice(REPLACEMENTS))] if word == "regex_replace" else []
            return call(word, a, ex("text", r.choice(PATTERNS)), *more)
        if what == 12:
            word = r.choice(["hex", "unhex", "bytes", "hex"])
            return call(word, a, number(r.randint(1, 9))) if word == "bytes" else call(word, r.choice([a, self.integer(0)]))
        if what == 13:
            return call(r.choice(["coalesce", "nullif"]), a, self.text(depth - 1))
        if what == 0:
            return call(
                "concat",
                *[
                    r.choice([a, self.anything(depth - 1), ex("text", draw_values.text(r))])
                    for _ in range(r.randint(1, 3))
                ]
            )
        if what == 1:
            return call(r.choice(["lower", "upper", "trim", "trim_left", "trim_right"]), a)
        if what == 2:
            more = [ex("text", r.choice([b" ", b",", b"a"]))] if r.random() < 0.4 else []
            return call("fields", a, ex("text", r.choice(RANGES)), *more)
        if what == 3:
            return call("keep", a, ex("text", r.choice(SETS)))
        if what in (4, 5):
            first, last = (
                r.choice(
                    [None, number(r.randrange(5)), self.integer(0) if r.random() < 0.2 else number(r.randrange(9))]
                )
                for _ in range(2)
            )
            return ex("slice", a, first, last)
        if what == 6:
            return call(r.choice(["min", "max"]), a, self.text(depth - 1))
        if what == 7:
            return call("if", self.boolean(depth - 1), a, self.text(depth - 1))
        if what == 8:
            return call("string", self.anything(depth - 1))
        return self.column(is_text) or a

    def cut_text(self, a):
        r = self.r
        word = r.choice(["trim", "trim_left", "trim_right", "split_part", "replace", "pad_left", "pad_right"])
        if word == "split_part":
            return call(word, a, ex("text", r.choice([b" ", b",", b"a", b""])), number(r.randint(-3, 4)))
        if word == "replace":
            return call(word, a, ex("text", r.choice(PARTS)), ex("text", r.choice(PARTS)))
        if word.startswith("pad"):
            return call(word, a, number(r.randrange(12)), *([ex("text", b"0")] if r.random() < 0.5 else []))
        return call(word, a, ex("text", r.choice(SETS)))

    def anything(self, depth):
        return self.r.choice([self.integer, self.real, self.text, self.boolean, self.time, self.decimal])(depth)

    def boolean(self, depth):
        r = self.r
        if depth == 0 and r.random() < 0.5 and self.names(lambda k: k == "bool"):
            return self.column(lambda k: k == "bool")
        depth = max(depth, 1)
        what = r.randrange(21)
        if what == 18:
            return self.membership(depth - 1)
        if what == 19:
            maker = r.choice([self.integer, self.real, self.text, self.time, self.decimal])
            return ex("between", r.choice(["between", "not between"]), maker(depth - 1), maker(0), maker(0))
        if what == 20:
            return ex("like", r.choice(["like", "not like"]), self.text(depth - 1), ex("text", r.choice(LIKE)))
        if what == 16:
            b = r.choice([self.decimal(depth - 1), self.integer(0), self.real(0), ex("real", 12.345), ex("text", b"1.5")])
            return ex("binary", r.choice(COMPARED), self.decimal(depth - 1), b)
        if what == 17:
            return call("is_decimal", self.text(depth - 1), number(r.randrange(4)))
        if what == 14:
            return ex("binary", r.choice(COMPARED), self.time(depth - 1), self.time(depth - 1))
        if what == 15:
            pattern = [ex("text", r.choice(times.PATTERNS))] if r.random() < 0.5 else []
            return call(r.choice(["is_date", "is_timestamp"]), self.text(depth - 1), *pattern)
        if what == 12:
            return call("regex_matches", self.text(depth - 1), ex("text", r.choice(PATTERNS)))
        if what == 13:
            return call("is_nan", self.real(depth - 1))
        if what < 3:
            b = self.literal() if r.random() < 0.6 else self.integer(depth - 1)
            return ex("binary", r.choice(COMPARED), self.integer(depth - 1), b)
        if what == 3:
            return ex(
                "binary",
                r.choice(COMPARED),
                self.real(depth - 1),
                r.choice([self.real(depth - 1), self.integer(depth - 1), ex("real", 1.5)]),
            )
        if what == 4:
            return ex(
                "binary",
                r.choice(COMPARED),
                self.text(depth - 1),
                r.choice([self.text(depth - 1), ex("text", draw_values.text(r))]),
            )
        if what == 5:
            word = r.choice(["starts_with", "ends_with", "contains"])
            return call(word, self.text(depth - 1), r.choice([self.text(depth - 1), ex("text", r.choice(PARTS))]))
        if what == 6:
            return ex("unary", "not", self.boolean(depth - 1))
        if what == 7 and depth > 1:
            return ex("binary", r.choice(["and", "or"]), self.boolean(depth - 1), self.boolean(depth - 1))
        if what == 8:
            pairs = [r.choice([self.integer, self.text]) for _ in range(2)]
            return ex("tuples", r.choice(COMPARED), tuple(p(0) for p in pairs), tuple(p(0) for p in pairs))
        if what == 9:
            return r.choice(
                [
                    call("bool", self.integer(depth - 1)),
                    call("is_number", self.text(depth - 1)),
                    call("bool", self.real(depth - 1)),
                ]
            )
        if what == 10:
            word = r.choice(["decimal_key", "size_key", "real_key", "version_key"])
            return ex("binary", r.choice(["<", ">", "<=", ">="]), call(word, self.text(0)), call(word, self.text(0)))
        seed = number(r.randrange(3))
        return ex(
            "binary",
            r.choice(["==", "!="]),
            *(call("hash64", seed, r.choice([self.integer, self.text])(0)) for _ in range(2))
        )

    def membership(self, depth):
        """A value among few or many, of which some are constants."""
        r = self.r
        of_numbers = [self.literal, lambda: self.integer(0)]
        maker, others = r.choice(
            [
                (self.integer, of_numbers),
                (self.text, [lambda: ex("text", draw_values.text(r)), lambda: ex("text", r.choice(PARTS)), lambda: self.text(0)]),
                (self.real, [lambda: ex("real", r.choice([0.5, 2.0, 3.25])), lambda: self.real(0), *of_numbers]),
                (self.time, [lambda: self.time(0)]),
                (self.decimal, [lambda: ex("real", r.choice([0.5, 12.75])), lambda: self.decimal(0), *of_numbers]),
            ]
        )
        constants = others if r.random() < 0.4 else others[:1]
        values = [r.choice(constants)() for _ in range(r.choice([1, 2, 3, 6, 16]))]
        return ex("among", r.choice(["in", "not in"]), maker(depth), *values)

    # What nodes ask for

    def condition(self):
        return self.draw(lambda k: k == "bool") or name("true")

    def of_kind(self, kind, depth=2):
        """An expression of this very type; None where that is hard."""
        if kind in INTEGERS or kind in FLOATS or kind == "bool":
            e = self.draw(lambda k: is_number(k) or is_decimal(k) or k == "bool", depth)
            return e and call(kind, e)
        if kind == "string":
            e = self.draw(is_text, depth)
            return e and call("string", e)
        if is_decimal(kind):
            e = self.draw(lambda k: is_decimal(k) or is_number(k), depth)
            return e and call("to_decimal", e, number(scale_of(kind)))
        if kind in TIMES:
            return self.draw(lambda k: k == kind, depth)
        names = self.names(lambda k: k == kind)
        return (
            name(self.r.choice(names))
            if names
            else self.draw(lambda k: is_text(k) and k != "string" and length_of(k) == length_of(kind))
        )

    def aggregate(self):
        r = self.r
        of_numbers = ["sum", "avg", "variance", "stddev", "approx_quantile"]
        word = r.choice(["count", "sum", "min", "max", "first", "last", "approx_count_distinct", *of_numbers])
        if word == "count":
            return ex("aggregate", word, *([self.condition()] if r.random() < 0.5 else []))
        e = self.draw((lambda k: is_number(k) or is_decimal(k)) if word in of_numbers else lambda k: True, 1)
        if e is None:
            return ex("aggregate", "count")
        more = [r.choice([number(0), number(1), ex("real", 0.5), ex("real", 0.25), ex("real", 0.9)])]
        return ex("aggregate", word, e, *(more if word == "approx_quantile" else []))
