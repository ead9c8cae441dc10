#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/exec/job.h"
#include "engine/exec/job_report.h"
#include "engine/plan/explain.h"
#include "operators/registry.h"
#include "specs/yaml_reader.h"
#include <filesystem>
using namespace flowrun;
int main(int argc, char** argv) {
  std::map<std::string, std::string> params;
  uint64_t memory = 0; unsigned threads = 2; std::string path; exec::job_settings s; bool explain = false;
  for (int i = 1; i < argc; ++i) {
    std::string a = argv[i];
    if (a == "-p") { std::string kv = argv[++i]; params[kv.substr(0, kv.find('='))] = kv.substr(kv.find('=') + 1); }
    else if (a == "-m") memory = *parse_bytes(argv[++i]);
    else if (a == "-j") threads = std::atoi(argv[++i]);
    else if (a == "--plan") explain = true;
    else if (a == "--plain") s.plain_executor = true;
    else if (a == "--spill") s.options.force_spill = true;
    else if (a == "--block") s.options.block_bytes = *parse_bytes(argv[++i]);
    else if (a == "--threads") s.backend = io::backend_kind::threads;
    else path = a;
  }
  try {
    auto r = specs::read_job_file(path, params);
    if (!r.faults.empty()) { std::cerr << render(r.faults, r.text); return 78; }
    auto job = std::make_shared<specs::JobSpec>(r.job);
    auto catalog = operators::built_in_catalog();
    auto checked = plan::check(job, catalog, [](const std::string& p) -> int64_t { std::error_code e; auto n = std::filesystem::file_size(p, e); return e ? -1 : (int64_t)n; });
    if (!checked.faults.empty()) { std::cerr << render(checked.faults, r.text); return 78; }
    plan::machine m; m.memory_bytes = memory ? memory : job->resources().memory_bytes() ? job->resources().memory_bytes() : 256 * MiB; m.threads = threads; m.block_bytes = s.options.block_bytes;
    auto pl = plan::make_plan(checked.checked, m);
    if (!pl.faults.empty()) { std::cerr << render(pl.faults, r.text); return 78; }
    if (explain) { std::cout << plan::explain_text(checked.checked, pl.plan); return 0; }
    s.graph = std::make_shared<plan::graph>(checked.checked);
    s.plan = pl.plan;
    for (auto* d : operators::built_in_operators()) s.operators[d->declaration.name] = d;
    s.scratch = {{"/tmp/flowrun-scratch", 0}};
    exec::job j(std::move(s));
    static std::atomic<bool> stop{false};
    std::signal(SIGINT, [](int) { stop = true; });
    try { j.run({}, stop); std::cerr << exec::report_text(j.report(nullptr)); }
    catch (const error& e) { std::cerr << exec::report_text(j.report(&e)); throw; }
  } catch (const error& e) { std::cerr << "error: " << e.what() << "\n" << e.hint() << "\n"; return e.exit_code(); }
}
