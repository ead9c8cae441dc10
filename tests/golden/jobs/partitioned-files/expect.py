import datetime
import struct

from golden_data import csv, rand, write

names = {
    "Köln": "Köln",
    "a/b": "a%2Fb",
    "..": "%2E.",
    ".x": "%2Ex",
    "": "__HIVE_DEFAULT_PARTITION__",
    "__HIVE_DEFAULT_PARTITION__": "%5F_HIVE_DEFAULT_PARTITION__",
    "50%": "50%25",
    "c=d:e": "c%3Dd%3Ae",
    "two words": "two words",
    "tab\t": "tab%09",
}
places = sorted(names)
first = datetime.date(2024, 2, 28)
rows = [
    (places[rand(1, i) % len(places)], first + datetime.timedelta(days=rand(2, i) % 3), rand(3, i) % 3, rand(4, i) % 2)
    for i in range(1500)
]
outputs = {}


def add(path, line, header=b""):
    outputs[path] = outputs.get(path, header) + line


for place, day, n, o in rows:
    of = ["false", "true"][o]
    add(f"csv/{names[place]}.csv", csv([(place, day, n, of)]).encode(), b"place,day,n,open\n")
    add(f"hive/open={of}/day={day}/part.csv", csv([(place, n)]).encode(), b"place,n\n")
    add("days/{" + str(day) + "}.txt", place.encode() + b"\n")
    add(f"rows/{n}-{of}", struct.pack("<i", (day - datetime.date(1970, 1, 1)).days))
write("places.csv", csv([(place, day, n, ["false", "true"][o]) for place, day, n, o in rows]))
for path, content in outputs.items():
    write(f"expected/{path}", content)
