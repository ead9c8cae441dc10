// What flowrun sort --help says.
#pragma once

namespace flowrun::runner {

inline constexpr const char* sort_help =
    R"text(Usage: flowrun sort [OPTION]... [FILE]...
   or: flowrun sort [OPTION]... --files0-from=F

Writes the lines of all FILEs in order, to standard output: GNU sort in the locale C, with flowrun's sort behind it.
Without FILE, or where FILE is -, standard input is read. What gzip, zstd, bzip2 or xz have compressed is decompressed.

  flowrun sort words.txt                        by the bytes of the line
  flowrun sort -t, -k3,3n -k1,1 -o out.csv in.csv
                                                by field 3 as a number, then by field 1
  flowrun sort -k2,2 -u -S 2G -T /ssd0 -T /ssd1 big.txt
                                                one line for each field 2; in 2 GiB, spilling to two disks at once
  flowrun sort -c -k1,1n out.txt                is it sorted?
  flowrun sort -k2n in.txt --print-spec         the job that it is, for flowrun run

How lines compare (for all keys, unless a key has letters of its own):
  -b, --ignore-leading-blanks   a key begins behind its blanks
  -d, --dictionary-order        only blanks, letters and digits count
  -f, --ignore-case             a-z as A-Z
  -g, --general-numeric-sort    as floating-point numbers: 1e3, inf; slower than -n
  -h, --human-numeric-sort      as sizes: 2K, 1.5G
  -i, --ignore-nonprinting      only printable characters count
  -M, --month-sort              as names of months: jan < feb < … < dec
  -n, --numeric-sort            as decimal numbers of any length
  -r, --reverse                 the other way round
  -V, --version-sort            as names with versions: 1.9 < 1.10
      --sort=WORD               general-numeric, human-numeric, month, numeric, version

Keys:
  -k, --key=POS1[,POS2]         from POS1 to the end of POS2, or of the line; repeatable, the first decides first.
                                POS is FIELD[.CHARACTER][LETTERS], counted from 1, with letters from bdfghiMnrV
  -t, --field-separator=SEP     fields end at SEP, one byte; otherwise where blanks begin
  -s, --stable                  lines with equal keys keep their order; otherwise the whole line decides
  -u, --unique                  only the first of lines with equal keys
  -z, --zero-terminated         lines end with a zero byte

Other work:
  -c, --check                   tells the first line that is out of order, and sorts nothing
  -C, --check=quiet             the same by its exit code alone
  -m, --merge                   merges files that are sorted already; one that isn't is an error

Where and how:
  -o, --output=FILE             writes to FILE, which may be one of the inputs; it appears whole or not at all,
                                and compressed where it ends in .gz, .zst, .bz2 or .xz
  -S, --buffer-size=SIZE        memory: 512M, 8G, 50%; without a unit KiB. Default: half of what there is
  -T, --temporary-directory=DIR where to spill, used in parallel; repeatable. Default: $TMPDIR, else as flowrun run
      --parallel=N              threads. Default: all usable cores
      --files0-from=F           reads the names of the FILEs from F, each with a zero byte behind it
      --print-spec              prints the job, and runs nothing
      --debug                   tells the job, the progress and a report, on standard error
      --help, --version

--batch-size, --compress-program and --random-source are taken and do nothing. -R is not supported.
Exit codes: 0 done, 1 -c found disorder, 2 an error, 130 stopped by Ctrl-C (128 + the signal's number). Where the
reader of standard output goes away, it ends as by SIGPIPE, without a word: flowrun sort | head. docs/sort.md says what differs from GNU sort.
)text";

}  // namespace flowrun::runner
