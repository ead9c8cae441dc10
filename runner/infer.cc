// flowrun infer: looks into files and prints the source that reads them.
#include <fmt/format.h>

#include "cluster/output_manifest.h"
#include "engine/base/error.h"
#include "engine/io/output_target.h"
#include "engine/io/path_pattern.h"
#include "operators/parts/infer/column_names.h"
#include "operators/parts/infer/infer_source.h"
#include "runner/commands.h"
#include "runner/document.h"
#include "runner/inferred_job.h"
#include "runner/path_patterns.h"
#include "runner/shown_text.h"

namespace flowrun::runner {

namespace {

// A folder that a job on a cluster has written stands for its parts.
std::vector<std::string> matching_files(const std::vector<std::string>& given) {
  std::vector<std::string> out;
  for (const std::string& path : given) {
    if (const auto manifest = cluster::read_manifest(path)) {
      const std::vector<std::string> parts = cluster::paths_of_parts(path, *manifest);
      if (parts.empty()) throw error(error_kind::missing_input, fmt::format("{} has no parts", path), "");
      out.insert(out.end(), parts.begin(), parts.end());
      continue;
    }
    if (!io::is_path_pattern(path)) {
      out.push_back(path);
      continue;
    }
    const io::path_matches found = matches_without_manifests(path);
    if (found.paths.empty())
      throw error(error_kind::missing_input,
                  found.problem.empty() ? fmt::format("no file matches '{}'", path)
                                        : fmt::format("can't search for '{}': {}", path, found.problem),
                  fmt::format("ls {} shows what is there", found.directory));
    out.insert(out.end(), found.paths.begin(), found.paths.end());
  }
  return out;
}

}  // namespace

int infer(const infer_arguments& arguments, terminal& screen) {
  const bool to_file = !arguments.output.empty();
  std::unique_ptr<pending_document> out;
  if (to_file) out = std::make_unique<pending_document>(arguments.output, io::what_is_there::refused);
  inferred_job job;
  job.paths = arguments.files;
  job.node = arguments.node.empty() ? operators::node_name(arguments.files.front(), "rows") : arguments.node;
  job.source = operators::infer_source(matching_files(arguments.files), arguments.options);
  if (!to_file) {
    print(arguments.as_json ? inferred_json(job) : inferred_fragment(job));
    return 0;
  }
  out->write(inferred_whole_job(job));
  for (const std::string& question : job.source.questions) screen.warn(question);
  if (arguments.output != "-")
    screen.say(fmt::format("{}: flowrun {} runs it\n", arguments.output, shell_word(arguments.output)));
  return 0;
}

}  // namespace flowrun::runner
