#include "operators/parts/text/readable_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"

namespace flowrun::operators {

namespace {

struct file_mark {
  std::string_view bytes;
  const char* what;
  const char* way_out;
};
constexpr const char* rows_way_out =
    "bytes don't tell which columns they are: say so in file.read_rows, with: {path: …, type: {id: u64, x: f64}}; "
    "flowrun ops file.read_rows explains it; messages of Protocol Buffers need --descriptors FILE --message NAME";
constexpr file_mark marks[] = {
    {"\xFF\xFE", "UTF-16", "iconv -f UTF-16 -t UTF-8 FILE makes text of it"},
    {"\xFE\xFF", "UTF-16", "iconv -f UTF-16 -t UTF-8 FILE makes text of it"},
    {"\x93NUMPY", "an array of NumPy",
     "file.read_npy reads it, and flowrun infer writes a job for it; leave --as, --delimiter and --header out"},
    {"PAR1", "Parquet",
     "the plugin arrow reads it, arrow.read_parquet, and tells the types: plugin/examples/arrow/README.md says how it "
     "is built; or DuckDB makes a CSV file of it: duckdb -c \"COPY 'FILE' TO 'FILE.csv'\""},
    {"ARROW1", "Arrow IPC",
     "the plugin arrow reads it, arrow.read_ipc, and tells the types: plugin/examples/arrow/README.md says how it is "
     "built"},
    {"PK\x03\x04", "a zip archive, as those of spreadsheets are", "save the table as CSV, or unzip it"},
    {"SQLite format 3", "a database of SQLite", "sqlite3 -csv FILE 'SELECT …' > FILE.csv"},
    {"%PDF", "PDF", "it holds no rows"},
    {"\x89HDF", "HDF5", "write it as CSV first"},
};

// Bytes that texts don't have; some separate fields (0x01, 0x1c to 0x1f), some move a printer.
bool is_odd(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x09 && byte != 0x01 && byte != 0x02) || byte == 0x0E || byte == 0x0F || (byte >= 0x10 && byte < 0x1B);
}

}  // namespace

void refuse_unreadable(const std::string& path, std::string_view beginning) {
  constexpr size_t looked_at = size_t{1} << 16;
  constexpr size_t most_odd = 100;  // one byte in so many
  const std::string_view text = beginning.substr(0, looked_at);
  for (const file_mark& mark : marks)
    if (text.starts_with(mark.bytes))
      throw error(error_kind::bad_data, fmt::format("{}: this is {}, and no text", path, mark.what), mark.way_out);
  const size_t zero = text.find('\0');
  const auto odd = static_cast<size_t>(std::count_if(text.begin(), text.end(), is_odd));
  if (zero == std::string_view::npos && odd * most_odd <= text.size()) {
    if (beginning.find('\n') == std::string_view::npos && std::count(beginning.begin(), beginning.end(), '\r') > 1)
      throw error(error_kind::bad_data, fmt::format("{}: its lines end with \\r alone", path),
                  "tr '\\r' '\\n' < FILE makes lines of it");
    return;
  }
  const size_t at = zero != std::string_view::npos
                        ? zero
                        : static_cast<size_t>(std::find_if(text.begin(), text.end(), is_odd) - text.begin());
  throw error(error_kind::bad_data,
              fmt::format("{}: this is no text: byte {} is 0x{:02X}", path, at, static_cast<unsigned char>(text[at])),
              rows_way_out);
}

}  // namespace flowrun::operators
