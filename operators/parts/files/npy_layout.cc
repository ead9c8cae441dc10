#include "operators/parts/files/npy_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/excerpt.h"
#include "engine/base/fault.h"
#include "engine/base/units.h"
#include "engine/expr/expression.h"
#include "engine/io/decoder.h"
#include "operators/parts/text/csv_header.h"
#include "operators/parts/text/csv_value.h"
#include "specs/value.h"

namespace flowrun::operators {

namespace {

using record::type_kind;
using record::value_type;

bool can_name_column(const std::string& name) { return specs::is_column_name(name) && !expr::is_reserved_word(name); }

// Numbers of 24, 40 and 48 bits lie in the next wider one that NumPy has; their values are looked at. Of a decimal the
// file has the number of units.
bool fits(value_type in_file, value_type wanted) {
  if (in_file == wanted) return true;
  if (wanted.is_decimal()) return in_file.kind == type_kind::i64;
  if (wanted.kind == type_kind::u24) return in_file.kind == type_kind::u32;
  return (wanted.kind == type_kind::u40 || wanted.kind == type_kind::u48) && in_file.kind == type_kind::u64;
}

// All that the type tells of its values is their width.
bool takes_any_bytes(value_type type) { return type.kind != type_kind::boolean && !type.is_timestamp(); }

// "{src: u32, weight: f64}": the `type` of a job that reads all of the file that can be columns.
std::string type_of(const npy_header& header) {
  constexpr size_t most_shown = 40;
  std::vector<std::string> out;
  const auto add = [&out](const std::string& name, const npy_field& field) {
    if (const auto type = value_type_of(field)) {
      const std::string text = record::to_string(*type);
      out.push_back(fmt::format("{}: {}", name, text.ends_with(']') ? '"' + text + '"' : text));
    }
  };
  if (header.structured) {
    for (const npy_field& f : header.fields)
      if (can_name_column(f.name)) add(f.name, f);
  } else {
    const uint64_t num_columns = header.shape.size() == 2 ? header.shape[1] : 1;
    for (uint64_t i = 0; i < std::min<uint64_t>(num_columns, most_shown + 1); ++i)
      add(num_columns == 1 ? "value" : fmt::format("c{}", i), header.fields.front());
  }
  if (out.empty()) return {};
  if (out.size() > most_shown) {
    out.resize(most_shown);
    out.emplace_back("…");
  }
  return "{" + joined(out, ", ") + "}";
}

class layout_finder {
 public:
  layout_finder(const std::string& path, const npy_header& header, const npy_columns& columns)
      : path_(path), header_(header), wanted_(columns) {}

  npy_layout find() const {
    check_shape();
    npy_layout out;
    out.begin = header_.num_bytes;
    out.num_rows = header_.num_rows();
    out.row_bytes = header_.row_bytes();
    if (header_.structured)
      by_name(out);
    else
      by_position(out);
    if (out.row_bytes == 0) fail("its elements have no bytes", "");
    out.is_rows = out.row_bytes == wanted_.type.row_bytes();
    for (size_t i = 0; i < out.columns.size(); ++i) {
      const npy_layout::column& c = out.columns[i];
      const record::column& to = wanted_.type[i];
      const bool same_bytes = c.offset == to.offset && c.num_bytes == to.type.num_bytes && !c.big_endian;
      out.is_rows = out.is_rows && same_bytes && takes_any_bytes(to.type);
    }
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& message, const std::string& hint) const {
    throw error(error_kind::bad_data, fmt::format("{}: {}", path_, message), hint);
  }

  std::string all_of_it() const {
    const std::string type = type_of(header_);
    return type.empty() ? "" : fmt::format("what the file has is type: {}", type);
  }

  void check_shape() const {
    const std::vector<uint64_t>& shape = header_.shape;
    if (shape.empty()) fail("it holds a single value, not an array of them", "say a.reshape(1) in NumPy");
    if (header_.structured && shape.size() > 1)
      fail(fmt::format("a structured array has {} dimensions: rows have one", shape.size()), "say a.ravel() in NumPy");
    if (shape.size() > 2)
      fail(fmt::format("an array has {} dimensions: rows and columns are two", shape.size()),
           "say a.reshape(len(a), -1) in NumPy");
    if (shape.size() == 2 && header_.fortran_order && shape[0] > 1 && shape[1] > 1)
      fail("its columns lie one after another (Fortran order), but rows are read",
           "say numpy.ascontiguousarray(a) in NumPy, and save that");
  }

  npy_layout::column column_of(const npy_field& field, const record::column& to, const std::string& what) const {
    const std::optional<value_type> type = value_type_of(field);
    if (!type)
      fail(fmt::format("{} is of NumPy's type {}, which no column can be", what, quoted_excerpt(field.text)),
           npy_conversion_of(field));
    if (!fits(*type, to.type))
      fail(fmt::format("{} is {} ({}), but `type` says {}: {}", what, quoted_excerpt(field.text),
                       record::to_string(*type), to.name, record::to_string(to.type)),
           all_of_it());
    return {field.offset, static_cast<uint32_t>(field.num_bytes),
            field.big_endian && !to.type.is_bytes() && field.num_bytes > 1};
  }

  void by_name(npy_layout& out) const {
    std::map<std::string_view, const npy_field*> fields;
    std::vector<std::string> names;
    for (const npy_field& f : header_.fields) {
      fields.emplace(f.name, &f);
      names.push_back(f.name);
    }
    for (size_t i = 0; i < wanted_.type.num_columns(); ++i) {
      const std::string& name = wanted_.names[i];
      const auto found = fields.find(name);
      if (found == fields.end()) {
        const std::string meant = did_you_mean(name, names);
        fail(fmt::format("no field is called {}; there are {}", quoted_excerpt(name), listed_names(names)),
             meant.empty() ? all_of_it() : meant);
      }
      out.columns.push_back(column_of(*found->second, wanted_.type[i], "field " + quoted_excerpt(name)));
    }
  }

  // The elements have no names.
  void by_position(npy_layout& out) const {
    const uint64_t num_columns = header_.shape.size() == 2 ? header_.shape[1] : 1;
    if (num_columns != wanted_.type.num_columns())
      fail(fmt::format(
               "its rows have {}, but `type` has {}",
               num_columns == 1 ? "one value" : fmt::format("{} values", num_columns),
               wanted_.type.num_columns() == 1 ? "one column" : fmt::format("{} columns", wanted_.type.num_columns())),
           all_of_it());
    for (const record::column& to : wanted_.type.columns()) {
      out.columns.push_back(column_of(header_.fields.front(), to, "its element"));
      out.columns.back().offset = (out.columns.size() - 1) * header_.element_bytes;
    }
  }

  const std::string& path_;
  const npy_header& header_;
  const npy_columns& wanted_;
};

}  // namespace

std::string npy_conversion_of(const npy_field& field) {
  switch (field.kind) {
    case 'M': return "say a.astype('<M8[us]') in NumPy: a timestamp counts microseconds";
    case 'm': return "say a.view('<i8') in NumPy: a number of its units";
    case 'U': return "say numpy.char.encode(a, 'utf-8') in NumPy, which makes bytes of it";
    case 'f': return field.num_bytes == 2 ? "say a.astype('<f4') in NumPy" : "say a.astype('<f8') in NumPy";
    case 'c': return "say a.view('<f8') or a.view('<f4') in NumPy: two numbers for each";
    case '(': return "say numpy.lib.recfunctions.structured_to_unstructured, or make a field of each value, in NumPy";
    default: return "give it another type in NumPy, with a.astype(…)";
  }
}

std::optional<npy_header> npy_header_of(const std::string& path, std::string_view beginning) {
  try {
    if (beginning.size() < npy_bytes_needed(beginning)) return std::nullopt;
    return read_npy_header(beginning);
  } catch (const npy_header_error& wrong) {
    throw error(error_kind::bad_data, fmt::format("{}: byte {}: {}", path, wrong.offset(), wrong.what()),
                beginning.starts_with("PK") ? "an .npz file is an archive of several: numpy.load(file) opens it, and "
                                              "numpy.save saves one of its arrays"
                                            : "numpy.save(file, a, allow_pickle=False) writes what can be read");
  }
}

npy_layout npy_layout_of(const std::string& path, const npy_header& header, const npy_columns& columns) {
  return layout_finder(path, header, columns).find();
}

std::optional<npy_layout> npy_layout_of(const std::string& path, std::string_view beginning,
                                        const npy_columns& columns) {
  const std::optional<npy_header> header = npy_header_of(path, beginning);
  if (!header) return std::nullopt;
  return npy_layout_of(path, *header, columns);
}

std::optional<npy_layout> npy_layout_of_file(const std::string& path, const npy_columns& columns) {
  constexpr size_t usual_bytes = 64 * KiB;
  for (const size_t most_bytes : {usual_bytes, size_t{2 * most_npy_header_bytes}}) {
    const io::decoded_text text = io::text_beginning(path, most_bytes);
    if (text.text.empty()) return std::nullopt;
    if (auto layout = npy_layout_of(path, text.text, columns)) return layout;
    if (text.text.size() < most_bytes) break;
  }
  return std::nullopt;
}

void npy_without_header(const std::string& path, uint64_t num_bytes) {
  throw error(error_kind::bad_data,
              fmt::format("{}: the file ends at byte {}, within the header of a NumPy file", path, num_bytes),
              "was the file cut short? Save the array again");
}

void npy_cut_short(const std::string& path, const npy_layout& layout, uint64_t num_bytes) {
  throw error(
      error_kind::bad_data,
      fmt::format("{}: the file ends at byte {}, and its header says {} rows of {} bytes, which end at byte {}", path,
                  layout.begin + num_bytes, layout.num_rows, layout.row_bytes, layout.begin + layout.num_bytes()),
      "was the file cut short? Save the array again");
}

void npy_goes_on(const std::string& path, const npy_layout& layout) {
  throw error(error_kind::bad_data,
              fmt::format("{}: its array of {} rows of {} bytes ends at byte {}, but the file goes on", path,
                          layout.num_rows, layout.row_bytes, layout.begin + layout.num_bytes()),
              "save each array in a file of its own");
}

}  // namespace flowrun::operators
