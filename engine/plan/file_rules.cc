#include "engine/plan/file_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <unordered_map>
#include <utility>

#include "engine/plan/parameter_shape.h"
#include "specs/value.h"

namespace flowrun::plan {

namespace {

std::string normal(const std::string& path) { return std::filesystem::path(path).lexically_normal().string(); }

file_identity by_spelling(const std::string& path, bool writes) {
  file_identity out;
  out.entry = path != "-" ? normal(path) : writes ? "//output" : "//input";  // no path in its normal form begins so
  out.in_place = out.read_once = path == "-";
  return out;
}

class file_comparison {
 public:
  file_comparison(const std::string& job_file, std::vector<fault>& faults) : job_file_(job_file), faults_(faults) {}

  // False: nothing more needs to be said about b.
  bool compare(const file_use& a, const file_use& b, bool read_once, bool may_replace) {
    if (a.writes && b.writes) {
      if (a.partitioned || b.partitioned)
        fail(b, fmt::format("{} and {} may both write one file, as '{}' and as '{}'", a.who, b.who, a.path, b.path),
             "files of its own for each", "give each a directory, or names that begin or end differently");
      else
        fail(b, fmt::format("{} and {} both write {}", a.who, b.who, named(a, b)), "a file of its own for each",
             a.who.starts_with('-') || b.who.starts_with('-') ? "give another name"
                                                              : "put both streams into one with concat");
      return false;
    }
    if (a.writes != b.writes) {
      if (may_replace) return true;
      const file_use &writer = a.writes ? a : b, &reader = a.writes ? b : a;
      const std::string written = normal(writer.path), read = normal(reader.path);
      const std::string other = written == read ? std::string() : fmt::format(" as '{}'", read);
      if (writer.partitioned)
        fail(writer,
             fmt::format("{} writes '{}', which may be '{}', which {} reads", writer.who, written, read, reader.who),
             "another directory");
      else
        fail(writer, fmt::format("{} writes '{}', which {} reads{}", writer.who, written, reader.who, other),
             "another file");
      return true;
    }
    const bool twice = a.who != b.who || a.where.line() != b.where.line() || a.where.column() != b.where.column();
    if (!read_once || !twice) return true;
    const std::string what = a.path == "-" ? "standard input" : named(a, b);
    fail(b,
         a.who == b.who ? fmt::format("{} reads twice from {}", a.who, what)
                        : fmt::format("{} and {} both read {}", a.who, b.who, what),
         "one reader", "several nodes may read from one file node");
    return false;
  }

  void refuse_inside(const file_use& inside, const file_use& folder) {
    fail(inside,
         fmt::format("{} {} {}, which lies in {}: on a cluster that is a folder, which {} makes anew", inside.who,
                     inside.writes ? "writes" : "reads", inside.path, folder.path, folder.who),
         "another path for one of them", "or run the job without --cluster");
  }

  void refuse_below(const file_use& below, const file_use& file) {
    fail(below,
         fmt::format("{} writes '{}', which lies in '{}', and that is a file, which {} writes", below.who, below.path,
                     file.path, file.who),
         "another path for one of them");
  }

 private:
  static std::string named(const file_use& a, const file_use& b) {
    const std::string of_a = normal(a.path), of_b = normal(b.path);
    if (of_a == of_b) return of_a == "-" ? "standard output" : "'" + of_a + "'";
    return fmt::format("one file, as '{}' and as '{}'", of_a, of_b);
  }
  void fail(const file_use& use, std::string message, std::string expected, std::string hint = {}) {
    faults_.push_back({specs::where(job_file_, use.where), std::move(message), std::move(expected), std::move(hint)});
  }

  const std::string& job_file_;
  std::vector<fault>& faults_;
};

// What a path names, spelled from the root on. The directory of files that will be made can be looked up, not they.
path_template resolved(const file_use& use, const outer_files& others) {
  const auto resolve = [&others](const std::string& path) { return others.resolve ? others.resolve(path) : path; };
  if (!use.partitioned) return path_template::of_file(resolve(use.path == "-" ? "/dev/stdin" : use.path));
  path_template::problem none;
  return *path_template::parse(use.partitioned->text_in(resolve(use.partitioned->directory())), none);
}

// Tells files that may be one since values decide what they are called.
class partition_comparison {
 public:
  partition_comparison(const std::vector<file_use>& all, const outer_files& others) : all_(all) {
    const auto is_partitioned = [](const file_use& use) { return use.partitioned.has_value(); };
    if (std::none_of(all.begin(), all.end(), is_partitioned)) return;
    for (const file_use& use : all) names_.push_back(resolved(use, others));
  }
  bool may_be_same(size_t i, size_t j) const {
    return (all_[i].partitioned || all_[j].partitioned) && may_name_same(names_[i], names_[j]);
  }

 private:
  const std::vector<file_use>& all_;
  std::vector<path_template> names_;
};

bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder) {
  const auto [a, b] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return a == folder.end() && b != path.end();
}

// Where it lies; of files whose names values decide, where one of them would.
std::filesystem::path place_of(const file_use& use, const outer_files& others) {
  const std::string path = use.partitioned ? use.partitioned->directory() + "/x" : use.path;
  return others.resolve ? others.resolve(path) : normal(path);
}

// An output can't be a file and a directory with another output.
void check_outputs_below(const std::vector<file_use>& all, const outer_files& others, file_comparison& comparison) {
  std::vector<std::pair<const file_use*, std::filesystem::path>> outputs;
  for (const file_use& use : all)
    if (use.writes && use.path != "-") outputs.emplace_back(&use, place_of(use, others));
  std::unordered_map<std::string, size_t> files;  // by place: the first of `outputs` that is a file there
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!outputs[i].first->partitioned) files.emplace(outputs[i].second.string(), i);
  for (const auto& [below, place] : outputs) {
    size_t first = outputs.size();
    for (std::filesystem::path above = place; above.has_relative_path();) {
      above = above.parent_path();
      if (const auto found = files.find(above.string()); found != files.end()) first = std::min(first, found->second);
    }
    if (first == outputs.size()) continue;
    comparison.refuse_below(*below, *outputs[first].first);
    if (others.on_clash) others.on_clash(*below, *outputs[first].first);
  }
}

// `all`: the command's own files first, none of which becomes a folder.
void check_folders(const std::vector<file_use>& all, const outer_files& others, file_comparison& comparison) {
  std::vector<std::filesystem::path> places;
  for (const file_use& use : all) places.push_back(place_of(use, others));
  for (size_t folder = others.own.size(); folder < all.size(); ++folder) {
    const file_use& use = all[folder];
    if (!use.writes || use.partitioned || use.path == "-" || !others.becomes_folder(use.path)) continue;
    std::set<std::string> told;  // a source may read thousands of files there
    for (size_t i = 0; i < all.size(); ++i) {
      if (!lies_in(places[i], places[folder]) || !told.insert(all[i].who).second) continue;
      comparison.refuse_inside(all[i], use);
      if (others.on_clash) others.on_clash(all[i], use);
    }
  }
}

}  // namespace

std::vector<file_use> files_of(const node& n) {
  std::vector<file_use> out;
  const bool is_sink = n.declaration->role == operator_role::sink;
  for (const parameter_declaration& p : n.declaration->parameters) {
    if (p.kind != parameter_kind::path && p.kind != parameter_kind::paths) continue;
    const specs::Value* given = specs::find(n.spec->with(), p.name);
    if (!given && p.default_text.empty()) continue;
    const specs::Value value = given ? *given : default_value(p);
    auto add = [&](const specs::Value& item) {
      const bool writes = is_sink && !p.is_read;
      file_use& use = out.emplace_back(file_use{specs::text(item), fmt::format("'{}'", n.id), writes,
                                                given ? item.position() : n.spec->op_position()});
      if (!p.names_columns) return;
      path_template::problem why;
      std::optional<path_template> names = path_template::parse(item, why);
      if (!names) return;
      use.path = names->shown();
      if (names->names_columns()) use.partitioned = std::move(names);
    };
    if (specs::is_scalar(value)) add(value);
    for (const specs::Value& item : value.list().items()) add(item);
  }
  return out;
}

std::vector<file_use> indexes_of(const node& n) {
  if (!n.facts.index) return {};
  std::vector<file_use> out = files_of(n);
  for (file_use& use : out) use.path += ".index";
  return out;
}

std::vector<file_use> files_within(const graph& g) {
  std::vector<file_use> out;
  for (const node& n : g.nodes) {
    for (file_use& use : files_of(n)) out.push_back(std::move(use));
    for (file_use& use : indexes_of(n)) out.push_back(std::move(use));
    for (const auto& body : n.bodies)
      for (file_use& use : files_within(*body)) out.push_back(std::move(use));
  }
  return out;
}

std::vector<record::column> written_columns(const graph& g, const node& sink) {
  std::set<std::string> left_out;
  if (const auto& partitions = sink.facts.partitions; partitions && partitions->leaves_out)
    left_out.insert(partitions->columns.begin(), partitions->columns.end());
  for (const told_missing& missing : sink.facts.missing) left_out.insert(missing.told_by);
  std::vector<record::column> out = g.input_of(sink, 0).type.columns();
  std::erase_if(out, [&](const record::column& c) { return left_out.contains(c.name); });
  return out;
}

void check_files(const std::string& job_file, const std::vector<file_use>& files, const outer_files& others,
                 std::vector<fault>& faults) {
  std::vector<file_use> all = others.own;
  all.insert(all.end(), files.begin(), files.end());
  std::vector<file_identity> identities;
  for (const file_use& use : all)
    identities.push_back(others.identify ? others.identify(use.path, use.writes) : by_spelling(use.path, use.writes));
  const partition_comparison partitions(all, others);
  file_comparison comparison(job_file, faults);
  // Two that are read as often as one likes are no fault, and there may be very many of them.
  std::vector<size_t> writing, before;
  for (size_t i = 0; i < all.size(); before.push_back(i), ++i) {
    const bool with_all = all[i].writes || identities[i].read_once;
    for (const size_t j : with_all ? before : writing) {
      if (!same_file(identities[i], identities[j]) && !partitions.may_be_same(i, j)) continue;
      const size_t faults_before = faults.size();
      const bool may_go_on = comparison.compare(all[j], all[i], identities[i].read_once, others.may_replace_inputs);
      if (faults.size() > faults_before && others.on_clash) others.on_clash(all[j], all[i]);
      if (!may_go_on) break;
    }
    if (all[i].writes) writing.push_back(i);
  }
  if (others.becomes_folder)
    check_folders(all, others, comparison);
  else
    check_outputs_below(all, others, comparison);
}

}  // namespace flowrun::plan
