// The files outside of a job: which nodes read and write which, and that no two disagree about one. Pure: the caller
// answers which paths name one file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/fault.h"
#include "engine/base/file_identity.h"
#include "engine/plan/graph.h"
#include "engine/plan/path_template.h"

namespace flowrun::plan {

// A file that a source reads or a sink writes.
struct file_use {
  std::string path;
  std::string who;  // "'edges'": the node; or the option of the command line that names it
  bool writes = false;
  specs::Position where;
  // The path names columns: it stands for as many files as these have values.
  std::optional<path_template> partitioned = std::nullopt;
};

// What the check must be told about files besides their sizes.
struct outer_files {
  // What the system takes a path to be. Empty: two paths are one file only where they are spelled alike.
  std::function<file_identity(const std::string& path, bool writes)> identify;
  // A path from the root on, without links. Empty: as it is spelled.
  std::function<std::string(const std::string& path)> resolve;
  std::vector<file_use> own;        // that the command itself reads and writes: the job, its report
  bool may_replace_inputs = false;  // a job may write what it reads: outputs take their names when all has been read
  // Is told of every two that are a fault because they use one file. May be empty.
  std::function<void(const file_use& a, const file_use& b)> on_clash = {};
  // Whether an output with this path becomes a folder, which takes the place of what has its name, as on a cluster:
  // nothing else may lie in there. Empty: none does.
  std::function<bool(const std::string& path)> becomes_folder = {};
};

// check() of graph.h with them. `scalars`: values that all expressions may name, of a job that stands for a part of a
// body.
check_result check(std::shared_ptr<const specs::JobSpec> job, const vocabulary& catalog, const known_files& files,
                   const outer_files& others, std::vector<expr::constant> scalars = {});

// The files of a node whose parameters have the right shape: a sink writes, all others read. A path in which braces are
// wrong, which the check of the node says, is taken as it stands.
std::vector<file_use> files_of(const node& n);

// And what it reads or writes beside them, once it was checked: PATH.index, where its facts name an index.
std::vector<file_use> indexes_of(const node& n);

// All of both, of the graph's nodes and of those inside of them.
std::vector<file_use> files_within(const graph& g);

// The columns that a sink writes: of its input, but for those that its path tells and it leaves out, and those that
// tell what is missing.
std::vector<record::column> written_columns(const graph& g, const node& sink);

// Two writers of one file, a writer that replaces, or may replace, what another reads, two readers of standard input or
// of one pipe, an output that lies in what another output makes a file. `others` are the command's own files. Inputs
// may be replaced where that was asked for.
void check_files(const std::string& job_file, const std::vector<file_use>& files, const outer_files& others,
                 std::vector<fault>& faults);

}  // namespace flowrun::plan
