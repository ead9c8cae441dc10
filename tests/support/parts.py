"""Outputs of jobs on a cluster: folders of parts (cluster/output_folder.h) as the files that one machine writes."""
import json
import re
import struct


def parts_of(folder):
    """The parts' paths, in order; what else is in the folder is an error."""
    told = json.loads((folder / "manifest.json").read_text())
    names = [part["name"] for part in told["parts"]]
    there = {path.name for path in folder.iterdir()}
    if there != {*names, "manifest.json"}:
        raise ValueError(f"{folder} has {sorted(there)}, and its manifest names {names}")
    for part in told["parts"]:
        if (folder / part["name"]).stat().st_size != part["bytes"]:
            raise ValueError(f"{folder / part['name']} has not the size that the manifest says")
    return [folder / name for name in names]


def joined_arrays(contents):
    """.npy files as one: the first one's header, which has room, with the rows of all."""
    heads, total = set(), 0
    data = []
    for content in contents:
        end = 10 + struct.unpack("<H", content[8:10])[0]
        head = content[:end].decode("latin-1")
        shape = re.search(r"'shape': \((\d+)", head)
        total += int(shape[1])
        heads.add(head[:shape.start(1)] + head[shape.end(1):].rstrip())
        data.append(content[end:])
    if len(heads) != 1:
        raise ValueError(f"parts are of different types: {heads}")
    start, rest = heads.pop().rsplit("'shape': (", 1)
    head = f"{start}'shape': ({total}{rest}"
    return (head.ljust(end - 1) + "\n").encode("latin-1") + b"".join(data)


def end_of_first_line(content, quote):
    """Behind the first line of CSV, whose fields may have line ends between quotes."""
    inside = False
    for i, byte in enumerate(content):
        if quote and byte == ord(quote):
            inside = not inside
        elif byte == ord("\n") and not inside:
            return i + 1
    return len(content)


def joined(folder, header_quote=None, text_of=lambda content: content):
    """What one machine writes. `header_quote`: the quote of CSV whose first line is a header; None: it has none.
    `text_of`: what a part says without its compression."""
    contents = [text_of(path.read_bytes()) for path in parts_of(folder)]
    if contents and contents[0].startswith(b"\x93NUMPY"):
        return joined_arrays(contents)
    if header_quote is None:
        return b"".join(contents)
    ends = [end_of_first_line(content, header_quote) for content in contents]
    heads = {content[:end] for content, end in zip(contents, ends)}
    if len(heads) != 1:
        raise ValueError(f"parts have different first lines: {heads}")
    return heads.pop() + b"".join(content[end:] for content, end in zip(contents, ends))


def headed_outputs(job_text):
    """The base names of the files that sinks with `header: true` write."""
    out = set()
    for node in re.findall(r"^  \w+: *(?:\{|\n    )op: file\.write_csv\b(.*(?:\n    .*)*)", job_text, re.MULTILINE):
        if re.search(r"header: *true", node):
            out.update(a or b for a, b in re.findall(r'path: *(?:"([^"]*)"|([^\s,}"]+))', node))
    return {path.rsplit("/", 1)[-1] for path in out}
