#!/usr/bin/env python3
"""What an editor's YAML language server makes of specs/flowrun-1.schema.json: nothing in jobs that are right, something at
the place of a fault, and help for the words of an operator.

    language_server_test.py SERVER         build/editor/node_modules/.bin/yaml-language-server (tools/setup --editor)
"""

import json
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVER = sys.argv.pop(1)
SCHEMA = (ROOT / "specs/flowrun-1.schema.json").as_uri()


class language_server:
    """Speaks the language server protocol with a process."""

    def __init__(self):
        self.process = subprocess.Popen([SERVER, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0
        self.documents = 0
        self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {"textDocument": {
            "hover": {"contentFormat": ["plaintext"]}, "completion": {"completionItem": {"documentationFormat": ["plaintext"]}}}}})  # fmt: skip
        self.tell("initialized", {})
        self.tell("workspace/didChangeConfiguration", {"settings": {"yaml": {
            "schemas": {SCHEMA: "*.yaml"}, "schemaStore": {"enable": False}, "validate": True, "hover": True, "completion": True}}})  # fmt: skip

    def send(self, message):
        text = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
        self.process.stdin.flush()

    def receive(self):
        length = 0
        while (line := self.process.stdout.readline().strip()) != b"":
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if length == 0:
            raise EOFError("the language server has ended")
        message = json.loads(self.process.stdout.read(length))
        if "method" in message and "id" in message:  # it asks for settings, for schemas of its own: there are none
            asked = message["params"].get("items", []) if message["method"] == "workspace/configuration" else None
            answer = [None] * len(asked) if asked is not None else None
            if asked:
                answer = [
                    {"schemas": {SCHEMA: "*.yaml"}, "schemaStore": {"enable": False}, "validate": True, "hover": True, "completion": True}
                    if item.get("section") == "yaml" else None for item in asked
                ]  # fmt: skip
            self.send({"id": message["id"], "result": answer})
        return message

    def tell(self, method, parameters):
        self.send({"method": method, "params": parameters})

    def ask(self, method, parameters):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": parameters})
        while True:
            message = self.receive()
            if message.get("id") == self.number and "method" not in message:
                return message.get("result")

    def open(self, text, uri=None):
        """Its address, and what the server says is wrong with it: (line, message), counted from 1."""
        self.documents += 1
        uri = uri or f"file:///{self.documents}.yaml"
        self.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "yaml", "version": 1, "text": text}})
        while True:
            message = self.receive()
            if message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri:
                found = message["params"]["diagnostics"]
                return uri, [(d["range"]["start"]["line"] + 1, d["message"]) for d in found if d.get("severity", 1) <= 2]

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class editor_test(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = language_server()
        cls.addClassCleanup(cls.server.end)

    def at(self, text, method):
        """Asks at the place of § in the text."""
        before = text.split("§")[0]
        uri, _ = self.server.open(text.replace("§", ""))
        return self.server.ask(f"textDocument/{method}", {
            "textDocument": {"uri": uri}, "position": {"line": before.count("\n"), "character": len(before.split("\n")[-1])}})  # fmt: skip

    def completed(self, text):
        answer = self.at(text, "completion")
        items = answer["items"] if isinstance(answer, dict) else answer
        return {item["label"]: item.get("documentation") for item in items}

    def test_nothing_is_wrong_with_jobs_that_are_right(self):
        jobs = [*ROOT.glob("specs/examples/*.yaml"), *ROOT.glob("specs/jobs/*.yaml"), *ROOT.glob("tests/golden/jobs/*/job.yaml")]
        self.assertGreater(len(jobs), 50)
        for job in sorted(jobs):
            text = job.read_text()
            if "\nplugins:" in text:  # whose words the schema of this program doesn't have
                continue
            self.assertEqual(self.server.open(text, job.as_uri())[1], [], job)

    def test_wrong_jobs(self):
        """Many faults are beyond a schema (columns, types, orders): the server has to live through all of them, and to see
        those of operators and parameters."""
        seen = set()
        for job in sorted((ROOT / "tests/wrong_specs/specs").glob("*.yaml")):
            if self.server.open(job.read_bytes().decode("utf-8", "replace"))[1]:
                seen.add(job.stem)
        self.assertGreater(len(seen), 60)

    def test_a_fault_is_told_at_its_place(self):
        begin = "flowrun: 1\nnodes:\n  rows: {op: generate, with: {rows: 3}}\n"
        for node, part in [
            ("  a:\n    op: sort\n    in: rows\n    with:\n      by: [value]\n      uniqe: true\n", (8, "uniqe")),
            ("  a:\n    op: sort\n    in: rows\n    with:\n      by: [value]\n      runs: huge\n", (8, "halves")),
            ("  a:\n    op: sort\n    in: rows\n    with:\n      unique: true\n", (7, "by")),
        ]:
            found = self.server.open(begin + node)[1]
            self.assertTrue(any(abs(line - part[0]) <= 1 and part[1] in message for line, message in found), found)
            # Of other operators' rules nothing is said.
            self.assertLessEqual(len(found), 2, found)

    def test_parameters_are_completed_with_their_help(self):
        declared = {
            name: schema
            for rule in json.loads((ROOT / "specs/flowrun-1.schema.json").read_text())["definitions"]["node"]["allOf"]
            if rule["if"]["properties"]["op"]["const"] == "sort"
            for name, schema in rule["then"]["properties"]["with"]["properties"].items()
        }
        offered = self.completed("flowrun: 1\nnodes:\n  a:\n    op: sort\n    in: rows\n    with:\n      §\n")
        offered = {word: help for word, help in offered.items() if not word.startswith("object(")}  # "all of it"
        self.assertEqual(set(offered), set(declared))
        for name, schema in declared.items():
            self.assertIn(schema["description"][:40], str(offered[name]), name)

    def test_operators_are_completed(self):
        offered = self.completed("flowrun: 1\nnodes:\n  a:\n    op: §\n")
        self.assertLessEqual({"sort", "file.read_csv", "map"}, set(offered))

    def test_hover_explains_a_parameter(self):
        told = self.at("flowrun: 1\nnodes:\n  a:\n    op: sort\n    in: rows\n    with:\n      comb§ine: {n: count()}\n", "hover")
        self.assertIn("Make one row of each key", json.dumps(told))


if __name__ == "__main__":
    unittest.main()
