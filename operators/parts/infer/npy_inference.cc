// Arrays of NumPy: their header says all.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/excerpt.h"
#include "engine/base/units.h"
#include "operators/parts/files/npy_header.h"
#include "operators/parts/files/npy_layout.h"
#include "operators/parts/infer/column_names.h"
#include "operators/parts/infer/source_format.h"
#include "operators/parts/text/csv_value.h"

namespace flowrun::operators {

namespace {

constexpr size_t most_columns = 20'000;

class npy_inference final : public source_inference {
 public:
  void begin_file(const std::string& path) override {
    path_ = path;
    is_header_due_ = true;
  }

  size_t add(const text_stretch& stretch, uint64_t) override {
    if (!is_header_due_) return stretch.text.size();
    const std::optional<npy_header> header = npy_header_of(path_, stretch.text);
    if (!header && stretch.ends) npy_without_header(path_, stretch.text.size());
    if (!header) return 0;
    if (out_.columns.empty()) choose_columns(*header);
    num_rows_ += npy_layout_of(path_, *header, columns_).num_rows;  // or it is none that can be read, or has others
    is_header_due_ = false;
    return stretch.text.size();
  }

  uint64_t num_rows() const override { return num_rows_; }
  bool knows_rows() const override { return true; }

  inferred_source finish() override {
    out_.format = "npy";
    out_.op = "file.read_npy";
    out_.sink_op = "file.write_csv";
    if (!other_names_.empty()) out_.settings.push_back({"names", {}, {}, other_names_});
    return std::move(out_);
  }

 private:
  void choose_columns(const npy_header& header) {
    std::vector<std::string> headers;
    std::vector<record::value_type> types;
    if (header.fields.empty())
      throw error(error_kind::bad_data, fmt::format("{}: the rows of the array have no fields", path_),
                  "a column is a field of a structured array, or a number of a plain one");
    if (header.structured) {
      for (const npy_field& f : header.fields) {
        const std::optional<record::value_type> type = value_type_of(f);
        if (type) {
          headers.push_back(f.name);
          types.push_back(*type);
        } else {
          out_.questions.push_back(
              fmt::format("field {} is left out: it is of NumPy's type {}, which no column can be; {}",
                          quoted_excerpt(f.name), quoted_excerpt(f.text), npy_conversion_of(f)));
        }
      }
      if (headers.empty())
        throw error(error_kind::bad_data, fmt::format("{}: no field of the array can be a column", path_),
                    npy_conversion_of(header.fields.front()));
      out_.notes.push_back(fmt::format("a structured array of {} fields", format_count(header.fields.size())));
    } else {
      const uint64_t num_columns = header.shape.size() == 2 ? header.shape[1] : 1;
      if (num_columns > most_columns)
        throw error(error_kind::bad_data, fmt::format("{}: {} values a row", path_, format_count(num_columns)),
                    fmt::format("at most {}; is that a matrix of rows?", format_count(most_columns)));
      for (uint64_t i = 0; i < num_columns; ++i) headers.push_back(num_columns == 1 ? "value" : fmt::format("c{}", i));
      // What no column can be is refused with the layout.
      const auto any = record::value_type::of(record::type_kind::u8);
      types.assign(num_columns, value_type_of(header.fields.front()).value_or(any));
      out_.notes.push_back(fmt::format("a plain array of {}", quoted_excerpt(header.fields.front().text)));
    }
    if (std::any_of(types.begin(), types.end(), [](record::value_type t) { return t.is_time(); }))
      out_.notes.emplace_back("a missing time (NaT) ends the job; on_error: skip leaves such rows out");
    add_columns(header.structured, headers, types);
  }

  void add_columns(bool have_names, const std::vector<std::string>& headers,
                   const std::vector<record::value_type>& types) {
    const std::vector<std::string> names = column_names(headers);
    std::vector<record::column> columns;
    for (size_t i = 0; i < headers.size(); ++i) {
      inferred_column& column = out_.columns.emplace_back();
      column.name = names[i];
      column.type = types[i];
      if (have_names) column.header = headers[i];
      if (names[i] != headers[i]) other_names_.emplace_back(names[i], headers[i]);
      columns.push_back({names[i], types[i]});
    }
    columns_.type = record::row_type(std::move(columns));
    columns_.names = headers;
  }

  std::string path_;
  bool is_header_due_ = true;
  uint64_t num_rows_ = 0;
  npy_columns columns_;
  std::vector<std::pair<std::string, std::string>> other_names_;
  inferred_source out_;
};

}  // namespace

std::unique_ptr<source_inference> recognise_npy(const file_beginning& beginning, const infer_options& options, bool) {
  if (options.delimiter || options.header || !beginning.text.starts_with("\x93NUMPY")) return nullptr;
  return std::make_unique<npy_inference>();
}

}  // namespace flowrun::operators
