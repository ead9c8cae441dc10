"""Which words of the language were drawn, and which there are: the reference page that flowrun prints says it."""

import functools
import re
import subprocess

import runs
from job_text import ex, node

# What no random job has, and why.
EXCLUDED = {
    "generate kind rmat": "the page doesn't say which edges; tests/operators/generate_test.cc",
    "generate kind records": "the page names gensort; tests/golden/jobs/records",
    "generate.scale": "of rmat",
    "generate.a": "of rmat",
    "generate.b": "of rmat",
    "generate.c": "of rmat",
    "generate.ascii": "of records",
    "file.read_rows.index": "two runs; tests/runner/indexed_file_test.py",
    "file.read_csv.file_column": "paths differ from run to run; tests/runner/files_before_the_run_test.py",
    "file.read_json_lines.file_column": "the same",
    "file.read_lines.file_column": "the same",
    "file.read_csv.range": "of a task's piece, with --cluster; tests/runner/text_pieces_test.py",
    "file.read_json_lines.range": "the same",
    "file.read_lines.range": "the same",
    "file.read_npy.file_column": "the same; tests/runner/npy_test.py",
    "file.read_protobuf.file_column": "the same; tests/operators/protobuf_test.cc",
    "file.write_rows.index": "two runs; tests/runner/indexed_file_test.py",
    "file.write_csv compression zstd": "Python can't read it; tests/runner/compressed_output_test.py",
    "file.write_json_lines compression zstd": "the same",
    "file.write_lines compression zstd": "the same",
    "file.write_protobuf compression zstd": "the same",
    "file.write_rows compression zstd": "the same",
    "check.hash": "the page doesn't say which hash; reduce's is compared with itself",
}


def walk(value, seen):
    if isinstance(value, node):
        seen[value.op] += 1
        if value.on_error:
            seen["on_error"] += 1
        seen["scalars"] += len(value.rows)
        free = value.op in ("map", "call")  # their keys are columns and scalars
        for k, v in value.settings.items():
            if not free or k in ("graph", "when", "max_depth"):
                seen[f"{value.op}.{k}"] += 1
            if isinstance(v, str):
                seen[f"{value.op} {k} {v}"] += 1
            walk(v, seen)
    elif isinstance(value, ex):
        if value[0] in ("call", "aggregate", "binary", "unary", "tuples"):
            kind = {"call": "function", "aggregate": "aggregate"}.get(value[0], "operator")
            seen[f"{kind} {value[1]}"] += 1
        elif value[0] in ("among", "between", "like"):
            for word in value[1].split():
                seen[f"operator {word}"] += 1
        elif value[0] in ("byte", "slice"):
            seen[f"operator {value[0]}"] += 1
        for part in value[1:]:
            walk(part, seen)
    elif isinstance(value, dict):
        for k, v in value.items():
            if isinstance(v, str) and isinstance(k, str):
                seen["type " + re.sub(r"\[\d+\]", "[N]", v)] += 1
            walk(v, seen)
    elif isinstance(value, (list, tuple)):
        for v in value:
            walk(v, seen)


def count(job, seen):
    walk(job.nodes, seen)
    for graph in job.graphs.values():
        walk(graph["nodes"], seen)


def count_options(options, seen):
    for i, word in enumerate(options):
        if word in runs.OPTIONS:
            seen["option " + word + (" " + options[i + 1] if runs.OPTIONS[word] else "")] += 1


def of_page(page):
    """Every word of the reference page, as `seen` names it."""
    out = []
    operators = page[page.index("\n## Operators") : page.index("\n## Resources")]
    for part in operators.split("\n### ")[1:]:
        op = part.split("\n", 1)[0].strip()
        out.append(op)
        for parameter, meaning in re.findall(r"^\| `([a-z_]+)` \| ([^|]*) \|", part, re.M):
            out.append(f"{op}.{parameter}")
            choices = re.match(r"one of (.*)", meaning.strip())
            out += [f"{op} {parameter} {c}" for c in choices[1].split(", ")] if choices else []
    expressions = page[page.index("\n## Expressions") :]
    functions, aggregates = expressions.split("\n### Functions")[1].split("\n### Aggregates")
    out += [f"function {f}" for f in re.findall(r"^\| `([a-z_0-9]+)\(", functions, re.M)]
    out += [f"aggregate {f}" for f in re.findall(r"^\| `([a-z_0-9]+)\(", aggregates, re.M)]
    signs = expressions[expressions.index("\n### Operators") : expressions.index("\n### Functions")]
    for row in re.findall(r"^\| `(.*?)` \|", signs, re.M):
        row = row.replace("\\|", "|")
        out += (
            ["operator byte", "operator slice"]
            if "[" in row
            else [f"operator {s}" for s in re.findall(r"(?:(?<= )|^)(?:not|and|or|in|between|like|[-+~*/%&^|<>=!]+)(?= |[a-z])", row)]
        )
    out += ["operator " + s for s in ("==", "!=", "<=", ">", ">=")]
    types = re.search(r"^Rows are packed.*?A column is (.*)\.$", page, re.M)[1].split()
    out += ["type " + t.replace("[S]", "[N]") for t in types]
    return out


@functools.cache
def page(flowrun):
    return subprocess.run([flowrun, "reference"], capture_output=True, text=True, check=True).stdout


def everything(flowrun, known=None):
    """`known`: the options of runs; None: all of them."""
    known = runs.OPTIONS if known is None else known
    options = [f"option {word} {v}" for word, values in known.items() for v in values]
    options += [f"option {word}" for word, values in known.items() if not values]
    return [*of_page(page(flowrun)), "on_error", "scalars", *options]


def never(flowrun, seen, known=None):
    """The words that were not drawn and should have been."""
    return [w for w in dict.fromkeys(everything(flowrun, known)) if not seen[w] and w not in EXCLUDED]
