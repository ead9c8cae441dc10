// What the command line asks for, as plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/scheduler.h"
#include "engine/block/block_manager.h"
#include "engine/exec/services.h"
#include "engine/io/request.h"
#include "operators/parts/infer/source_format.h"

namespace flowrun::runner {

enum class verbosity { quiet, normal, verbose };
enum class color_choice { automatic, always, never };
enum class progress_mode { automatic, bar, plain, json, none };

// The job and what changes it: -p and --set.
struct job_arguments {
  std::string file;
  std::map<std::string, std::string> parameters;
  std::vector<std::pair<std::string, std::string>> overrides;
  bool look_at_files = false;   // before the run, at all of them
  bool writes_folders = false;  // on a cluster
};

// -m, -j, -T: what the command line says; absent means: ask the job, then the machine's configuration, then the
// defaults.
struct resource_arguments {
  std::optional<uint64_t> memory_bytes;
  std::optional<double> memory_percent;
  std::optional<unsigned> threads;
  std::vector<block::disk_config> scratch;
  uint64_t block_bytes = 0;  // 0: the planner's choice
  uint64_t batch_bytes = 0;
  std::optional<uint64_t> scratch_limit;
  std::optional<unsigned> disk_depth;
  std::optional<block::allocation_strategy> allocation;
  std::optional<io::service_order> io_order;
  // Tasks share them, so that it doesn't matter what the whole job would need at once.
  bool for_tasks = false;
};

struct run_arguments {
  job_arguments job;
  resource_arguments resources;
  exec::job_options engine;
  io::backend_kind backend = io::backend_kind::automatic;
  bool plain_executor = false;
  std::optional<bool> verify;  // absent: as the job says, else the default (settings_of)
  progress_mode progress = progress_mode::automatic;
  std::string metrics_listen;  // empty: no metrics
  std::string metrics_file;    // how the run went; empty: none
  std::string page_listen;     // --ui: an address; empty: no page
  bool page_anywhere = false;  // at any free port, where that one is taken
  std::string report;          // empty: none; - for standard output
  std::string cluster;         // where its tasks run; empty: no tasks
  size_t tasks = 0;            // of a stage, at most; 0: as many as run at once
  // Loops, `if` and calls that have fewer bytes to read are one task.
  uint64_t least_divided_bytes = cluster::usual_least_divided_bytes;
  bool resume = false;  // keeps what is finished, and goes on with what an earlier run has left
};

struct report_arguments {
  std::string file;  // - for standard input
  std::string out = "-";
};

struct top_arguments {
  std::string address;  // where a job serves its page
  bool once = false;    // one snapshot
};

struct tap_arguments {
  std::string address;  // where a job serves its page
  std::string node;     // or NODE.PORT
  uint64_t rows = 10;
  bool as_json = false;
};

struct check_arguments {
  std::vector<std::string> files;  // the jobs
  job_arguments job;               // its file is not used
  resource_arguments resources;
};

struct plan_arguments {
  job_arguments job;
  resource_arguments resources;
  std::string format = "text";
  bool resume = false;         // also what --resume would go on with
  std::optional<bool> verify;  // as run_arguments has it; for that
  std::string cluster;         // also the stages of a run there; empty: none
  size_t tasks = 0;            // as run_arguments has it
};

// A task of a job on a cluster.
struct worker_arguments {
  std::string directory;  // that it shares with the driver
  size_t stage = 0, task = 0;
  std::string host;   // as messages are to call this machine; empty: not at all
  run_arguments run;  // its job is not used
};

struct graph_arguments {
  job_arguments job;
  resource_arguments resources;
  std::string format;  // dot, mermaid, svg
  std::string output = "-";
};

struct document_arguments {
  std::string name;  // of new: a chain of operators; of completion: a shell; of man: a command, or empty
  std::string output = "-";
  std::string directory;  // of man: where to write all pages
};

struct version_arguments {
  bool only_number = false;
  bool as_json = false;
};

struct clean_arguments {
  std::vector<std::string> directories;  // scratch directories; none: the machine's
  bool only_list = false;
};

struct test_arguments {
  std::vector<std::string> paths;  // specs, or directories of specs
  std::string pattern;             // part of the names of the tests to run; empty: all
  resource_arguments resources;    // memory and threads
  bool update = false;             // expected rows become those that come
};

struct infer_arguments {
  std::vector<std::string> files;  // of one source, perhaps with wildcards
  std::string node;                // its name; empty: from the file's
  std::string output;              // a job to write; empty: what is found goes to standard output
  bool as_json = false;
  operators::infer_options options;
};

struct bench_disk_arguments {
  std::vector<std::string> directories;
  double seconds = 0;                 // of a measurement; 0: ours to choose
  uint64_t file_bytes = 0;            // 0: ours to choose
  std::vector<uint64_t> block_sizes;  // to try, ascending
  std::vector<unsigned> depths;       // to try, ascending
  io::backend_kind backend = io::backend_kind::automatic;
  bool quick = false;
  bool save = false;
  std::string configuration;  // where to; empty: the user's own
  std::string format = "text";
};

struct plugins_arguments {
  std::string action;             // empty: the list; check, new
  std::string path;               // of check: a plugin; of new: the folder to make, whose last part is the name
  std::string kind;               // of new
  std::vector<std::string> jobs;  // of check: whose tests try operators; none: those that lie near the plugin
  unsigned most_seconds = 60;     // of check: a run of a job that takes longer hangs
};

struct gen_arguments {
  std::string kind;
  std::string out = "-";
  bool skewed = false;  // records
  uint64_t rows = 0;
  uint64_t first = 0;
  uint64_t seed = 1;
};

struct verify_arguments {
  std::string file;
  std::string type;  // empty: records of the sort benchmark
  std::string by;    // empty: all columns
  bool any_order = false;
};

}  // namespace flowrun::runner
