// Sinks whose path names columns: which file each row goes to, and what these files are called.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/node_checker.h"
#include "engine/plan/path_template.h"
#include "engine/record/batch.h"
#include "operators/parts/files/text_block.h"

namespace flowrun::operators {

struct file_partitions {
  plan::path_template path;
  std::vector<size_t> columns;  // of the input, in the order of path.columns()
  uint64_t max_files = 0;
  bool leaves_out = false;  // these columns are not written

  // The columns of `type` that are written.
  std::vector<record::column> written(const record::row_type& type) const;
  // The path of the file of rows with this key (partitioned_text::group).
  std::string path_of(std::string_view key) const;
  // Whether two keys may have one path: two columns meet in one name, as a-b and c or a and b-c do.
  bool is_ambiguous() const;
};

// What the page of an operator says about such paths.
extern const std::string_view partitions_details;
// The parameters that say more about a path with columns; the second one is for formats that can leave columns out.
plan::parameter_declaration max_files_parameter();
plan::parameter_declaration path_columns_parameter();

// What the parameter `path` and these say; `path` becomes what people read. nullopt: it names no column, and `path` is
// the file's; or there was a fault.
std::optional<file_partitions> read_partitions(plan::node_checker& node, std::string& path);

// The parameter `path` of a sink that writes one file, and says why where the path names columns.
std::string read_path_of_one(plan::node_checker& node, const std::string& why);

// Text of rows, those of a file together.
struct partitioned_text {
  struct group {
    std::string key;  // the names of the values, with '/' between them
    size_t num_rows = 0, num_bytes = 0;
  };
  text_block text;
  std::vector<group> groups;  // in the order in which their first rows came
};

// Thread-safe.
class row_distribution {
 public:
  row_distribution(const record::row_type& type, const file_partitions& to);
  // `text` is of the first rows of `in`, and each of these ends at one of `ends`.
  partitioned_text distribute(const record::batch& in, text_block text, const std::vector<size_t>& ends,
                              record::batch_pool& pool) const;

 private:
  uint64_t hash(const std::byte* row, const std::byte* heap) const;
  bool same(const std::byte* a, const std::byte* b, const std::byte* heap) const;
  std::string key(const std::byte* row, const std::byte* heap) const;

  std::vector<record::column> columns_;
};

}  // namespace flowrun::operators
