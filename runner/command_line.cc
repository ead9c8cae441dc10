#include "runner/command_line.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <deque>
#include <filesystem>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/fault.h"
#include "runner/bench_disk_words.h"
#include "runner/declared_command.h"
#include "runner/described_commands.h"
#include "runner/exit_codes.h"
#include "runner/help_texts.h"
#include "runner/infer_words.h"
#include "runner/job_words.h"
#include "runner/option_values.h"
#include "runner/page_address.h"
#include "runner/plugins_words.h"
#include "runner/resource_words.h"
#include "runner/run_words.h"
#include "runner/values_of_options.h"

namespace flowrun::runner {

namespace {

using words = std::vector<std::string>;

const choices<color_choice>& colors() {
  static const choices<color_choice> all = {
      {"auto", color_choice::automatic}, {"always", color_choice::always}, {"never", color_choice::never}};
  return all;
}

const choices<std::string>& plan_formats() {
  static const choices<std::string> all = plain_choices({"text", "json", "dot"});
  return all;
}

// Whether it is JSON.
const choices<bool>& tapped_formats() {
  static const choices<bool> all = {{"csv", false}, {"json", true}};
  return all;
}

const choices<std::string>& pictures() {
  static const choices<std::string> all = plain_choices({"dot", "mermaid", "svg"});
  return all;
}

const choices<std::string>& generated_kinds() {
  static const choices<std::string> all = plain_choices({"records", "ascii", "u64"});
  return all;
}

// The commands. Options of a command that has many lie in a file of their own (run_words.h, infer_words.h, …).
class parser {
 public:
  parser() : app_("", "flowrun") {
    app_.description(introduction);
    app_.require_subcommand(0, 1);
    app_.fallthrough();
    app_.allow_extras();
    app_.get_formatter()->column_width(36);
    app_.set_help_flag("-h,--help", "This help; flowrun COMMAND --help for a command's.");
    program_.flag("-q,--quiet", quiet_, "Errors only: no progress, no report, no warnings.");
    program_.flag("-v,--verbose", verbose_, "Say more about what is going on.");
    program_.word("--color", color_, "WHEN", "Colours in messages: auto, always, never. NO_COLOR is obeyed.")
        .one_of(names_of(colors()));
    program_.words("--plugin", out_.plugins, "PATH",
                   "A plugin (.so), or a directory where jobs find the plugins that they name; repeatable.");
    app_.footer("flowrun COMMAND --help says more.");
    add_run();
    add_check();
    add_plan();
    add_graph();
    add_clean();
    add_report();
    add_top();
    add_tap();
    add_test();
    add_infer();
    add_others();
    add_worker();
  }

  invocation parse(words given) {
    given = with_looked_at_values(with_command(std::move(given)));
    std::reverse(given.begin(), given.end());  // CLI11 takes them from the back
    try {
      app_.parse(given);
    } catch (const CLI::CallForHelp&) {
      out_.help = help();
      return out_;
    } catch (const CLI::ParseError& problem) {
      throw error(error_kind::usage, problem.what(), hint_for_help());
    }
    return finish();
  }

  std::vector<described_command> described() const {
    std::vector<described_command> out = {program_.described()};
    out.front().name.clear();
    for (const listed_command& c : commands_) out.push_back(c.declared.described());
    return out;
  }

 private:
  struct listed_command {
    listed_command(command c, CLI::App& app) : what(c), declared(app) {}
    command what;
    declared_command declared;
  };

  declared_command& add(command what, const std::string& name, const std::string& help,
                        const std::string& footer = {}) {
    CLI::App& sub = *app_.add_subcommand(name, help);
    sub.allow_extras();
    sub.get_formatter()->column_width(36);
    sub.footer(footer);
    return commands_.emplace_back(what, sub).declared;
  }

  void add_run() {
    declared_command& sub = add(command::run, "run", "Runs a job. The word may be left out.",
                                run_examples + exit_codes_of_help() + run_notes);
    sub.argument("FILE", file_, "The job; - for standard input.");
    job_.declare(sub);
    resources_.declare(sub);
    run_.declare(sub);
  }

  void add_check() {
    declared_command& sub =
        add(command::check, "check", "Says everything that is wrong with jobs and their tests, without running them.",
            check_examples);
    sub.argument("FILE", files_, "The jobs; - for standard input.");
    sub.flag("--no-files", no_files_, "Doesn't look at the files that the jobs read and write.");
    job_.declare(sub);
    resources_.declare(sub);
  }

  void add_plan() {
    declared_command& sub =
        add(command::plan, "plan", "Shows what a run would do and cost: phases, pipelines, memory, scratch.",
            plan_examples);
    sub.argument("FILE", file_, "The job; - for standard input.");
    sub.word("-f,--format", format_, "FORMAT", "text, json, dot (for Graphviz).").one_of(names_of(plan_formats()));
    sub.flag("--resume", out_.plan.resume, "Also says what a run with --resume would go on with.");
    sub.flag(
        "--verify", [this] { choose_verify(out_.plan.verify, true); }, "With --resume: the run would have it, too.");
    sub.flag(
        "--no-verify", [this] { choose_verify(out_.plan.verify, false); },
        "With --resume: the run would have it, too.");
    sub.word("--cluster", out_.plan.cluster, "WHERE", "Also says in which stages and tasks a run there would go.");
    sub.word("--tasks", tasks_, "N", "With --cluster: as for run.");
    job_.declare(sub);
    resources_.declare(sub);
  }

  void add_graph() {
    declared_command& sub =
        add(command::graph, "graph", "Draws a job as it would run: its nodes, phases and edges.", graph_examples);
    sub.argument("FILE", file_, "The job; - for standard input.");
    sub.word("-f,--format", picture_, "FORMAT",
             "dot (Graphviz), mermaid, svg. Default: by the name of the output, else dot.")
        .one_of(names_of(pictures()));
    sub.word("-o,--output", out_.graph.output, "FILE", "Where to; standard output otherwise.");
    job_.declare(sub);
    resources_.declare(sub);
  }

  void add_clean() {
    declared_command& sub =
        add(command::clean, "clean", "Removes what jobs with --resume have left on scratch, but for those at work.",
            clean_examples);
    sub.argument("DIR", out_.clean.directories, "Scratch directories. Default: the machine's.");
    sub.flag("-n,--dry-run", out_.clean.only_list, "Says what would be removed.");
  }

  void add_report() {
    declared_command& sub =
        add(command::report, "report", "Draws a run that has ended, from its report, as a page for a browser.",
            report_examples);
    sub.argument("FILE", file_, "What run --report FILE has written; - for standard input.");
    sub.word("-o,--output", out_.report.out, "FILE", "Where to; standard output otherwise.");
  }

  void add_top() {
    declared_command& sub =
        add(command::top, "top", "Follows a running job in the terminal, as top(1) does.", top_examples);
    sub.argument("ADDRESS", out_.top.address, "Where the job serves its page: PORT, HOST:PORT or a URL; 9465.");
    sub.flag("--once", out_.top.once, "One snapshot as plain text; so it is where standard output is no terminal.");
  }

  void add_tap() {
    declared_command& sub =
        add(command::tap, "tap", "Prints rows that a node of a running job gives on.", tap_examples);
    sub.argument("ADDRESS", out_.tap.address, "Where the job serves its page: PORT, HOST:PORT or a URL.");
    sub.argument("NODE", out_.tap.node, "The node, as the report calls it; NODE.PORT where it has several outputs.");
    sub.word("-n,--rows", tapped_rows_, "N", "How many rows; 10.");
    sub.word("-f,--format", tapped_format_, "FORMAT", "csv, json (an object a line).")
        .one_of(names_of(tapped_formats()));
  }

  void finish_tap() {
    out_.tap.as_json = choice_of("--format", tapped_format_, tapped_formats());
    if (out_.tap.address.empty() || out_.tap.node.empty())
      throw error(error_kind::usage, out_.tap.address.empty() ? "tap needs an ADDRESS and a NODE" : "tap needs a NODE",
                  "flowrun tap 9465 sorted; flowrun top shows the nodes");
    out_.tap.rows = number_of("--rows", tapped_rows_, 1);
  }

  void add_test() {
    declared_command& sub =
        add(command::test, "test", "Runs the tests: of jobs, on rows that the tests bring along.", test_examples);
    sub.argument("PATH", files_, "Jobs, or directories of jobs (*.yaml, at any depth). Default: this directory.");
    sub.word("-k,--filter", pattern_, "TEXT", "Only tests with this text in their names.").may_be_empty();
    sub.flag("-u,--update", out_.test.update,
             "Writes into the jobs what comes, in place of expected rows and values that differ.");
    sub.word("-m,--memory", resources_.memory, "BYTES", "Memory budget of each job. Default: the job's.");
    sub.word("-j,--threads", resources_.threads, "N", "Threads. Default: the job's, else all usable cores.");
  }

  void add_infer() {
    declared_command& sub = add(command::infer, "infer",
                                "Looks into files and prints the types and the source that read them.", infer_examples);
    sub.argument("FILE", files_, "Files of one source, or a pattern in quotes; - for standard input.");
    infer_.declare(sub);
  }

  void add_others() {
    declared_command& begin =
        add(command::new_job, "new", "Begins a job: a chain of operators, with what each of them needs.", new_examples);
    begin.argument("CHAIN", out_.document.name, "Operators with / between them, from a source to a sink.");
    begin.word("-o,--output", out_.document.output, "JOB.yaml", "Where to; standard output otherwise.");
    declared_command& ops = add(command::ops, "ops", "Lists the operators, or explains one.", ops_examples);
    ops.argument("NAME", out_.operator_name, "An operator; or the word expressions.");
    declared_command& explain =
        add(command::explain, "explain", "Explains an exit code, a word of the language, a metric, or a message.",
            explain_examples);
    explain.argument("WHAT", out_.explained, "75, a name, or a piece of a message. Default: all exit codes.");
    declared_command& plugins =
        add(command::plugins, "plugins", "Lists plugins and what is in them, tries one hard, or begins a new one.",
            plugins_examples);
    plugins.app().alias("plugin");
    plugins_.declare(plugins);
    add(command::schema, "schema", "Prints the JSON Schema of the job language, for editors.", schema_examples);
    add(command::reference, "reference", "Prints the reference of the job language (specs/REFERENCE.md).");
    declared_command& gen =
        add(command::gen, "gen", "Makes test data: the same bytes for the same arguments, everywhere.", gen_examples);
    gen.argument("KIND", kind_, "What.").one_of(names_of(generated_kinds()));
    gen.word("-n,--rows", rows_, "N", "How many rows.");
    gen.word("--first", first_, "N", "The number of the first row; 0.");
    gen.flag("--skew", out_.gen.skewed,
             "Keys of which many begin alike, as with gensort -s, but not the same bytes (records, ascii).");
    gen.word("--seed", seed_, "N", "Another seed gives other numbers (u64); 1.");
    gen.word("-o,--output", out_.gen.out, "FILE", "Where to; standard output otherwise.");
    declared_command& verify =
        add(command::verify, "verify", "Counts the rows of a file, sums them up, and checks that they are sorted.",
            verify_examples);
    verify.argument("FILE", file_, "A file of rows, or a folder of parts; - for standard input.");
    verify.word("--type", out_.verify.type, "TYPE", "The columns: 'src: u64, dst: u64', or one type: u64.");
    verify.word("--by", out_.verify.by, "COLUMNS",
                "The key, with commas; -column descends, column[0:4] are some bytes. Default: all columns.");
    verify.flag("--any-order", out_.verify.any_order, "Count and sum only.");
    bench_disk_.declare(add(command::bench_disk, "bench-disk",
                            "Measures the bandwidth of directories, and suggests block size, depth and weights.",
                            bench_disk_examples));
    add(command::sort, "sort", "Sorts lines of text, as sort(1) does, with its options.");
    add(command::metrics, "metrics", "Lists the metrics that --metrics-listen serves and --metrics-file writes.");
    declared_command& completion =
        add(command::completion, "completion", "Prints the script by which a shell completes the words of flowrun.",
            completion_examples);
    completion.argument("SHELL", out_.document.name, "bash, zsh or fish.");
    completion.word("-o,--output", out_.document.output, "FILE", "Where to; standard output otherwise.");
    declared_command& man =
        add(command::man, "man", "Prints a manual page: flowrun's, or that of a command.", man_examples);
    man.argument("COMMAND", out_.document.name, "A command.");
    man.word("-o,--output", out_.document.output, "FILE", "Where to; standard output otherwise.");
    man.word("--all", out_.document.directory, "DIR", "Writes all pages into a directory.");
    declared_command& version =
        add(command::version, "version", "Prints the version, what it is built with, and what this machine offers it.");
    version.flag("--json", out_.version.as_json, "The same as JSON.");
    version.flag("--only-number", out_.version.only_number, "Nothing but the version, as flowrun --version.");
  }

  void add_worker() {
    declared_command& sub =
        add(command::worker, "worker", "Runs a task of a job on a cluster, for its driver.", worker_examples);
    sub.argument("DIR", out_.worker.directory, "The directory that the driver and its workers share.");
    sub.argument("STAGE", worker_stage_, "The number of the stage, from 0.");
    sub.argument("TASK", worker_task_, "The number of the task, from 0.");
    sub.word("--host", out_.worker.host, "NAME", "What the engine calls this machine, for messages.");
    resources_.declare(sub);
    run_.declare_engine(sub);
  }

  void finish_worker() {
    out_.worker.run = values_of(run_);
    out_.worker.run.resources = values_of(resources_);
    if (worker_task_.empty()) throw error(error_kind::usage, "worker needs a DIR, a STAGE and a TASK", hint_for_help());
    out_.worker.stage = number_of("STAGE", worker_stage_);
    out_.worker.task = number_of("TASK", worker_task_);
  }

  words command_names() const {
    words out;
    for (const listed_command& c : commands_) {
      out.push_back(c.declared.app().get_name());
      for (const std::string& alias : c.declared.app().get_aliases()) out.push_back(alias);
    }
    return out;
  }

  words with_looked_at_values(words given) {
    for (const listed_command& c : commands_) {
      if (command_at_ >= given.size() || !c.declared.app().check_name(given[command_at_])) continue;
      looked_at_words looked = look_at_values(std::move(given), command_at_, program_, c.declared);
      behind_ui_ = std::move(looked.behind_ui);
      return std::move(looked.words);
    }
    return given;
  }

  // `flowrun job.yaml` is `flowrun run job.yaml`: finds the place where a command stands or is to be put.
  words with_command(words given) {
    size_t& at = command_at_ = 0;
    while (at < given.size()) {
      const std::string& word = given[at];
      if (word == "--color" || word == "--plugin") {
        ++at;
      } else if (word != "-q" && word != "--quiet" && word != "-v" && word != "--verbose" &&
                 !word.starts_with("--color=") && !word.starts_with("--plugin=")) {
        break;
      }
      ++at;
    }
    if (at >= given.size()) return given;
    const std::string& word = given[at];
    const words names = command_names();
    if (word == "--version") {
      given[at] = "version";
      given.insert(given.begin() + static_cast<std::ptrdiff_t>(at) + 1, "--only-number");
      return given;
    }
    if (word == "-h" || word == "--help" || std::find(names.begin(), names.end(), word) != names.end()) return given;
    std::error_code ignored;
    const bool path_like = word.starts_with('-') || word.find_first_of("./") != std::string::npos;
    if (!path_like && !std::filesystem::exists(word, ignored)) {
      const std::string meant = did_you_mean(word, names);
      throw error(error_kind::usage, "'" + word + "' is neither a command nor a job",
                  meant.empty() ? "flowrun --help lists the commands" : meant);
    }
    given.insert(given.begin() + static_cast<std::ptrdiff_t>(at), "run");
    return given;
  }

  const CLI::App* chosen() const {
    for (const listed_command& c : commands_)
      if (c.declared.app().parsed()) return &c.declared.app();
    return nullptr;
  }

  std::string hint_for_help() const {
    const CLI::App* sub = chosen();
    return sub == nullptr ? "flowrun --help" : "flowrun " + sub->get_name() + " --help";
  }

  std::string help() const {
    const CLI::App* sub = chosen();
    return sub == nullptr ? app_.help() : sub->help("flowrun");
  }

  // Words that nothing took.
  void refuse_leftovers(const CLI::App& sub) const {
    words left = sub.remaining();
    for (const std::string& word : app_.remaining(false)) left.push_back(word);
    std::erase(left, "--");  // what stands behind it was taken as files
    if (left.empty()) return;
    const auto option =
        std::find_if(left.begin(), left.end(), [](const std::string& w) { return w.size() > 1 && w[0] == '-'; });
    std::error_code ignored;
    if (option == left.end() && !behind_ui_.empty() && !std::filesystem::exists(behind_ui_, ignored))
      page_addresses(behind_ui_);  // says what an address is
    if (option == left.end())
      throw error(error_kind::usage, "unexpected argument '" + left.front() + "'", hint_for_help());
    const std::string name = option->substr(0, option->find('='));
    words names;
    for (const CLI::App* app : {&sub, static_cast<const CLI::App*>(&app_)})
      for (const CLI::Option* known : app->get_options())
        for (const std::string& long_name : known->get_lnames()) names.push_back("--" + long_name);
    const std::string meant = did_you_mean(name, names);
    throw error(error_kind::usage, "unknown option '" + name + "'", meant.empty() ? hint_for_help() : meant);
  }

  void finish_run() {
    out_.run = values_of(run_);
    out_.run.job = values_of(job_, file_);
    out_.run.job.look_at_files = true;
    out_.run.job.writes_folders = !out_.run.cluster.empty();
    if (out_.run.resume && file_ == "-")
      throw error(error_kind::usage, "--resume: the job comes from standard input, which can't be read again",
                  "write the job to a file, or leave out --resume");
    out_.run.resources = values_of(resources_);
    out_.run.resources.for_tasks = out_.run.job.writes_folders;
  }

  void finish_check() {
    if (std::count(files_.begin(), files_.end(), "-") > 1)
      throw error(error_kind::usage, "standard input is named twice", "leave one of the two out");
    out_.check.files = files_;
    out_.check.job = values_of(job_, file_);
    out_.check.job.look_at_files = !no_files_;
    out_.check.resources = values_of(resources_);
  }

  void finish_plan() {
    out_.plan.job = values_of(job_, file_);
    out_.plan.resources = values_of(resources_);
    out_.plan.format = choice_of("--format", format_, plan_formats());
    out_.plan.tasks = tasks_of(tasks_, out_.plan.cluster);
    out_.plan.resources.for_tasks = !out_.plan.cluster.empty();
    if (out_.plan.format == "dot" && !out_.plan.cluster.empty())
      throw error(error_kind::usage, "--format dot doesn't show the stages of --cluster", "take text or json");
  }

  void finish_graph() {
    out_.graph.job = values_of(job_, file_);
    out_.graph.resources = values_of(resources_);
    const std::string& to = out_.graph.output;
    for (const char* other : {".png", ".jpg", ".jpeg", ".pdf"})
      if (picture_.empty() && to.ends_with(other))
        throw error(error_kind::usage,
                    fmt::format("a picture can't be written as {}: dot, mermaid and svg are known", other),
                    fmt::format("flowrun graph JOB | dot -T{} -o {} (of Graphviz)", other + 1, to));
    if (picture_.empty())
      picture_ = to.ends_with(".svg") ? "svg" : to.ends_with(".mmd") || to.ends_with(".mermaid") ? "mermaid" : "dot";
    out_.graph.format = choice_of("--format", picture_, pictures());
  }

  void finish_test() {
    out_.test.paths = files_.empty() ? words{"."} : files_;
    out_.test.pattern = pattern_;
    out_.test.resources = values_of(resources_);
  }

  void finish_gen() {
    if (kind_.empty() || rows_.empty())
      throw error(error_kind::usage, kind_.empty() ? "gen needs a KIND" : "gen needs --rows",
                  "flowrun gen records --rows 1000000 -o input.dat");
    out_.gen.kind = choice_of("KIND", kind_, generated_kinds());
    out_.gen.rows = number_of("--rows", rows_);
    out_.gen.first = number_of("--first", first_);
    out_.gen.seed = number_of("--seed", seed_);
  }

  invocation finish() {
    if (quiet_ && verbose_) throw error(error_kind::usage, "-q and -v exclude each other", "leave one of them out");
    out_.how_much = quiet_ ? verbosity::quiet : verbose_ ? verbosity::verbose : verbosity::normal;
    out_.colors = choice_of("--color", color_, colors());
    const CLI::App* sub = chosen();
    if (sub == nullptr) {
      refuse_leftovers(app_);
      throw error(error_kind::usage, "nothing to do", "flowrun JOB.yaml runs a job; flowrun --help lists the commands");
    }
    if (sub->get_name() == "sort")
      throw error(error_kind::usage, "options in front of sort", "all of them go behind it: flowrun sort --help");
    refuse_leftovers(*sub);
    for (const listed_command& c : commands_)
      if (&c.declared.app() == sub) out_.what = c.what;
    const bool wants_file = out_.what == command::run || out_.what == command::plan || out_.what == command::graph ||
                            out_.what == command::verify || out_.what == command::report;
    if (wants_file ? file_.empty() : out_.what == command::check && files_.empty())
      throw error(error_kind::usage, sub->get_name() + " needs a FILE", hint_for_help());
    if (out_.what == command::new_job && out_.document.name.empty())
      throw error(error_kind::usage, "new needs a CHAIN", hint_for_help());
    switch (out_.what) {
      case command::run: finish_run(); break;
      case command::worker: finish_worker(); break;
      case command::check: finish_check(); break;
      case command::plan: finish_plan(); break;
      case command::graph: finish_graph(); break;
      case command::test: finish_test(); break;
      case command::infer: out_.infer = values_of(infer_, files_); break;
      case command::gen: finish_gen(); break;
      case command::bench_disk: out_.bench_disk = values_of(bench_disk_); break;
      case command::plugins: out_.plugins_command = values_of(plugins_); break;
      case command::tap: finish_tap(); break;
      case command::top:
        if (out_.top.address.empty()) out_.top.address = default_page_address;
        break;
      case command::report: out_.report.file = file_; break;
      case command::verify: out_.verify.file = file_; break;
      default: break;
    }
    return out_;
  }

  CLI::App app_;
  declared_command program_{app_};
  std::deque<listed_command> commands_;  // as --help lists them
  invocation out_;
  size_t command_at_ = 0;  // among the words that were given
  std::string behind_ui_;  // looked_at_words
  bool quiet_ = false;
  bool verbose_ = false;
  bool no_files_ = false;
  std::string color_ = "auto";
  std::string format_ = "text";
  std::string tasks_;
  std::string file_;
  words files_;
  std::string pattern_;
  std::string picture_;  // of graph: its format
  job_words job_;
  resource_words resources_;
  run_words run_;
  std::string tapped_rows_ = "10";
  std::string tapped_format_ = "csv";
  infer_words infer_;
  plugins_words plugins_;
  bench_disk_words bench_disk_;
  std::string kind_;  // of gen
  std::string rows_;
  std::string first_ = "0";
  std::string seed_ = "1";
  std::string worker_stage_;
  std::string worker_task_;
};

}  // namespace

std::vector<described_command> described_commands() { return parser().described(); }

invocation parse_command_line(std::vector<std::string> given) { return parser().parse(std::move(given)); }

}  // namespace flowrun::runner
