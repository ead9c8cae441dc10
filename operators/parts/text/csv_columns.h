// How file.read_csv finds the columns of its type among the fields of a record: by their position, or by the names in
// each file's header.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/node_checker.h"
#include "engine/plan/row_estimate.h"
#include "engine/record/row_type.h"
#include "operators/parts/files/file_input.h"
#include "operators/parts/text/csv_layout.h"
#include "operators/parts/text/text_scan.h"

namespace flowrun::operators {

struct csv_columns {
  bool header = false;             // the first record is no row
  bool by_header = false;          // and says which field is which column; else it must name them in their order
  std::vector<std::string> names;  // in the header, of the columns in their order
};

// `header`, `columns` and `names`.
std::vector<plan::parameter_declaration> csv_column_parameters();

// Reads them for a node whose fields have `type`; reports what is wrong.
csv_columns read_csv_columns(plan::node_checker& node, const record::row_type& type);

// What `names` says a header calls the columns of `type`, in their order; each is called once.
std::vector<std::string> read_header_names(plan::node_checker& node, const record::row_type& type);

// Looks at a header. Throws error(bad_data) when it doesn't have the columns. The layout is null where all files have
// the same: field i is column i.
std::shared_ptr<const csv_layout> look_at_header(const csv_columns& columns, const std::string& path,
                                                 std::string_view record, const record::row_type& type,
                                                 const csv_format& format);

// Of rows whose layout a header says, what a sample of the first file tells of the texts in them. `rows` is the
// estimate from the same sample for rows of `type` that have all fields.
plan::row_estimate with_texts_of(const plan::row_estimate& rows, std::string_view sample, uint64_t total_bytes,
                                 const csv_columns& columns, const record::row_type& type, const csv_format& format);

}  // namespace flowrun::operators
