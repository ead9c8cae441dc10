"""What file.write_csv has written: its fields one by one, and as an Arrow table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, Sequence, TextIO

if TYPE_CHECKING:
    import pyarrow

# What pyarrow reads at once; a longer row makes it fail. Nearly all rows fit into the first, so that few files are read a
# second time. (pyarrow 12 now and then hangs instead of failing.)
_BLOCK_BYTES = 16 << 20
_MOST_BLOCK_BYTES = 2**31 - 1


def may_be_missing(settings: Mapping[str, str]) -> frozenset[str]:
    """The columns that `missing` of a sink names."""
    return frozenset(name.removeprefix("missing.") for name in settings if name.startswith("missing."))


@dataclass(frozen=True)
class CsvForm:
    delimiter: str
    quote: str  # empty: there are none
    header: bool
    null_text: str
    missing: frozenset[str]  # the columns whose values may be missing

    @staticmethod
    def of(settings: Mapping[str, str]) -> CsvForm:
        return CsvForm(
            settings.get("delimiter", ",").replace("\\t", "\t"),
            settings.get("quote", '"'),
            settings.get("header", "false") == "true",
            settings.get("null_text", ""),
            may_be_missing(settings),
        )

    def rows(self, file: TextIO, columns: Sequence[str]) -> Iterator[Sequence[str | None]]:
        """The texts of each row; None where a value is missing."""
        may_lack = [name in self.missing for name in columns]
        quote, two_quotes, null_text = self.quote, self.quote * 2, self.null_text
        records = self._records(file)
        if self.header:
            next(records)
        for fields in records:
            texts = [f[1:-1].replace(two_quotes, quote) if quote and f[:1] == quote else f for f in fields]
            if self.missing:  # in quotes null_text is a text as others
                yield [None if may and f == null_text else t for t, f, may in zip(texts, fields, may_lack)]
            else:
                yield texts

    def _records(self, file: TextIO) -> Iterator[list[str]]:
        """The fields of each row as they stand in the file. The reader of Python's module csv takes the quotes off, and
        it refuses texts of more than 128 KiB."""
        end, quote = re.escape(self.delimiter), re.escape(self.quote)
        in_quotes = f"{quote}[^{quote}]*(?:{quote}{quote}[^{quote}]*)*{quote}|" if quote else ""
        field = re.compile(f"({in_quotes}[^{end}\n]*)[{end}\n]")
        for line in file:
            quotes = line.count(self.quote) if self.quote else 0
            if quotes == 0:
                yield line.removesuffix("\n").split(self.delimiter)
                continue
            lines = [line]
            while quotes % 2 == 1:  # the line ends within quotes
                lines.append(next(file))
                quotes += lines[-1].count(self.quote)
            yield field.findall("".join(lines))

    def table(
        self, open_file: Callable[[], Any], num_bytes: int, types: Mapping[str, pyarrow.DataType]
    ) -> pyarrow.Table:
        """`open_file` gives what pyarrow reads: a path, or a file of Arrow."""
        import pyarrow

        if num_bytes == 0:  # which pyarrow takes for an error
            return pyarrow.schema(list(types.items())).empty_table()
        try:
            table = self._table_by_blocks(open_file(), types, min(num_bytes, _BLOCK_BYTES))
        except pyarrow.ArrowInvalid:  # a row may be longer than a block
            if num_bytes <= _BLOCK_BYTES:
                raise
            table = self._table_by_blocks(open_file(), types, min(num_bytes, _MOST_BLOCK_BYTES))
        # pyarrow takes null_text for missing in all columns of texts, or in none.
        for at, name in enumerate(types):
            if self.missing and name not in self.missing and table.column(at).null_count > 0:
                there = pyarrow.scalar(self.null_text.encode()).cast(types[name])
                table = table.set_column(at, name, table.column(at).fill_null(there))
        return table

    def _table_by_blocks(self, file: Any, types: Mapping[str, pyarrow.DataType], block_bytes: int) -> pyarrow.Table:
        import pyarrow.csv

        return pyarrow.csv.read_csv(
            file,
            # skip_rows would skip a line, and the names of columns may have line ends.
            pyarrow.csv.ReadOptions(
                column_names=list(types), skip_rows_after_names=int(self.header), block_size=block_bytes
            ),
            # An empty line is a row with an empty text.
            pyarrow.csv.ParseOptions(
                delimiter=self.delimiter,
                quote_char=self.quote or False,
                newlines_in_values=True,
                ignore_empty_lines=False,
            ),
            pyarrow.csv.ConvertOptions(
                column_types=types,
                null_values=[self.null_text] if self.missing else [],
                strings_can_be_null=bool(self.missing),
                quoted_strings_can_be_null=False,
            ),
        )
