"""How a job's files lie on the disk: some are compressed, which a job doesn't see. The name decides, so that a smaller job
reads them as the whole one did."""

import bz2
import gzip
import lzma
import zlib

HOW = [
    lambda data: gzip.compress(data, mtime=0),
    lambda data: b"".join(gzip.compress(part, mtime=0) for part in (data[:50], b"", data[50:])),
    bz2.compress,
    lambda data: lzma.compress(data, preset=0),
]


def how(path):
    """None: as it is."""
    number = zlib.crc32(path.encode()) % 16
    return HOW[number] if number < len(HOW) else None


def stored(path, data):
    compress = how(path)
    return compress(data) if compress else data


# How the outputs of these names are compressed, and what gives their text back. (Python has no zstd.)
OUTPUTS = {
    ".gz": ("gzip", gzip.decompress),
    ".bz2": ("bzip2", bz2.decompress),
    ".xz": ("xz", lzma.decompress),
}


def written(path, data):
    """What was written to the output, without its compression."""
    for name, (word, text_of) in OUTPUTS.items():
        if path.endswith((name, "-" + word)):
            try:
                return text_of(data)
            except (OSError, EOFError, lzma.LZMAError):  # not what the name says: then the bytes differ
                return data
    return data
