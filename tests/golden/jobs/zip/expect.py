from golden_data import csv, rand, write

words = ["w" * (rand(1, i) % 5) + str(rand(2, i) % 1000) for i in range(500)]
write("words.txt", "".join(w + "\n" for w in words))
write("expected/pairs.csv", csv((w, len(w), s) for w, s in zip(words, sorted(words))))
