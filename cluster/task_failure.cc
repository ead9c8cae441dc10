#include "cluster/task_failure.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/cluster.pb.h"
#include "cluster/damaged_file.h"

namespace flowrun::cluster {

namespace {

// Of a line that begins so, what stands behind it; empty where there is none.
std::string line_behind(std::string_view said, std::string_view mark) {
  while (!said.empty()) {
    const size_t end = std::min(said.find('\n'), said.size());
    const std::string_view line = said.substr(0, end);
    if (line.starts_with(mark)) return std::string(line.substr(mark.size()));
    said.remove_prefix(std::min(end + 1, said.size()));
  }
  return {};
}

}  // namespace

other_words words_of_worker(std::string_view said) {
  other_words out;
  out.message = line_behind(said, "flowrun: error: ");
  if (out.message.empty()) out.message = line_behind(said, "");
  out.hint = line_behind(said, "  help: ");
  // The driver makes the command line.
  if (out.message.starts_with("unknown option"))
    out.hint = "the program there is of another version: install the same version on all machines";
  return out;
}

void fail_task(const shared_directory& directory, size_t stage, size_t task, const other_words& otherwise) {
  const auto who = [&](const std::string& host) {
    return fmt::format("task {} of stage {}{}{}", task + 1, stage + 1, host.empty() ? "" : " on ", host);
  };
  Failure why;
  if (read_message(directory.failed(stage, task), why)) {
    const std::string message = fmt::format("{}: {}", who(why.host()), why.message());
    if (why.is_of_damage()) throw damaged_file(message, why.hint());
    throw error(static_cast<error_kind>(why.code()), message, why.hint());
  }
  throw error(otherwise.kind, fmt::format("{}: {}", who(otherwise.host), otherwise.message), otherwise.hint);
}

}  // namespace flowrun::cluster
