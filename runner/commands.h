// The commands, one file each. They return the exit code, or throw error; what they print goes to standard output, what
// they have to say to `screen`.
#pragma once

#include <string>
#include <vector>

#include "runner/options.h"
#include "runner/terminal.h"

namespace flowrun::runner {

int run(const run_arguments& arguments, terminal& screen);
int work(const worker_arguments& arguments, terminal& screen);
int clean(const clean_arguments& arguments, terminal& screen);
int check(const check_arguments& arguments, terminal& screen);
int show_plan(const plan_arguments& arguments, terminal& screen);
int top(const top_arguments& arguments, terminal& screen);
int tap(const tap_arguments& arguments, terminal& screen);
int draw_report(const report_arguments& arguments);
int generate(const gen_arguments& arguments, terminal& screen);
int test(const test_arguments& arguments, terminal& screen);
int infer(const infer_arguments& arguments, terminal& screen);
int bench_disk(const bench_disk_arguments& arguments, terminal& screen);
int verify(const verify_arguments& arguments, terminal& screen);
int manage_plugins(const plugins_arguments& arguments, terminal& screen);

// What flowrun says about itself (about.cc).
int show_operators(const std::string& name);  // empty: all
bool show_word(const std::string& name);      // an operator or a word of expressions; false if it is neither
int show_schema();
int explain(const std::vector<std::string>& asked);  // empty: the exit codes
int show_reference();
int show_metrics();
int show_version(const version_arguments& arguments);                  // version.cc
int begin_job(const document_arguments& arguments, terminal& screen);  // new.cc
int show_completion(const document_arguments& arguments);
int show_manual(const document_arguments& arguments);
int show_graph(const graph_arguments& arguments, terminal& screen);

}  // namespace flowrun::runner
