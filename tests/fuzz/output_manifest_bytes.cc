// The manifest of a folder of parts, of any bytes.
//
// What holds: it is refused as damaged, or its parts are files of the folder, each once, and written again it is the
// same.
#include <fmt/format.h>

#include <set>
#include <string>

#include "cluster/output_manifest.h"
#include "engine/base/error.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/target.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::fuzz {

namespace {

std::string described(const cluster::output_manifest& manifest) {
  std::string out = fmt::format("{}\n{}\n{}", manifest.run, manifest.job, fmt::join(manifest.sorted_by, " "));
  for (const cluster::output_manifest::part& p : manifest.parts)
    out += fmt::format("\n{} {} {} {} {} {}", p.name, p.rows, p.bytes, p.hash, p.first, p.last);
  return out;
}

}  // namespace

void try_input(std::string_view bytes) {
  static const temporary_directory where;
  where.write(cluster::output_manifest::name, std::string(bytes));
  try {
    const auto manifest = cluster::read_manifest(where.path());
    must_hold(manifest.has_value(), "a folder with a manifest has none");
    std::set<std::string> names;
    for (const cluster::output_manifest::part& p : manifest->parts) {
      must_hold(names.insert(p.name).second, "{} is a part twice", p.name);
      must_hold(p.name.find('/') == std::string::npos && p.name != "..", "{} is a part", p.name);
    }
    cluster::write(*manifest, where.path());
    must_hold(described(cluster::read_manifest(where.path()).value()) == described(*manifest), "it has changed");
    if (!manifest->parts.empty()) {
      try {
        cluster::paths_of_parts(where.path(), *manifest);
        must_hold(false, "parts that aren't there are found");
      } catch (const error& problem) {
        must_hold(problem.kind() == error_kind::bad_data, "of missing parts: {}", problem.what());
      }
    }
  } catch (const error& problem) {
    must_hold(problem.kind() == error_kind::bad_data, "{}", problem.what());
  }
}

}  // namespace flowrun::fuzz
