#include "runner/path_patterns.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "cluster/output_manifest.h"
#include "engine/base/error.h"
#include "engine/io/path_pattern.h"
#include "runner/words.h"
#include "specs/value.h"

namespace flowrun::runner {

namespace {

using nodes = google::protobuf::RepeatedPtrField<specs::Node>;

constexpr size_t most_names_shown = 5;

class pattern_expansion {
 public:
  pattern_expansion(const std::string& job_file, bool must_match, std::vector<fault>& faults,
                    std::vector<fault>& unmatched)
      : catalog_(known_vocabulary()),
        job_file_(job_file),
        must_match_(must_match),
        faults_(faults),
        unmatched_(unmatched) {}

  void expand(nodes& all) {
    for (specs::Node& node : all) {
      const plan::operator_declaration* d = catalog_.find(node.op());
      if (d != nullptr && d->role == plan::operator_role::source && is_map(node.with()))
        for (specs::Entry& entry : *node.mutable_with()->mutable_map()->mutable_entries())
          if (takes_several(*d, entry.key())) expand(*entry.mutable_value());
      for (specs::Body& body : *node.mutable_bodies()) expand(*body.mutable_nodes());
    }
  }

 private:
  static bool takes_several(const plan::operator_declaration& d, const std::string& name) {
    return std::any_of(d.parameters.begin(), d.parameters.end(), [&](const plan::parameter_declaration& p) {
      return p.name == name && p.kind == plan::parameter_kind::paths;
    });
  }

  void expand(specs::Value& value) {
    specs::List out;
    bool is_changed = false;
    const auto add = [&](const specs::Value& item) {
      const std::vector<std::string> matches = matches_of(item);
      is_changed = is_changed || !matches.empty();
      if (matches.empty()) *out.add_items() = item;
      for (const std::string& path : matches) {
        specs::Value& one = *out.add_items();
        one = item;
        one.mutable_scalar()->set_text(path);
      }
    };
    if (is_scalar(value)) add(value);
    if (is_list(value))
      for (const specs::Value& item : value.list().items()) add(item);
    if (is_changed) *value.mutable_list() = std::move(out);
  }

  // Empty: it is neither a pattern nor a folder of parts, or there is a fault.
  std::vector<std::string> matches_of(const specs::Value& item) {
    if (!is_scalar(item) || is_unresolved(item)) return {};
    if (!io::is_path_pattern(specs::text(item))) return parts_of(item);
    io::path_matches found = matches_without_manifests(specs::text(item));
    if (must_match_ && (found.paths.empty() || !found.problem.empty())) fail(item, found);
    return std::move(found.paths);
  }

  // Of a folder that a job on a cluster has written.
  std::vector<std::string> parts_of(const specs::Value& item) {
    const std::string& folder = specs::text(item);
    try {
      if (const auto manifest = cluster::read_manifest(folder)) {
        std::vector<std::string> out = cluster::paths_of_parts(folder, *manifest);
        if (!out.empty()) return out;
        if (must_match_) fail(item, fmt::format("{} has no parts", folder), "");
      }
    } catch (const error& problem) {
      if (must_match_) fail(item, problem.what(), problem.hint());
    }
    return {};
  }

  void fail(const specs::Value& item, std::string message, std::string hint) {
    faults_.push_back({specs::where(job_file_, item.position()), std::move(message), "", std::move(hint)});
  }

  void fail(const specs::Value& item, const io::path_matches& found) {
    const std::string& pattern = specs::text(item);
    std::string message = fmt::format("no file matches '{}'", pattern), hint;
    if (!found.problem.empty()) {
      message = fmt::format("can't search for '{}': {}", pattern, found.problem);
      hint = "check the permissions";
    } else if (struct stat info{}; stat(found.directory.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
      message += fmt::format(": there is no directory '{}'", found.directory);
      hint = "check the path; relative paths start at the working directory";
    } else if (found.names.empty()) {
      message += fmt::format(": the directory '{}' is empty", found.directory);
    } else {
      const size_t count = std::min(found.names.size(), most_names_shown);
      const std::vector<std::string> first(found.names.begin(),
                                           found.names.begin() + static_cast<std::ptrdiff_t>(count));
      message += fmt::format("; the directory '{}' has {}{}", found.directory, joined(first, ", "),
                             count < found.names.size() ? ", …" : "");
      hint = did_you_mean(pattern.substr(pattern.rfind('/') + 1), found.names);
    }
    unmatched_.push_back({specs::where(job_file_, item.position()), std::move(message),
                          "a pattern that matches files: * and ? within a name, [a-z], ** for any directories",
                          std::move(hint)});
  }

  const plan::vocabulary catalog_;
  const std::string& job_file_;
  const bool must_match_;
  std::vector<fault>&faults_, &unmatched_;
};

}  // namespace

io::path_matches matches_without_manifests(const std::string& pattern) {
  io::path_matches out = io::match_paths(pattern);
  const std::set<std::string> all(out.paths.begin(), out.paths.end());
  std::erase_if(out.paths, [&all](const std::string& path) {
    const std::filesystem::path file(path);
    if (file.filename() != cluster::output_manifest::name) return false;
    const std::filesystem::path folder = file.parent_path();
    try {
      const auto manifest = cluster::read_manifest(folder.empty() ? "." : folder.string());
      return manifest && std::any_of(manifest->parts.begin(), manifest->parts.end(),
                                     [&](const auto& part) { return all.contains((folder / part.name).string()); });
    } catch (const error&) {
      return false;  // it is another file of that name
    }
  });
  return out;
}

void expand_path_patterns(specs::JobSpec& job, bool must_match, std::vector<fault>& faults,
                          std::vector<fault>& unmatched) {
  pattern_expansion expansion(job.file(), must_match, faults, unmatched);
  expansion.expand(*job.mutable_nodes());
  for (specs::Graph& graph : *job.mutable_graphs()) expansion.expand(*graph.mutable_nodes());
}

}  // namespace flowrun::runner
