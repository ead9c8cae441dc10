// The longer texts of --help: how to begin, and examples for each command.
#pragma once

namespace flowrun::runner {

inline constexpr const char* introduction =
    R"text(Flowrun runs dataflow jobs over data far larger than memory. A job is a YAML file.

  flowrun job.yaml                     run a job (the same as flowrun run job.yaml)
  flowrun job.yaml -p input=x.csv      with a value for a parameter of the job
  flowrun infer data.csv               the types and the source for a file, to begin a job with
  flowrun check job.yaml               all faults at once, without running
  flowrun plan job.yaml                what a run would do and cost
  flowrun test job.yaml                the job's own tests
  flowrun ops sort                     what an operator does and takes)text";

inline constexpr const char* run_examples =
    R"text(Examples:
  flowrun job.yaml                     with the job's own settings
  flowrun job.yaml -m 8GiB -j 4        in 8 GiB of memory, on 4 threads
  flowrun job.yaml -T /ssd0/tmp -T /ssd1/tmp:200GiB
                                       spill to two disks at once, at most 200 GiB on the second
  flowrun job.yaml -p input=edges.csv --set nodes.top.with.limit=100
  flowrun job.yaml --report report.json --progress json
  flowrun job.yaml --metrics-file /var/lib/prometheus/node-exporter/job.prom
  flowrun --ui job.yaml                a page that shows the job at work, for a browser
  flowrun job.yaml --resume            after a kill, the same command goes on
  make-job | flowrun run -             the job from standard input

)text";

// Behind the exit codes.
inline constexpr const char* run_notes =
    R"text(
Ends without a word, as by SIGPIPE, where the reader of standard output goes away: flowrun -q job.yaml | head.
Outputs appear whole or not at all. In a path ~/ is the home directory, ./~/ one that is called ~.)text";

inline constexpr const char* check_examples =
    R"text(Examples:
  flowrun check job.yaml -p input=x.csv
  flowrun check jobs/*.yaml
  make-job | flowrun check -           a job from standard input; faults say <stdin>:LINE:COLUMN

Exit codes: 0 no faults, 78 faults; where only files are not as the job needs them, 65 (an input is not what its node
reads), 66 (an input is missing), 73 (an output can't be written) or 75 (scratch has no room). Of several jobs the
highest.)text";

inline constexpr const char* graph_examples =
    R"text(Examples:
  flowrun graph job.yaml -o job.svg            a picture, for a browser or a page; needs no other program
  flowrun graph job.yaml -f mermaid            for Markdown, between ```mermaid and ```
  flowrun graph job.yaml | dot -Tpdf > job.pdf by Graphviz)text";

inline constexpr const char* plan_examples =
    R"text(Examples:
  flowrun plan job.yaml -m 1GiB
  flowrun plan job.yaml --format dot | dot -Tsvg > plan.svg)text";

inline constexpr const char* worker_examples =
    R"text(flowrun run --cluster starts workers; nobody else has to. A worker reads what the driver has written in DIR, runs its
part of the job, and leaves its rows and what it has counted there. It ends when its standard input does. A task may be
run more than once, at the same time, too: the first that is done counts.
Exit codes: as for run.)text";

inline constexpr const char* clean_examples =
    R"text(Examples:
  flowrun clean -n                 what is there, and which jobs left it
  flowrun clean                    away with it
  flowrun clean /ssd0/tmp /ssd1/tmp

A job with --resume keeps a directory flowrun-resume-KEY in each of its scratch directories until it has succeeded, and
the finished part of an output in a hidden file beside that, which goes with it. Those of jobs that are running are left
alone. So it is with flowrun-cluster-… of jobs on a cluster. Other jobs leave nothing on scratch, however they end; what
a killed one has begun of an output in several files ({column} in its path), in a hidden folder there, goes with the next
run of the same job.
Exit codes: 0 done, 66 no such directory, 74 something can't be removed.)text";

inline constexpr const char* infer_examples =
    R"text(Prints types: and a source node, to be pasted into a job; comments say what was seen, and lines with # ? what the
file doesn't tell and how it was decided. Rows come from the beginning, the middle and the end of a file, and from up to
16 files; of a pipe or compressed content from the beginning, unless --all is given.

Examples:
  flowrun infer sales.csv                 delimiter, header, types, missing values, forms of dates
  flowrun infer sales.csv -o job.yaml     a job that runs: flowrun job.yaml
  flowrun infer 'logs/*.csv.gz' --all     all rows of all files, which then surely fit
  curl -s https://example.org/x.csv | flowrun infer - --name x
  flowrun infer x.txt --delimiter '|' --header no
  flowrun infer events.jsonl.gz           an object a line; flowrun infer a.npy for an array of NumPy
  flowrun infer visits.pb --descriptors shop.desc --message shop.Visit
  flowrun infer x.csv --json | jq -r '.columns[] | .name + " " + .type'

Integers get room (u32, u64 or i64, never u8), numbers that all have two, three or four digits behind the point are
decimals, and what a number would lose stays text: leading zeros, more digits than 64 bits have. Packed rows of numbers
(file.read_rows) say nothing about their columns, and can't be inferred.

Exit codes: 0 done, 64 wrong command line, 65 no text, an empty file, lines that don't fit together, 66 no such file,
73 the job can't be written.)text";

inline constexpr const char* new_examples =
    R"text(Examples:
  flowrun new file.read_csv/sort/file.write_csv -o job.yaml
  flowrun new file.read_lines/tokens/sort/group/file.write_csv

What each operator needs has the values of its example (flowrun ops sort), or others that fit the rows before it.
flowrun infer FILE -o job.yaml begins with a file instead.)text";

inline constexpr const char* report_examples =
    R"text(The page is one file that asks no other address for anything. While a job runs, flowrun run --ui serves the same.

Examples:
  flowrun job.yaml --report run.json
  flowrun report run.json -o run.html
  flowrun -q job.yaml --report - | flowrun report - > run.html

Exit codes: 0 done, 64 wrong command line, 65 no run report, or one of another format, 66 no such file, 73 the page
can't be written.)text";

inline constexpr const char* top_examples =
    R"text(The job has to run with --ui. Each second it is asked for the state that its page shows. Speeds and shares are those of
the last three seconds; in a snapshot, and when the job has ended, those of the whole time. A job that ends leaves its
last state and what bounded it on the screen. q or Ctrl-C leaves; the job goes on.

Examples:
  flowrun --ui job.yaml &  flowrun top
  flowrun top 8080                         a job of flowrun --ui 8080
  flowrun top http://127.0.0.1:9465/ --once
  ssh build-7 flowrun top --once

Exit codes: 0 left, or the job has ended, however it did; 64 no such address; 65 something else than a job answers
there, or another version of flowrun; 66 nothing listens there; 74 the job doesn't answer any more.)text";

inline constexpr const char* tap_examples =
    R"text(The job has to run with --ui. The rows are copies of the next ones that the node gives on, or, of a sink, takes in: a
sample, not every row. The job does not wait for them. Texts of more than 2048 bytes lose their ends, and … says so.
Where the node's phase has not begun, tap waits; where it is over, it says so and ends.

Examples:
  flowrun tap 9465 sorted
  flowrun tap http://127.0.0.1:9465/ levels.reached --rows 100 --format json
  flowrun tap 9465 split.low                the output low of the node split

Exit codes: 0 done, also with fewer rows where the phase has ended; 64 no such address or node, a node that is fused
with another, or a job on a cluster; 65 something else than a job answers there, or text that JSON can't have; 66
nothing listens there, or the node's phase is over; 74 the job doesn't answer any more; 75 others ask for rows of this
node.)text";

inline constexpr const char* ops_examples =
    R"text(Examples:
  flowrun ops
  flowrun ops sort
  flowrun ops expressions     what expressions are made of)text";

inline constexpr const char* explain_examples =
    R"text(Examples:
  flowrun explain                     the exit codes
  flowrun explain 75                  what one means, what causes it, what to do
  flowrun explain sort                as flowrun ops sort
  flowrun explain by                  a word in front of a colon, wherever a job may have it
  flowrun explain flowrun_node_rows_total
  flowrun explain "unknown column"    a piece of a message)text";

inline constexpr const char* plugins_examples =
    R"text(Examples:
  flowrun plugins                              those of the directories in FLOWRUN_PLUGIN_PATH
  flowrun plugins --plugin ./build/geo.so      what is in a file
  flowrun plugin new geo --kind stateless      a folder with a plugin that builds, a job and tests
  flowrun plugins check ./build/geo.so         tries its words hard, operators by the tests of the jobs beside it
  flowrun plugins check ./build/geo.so a.yaml  … or of these jobs

A plugin's file and its directory must belong to you or root, and nobody else may write them. Jobs name the plugins
that they need, plugins: [geo], and call their words as geo.WORD. How to write one: docs/plugins.md.
Exit codes of check: 0 nothing is wrong, 1 nor that, but not all operators were tried, 70 something is wrong, 78 it
can't be loaded.)text";

inline constexpr const char* schema_examples =
    R"text(Example:
  flowrun schema > flowrun-1.schema.json
and as the first line of a job:
  # yaml-language-server: $schema=./flowrun-1.schema.json)text";

inline constexpr const char* completion_examples =
    R"text(Examples:
  source <(flowrun completion bash)    for this shell; in ~/.bashrc, for all
  flowrun completion zsh -o ~/.zfunc/_flowrun
  flowrun completion fish -o ~/.config/fish/completions/flowrun.fish)text";

inline constexpr const char* man_examples =
    R"text(Examples:
  flowrun man | man -l -
  flowrun man plan | man -l -
  flowrun man --all man1)text";

inline constexpr const char* gen_examples =
    R"text(KIND is one of
  records   the 100-byte records of the sort benchmark, byte for byte as gensort makes them
  ascii     the same, printable (gensort -a)
  u64       random 64-bit numbers, rand(SEED, i) of the job language

Examples:
  flowrun gen records --rows 10000000 -o input.dat
  flowrun gen u64 --rows 1000000 --seed 7 -o random.u64)text";

inline constexpr const char* verify_examples =
    R"text(Without --type the rows are records of the sort benchmark, and the output is that of valsort.

Examples:
  flowrun verify sorted.dat
  flowrun verify edges.bin --type 'src: u64, dst: u64' --by=-dst,src
  flowrun verify input.dat --any-order     the checksum only
  flowrun verify sorted.csv                a folder that run --cluster has written: all parts, as its manifest says

Exit codes: 0 sorted, or as the manifest says, 65 not.)text";

inline constexpr const char* test_examples =
    R"text(A test stands in the job that it tests:
  tests:
    - name: duplicates count once
      params: {limit: 10}                   values of parameters; paths may be left open
      given:  {edges: ["1 2", "1 2"]}       rows of a source: lines, {column: value}, or lists
      expect: {write: ["1,1"], total.n: 1}  rows of a node that writes; a value that a node reports
or, instead of expect, fails: "part of the message". Each test runs as it is, and again with tiny blocks and
forced spilling unless it says once: true. Files are made and written in a temporary directory.

With --update a test that gives other rows or values than it expects gets these as its expected ones. Write expect:
{write: []} first, or {write: {}} where it writes several files, let --update fill it in, and read what it shows
(- before, + now; the rows of new files stand in the job only) as you would read a change of the job itself. All else
in the file stays as it is, comments and line ends included. A test that fails for another reason stays, and so does
one whose expected rows come from a parameter, an anchor or an alias; that is said, with the place.

Examples:
  flowrun test specs/
  flowrun test job.yaml -k duplicates -v    a line for each test
  flowrun test job.yaml -k totals --update  what comes is what is expected from now on

Exit codes: 0 all passed (with --update: pass now), 1 some failed, 64 no test of this name, or --update of standard
input, 66 no such job, 73 a job can't be rewritten and is as it was, 78 a job or test has faults.)text";

inline constexpr const char* bench_disk_examples =
    R"text(Each DIR is measured alone, then all together, on an unlinked file with direct I/O: block sizes at depth 8,
depths at the block size found, then reads, writes and both at once with both found.

Examples:
  flowrun bench-disk /ssd0/tmp /ssd1/tmp
  flowrun bench-disk /ssd0/tmp /ssd1/tmp --save    and make them this machine's scratch directories
  flowrun bench-disk . --quick --format json
  flowrun bench-disk . --block-sizes 1MiB --depths 8 --time 3

Exit codes: 0 done, 64 wrong command line, 66 no such directory, 73 it can't be written, 74 reading or writing
failed, 75 too little room, 130 stopped by Ctrl-C. Nothing is left behind.)text";

}  // namespace flowrun::runner
