#include "runner/test_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "engine/base/counted.h"
#include "engine/base/excerpt.h"
#include "runner/difference.h"
#include "runner/test_rows.h"
#include "runner/words.h"
#include "specs/value.h"

namespace flowrun::runner {

namespace {

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A terminal gets no control characters.
std::vector<std::string> printable(std::vector<std::string> lines) {
  for (std::string& line : lines)
    for (char& c : line)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return lines;
}

using kind = mismatch::kind;

void compare_output(const fitted_test::output& expected, const std::string& path, std::vector<mismatch>& out) {
  constexpr size_t most_lines = 40;
  std::error_code ignored;
  mismatch differs;
  differs.output = expected;
  if (!std::filesystem::exists(path, ignored)) {
    differs.what = expected.file.empty() ? kind::nothing : kind::no_file;
    differs.lines.push_back(expected.file.empty() ? fmt::format("{} wrote no file", expected.node)
                                                  : fmt::format("{} wrote no file {}", expected.node, expected.path));
    out.push_back(std::move(differs));
    return;
  }
  differs.what = kind::rows;
  differs.found = expected.packed ? with_one_nan(content_of(path), expected.type) : content_of(path);
  const std::string& found = differs.found;
  if (found == expected.bytes) return;
  const auto lines = [&expected](const std::string& bytes) {
    return expected.packed ? shown_rows(bytes, expected.type) : printable(split_lines(bytes, expected.delimiter));
  };
  const std::vector<std::string> expected_lines = lines(expected.bytes), found_lines = lines(found);
  const std::string who = expected.file.empty() ? expected.node : expected.node + ": " + expected.path;
  differs.lines.push_back(fmt::format("{}: expected {} (-), found {} (+)", who, counted(expected_lines.size(), "row"),
                                      format_count(found_lines.size())));
  const std::vector<std::string> shown = difference(expected_lines, found_lines, most_lines);
  for (const std::string& line : shown) differs.lines.push_back("  " + line);
  if (shown.empty() && !expected.packed && found == expected.bytes + expected.delimiter) {
    differs.lines.push_back(
        "    the file ends with a line end, and the expected text doesn't: rows, or a text in a block (|)");
  } else if (shown.empty()) {
    const auto [a, b] = std::mismatch(expected.bytes.begin(), expected.bytes.end(), found.begin(), found.end());
    differs.lines.push_back(fmt::format("    they look alike, and differ at byte {} (of {} expected, {} found)",
                                        a - expected.bytes.begin(), expected.bytes.size(), found.size()));
  }
  out.push_back(std::move(differs));
}

// Files that nobody expects.
void compare_list(const fitted_test::file_list& expected, const std::string& directory, std::vector<mismatch>& out) {
  constexpr size_t most_told = 20;
  std::vector<std::string> others;
  std::error_code ignored;
  for (std::filesystem::recursive_directory_iterator at(directory, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    if (at->is_directory(ignored)) continue;
    const std::string file = at->path().lexically_relative(directory).string();
    if (std::find(expected.files.begin(), expected.files.end(), file) == expected.files.end()) others.push_back(file);
  }
  std::sort(others.begin(), others.end());
  for (size_t i = 0; i < others.size(); ++i) {
    mismatch extra{kind::extra_file, expected.common, {}, content_of(directory + "/" + others[i]), {}};
    extra.output.file = others[i];
    extra.output.path = expected.directory + others[i];
    if (i < most_told)
      extra.lines.push_back(fmt::format("{} wrote {}{}, which is not expected", expected.node, expected.directory,
                                        printable({others[i]}).front()));
    else if (i == most_told)
      extra.lines.push_back(fmt::format("  and {} more", others.size() - most_told));
    out.push_back(std::move(extra));
  }
}

bool same_value(const std::string& expected, const std::string& found) {
  if (found == expected || unquoted(found) == expected) return true;
  const auto a = specs::to_double(expected), b = specs::to_double(found);
  return a && b && !specs::to_int(expected) && *a == *b;
}

void compare_value(const fitted_test::value& expected, const exec::RunReport& report, std::vector<mismatch>& out) {
  std::vector<std::string> reported;
  const std::string* found = nullptr;
  for (const exec::RunReport::Result& result : report.results()) {
    if (result.node() != expected.node) continue;
    reported.push_back(result.name());
    if (result.name() == expected.field) found = &result.value();
  }
  if (found != nullptr && same_value(expected.text, *found)) return;
  mismatch differs;
  differs.output.node = expected.node;
  differs.output.position = expected.position;
  differs.field = expected.field;
  if (found == nullptr) {
    differs.lines.push_back(fmt::format("{} reports no '{}'; it reports {}", expected.node, expected.field,
                                        reported.empty() ? "nothing" : joined(reported, ", ")));
  } else {
    differs.what = kind::value;
    differs.found = *found;
    differs.lines.push_back(
        fmt::format("{}.{}: expected {}, found {}", expected.node, expected.field, expected.text, *found));
  }
  out.push_back(std::move(differs));
}

}  // namespace

std::vector<mismatch> mismatches(const fitted_test& test, const std::string& directory, const exec::RunReport& report) {
  std::vector<mismatch> out;
  for (const fitted_test::output& output : test.outputs) {
    const std::string path = output_path(directory, output.node);
    compare_output(output, output.file.empty() ? path : path + "/" + output.file, out);
  }
  for (const fitted_test::file_list& list : test.file_lists) compare_list(list, output_path(directory, list.node), out);
  for (const fitted_test::value& value : test.values) compare_value(value, report, out);
  return out;
}

}  // namespace flowrun::runner
