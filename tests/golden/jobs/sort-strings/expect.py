from golden_data import csv, rand, write

stems = ["", "a", "aa", "ab", "common beginning of many words ", "common beginning of many words x", "z", "\u00e4", "Z"]
words = []
for i in range(900):
    r = rand(3, i)
    words.append(
        (stems[r % len(stems)] + "ab"[r >> 8 & 1] * (r >> 16 & 3) + str(r >> 20 & 15) * (r >> 30 & 1), i * 7 % 250)
    )
key = lambda w: w[0].encode()
write("words.csv", csv(words))
write("expected/up.csv", csv(sorted(words, key=lambda w: (key(w), w[1]))))
write("expected/down.csv", csv(sorted(words, key=lambda w: (key(w), w[1]), reverse=True)))
first = {}
for w in words:
    first.setdefault(w[0], w)
write("expected/once.csv", csv(sorted(first.values(), key=key)))
write("expected/top.csv", csv(sorted(words, key=lambda w: (-w[1], key(w)))[:10]))
write("expected/by-length.csv", csv(sorted(words, key=lambda w: (len(key(w)), key(w)))))
