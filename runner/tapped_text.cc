#include "runner/tapped_text.h"

#include "engine/base/units.h"
#include "operators/parts/text/csv_formatter.h"
#include "operators/parts/text/json_formatter.h"
#include "operators/parts/text/json_layout.h"

namespace flowrun::runner {

std::string csv_header(const record::row_type& type) {
  return operators::csv_formatter(type.columns(), {}).header(type.names());
}

std::string text_of(const exec::tapped_rows& rows, const record::row_type& type, row_format format) {
  if (rows.num_rows == 0) return {};
  record::batch_pool pool(0);
  record::batch all;
  all.rows = rows.rows.data();
  all.num_rows = rows.num_rows;
  all.row_bytes = type.row_bytes();
  all.heap = reinterpret_cast<const std::byte*>(rows.heap.data());
  all.heap_bytes = rows.heap.size();
  if (format == row_format::csv)
    return std::string(operators::csv_formatter(type.columns(), {}).format(all, pool).text());
  std::vector<std::string> paths;  // in which a dot would begin an object
  for (const std::string& name : type.names()) {
    std::string& path = paths.emplace_back();
    for (const char c : name) path += c == '.' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  const operators::json_formatter formatter(type.columns(), operators::json_layout_of(paths));
  return std::string(formatter.format(all, pool).text());
}

}  // namespace flowrun::runner
