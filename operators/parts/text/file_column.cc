#include "operators/parts/text/file_column.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <utility>

#include "engine/base/error.h"

namespace flowrun::operators {

plan::parameter_declaration file_column_parameter() {
  plan::parameter_declaration p;
  p.name = "file_column";
  p.kind = plan::parameter_kind::new_column;
  p.help = "Adds a last column of this name, a string: the path of the file that the row came from.";
  return p;
}

record::row_type with_file_column(plan::node_checker& node, const record::row_type& type) {
  if (!node.has("file_column")) return type;
  const std::string name = node.text("file_column");
  if (type.index_of(name)) {
    node.fault_at_parameter("file_column", fmt::format("the rows have a column '{}' already", name), "another name");
    return type;
  }
  std::vector<record::column> columns(type.columns().begin(), type.columns().end());
  columns.push_back({name, record::value_type::of(record::type_kind::string)});
  return record::row_type(std::move(columns));
}

// The path lies once in the heap of the batch, behind the other texts.
record::batch file_column::add(const record::batch& rows, size_t file, record::batch_pool& pool) const {
  const std::string& path = paths_[file];
  if (rows.heap_bytes + path.size() > std::numeric_limits<uint32_t>::max())
    throw error(error_kind::bad_data, fmt::format("{}: a batch of rows with their texts is longer than 4 GiB", path));
  std::shared_ptr<std::byte[]> out = pool.take(rows.num_rows * to_bytes_);
  std::shared_ptr<std::byte[]> heap = pool.take(rows.heap_bytes + path.size());
  if (rows.heap_bytes > 0) std::memcpy(heap.get(), rows.heap, rows.heap_bytes);
  if (!path.empty()) std::memcpy(heap.get() + rows.heap_bytes, path.data(), path.size());
  const record::string_ref ref{static_cast<uint32_t>(rows.heap_bytes), static_cast<uint32_t>(path.size())};
  std::byte* to = out.get();
  for (size_t i = 0; i < rows.num_rows; ++i, to += to_bytes_) {
    std::memcpy(to, rows.row(i), from_bytes_);
    std::memcpy(to + from_bytes_, &ref, sizeof ref);
  }
  record::batch b = rows;
  b.rows = out.get();
  b.row_bytes = static_cast<uint32_t>(to_bytes_);
  b.heap = heap.get();
  b.heap_bytes = rows.heap_bytes + path.size();
  b.owner = std::make_shared<std::pair<std::shared_ptr<std::byte[]>, std::shared_ptr<std::byte[]>>>(std::move(out),
                                                                                                    std::move(heap));
  return b;
}

}  // namespace flowrun::operators
