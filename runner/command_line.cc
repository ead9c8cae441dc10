#include "runner/command_line.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/base/fault.h"
#include "engine/base/units.h"
#include "engine/metrics/exporter.h"
#include "runner/described_commands.h"
#include "runner/exit_codes.h"
#include "runner/help_texts.h"
#include "runner/infer_words.h"
#include "runner/option_values.h"
#include "runner/page_server.h"
#include "runner/plugin_templates.h"
#include "runner/resources.h"

namespace flowrun::runner {

namespace {

using words = std::vector<std::string>;

// --ui may stand alone. What stands behind it is an address only where it looks like one, so that the job may follow.
words with_page_address(words given) {
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] != "--ui") continue;
    const std::string next = i + 1 < given.size() ? given[i + 1] : "";
    const std::string_view host_and_port = next.starts_with("localhost:") ? std::string_view(next).substr(9) : next;
    const bool address = host_and_port.find_first_of("0123456789") != std::string_view::npos &&
                         host_and_port.find_first_not_of("0123456789abcdefABCDEF.:[]") == std::string_view::npos &&
                         (host_and_port.find_first_not_of("0123456789") == std::string_view::npos ||
                          host_and_port.find(':') != std::string_view::npos);
    given[i] = std::string("--ui=") + (address ? next : default_page_address);
    if (address) given.erase(given.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return given;
}

std::vector<std::pair<std::string, std::string>> plugin_kind_choices() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const plugin_template& t : plugin_templates()) out.emplace_back(t.kind, t.kind);
  return out;
}

CLI::Option* add_word(CLI::App& app, const std::string& names, std::string& to, const std::string& value,
                      const std::string& help) {
  return app.add_option(names, to, help)
      ->type_name(value)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

CLI::Option* add_words(CLI::App& app, const std::string& names, words& to, const std::string& value,
                       const std::string& help) {
  return app.add_option(names, to, help)->type_name(value)->allow_extra_args(false);
}

// The options as text, each group with what turns it into values.
class parser {
 public:
  parser() : app_("", "flowrun") {
    app_.description(introduction);
    app_.require_subcommand(0, 1);
    app_.fallthrough();
    app_.allow_extras();
    app_.get_formatter()->column_width(36);
    app_.set_help_flag("-h,--help", "This help; flowrun COMMAND --help for a command's.");
    app_.add_flag("-q,--quiet", quiet_, "Errors only: no progress, no report, no warnings.");
    app_.add_flag("-v,--verbose", verbose_, "Say more about what is going on.");
    add_word(app_, "--color", color_, "WHEN", "Colours in messages: auto, always, never. NO_COLOR is obeyed.");
    add_words(app_, "--plugin", out_.plugins, "PATH",
              "A plugin (.so), or a directory where jobs find the plugins that they name; repeatable.");
    app_.footer("flowrun COMMAND --help says more.");
    add_run();
    add_check();
    add_plan();
    add_graph();
    add_clean();
    add_report();
    add_test();
    add_infer();
    add_others();
  }

  invocation parse(words given) {
    given = with_page_address(with_command(std::move(given)));
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
    std::vector<described_command> out = {described(app_)};
    out.front().name.clear();
    for (const auto& [sub, what] : commands_) out.push_back(described(*sub));
    return out;
  }

 private:
  static described_command described(const CLI::App& app) {
    described_command out;
    out.name = app.get_name();
    out.aliases = app.get_aliases();
    out.help = app.get_description();
    out.notes = app.get_footer();
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_positional()) {
        out.arguments.push_back({option->get_name(true), option->get_description()});
        continue;
      }
      described_option o;
      for (const std::string& name : option->get_snames()) o.names.push_back("-" + name);
      for (const std::string& name : option->get_lnames()) o.names.push_back("--" + name);
      if (option->get_items_expected_max() > 0) o.value = option->get_type_name();
      o.help = option->get_description();
      o.group = option->get_group();
      out.options.push_back(std::move(o));
    }
    return out;
  }

  CLI::App& add(command what, const std::string& name, const std::string& help, const std::string& footer = {}) {
    CLI::App& sub = *app_.add_subcommand(name, help);
    sub.allow_extras();
    sub.get_formatter()->column_width(36);
    sub.footer(footer);
    commands_.emplace_back(&sub, what);
    return sub;
  }

  void add_job(CLI::App& sub) {
    add_words(sub, "-p,--param", parameters_, "NAME=VALUE", "A value for a parameter of the job; repeatable.");
    add_words(sub, "--set", overrides_, "PATH=VALUE",
              "Replaces any value of the job: nodes.top.with.limit=5; repeatable.");
  }

  void add_resources(CLI::App& sub) {
    add_word(sub, "-m,--memory", memory_, "BYTES",
             "Memory budget: 8GiB, or 50%. Default: the job's, else half of what there is.");
    add_word(sub, "-j,--threads", threads_, "N", "Threads. Default: the job's, else all usable cores.");
    add_words(sub, "-T,--scratch", scratch_, "DIR[:LIMIT]",
              "Where to spill, used in parallel; repeatable. Default: the job's, else ~/.cache/flowrun.");
    add_word(sub, "--scratch-limit", scratch_limit_, "BYTES", "The most that all scratch directories take together.");
    const char* experts = "For experts";
    add_word(sub, "--block-size", block_, "BYTES", "Size of scratch blocks.")->group(experts);
    add_word(sub, "--batch-size", batch_, "BYTES", "Bytes of a batch of rows between operators.")->group(experts);
    add_word(sub, "--depth", depth_, "N", "Transfers in flight per scratch disk.")->group(experts);
    add_word(sub, "--allocation", allocation_, "NAME",
             "Which disk takes a block: randomised_cycling, fully_randomised, simple_randomised, striping.")
        ->group(experts);
    add_word(sub, "--io-order", io_order_, "NAME",
             "What a disk does when reads and writes wait for it: alternating, writes_first, arrival.")
        ->group(experts);
  }

  void add_run() {
    CLI::App& sub = add(command::run, "run", "Runs a job. The word may be left out.",
                        run_examples + exit_codes_of_help() + run_notes);
    sub.add_option("FILE", file_, "The job; - for standard input.")->type_name(" ");
    add_job(sub);
    add_resources(sub);
    sub.add_flag("--resume", out_.run.resume,
                 "Keeps on scratch what is finished: after a kill or a failure the same command goes on there.");
    add_word(sub, "--progress", progress_, "MODE", "auto, bar, plain, json (lines on standard error), none.");
    add_word(sub, "--report", out_.run.report, "FILE",
             "Writes the run report as JSON, also when the job fails; - for standard output.");
    add_word(sub, "--metrics-listen", out_.run.metrics_listen, "ADDRESS",
             "Serves metrics to Prometheus: PORT (this machine only) or HOST:PORT; 9464-9473: a free one.");
    add_word(sub, "--metrics-file", out_.run.metrics_file, "FILE.prom",
             "Writes how the run went, also when it fails, for the textfile collector of node_exporter.");
    add_word(sub, "--ui", page_, "[ADDRESS]",
             "Serves a page that shows the job at work: PORT (this machine only) or HOST:PORT; 9465.");
    sub.add_flag_callback(
        "--verify", [this] { out_.run.verify = true; },
        "All sorts check that no row is lost, and the order; those without strings do anyway.");
    sub.add_flag_callback(
        "--no-verify", [this] { out_.run.verify = false; }, "No sort does.");
    const char* experts = "For experts";
    add_word(sub, "--backend", backend_, "NAME", "auto, io_uring, threads, mmap, memory (scratch stays in memory).")
        ->group(experts);
    sub.add_flag("--force-spill", out_.run.engine.force_spill, "Sorts and queues use scratch even when they would fit.")
        ->group(experts);
    sub.add_flag("--no-direct", no_direct_, "Scratch and large files go through the page cache.")->group(experts);
    sub.add_flag("--no-sync", no_sync_, "Outputs are not forced to the disk before they get their names.")
        ->group(experts);
    sub.add_flag("--plain-executor", out_.run.plain_executor, "Everything on one thread, in a fixed order.")
        ->group(experts);
  }

  void add_check() {
    CLI::App& sub =
        add(command::check, "check", "Says everything that is wrong with jobs, without running them.", check_examples);
    sub.add_option("FILE", files_, "The jobs; - for standard input.")->type_name(" ");
    sub.add_flag("--no-files", no_files_, "Doesn't look at the files that the jobs read and write.");
    add_job(sub);
    add_resources(sub);
  }

  void add_plan() {
    CLI::App& sub = add(command::plan, "plan",
                        "Shows what a run would do and cost: phases, pipelines, memory, scratch.", plan_examples);
    sub.add_option("FILE", file_, "The job; - for standard input.")->type_name(" ");
    add_word(sub, "-f,--format", format_, "FORMAT", "text, json, dot (for Graphviz).");
    sub.add_flag("--resume", out_.plan.resume, "Also says what a run with --resume would go on with.");
    add_job(sub);
    add_resources(sub);
  }

  void add_graph() {
    CLI::App& sub =
        add(command::graph, "graph", "Draws a job as it would run: its nodes, phases and edges.", graph_examples);
    sub.add_option("FILE", file_, "The job; - for standard input.")->type_name(" ");
    add_word(sub, "-f,--format", picture_, "FORMAT",
             "dot (Graphviz), mermaid, svg. Default: by the name of the output, else dot.");
    add_word(sub, "-o,--output", out_.graph.output, "FILE", "Where to; standard output otherwise.");
    add_job(sub);
    add_resources(sub);
  }

  void add_clean() {
    CLI::App& sub = add(command::clean, "clean",
                        "Removes what jobs with --resume have left on scratch, but for those at work.", clean_examples);
    sub.add_option("DIR", out_.clean.directories, "Scratch directories. Default: the machine's.")->type_name(" ");
    sub.add_flag("-n,--dry-run", out_.clean.only_list, "Says what would be removed.");
  }

  void add_report() {
    CLI::App& sub = add(command::report, "report",
                        "Draws a run that has ended, from its report, as a page for a browser.", report_examples);
    sub.add_option("FILE", file_, "What run --report FILE has written; - for standard input.")->type_name(" ");
    add_word(sub, "-o,--output", out_.report.out, "FILE", "Where to; standard output otherwise.");
  }

  void add_test() {
    CLI::App& sub =
        add(command::test, "test", "Runs the tests: of jobs, on rows that the tests bring along.", test_examples);
    sub.add_option("PATH", files_, "Jobs, or directories of jobs (*.yaml, at any depth). Default: this directory.")
        ->type_name(" ");
    add_word(sub, "-k,--filter", pattern_, "TEXT", "Only tests with this text in their names.");
    sub.add_flag("-u,--update", out_.test.update,
                 "Writes into the jobs what comes, in place of expected rows and values that differ.");
    add_word(sub, "-m,--memory", memory_, "BYTES", "Memory budget of each job. Default: the job's.");
    add_word(sub, "-j,--threads", threads_, "N", "Threads. Default: the job's, else all usable cores.");
  }

  void add_infer() {
    CLI::App& sub = add(command::infer, "infer", "Looks into files and prints the types and the source that read them.",
                        infer_examples);
    sub.add_option("FILE", files_, "Files of one source, or a pattern in quotes; - for standard input.")
        ->type_name(" ");
    add_word(sub, "-n,--rows", infer_.rows, "N", "Looks at no more than so many rows; 100000.");
    add_word(sub, "--bytes", infer_.bytes, "BYTES", "Looks at no more text than that; 16MiB.");
    sub.add_flag("-a,--all", infer_.all, "Looks at everything. Without a sample's doubts, but it takes time.");
    add_word(sub, "--as", infer_.format, "FORMAT", "What it is: " + inferred_formats() + ". Default: as it looks.");
    add_word(sub, "--delimiter", infer_.delimiter, "BYTE", "What stands between fields; \\t for a tab.");
    add_word(sub, "--header", infer_.header, "yes|no", "Whether line 1 names the columns.");
    add_word(sub, "--descriptors", infer_.descriptors, "FILE",
             "Of messages of Protocol Buffers: what protoc --include_imports --descriptor_set_out=FILE has written.");
    add_word(sub, "--message", infer_.message, "NAME", "Which of its messages they are, with its package.");
    add_word(sub, "--name", infer_.node, "NODE", "The name of the node. Default: after the file.");
    sub.add_flag("--json", infer_.as_json, "Everything that was found, as JSON.");
    add_word(sub, "-o,--output", infer_.output, "JOB.yaml",
             "Writes a whole job, which copies the rows to standard output.");
  }

  void add_others() {
    CLI::App& begin =
        add(command::new_job, "new", "Begins a job: a chain of operators, with what each of them needs.", new_examples);
    begin.add_option("CHAIN", out_.document.name, "Operators with / between them, from a source to a sink.")
        ->type_name(" ");
    add_word(begin, "-o,--output", out_.document.output, "JOB.yaml", "Where to; standard output otherwise.");
    CLI::App& ops = add(command::ops, "ops", "Lists the operators, or explains one.", ops_examples);
    ops.add_option("NAME", out_.operator_name, "An operator; or the word expressions.")->type_name(" ");
    CLI::App& explain = add(command::explain, "explain",
                            "Explains an exit code, a word of the language, a metric, or a message.", explain_examples);
    explain.add_option("WHAT", out_.explained, "75, a name, or a piece of a message. Default: all exit codes.")
        ->type_name(" ");
    CLI::App& plugins =
        add(command::plugins, "plugins", "Lists plugins and what is in them, tries one hard, or begins a new one.",
            plugins_examples);
    plugins.alias("plugin");
    plugins.add_option("ACTION", words_, "Nothing; or check PATH [JOB.yaml…]; or new NAME.")->type_name(" ");
    add_word(plugins, "--limit", limit_, "SECONDS", "Of check: a job that runs for longer hangs; 60.");
    add_word(plugins, "--kind", kind_, "KIND", "Of new: what the plugin has: " + plugin_kinds() + ".");
    add(command::schema, "schema", "Prints the JSON Schema of the job language, for editors.", schema_examples);
    add(command::reference, "reference", "Prints the reference of the job language (specs/REFERENCE.md).");
    CLI::App& gen =
        add(command::gen, "gen", "Makes test data: the same bytes for the same arguments, everywhere.", gen_examples);
    gen.add_option("KIND", kind_, "What.")->type_name(" ");
    add_word(gen, "-n,--rows", rows_, "N", "How many rows.");
    add_word(gen, "--first", first_, "N", "The number of the first row; 0.");
    gen.add_flag("--skew", out_.gen.skewed,
                 "Keys of which many begin alike, as with gensort -s, but not the same bytes (records, ascii).");
    add_word(gen, "--seed", seed_, "N", "Another seed gives other numbers (u64); 1.");
    add_word(gen, "-o,--output", out_.gen.out, "FILE", "Where to; standard output otherwise.");
    CLI::App& verify =
        add(command::verify, "verify", "Counts the rows of a file, sums them up, and checks that they are sorted.",
            verify_examples);
    verify.add_option("FILE", file_, "A file of rows; - for standard input.")->type_name(" ");
    add_word(verify, "--type", out_.verify.type, "TYPE", "The columns: 'src: u64, dst: u64', or one type: u64.");
    add_word(verify, "--by", out_.verify.by, "COLUMNS",
             "The key, separated by commas; -column for descending. Default: all columns.");
    verify.add_flag("--any-order", out_.verify.any_order, "Count and sum only.");
    add_bench_disk();
    add(command::sort, "sort", "Sorts lines of text, as sort(1) does, with its options.");
    add(command::metrics, "metrics", "Lists the metrics that --metrics-listen serves and --metrics-file writes.");
    CLI::App& completion =
        add(command::completion, "completion", "Prints the script by which a shell completes the words of flowrun.",
            completion_examples);
    completion.add_option("SHELL", out_.document.name, "bash, zsh or fish.")->type_name(" ");
    add_word(completion, "-o,--output", out_.document.output, "FILE", "Where to; standard output otherwise.");
    CLI::App& man = add(command::man, "man", "Prints a manual page: flowrun's, or that of a command.", man_examples);
    man.add_option("COMMAND", out_.document.name, "A command.")->type_name(" ");
    add_word(man, "-o,--output", out_.document.output, "FILE", "Where to; standard output otherwise.");
    add_word(man, "--all", out_.document.directory, "DIR", "Writes all pages into a directory.");
    CLI::App& version =
        add(command::version, "version", "Prints the version, what it is built with, and what this machine offers it.");
    version.add_flag("--json", out_.version.as_json, "The same as JSON.");
    version.add_flag("--only-number", out_.version.only_number, "Nothing but the version, as flowrun --version.");
  }

  void add_bench_disk() {
    CLI::App& sub =
        add(command::bench_disk, "bench-disk",
            "Measures the bandwidth of directories, and suggests block size, depth and weights.", bench_disk_examples);
    sub.add_option("DIR", out_.bench_disk.directories, "The directories.")->type_name(" ");
    sub.add_flag("--save", out_.bench_disk.save,
                 "Writes the directories and what is suggested into the machine's configuration.");
    add_word(sub, "--config", out_.bench_disk.configuration, "FILE",
             "The configuration to write; ~/.config/flowrun/config.yaml.");
    add_word(sub, "-f,--format", format_, "FORMAT", "text, json.");
    sub.add_flag("--quick", out_.bench_disk.quick, "A quarter of the time, and smaller files: less reliable.");
    add_word(sub, "--time", time_, "SECONDS", "Time of a measurement; 1.2. The last ones take three times that.");
    add_word(sub, "--file-size", file_size_, "BYTES",
             "Size of the file in each directory; 1GiB, or a quarter of the room.");
    const char* experts = "For experts";
    add_word(sub, "--block-sizes", block_sizes_, "LIST", "Block sizes to try; 128KiB,512KiB,1MiB,2MiB,4MiB.")
        ->group(experts);
    add_word(sub, "--depths", depths_, "LIST", "Transfers in flight per disk to try; 1,2,4,8,16.")->group(experts);
    add_word(sub, "--backend", backend_, "NAME", "auto, io_uring, threads.")->group(experts);
  }

  words command_names() const {
    words out;
    for (const auto& [sub, what] : commands_) {
      out.push_back(sub->get_name());
      for (const std::string& alias : sub->get_aliases()) out.push_back(alias);
    }
    return out;
  }

  // `flowrun job.yaml` is `flowrun run job.yaml`: finds the place where a command stands or is to be put.
  words with_command(words given) const {
    size_t at = 0;
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
    for (const auto& [sub, what] : commands_)
      if (sub->parsed()) return sub;
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
    if (left.empty()) return;
    const auto option =
        std::find_if(left.begin(), left.end(), [](const std::string& w) { return w.size() > 1 && w[0] == '-'; });
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

  job_arguments job() const {
    job_arguments out;
    out.file = file_;
    for (const std::string& text : parameters_) {
      auto [name, value] = key_and_value("-p", text, "-p NAME=VALUE");
      if (!out.parameters.emplace(name, std::move(value)).second)
        throw error(error_kind::usage, "-p gives '" + name + "' twice", "leave one of them out");
    }
    for (const std::string& text : overrides_)
      out.overrides.push_back(key_and_value("--set", text, "--set nodes.top.with.limit=5"));
    return out;
  }

  resource_arguments resources_given() const {
    resource_arguments out;
    if (memory_.ends_with('%')) {
      const std::string number = memory_.substr(0, memory_.size() - 1);
      const uint64_t percent = number_of("--memory", number);
      if (percent == 0 || percent > 100)
        throw error(error_kind::usage, "--memory '" + memory_ + "' is no share of the memory", "1% to 100%");
      out.memory_percent = static_cast<double>(percent);
    } else if (!memory_.empty()) {
      out.memory_bytes = bytes_of("--memory", memory_);
    }
    if (!threads_.empty()) {
      const uint64_t threads = number_of("--threads", threads_);
      if (threads < 1 || threads > 4096)
        throw error(error_kind::usage, "--threads is " + threads_, "a whole number from 1 to 4096");
      out.threads = static_cast<unsigned>(threads);
    }
    for (const std::string& text : scratch_) {
      out.scratch.push_back(parse_scratch(text));
      if (out.scratch.back().path.empty())
        throw error(error_kind::usage, "-T names no directory", "-T DIR or -T DIR:500GiB");
    }
    if (!block_.empty()) out.block_bytes = block_size_of("--block-size", block_);
    if (!batch_.empty()) out.batch_bytes = bytes_of("--batch-size", batch_);
    if (!scratch_limit_.empty()) out.scratch_limit = bytes_of("--scratch-limit", scratch_limit_);
    if (!depth_.empty()) out.disk_depth = depth_of("--depth", depth_);
    using block::allocation_strategy;
    if (!allocation_.empty())
      out.allocation =
          choice_of<allocation_strategy>("--allocation", allocation_,
                                         {{"striping", allocation_strategy::striping},
                                          {"simple_randomised", allocation_strategy::simple_randomised},
                                          {"fully_randomised", allocation_strategy::fully_randomised},
                                          {"randomised_cycling", allocation_strategy::randomised_cycling}});
    if (!io_order_.empty())
      out.io_order = choice_of<io::service_order>("--io-order", io_order_,
                                                  {{"alternating", io::service_order::alternating},
                                                   {"writes_first", io::service_order::writes_first},
                                                   {"arrival", io::service_order::arrival}});
    return out;
  }

  void finish_run() {
    out_.run.job = job();
    out_.run.job.look_at_files = true;
    if (out_.run.resume && file_ == "-")
      throw error(error_kind::usage, "--resume: the job comes from standard input, which can't be read again",
                  "write the job to a file, or leave out --resume");
    if (out_.run.metrics_file == "-")
      throw error(error_kind::usage, "--metrics-file can't be standard output",
                  "give a file in the directory that node_exporter reads (--collector.textfile.directory)");
    out_.run.resources = resources_given();
    out_.run.page_anywhere = page_ == default_page_address;
    if (!page_.empty()) metrics::listen_addresses(page_, "the page", "9465");
    out_.run.page_listen = page_;
    out_.run.progress = choice_of<progress_mode>("--progress", progress_,
                                                 {{"auto", progress_mode::automatic},
                                                  {"bar", progress_mode::bar},
                                                  {"plain", progress_mode::plain},
                                                  {"json", progress_mode::json},
                                                  {"none", progress_mode::none}});
    out_.run.backend = choice_of<io::backend_kind>("--backend", backend_,
                                                   {{"auto", io::backend_kind::automatic},
                                                    {"io_uring", io::backend_kind::io_uring},
                                                    {"threads", io::backend_kind::threads},
                                                    {"mmap", io::backend_kind::mmap},
                                                    {"memory", io::backend_kind::memory}});
    out_.run.engine.direct = !no_direct_;
    out_.run.engine.sync_outputs = !no_sync_;
  }

  void finish_check() {
    if (std::count(files_.begin(), files_.end(), "-") > 1)
      throw error(error_kind::usage, "standard input is named twice", "leave one of the two out");
    out_.check.files = files_;
    out_.check.job = job();
    out_.check.job.look_at_files = !no_files_;
    out_.check.resources = resources_given();
  }

  void finish_plan() {
    out_.plan.job = job();
    out_.plan.resources = resources_given();
    out_.plan.format =
        choice_of<std::string>("--format", format_, {{"text", "text"}, {"json", "json"}, {"dot", "dot"}});
  }

  void finish_graph() {
    out_.graph.job = job();
    out_.graph.resources = resources_given();
    const std::string& to = out_.graph.output;
    if (picture_.empty())
      picture_ = to.ends_with(".svg") ? "svg" : to.ends_with(".mmd") || to.ends_with(".mermaid") ? "mermaid" : "dot";
    out_.graph.format =
        choice_of<std::string>("--format", picture_, {{"dot", "dot"}, {"mermaid", "mermaid"}, {"svg", "svg"}});
  }

  void finish_test() {
    out_.test.paths = files_.empty() ? words{"."} : files_;
    out_.test.pattern = pattern_;
    out_.test.resources = resources_given();
  }

  void finish_bench_disk() {
    bench_disk_arguments& out = out_.bench_disk;
    if (out.directories.empty()) throw error(error_kind::usage, "bench-disk needs a DIR", hint_for_help());
    if (!out.configuration.empty() && !out.save)
      throw error(error_kind::usage, "--config without --save: nothing would be written", "add --save");
    out.format = choice_of<std::string>("--format", format_, {{"text", "text"}, {"json", "json"}});
    out.backend = choice_of<io::backend_kind>("--backend", backend_,
                                              {{"auto", io::backend_kind::automatic},
                                               {"io_uring", io::backend_kind::io_uring},
                                               {"threads", io::backend_kind::threads}});
    if (!time_.empty()) out.seconds = seconds_of("--time", time_);
    if (!file_size_.empty()) out.file_bytes = bytes_of("--file-size", file_size_);
    out.block_sizes = {128 * KiB, 512 * KiB, 1 * MiB, 2 * MiB, 4 * MiB};
    if (!block_sizes_.empty()) {
      out.block_sizes.clear();
      for (const std::string& text : list_of("--block-sizes", block_sizes_)) {
        out.block_sizes.push_back(bytes_of("--block-sizes", text));
        if (out.block_sizes.back() % io_alignment != 0 || out.block_sizes.back() > GiB)
          throw error(error_kind::usage, "--block-sizes '" + text + "' is no size of blocks",
                      "a multiple of 4KiB, at most 1GiB");
      }
    }
    out.depths = {1, 2, 4, 8, 16};
    if (!depths_.empty()) {
      out.depths.clear();
      for (const std::string& text : list_of("--depths", depths_)) out.depths.push_back(depth_of("--depths", text));
    }
    const auto sort_out = [](auto& values) {
      std::sort(values.begin(), values.end());
      values.erase(std::unique(values.begin(), values.end()), values.end());
    };
    sort_out(out.block_sizes);
    sort_out(out.depths);
  }

  void finish_plugins() {
    plugins_arguments& out = out_.plugins_command;
    if (!words_.empty()) out.action = choice_of<std::string>("ACTION", words_[0], {{"check", "check"}, {"new", "new"}});
    const bool is_new = out.action == "new";
    const bool is_check = out.action == "check";
    if (words_.size() > 2 && !is_check)
      throw error(error_kind::usage, "unexpected argument '" + words_[2] + "'", hint_for_help());
    if (!words_.empty() && words_.size() < 2)
      throw error(error_kind::usage, fmt::format("plugins {} needs a {}", out.action, is_new ? "NAME" : "PATH"),
                  is_new ? "flowrun plugin new geo --kind function" : "flowrun plugins check build/geo.so");
    if (!kind_.empty() && !is_new) throw error(error_kind::usage, "--kind belongs to plugins new", hint_for_help());
    if (!limit_.empty() && !is_check)
      throw error(error_kind::usage, "--limit belongs to plugins check", hint_for_help());
    if (!limit_.empty())
      out.most_seconds = static_cast<unsigned>(std::clamp<uint64_t>(number_of("--limit", limit_), 1, 86'400));
    if (words_.size() >= 2) out.path = words_[1];
    if (words_.size() > 2) out.jobs.assign(words_.begin() + 2, words_.end());
    if (is_new) out.kind = choice_of<std::string>("--kind", kind_.empty() ? "function" : kind_, plugin_kind_choices());
  }

  void finish_gen() {
    if (kind_.empty() || rows_.empty())
      throw error(error_kind::usage, kind_.empty() ? "gen needs a KIND" : "gen needs --rows",
                  "flowrun gen records --rows 1000000 -o input.dat");
    out_.gen.kind = choice_of<std::string>("KIND", kind_, {{"records", "records"}, {"ascii", "ascii"}, {"u64", "u64"}});
    out_.gen.rows = number_of("--rows", rows_);
    out_.gen.first = number_of("--first", first_);
    out_.gen.seed = number_of("--seed", seed_);
  }

  invocation finish() {
    if (quiet_ && verbose_) throw error(error_kind::usage, "-q and -v exclude each other", "leave one of them out");
    out_.how_much = quiet_ ? verbosity::quiet : verbose_ ? verbosity::verbose : verbosity::normal;
    out_.colors = choice_of<color_choice>(
        "--color", color_,
        {{"auto", color_choice::automatic}, {"always", color_choice::always}, {"never", color_choice::never}});
    const CLI::App* sub = chosen();
    if (sub == nullptr) {
      refuse_leftovers(app_);
      throw error(error_kind::usage, "nothing to do", "flowrun JOB.yaml runs a job; flowrun --help lists the commands");
    }
    if (sub->get_name() == "sort")
      throw error(error_kind::usage, "options in front of sort", "all of them go behind it: flowrun sort --help");
    refuse_leftovers(*sub);
    for (const auto& [app, what] : commands_)
      if (app == sub) out_.what = what;
    const bool wants_file = out_.what == command::run || out_.what == command::plan || out_.what == command::graph ||
                            out_.what == command::verify || out_.what == command::report;
    if (wants_file ? file_.empty() : out_.what == command::check && files_.empty())
      throw error(error_kind::usage, sub->get_name() + " needs a FILE", hint_for_help());
    if (out_.what == command::new_job && out_.document.name.empty())
      throw error(error_kind::usage, "new needs a CHAIN", hint_for_help());
    switch (out_.what) {
      case command::run: finish_run(); break;
      case command::check: finish_check(); break;
      case command::plan: finish_plan(); break;
      case command::graph: finish_graph(); break;
      case command::test: finish_test(); break;
      case command::infer: out_.infer = values_of(infer_, files_); break;
      case command::gen: finish_gen(); break;
      case command::bench_disk: finish_bench_disk(); break;
      case command::plugins: finish_plugins(); break;
      case command::report: out_.report.file = file_; break;
      case command::verify: out_.verify.file = file_; break;
      default: break;
    }
    return out_;
  }

  CLI::App app_;
  std::vector<std::pair<CLI::App*, command>> commands_;
  invocation out_;
  bool quiet_ = false;
  bool verbose_ = false;
  bool no_files_ = false;
  bool no_direct_ = false;
  bool no_sync_ = false;
  std::string color_ = "auto";
  std::string progress_ = "auto";
  std::string backend_ = "auto";
  std::string format_ = "text";
  std::string page_;
  std::string file_;
  words files_;
  words words_;  // of plugins
  std::string limit_;
  std::string pattern_;
  std::string picture_;  // of graph: its format
  words parameters_;
  words overrides_;
  words scratch_;
  std::string memory_;
  std::string threads_;
  std::string block_;
  std::string scratch_limit_;
  std::string depth_;
  std::string allocation_;
  std::string io_order_;
  std::string batch_;
  std::string time_;
  std::string file_size_;
  std::string block_sizes_;
  std::string depths_;
  std::string kind_;
  std::string rows_;
  infer_words infer_;
  std::string first_ = "0";
  std::string seed_ = "1";
};

}  // namespace

std::vector<described_command> described_commands() { return parser().described(); }

invocation parse_command_line(std::vector<std::string> given) { return parser().parse(std::move(given)); }

}  // namespace flowrun::runner
