// The grammar of the command line. It and declared_command.cc are the only places that know CLI11.
#pragma once

#include <string>
#include <vector>

#include "runner/options.h"

namespace flowrun::runner {

enum class command {
  run,
  worker,
  check,
  plan,
  graph,
  clean,
  report,
  top,
  tap,
  test,
  infer,
  new_job,
  ops,
  explain,
  plugins,
  schema,
  reference,
  gen,
  verify,
  bench_disk,
  sort,
  metrics,
  completion,
  man,
  version,
  help
};

struct invocation {
  command what = command::help;
  verbosity how_much = verbosity::normal;
  color_choice colors = color_choice::automatic;
  run_arguments run;
  worker_arguments worker;
  check_arguments check;
  plan_arguments plan;
  graph_arguments graph;
  version_arguments version;
  document_arguments document;
  clean_arguments clean;
  report_arguments report;
  top_arguments top;
  tap_arguments tap;
  test_arguments test;
  infer_arguments infer;
  gen_arguments gen;
  plugins_arguments plugins_command;
  verify_arguments verify;
  bench_disk_arguments bench_disk;
  std::vector<std::string> plugins;    // --plugin: files, and directories to search
  std::string operator_name;           // of ops; empty: all
  std::vector<std::string> explained;  // of explain: an exit code, a word, or a piece of a message
  std::string help;                    // what to print for --help
};

// `words` are argv without the program's name. Throws error(usage).
invocation parse_command_line(std::vector<std::string> words);

}  // namespace flowrun::runner
