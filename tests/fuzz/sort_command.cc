// The command line of flowrun sort: its words, each behind a zero byte or a line end.
//
// What holds: a command line is refused as a wrong one, or it is a job that the language reads and whose keys have no
// faults; and the job, written as YAML, is that job.
#include <getopt.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/plan/file_rules.h"
#include "operators/registry.h"
#include "runner/sort_command_job.h"
#include "runner/sort_command_line.h"
#include "specs/yaml_reader.h"
#include "specs/yaml_writer.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/target.h"

namespace flowrun::fuzz {

namespace {

// Files with names of files are not opened here: getopt takes every beginning of the option's name for it.
bool names_a_file_of_names(const std::string& word) { return word.starts_with("--fil"); }

std::vector<std::string> words_of(std::string_view bytes) {
  input in(bytes);
  std::vector<std::string> out;
  while (!in.empty() && out.size() < 40) {
    const std::string_view line = in.take_until('\n');
    std::string word(line.substr(0, line.find('\0')));
    if (!names_a_file_of_names(word)) out.push_back(std::move(word));
  }
  return out;
}

// A directory or a file of any name may be wrong; a key may not.
void look_at_faults(const std::vector<fault>& faults) {
  for (const fault& f : faults)
    must_hold(f.where.file != "-k" && f.where.file != "-t" && f.where.file != "-u" && f.where.file != "-z" &&
                  f.where.file != "flowrun sort",
              "{}: {} (expected: {})", f.where.file, f.message, f.expected);
}

}  // namespace

void try_input(std::string_view bytes) {
  opterr = 0;  // getopt says nothing
  static const plan::vocabulary vocabulary = operators::built_in_vocabulary();
  runner::sort_request request;
  try {
    request = runner::parse_sort_command_line(words_of(bytes));
  } catch (const error& refused) {
    must_hold(refused.kind() == error_kind::usage, "a command line is refused: {}", refused.what());
    return;
  }
  if (request.help || request.version) return;
  must_hold(!request.files.empty(), "a command line without a file");
  // The command has looked at its files before it makes a job.
  if (std::find(request.files.begin(), request.files.end(), "") != request.files.end() || request.output.empty())
    return;
  const specs::Value tree = runner::sort_job(request);
  specs::read_result read = specs::read_tree(tree, "sort");
  look_at_faults(read.faults);
  if (!read.faults.empty()) return;
  const auto unknown = [](const std::string&) { return int64_t{-1}; };
  plan::outer_files others;
  others.may_replace_inputs = true;
  look_at_faults(
      plan::check(std::make_shared<specs::JobSpec>(std::move(read.job)), vocabulary, plan::known_files(unknown), others)
          .faults);
  std::string text;
  try {
    text = specs::write_yaml(tree, specs::dollars::doubled);
  } catch (const error& refused) {  // names of files are any bytes
    must_hold(refused.kind() == error_kind::bad_spec, "the job can't be written: {}", refused.what());
    return;
  }
  const specs::read_result again = specs::read_job(text, "sort");
  must_hold(again.faults.empty(), "the job reads with a fault: {}\n{}",
            again.faults.empty() ? std::string() : again.faults[0].message, text);
}

}  // namespace flowrun::fuzz
