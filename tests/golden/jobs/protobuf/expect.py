"""Messages as protoc would have them, written byte by byte: a visit, with an address within and a time; and their
descriptors. What is written again has no fields but those of the columns, in the order of their numbers."""

from golden_data import csv, rand, write

CITIES = ["Aachen", "Bonn", "Chemnitz", "", "Düren"]


def varint(n):
    n %= 1 << 64
    out = b""
    while n >= 128:
        out += bytes([n % 128 + 128])
        n //= 128
    return out + bytes([n])


def field(number, wire, data):
    return varint(number * 8 + wire) + (varint(len(data)) if wire == 2 else b"") + data


def text(number, value):
    return field(number, 2, value.encode()) if value else b""


def number(tag, n):
    return field(tag, 0, varint(n)) if n else b""


def described(name, tag, kind, of=None, label=1):
    return text(1, name) + number(3, tag) + number(4, label) + number(5, kind) + (text(6, of) if of else b"")


def message(name, *fields):
    return text(1, name) + b"".join(field(2, 2, f) for f in fields)


visit = message("Visit", described("user", 1, 4), described("at", 2, 11, ".google.protobuf.Timestamp"),
                described("address", 3, 11, ".shop.Address"), described("delta", 4, 17), described("kind", 16, 14, ".shop.Kind"),
                described("price", 5, 1), described("tags", 6, 9, label=3))  # fmt: skip
address = message("Address", described("city", 1, 9), described("zip", 2, 7))
times = message("Timestamp", described("seconds", 1, 3), described("nanos", 2, 5))
kinds = text(1, "Kind") + b"".join(field(2, 2, text(1, name) + number(2, i)) for i, name in enumerate(["SEEN", "BOUGHT", "LEFT"]))
well_known = text(1, "google/protobuf/timestamp.proto") + text(2, "google.protobuf") + field(4, 2, times) + text(12, "proto3")
shop = text(1, "shop.proto") + text(2, "shop") + text(3, "google/protobuf/timestamp.proto")
shop += field(4, 2, visit) + field(4, 2, address) + field(5, 2, kinds) + text(12, "proto3")
write("shop.desc", field(1, 2, well_known) + field(1, 2, shop))

rows, bad, homes, data = [], [], [], b""
for i in range(2000):
    user, seconds, nanos = rand(1, i) % 50, rand(2, i) % 2_000_000_000, rand(3, i) % 1000 * 1_000_000 + 999
    city, code, delta, kind = CITIES[rand(4, i) % 5], rand(5, i) % 99999, rand(6, i) % 2001 - 1000, rand(7, i) % 4
    made = number(1, user) + field(6, 2, b"new") + field(6, 2, b"red")
    made += field(2, 2, number(1, seconds) + number(2, nanos))
    if code % 5:
        made += field(3, 2, text(1, city) + field(2, 5, code.to_bytes(4, "little")))
    else:
        city = code = ""
    made += number(4, 2 * delta if delta >= 0 else -2 * delta - 1) + number(16, kind) + number(1234, 9)
    if i % 500 == 77:
        made = made[:-1] + b"\xff"
        bad.append([i])
    else:
        gone = "false" if code else "true"
        homes.append([user, city if code else "nowhere", code or 0, gone, gone])
        rows.append([user, seconds * 10**6 + nanos // 1000, city, code or 0, delta, ["SEEN", "BOUGHT", "LEFT", "3"][kind], 0])
    data += varint(len(made)) + made
write("visits.pb", data)
write("expected/bad.csv", csv(bad))
write("expected/homes.csv", csv(homes, ["user", "city", "zip", "city_missing", "zip_missing"]))
rows.sort(key=lambda r: (r[0], r[1]))
write("expected/visits.csv", csv(rows, ["user", "us", "city", "zip", "delta", "kind", "price"]))

again = b""
for user, us, city, code, delta, kind, _ in rows:
    made = number(1, user) + field(2, 2, number(1, us // 10**6) + number(2, us % 10**6 * 1000))
    if city or code:
        made += field(3, 2, text(1, city) + (field(2, 5, code.to_bytes(4, "little")) if code else b""))
    made += number(4, 2 * delta if delta >= 0 else -2 * delta - 1) + number(16, ["SEEN", "BOUGHT", "LEFT", "3"].index(kind))
    again += varint(len(made)) + made
write("expected/again.pb", again)
