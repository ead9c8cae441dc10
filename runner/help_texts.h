// The longer texts of --help: how to begin, and examples for each command.
#pragma once

namespace flowrun::runner {

inline constexpr const char* introduction =
    "Flowrun runs dataflow jobs over data far larger than memory. A job is a YAML file.\n\n"
    "  flowrun job.yaml                     run a job (the same as flowrun run job.yaml)\n"
    "  flowrun job.yaml -p input=x.csv      with a value for a parameter of the job\n"
    "  flowrun check job.yaml               all faults at once, without running\n"
    "  flowrun plan job.yaml                what a run would do and cost\n"
    "  flowrun test job.yaml                the job's own tests\n"
    "  flowrun ops sort                     what an operator does and takes";

inline constexpr const char* run_examples =
    "Examples:\n"
    "  flowrun job.yaml                     with the job's own settings\n"
    "  flowrun job.yaml -m 8GiB -j 4        in 8 GiB of memory, on 4 threads\n"
    "  flowrun job.yaml -T /ssd0/tmp -T /ssd1/tmp:200GiB\n"
    "                                       spill to two disks at once, at most 200 GiB on the second\n"
    "  flowrun job.yaml -p input=edges.csv --set nodes.top.with.limit=100\n"
    "  flowrun job.yaml --report report.json --progress json\n"
    "\n"
    "Exit codes: 0 done, 64 wrong command line, 65 bad data, 66 no such input, 70 a bug in flowrun,\n"
    "73 an output can't be made or its disk is full, 74 reading or writing failed, 75 out of scratch or memory,\n"
    "78 wrong job, 130 and 143 stopped by Ctrl-C and SIGTERM. Outputs appear whole or not at all.";

inline constexpr const char* test_examples =
    "A test stands in the job that it tests:\n"
    "  tests:\n"
    "    - name: duplicates count once\n"
    "      params: {limit: 10}                   values of parameters; paths may be left open\n"
    "      given:  {edges: [\"1 2\", \"1 2\"]}       rows of a source: lines, {column: value}, or lists\n"
    "      expect: {write: [\"1,1\"], total.n: 1}  rows of a node that writes; a value that a node reports\n"
    "or, instead of expect, fails: \"part of the message\". Each test runs as it is, and again with tiny blocks and\n"
    "forced spilling unless it says once: true. Files are made and written in a temporary directory.\n"
    "\n"
    "Examples:\n"
    "  flowrun test specs/\n"
    "  flowrun test job.yaml -k duplicates -v    a line for each test\n"
    "\n"
    "Exit codes: 0 all passed, 1 some failed, 64 no test of this name, 66 no such job, 78 a job or test has faults.";

inline constexpr const char* bench_disk_examples =
    "Each DIR is measured alone, then all together, on an unlinked file with direct I/O: block sizes at depth 8,\n"
    "depths at the block size found, then reads, writes and both at once with both found.\n"
    "\n"
    "Examples:\n"
    "  flowrun bench-disk /ssd0/tmp /ssd1/tmp\n"
    "  flowrun bench-disk /ssd0/tmp /ssd1/tmp --save    and make them this machine's scratch directories\n"
    "  flowrun bench-disk . --quick --format json\n"
    "  flowrun bench-disk . --block-sizes 1MiB --depths 8 --time 3\n"
    "\n"
    "Exit codes: 0 done, 64 wrong command line, 66 no such directory, 73 it can't be written, 74 reading or writing\n"
    "failed, 75 too little room, 130 stopped by Ctrl-C. Nothing is left behind.";

}  // namespace flowrun::runner
