#include "runner/run_words.h"

#include "runner/option_values.h"
#include "runner/page_address.h"

namespace flowrun::runner {

namespace {

const choices<progress_mode>& progress_modes() {
  static const choices<progress_mode> all = {{"auto", progress_mode::automatic},
                                             {"bar", progress_mode::bar},
                                             {"plain", progress_mode::plain},
                                             {"json", progress_mode::json},
                                             {"none", progress_mode::none}};
  return all;
}

const choices<io::backend_kind>& backends() {
  static const choices<io::backend_kind> all = {{"auto", io::backend_kind::automatic},
                                                {"io_uring", io::backend_kind::io_uring},
                                                {"threads", io::backend_kind::threads},
                                                {"mmap", io::backend_kind::mmap},
                                                {"memory", io::backend_kind::memory}};
  return all;
}

}  // namespace

void run_words::declare(declared_command& of) {
  of.flag("--resume", plain.resume,
          "Keeps on scratch what is finished: after a kill or a failure the same command goes on there.");
  of.word("--cluster", plain.cluster, "WHERE",
          "Runs tasks: local:3 (three here), spark://HOST:7077, dask://HOST:8786. Outputs are folders.");
  of.word("--tasks", tasks, "N",
          "With --cluster: the most tasks of a stage. Default: local's N, or 16; more to sort in memory.");
  of.word("--divide-from", divide_from, "BYTES",
          "With --cluster: loops, ifs and calls that read fewer run as one task. Default: 64MiB.")
      .for_experts();
  of.word("--progress", progress, "MODE", "auto, bar, plain, json (lines on standard error), none.")
      .one_of(names_of(progress_modes()));
  of.word("--report", plain.report, "FILE",
          "Writes the run report as JSON, also when the job fails; - for standard output.");
  of.word("--metrics-listen", plain.metrics_listen, "ADDRESS",
          "Serves metrics to Prometheus: PORT (this machine only) or HOST:PORT; 9464-9473: a free one.");
  of.word("--metrics-file", plain.metrics_file, "FILE.prom",
          "Writes how the run went, also when it fails, for the textfile collector of node_exporter.");
  of.word("--ui", plain.page_listen, "[ADDRESS]",
          "Serves a page that shows the job at work: PORT (this machine only) or HOST:PORT; 9465.");
  declare_engine(of);
}

void run_words::declare_engine(declared_command& of) {
  of.flag(
      "--verify", [this] { choose_verify(plain.verify, true); },
      "All sorts check that no row is lost, and the order; those without strings do anyway.");
  of.flag(
      "--no-verify", [this] { choose_verify(plain.verify, false); }, "No sort does.");
  of.word("--backend", backend, "NAME", "auto, io_uring, threads, mmap, memory (scratch stays in memory).")
      .one_of(names_of(backends()))
      .for_experts();
  of.flag("--force-spill", plain.engine.force_spill, "Sorts and queues use scratch even when they would fit.")
      .for_experts();
  of.flag("--no-direct", no_direct, "Scratch and large files go through the page cache.").for_experts();
  of.flag("--no-sync", no_sync, "Outputs are not forced to the disk before they get their names.").for_experts();
  of.flag("--plain-executor", plain.plain_executor, "Everything on one thread, in a fixed order.").for_experts();
}

void choose_verify(std::optional<bool>& to, bool value) {
  if (to && *to != value)
    throw error(error_kind::usage, "--verify and --no-verify exclude each other", "leave one of them out");
  to = value;
}

std::string name_of(io::backend_kind backend) {
  for (const auto& [name, value] : backends())
    if (value == backend) return name;
  return {};
}

size_t tasks_of(const std::string& given, const std::string& cluster) {
  if (given.empty()) return 0;
  const size_t out = number_of("--tasks", given, 1, 10'000);
  if (cluster.empty()) throw error(error_kind::usage, "--tasks is for jobs on a cluster", "add --cluster local:N");
  return out;
}

run_arguments values_of(const run_words& given) {
  run_arguments out = given.plain;
  if (out.metrics_file == "-")
    throw error(error_kind::usage, "--metrics-file can't be standard output",
                "give a file in the directory that node_exporter reads (--collector.textfile.directory)");
  out.page_anywhere = out.page_listen == default_page_address;
  if (!out.page_listen.empty()) page_addresses(out.page_listen);
  out.tasks = tasks_of(given.tasks, out.cluster);
  if (!given.divide_from.empty()) {
    if (out.cluster.empty())
      throw error(error_kind::usage, "--divide-from is for jobs on a cluster", "add --cluster local:N");
    out.least_divided_bytes = bytes_of("--divide-from", given.divide_from);
  }
  out.progress = choice_of("--progress", given.progress, progress_modes());
  out.backend = choice_of("--backend", given.backend, backends());
  out.engine.direct = !given.no_direct;
  out.engine.sync_outputs = !given.no_sync;
  return out;
}

}  // namespace flowrun::runner
