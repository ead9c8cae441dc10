import collections
import re

from golden_data import csv, rand, write

vocabulary = ["The", "quick", "brown-fox", "it's", "naïve", "x_1", "", "42", "a,b", "end."]
lines = [
    " ".join(vocabulary[rand(10 + k, i) % len(vocabulary)] for k in range(rand(1, i) % 12)) for i in range(300)
]
write("text.txt", "".join(line + "\n" for line in lines))
words = [w for line in lines for w in re.findall("[a-z0-9_\u0080-\uffff]+", line.lower())]
counts = collections.Counter(f"{a} {b}" for a, b in zip([""] + words, words))
often = sorted(((k, n) for k, n in counts.items() if n > 1), key=lambda row: row[0].encode())
write("expected/pairs.csv", csv(often))
fields = [(i, f) for i, line in enumerate(lines) for f in re.split("[ ,.]", line) if f]
write("expected/fields.csv", csv(fields))
