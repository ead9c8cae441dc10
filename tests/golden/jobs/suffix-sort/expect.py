from golden_data import packed, rand, write


def suffixes(letters):
    return [(i,) for i in sorted(range(len(letters)), key=lambda i: letters[i:])]


text = bytes(rand(7, i) % 5 + 95 for i in range(4000))
write("text.bin", text)
write("expected/bytes.bin", packed("I", suffixes(text)))
write("expected/numbers.bin", packed("I", suffixes([rand(6, i) % 20000 for i in range(5000)])))
write("expected/thirds.bin", packed("I", suffixes([i % 3 for i in range(3000)])))
write("expected/none.bin", b"")
