import datetime
import json

from golden_data import csv, write

# Lines of the two files; where one is no row, the column of the place that the message names.
LINES_A = [
    ('{"id":9007199254740993,"user":{"name":"Ann \\u00e9 \\ud83d\\ude00","address":{"city":"Bonn","zip":[1,{"x":null}]}},'
     '"amount":0.1,"day":"29.02.2024","at":"2024-02-29T12:00:00Z","code.3":"abc","paid":true}', None),
    ('{"paid":false,"code.3":"\\u00e9!","at":"1969-12-31T23:59:59.250000Z","day":"01.01.1970","amount":1e3,'
     '"user":{"address":null,"name":""},"id":18446744073709551615}', None),
    ("", None),
    (' { "id" : 1.0 , "user" : { "name" : "tab\\t\\"quote\\", \\\\" } , "day" : "31.12.1999" , '
     '"at" : "1999-12-31T00:00:00Z" , "code.3" : "x,y" } \r', None),
    ('{"id":-1,"user":{"name":"x"}}', 7),
    ('["no object"]', 1),
    ("  \t", None),
    ('{"id":7,"user":{"name":"x"},"day":"31.12.1999","at":"1999-12-31T00:00:00Z"}', 1),
]
LINES_B = [
    ('{"id":2e0,"user":{"name":"b"},"other":{"deep":[[[]]]},"amount":null,"paid":null,"day":"31.12.1999",'
     '"at":"1999-12-31T00:00:00Z","code.3":"two"}', None),
    ('{"id":5,"user":{"name":"x"},"code.3":"abc","at":"1999-12-31T00:00:00Z","paid":true,"day":"30.02.1999"}', 90),
    ('{"id":3,"user":{"name":"c","address":{}},"amount":2.5,"day":"31.12.1999","at":"1999-12-31T00:00:00Z",'
     '"code.3":"333"}', None),
    ('{"id":4,"id":4}', 9),
    ('{"id":1000,"user":{"name":"d","address":{"city":"K\\u00f6ln"}},"amount":-12,"day":"31.12.1999",'
     '"at":"1999-12-31T00:00:00Z","code.3":"end","paid":true}', None),
]


def shown(number):
    """As Flowrun writes floats: without a fraction where there is none."""
    return repr(int(number)) if number == int(number) else repr(number)


rows, bad = [], []
for lines in (LINES_A, LINES_B):
    for number, (line, column) in enumerate(lines, 1):
        if column:
            bad.append((number, column, line))
        elif line.strip():
            rows.append(json.loads(line))
good = [["id", "user", "city", "amount", "day", "at", "code", "paid", "no_amount", "paid_unknown"]]
again = []
for row in rows:
    user = row["user"]
    city = (user.get("address") or {}).get("city") or "nowhere"
    amount, paid = row.get("amount"), row.get("paid")
    day = datetime.datetime.strptime(row["day"], "%d.%m.%Y").date().isoformat()
    sum_ = shown(-1 if amount is None else amount)
    flags = [json.dumps(b) for b in (bool(paid), amount is None, paid is None)]
    good.append([int(row["id"]), user["name"], city, sum_, day, row["at"], row["code.3"], *flags])
    name, town, code = (json.dumps(t, ensure_ascii=False) for t in (user["name"], city, row["code.3"]))
    text = (f'{{"id":{int(row["id"])},"user":{name},"city":{town},"sum":{{"amount":{sum_},"missing":{flags[1]}}},'
            f'"day":"{day}","at":"{row["at"]}","code":{code},"paid":{flags[0]},"paid_unknown":{flags[2]}}}\n')
    again.append((int(row["id"]), text))

write("a.jsonl", "\ufeff" + "\n".join(line for line, _ in LINES_A))
write("b.jsonl", "\n".join(line for line, _ in LINES_B) + "\n")
write("expected/good.csv", csv(good))
write("expected/again.jsonl", "".join(text for _, text in sorted(again, reverse=True)))
write("expected/bad.csv", csv(bad))
