#!/usr/bin/env python3
"""The eight tables of TPC-H as CSV files with a header, made by a generator of our own.

    tpch_data.py FOLDER [--scale 1] [--seed 1]

Columns, keys, value domains and how tables hang together are those of the specification (TPC-H 3.0.1, clause 4.2), so the
questions select about what they select there: a third of the customers has no orders, order keys have gaps, dates of a line
follow its order's, an order's status and price are those of its lines, words of comments are as frequent. Not the same are
the random numbers, the addresses and the sentences of comments, which have no commas, so that no field needs quotes.

Each value is a hash of the seed, the column and the row, so the files are the same on every machine. At scale 1 they have
1.1 GB, and lineitem 6,000,000 rows."""
import argparse
import pathlib
import random
import zlib

import numpy as np

import tpch_words as words

CHUNK = 50_000
FIRST_DAY, LAST_DAY = np.datetime64("1992-01-01"), np.datetime64("1998-12-31")
CURRENT_DAY = int((np.datetime64("1995-06-17") - FIRST_DAY).astype(int))
POOL_BYTES = 1 << 20
LONGEST_COMMENT = 198


# Random numbers.

def mixed(numbers):
    """The finalizer of splitmix64."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


class draws:
    """Numbers that a seed, a name and a row decide."""

    def __init__(self, seed):
        self.seed = seed

    def hashes(self, name, rows):
        start = np.array([(self.seed << 32 | zlib.crc32(name.encode())) % 2**64], dtype=np.uint64)
        return mixed(mixed(start) + (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))

    def between(self, name, rows, low, high):
        """Whole numbers from low to high."""
        return low + (self.hashes(name, rows) % np.uint64(high - low + 1)).astype(np.int64)


# Texts: a column is a matrix of bytes, a row for each value, with zero bytes where a value has none.

def matrix(texts):
    width = max(len(text) for text in texts)
    return np.frombuffer(b"".join(text.encode().ljust(width, b"\0") for text in texts), dtype=np.uint8).reshape(-1, width)


def chosen(texts, index):
    return matrix(texts)[index]


def padded_digits(numbers, width):
    """Exactly so many digits."""
    powers = 10 ** np.arange(width - 1, -1, -1, dtype=np.int64)
    return (numbers[:, None] // powers % 10 + ord("0")).astype(np.uint8)


def digits(numbers):
    """Whole numbers from 0, without leading zeros."""
    width = len(str(int(numbers.max(initial=0))))
    out = padded_digits(numbers, width)
    powers = 10 ** np.arange(width - 1, -1, -1, dtype=np.int64)
    powers[-1] = 0
    out[numbers[:, None] < powers] = 0
    return out


def constant(text, num_rows):
    return np.broadcast_to(np.frombuffer(text.encode(), dtype=np.uint8), (num_rows, len(text)))


def money(cents):
    sign = np.where(cents < 0, ord("-"), 0).astype(np.uint8)[:, None]
    size = np.abs(cents)
    return np.hstack([sign, digits(size // 100), constant(".", len(cents)), padded_digits(size % 100, 2)])


def named(prefix, numbers):
    return np.hstack([constant(prefix, len(numbers)), padded_digits(numbers, 9)])


DAYS = matrix([str(day) for day in np.arange(FIRST_DAY, LAST_DAY + 1)])


class weighted:
    """Words, the heavier of which are drawn more often."""

    def __init__(self, weights):
        self.words = list(weights)
        self.sums = np.cumsum(list(weights.values())).tolist()

    def one(self, rng):
        return rng.choices(self.words, cum_weights=self.sums)[0]


def sentences(seed):
    """Words as the grammar of the specification puts them together; all comments are pieces of this."""
    rng = random.Random(seed)
    nouns, adjectives, verbs, adverbs, auxiliaries, prepositions, ends = map(weighted, (
        words.NOUNS, words.ADJECTIVES, words.VERBS, words.ADVERBS, words.AUXILIARIES, words.PREPOSITIONS, words.ENDS))
    noun_phrases = [[nouns], [adjectives, nouns], [adjectives, adjectives, nouns], [adverbs, adjectives, nouns]]
    verb_phrases = [[verbs], [auxiliaries, verbs], [verbs, adverbs], [auxiliaries, verbs, adverbs]]

    def phrase(kinds):
        return [part.one(rng) for part in rng.choice(kinds)]

    def place():
        return [prepositions.one(rng), "the", *phrase(noun_phrases)]

    pieces, size = [], 0
    while size < POOL_BYTES + LONGEST_COMMENT:
        sentence = [*phrase(noun_phrases), *(place() if rng.random() < 0.4 else []), *phrase(verb_phrases)]
        sentence += rng.choice([list, place, lambda: phrase(noun_phrases)])()
        pieces.append(" ".join(sentence) + ends.one(rng))
        size += len(pieces[-1]) + 1
    return np.frombuffer(" ".join(pieces).encode(), dtype=np.uint8)


class comments:
    def __init__(self, seed):
        self.pool = sentences(seed)
        self.draw = draws(seed)

    def column(self, name, rows, shortest, longest):
        begins = self.draw.between(f"{name}.begin", rows, 0, POOL_BYTES - 1)
        lengths = self.draw.between(f"{name}.length", rows, shortest, longest)
        places = np.arange(longest)
        out = self.pool[begins[:, None] + places]
        out[places >= lengths[:, None]] = 0
        return out


LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789  ", dtype=np.uint8)


class tables:
    def __init__(self, scale, seed):
        self.draw = draws(seed)
        self.comments = comments(seed)
        self.suppliers, self.parts = round(10_000 * scale), round(200_000 * scale)
        self.customers, self.orders, self.clerks = round(150_000 * scale), round(1_500_000 * scale), max(1, round(1000 * scale))

    def address(self, name, rows):
        places = np.arange(40)
        out = LETTERS[self.draw.hashes(name, rows[:, None] * 40 + places) % np.uint64(len(LETTERS))]
        out[places >= self.draw.between(f"{name}.length", rows, 10, 40)[:, None]] = 0
        return out

    def phone(self, name, rows, nations):
        dash = constant("-", len(rows))
        return np.hstack([padded_digits(nations + 10, 2), dash, padded_digits(self.draw.between(f"{name}.1", rows, 100, 999), 3),
                          dash, padded_digits(self.draw.between(f"{name}.2", rows, 100, 999), 3),
                          dash, padded_digits(self.draw.between(f"{name}.3", rows, 1000, 9999), 4)])

    def supplier_of(self, part, i):
        """The i-th of the four suppliers of a part."""
        n = self.suppliers
        return (part + i * (n // 4 + (part - 1) // n)) % n + 1

    def price_of(self, part):
        return 90_000 + part // 10 % 20_001 + 100 * (part % 1000)

    def region(self, rows):
        yield {"r_regionkey": digits(rows), "r_name": chosen(words.REGIONS, rows),
               "r_comment": self.comments.column("r_comment", rows, 31, 115)}

    def nation(self, rows):
        regions = np.array(list(words.NATIONS.values()))
        yield {"n_nationkey": digits(rows), "n_name": chosen(list(words.NATIONS), rows), "n_regionkey": digits(regions[rows]),
               "n_comment": self.comments.column("n_comment", rows, 31, 114)}

    def supplier(self, rows):
        nations = self.draw.between("s_nationkey", rows, 0, 24)
        comment = self.comments.column("s_comment", rows, 25, 100)
        # Five of 10,000 suppliers have complaints in their comment, five recommendations; at least one of each.
        marked = np.argsort(self.draw.hashes("s_marked", np.arange(self.suppliers)), kind="stable")
        each = max(1, self.suppliers // 2000)
        for kind, those in (("Complaints", marked[:each]), ("Recommends", marked[each:2 * each])):
            for row in np.flatnonzero(np.isin(rows, those)):
                comment[row, :9] = np.frombuffer(b"Customer ", dtype=np.uint8)
                comment[row, 14:24] = np.frombuffer(kind.encode(), dtype=np.uint8)
        yield {"s_suppkey": digits(rows + 1), "s_name": named("Supplier#", rows + 1), "s_address": self.address("s_address", rows),
               "s_nationkey": digits(nations), "s_phone": self.phone("s_phone", rows, nations),
               "s_acctbal": money(self.draw.between("s_acctbal", rows, -99_999, 999_999)), "s_comment": comment}

    def part(self, rows):
        between = self.draw.between
        hashes = self.draw.hashes("p_name", rows[:, None] * len(words.COLOURS) + np.arange(len(words.COLOURS)))
        colours = np.argsort(hashes, axis=1, kind="stable")[:, :5]
        space = constant(" ", len(rows))
        name = [piece for i in range(5) for piece in (space, chosen(words.COLOURS, colours[:, i]))][1:]
        maker = between("p_mfgr", rows, 1, 5)
        yield {"p_partkey": digits(rows + 1), "p_name": np.hstack(name),
               "p_mfgr": np.hstack([constant("Manufacturer#", len(rows)), digits(maker)]),
               "p_brand": np.hstack([constant("Brand#", len(rows)), digits(10 * maker + between("p_brand", rows, 1, 5))]),
               "p_type": chosen(words.TYPES, between("p_type", rows, 0, len(words.TYPES) - 1)),
               "p_size": digits(between("p_size", rows, 1, 50)),
               "p_container": chosen(words.CONTAINERS, between("p_container", rows, 0, len(words.CONTAINERS) - 1)),
               "p_retailprice": money(self.price_of(rows + 1)), "p_comment": self.comments.column("p_comment", rows, 5, 22)}

    def partsupp(self, rows):
        part, i = np.repeat(rows + 1, 4), np.tile(np.arange(4), len(rows))
        pairs = 4 * part + i
        yield {"ps_partkey": digits(part), "ps_suppkey": digits(self.supplier_of(part, i)),
               "ps_availqty": digits(self.draw.between("ps_availqty", pairs, 1, 9999)),
               "ps_supplycost": money(self.draw.between("ps_supplycost", pairs, 100, 100_000)),
               "ps_comment": self.comments.column("ps_comment", pairs, 49, LONGEST_COMMENT)}

    def customer(self, rows):
        nations = self.draw.between("c_nationkey", rows, 0, 24)
        yield {"c_custkey": digits(rows + 1), "c_name": named("Customer#", rows + 1), "c_address": self.address("c_address", rows),
               "c_nationkey": digits(nations), "c_phone": self.phone("c_phone", rows, nations),
               "c_acctbal": money(self.draw.between("c_acctbal", rows, -99_999, 999_999)),
               "c_mktsegment": chosen(words.SEGMENTS, self.draw.between("c_mktsegment", rows, 0, 4)),
               "c_comment": self.comments.column("c_comment", rows, 29, 116)}

    def orders_and_lineitem(self, rows):
        between = self.draw.between
        key = rows // 8 * 32 + rows % 8 + 1  # eight of 32 numbers are keys
        place = between("o_custkey", rows, 0, self.customers - self.customers // 3 - 1)
        customer = place // 2 * 3 + place % 2 + 1  # those that three divides have no orders
        day = between("o_orderdate", rows, 0, int((LAST_DAY - FIRST_DAY).astype(int)) - 151)

        num_lines = between("lines", rows, 1, 7)
        first = np.cumsum(num_lines) - num_lines
        order = np.repeat(np.arange(len(rows)), num_lines)
        number = np.arange(len(order)) - first[order]
        lines = rows[order] * 8 + number
        part = between("l_partkey", lines, 1, self.parts)
        quantity = between("l_quantity", lines, 1, 50)
        price = quantity * self.price_of(part)
        discount, tax = between("l_discount", lines, 0, 10), between("l_tax", lines, 0, 8)
        shipped = day[order] + between("l_shipdate", lines, 1, 121)
        committed = day[order] + between("l_commitdate", lines, 30, 90)
        received = shipped + between("l_receiptdate", lines, 1, 30)
        returned = np.where(received <= CURRENT_DAY, between("l_returnflag", lines, 0, 1), 2)
        is_open = shipped > CURRENT_DAY

        total = np.add.reduceat(price * (100 + tax) * (100 - discount), first)
        num_open = np.add.reduceat(is_open.astype(np.int64), first)
        status = np.where(num_open == 0, 0, np.where(num_open == num_lines, 1, 2))
        yield {"o_orderkey": digits(key), "o_custkey": digits(customer), "o_orderstatus": chosen(["F", "O", "P"], status),
               "o_totalprice": money((total + 5000) // 10_000), "o_orderdate": DAYS[day],
               "o_orderpriority": chosen(words.PRIORITIES, between("o_orderpriority", rows, 0, 4)),
               "o_clerk": named("Clerk#", between("o_clerk", rows, 1, self.clerks)),
               "o_shippriority": constant("0", len(rows)), "o_comment": self.comments.column("o_comment", rows, 19, 78)}
        yield {"l_orderkey": digits(key[order]), "l_partkey": digits(part),
               "l_suppkey": digits(self.supplier_of(part, between("l_suppkey", lines, 0, 3))), "l_linenumber": digits(number + 1),
               "l_quantity": digits(quantity), "l_extendedprice": money(price), "l_discount": money(discount), "l_tax": money(tax),
               "l_returnflag": chosen(["A", "R", "N"], returned), "l_linestatus": chosen(["F", "O"], is_open.astype(int)),
               "l_shipdate": DAYS[shipped], "l_commitdate": DAYS[committed], "l_receiptdate": DAYS[received],
               "l_shipinstruct": chosen(words.INSTRUCTIONS, between("l_shipinstruct", lines, 0, 3)),
               "l_shipmode": chosen(words.MODES, between("l_shipmode", lines, 0, 6)),
               "l_comment": self.comments.column("l_comment", lines, 10, 43)}


def write(file, columns, with_header):
    if with_header:
        file.write((",".join(columns) + "\n").encode())
    num_rows = len(next(iter(columns.values())))
    comma, end = constant(",", num_rows), constant("\n", num_rows)
    rows = np.hstack([piece for column in columns.values() for piece in (column, comma)][:-1] + [end])
    rows[rows != 0].tofile(file)


def make(folder, scale=1.0, seed=1):
    """Writes FOLDER/TABLE.csv for each table."""
    if scale < 0.01:
        raise ValueError("below scale 0.01 a part may have a supplier twice")
    folder.mkdir(parents=True, exist_ok=True)
    all_of = tables(scale, seed)
    for names, maker, num_rows in ((("region",), all_of.region, len(words.REGIONS)), (("nation",), all_of.nation, len(words.NATIONS)),
                                   (("supplier",), all_of.supplier, all_of.suppliers), (("part",), all_of.part, all_of.parts),
                                   (("partsupp",), all_of.partsupp, all_of.parts), (("customer",), all_of.customer, all_of.customers),
                                   (("orders", "lineitem"), all_of.orders_and_lineitem, all_of.orders)):
        files = [open(folder / f"{name}.csv", "wb") for name in names]
        for first in range(0, num_rows, CHUNK):
            for file, columns in zip(files, maker(np.arange(first, min(first + CHUNK, num_rows)))):
                write(file, columns, first == 0)
        for file in files:
            file.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    make(options.folder, options.scale, options.seed)


if __name__ == "__main__":
    main()
