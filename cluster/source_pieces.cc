#include "cluster/source_pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "cluster/spec_values.h"
#include "specs/value.h"

namespace flowrun::cluster {

namespace {

using plan::operator_division;

std::string text_of(const plan::node& n, const std::string& parameter) {
  const specs::Value* v = specs::find(n.spec->with(), parameter);
  return v == nullptr ? std::string() : specs::text(*v);
}

std::vector<std::string> paths_of(const plan::node& n) {
  std::vector<std::string> out;
  const specs::Value* v = specs::find(n.spec->with(), "path");
  if (v == nullptr) return out;
  if (specs::is_scalar(*v)) out.push_back(specs::text(*v));
  for (const specs::Value& item : v->list().items()) out.push_back(specs::text(item));
  return out;
}

// A share of the whole is wanted of each row, and an order is checked from row to row, so one task has to read all.
bool must_be_whole(const plan::node& n, const std::vector<std::string>& paths) {
  if (n.spec->on_error().has_max_ratio() || n.facts.index || !n.outputs[0].sorted_by.empty()) return true;
  return std::any_of(paths.begin(), paths.end(),
                     [](const std::string& path) { return path == "-" || path.starts_with("/dev/"); });
}

// [from, to) in so many parts, of which none is empty.
std::vector<std::pair<uint64_t, uint64_t>> shares(uint64_t from, uint64_t to, size_t most) {
  const uint64_t total = to - from;
  const uint64_t count = std::clamp<uint64_t>(total, 1, most);
  std::vector<std::pair<uint64_t, uint64_t>> out;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t begin = from + total / count * i + std::min(i, total % count);
    out.emplace_back(begin, begin + total / count + (i < total % count ? 1 : 0));
  }
  return out;
}

std::vector<source_piece> number_pieces(const plan::node& n, size_t most) {
  const uint64_t first = specs::to_uint(text_of(n, "first")).value_or(0);
  const uint64_t rows = specs::to_uint(text_of(n, "rows")).value_or(0);
  if (rows > UINT64_MAX - first) return {{}};
  std::vector<source_piece> out;
  for (const auto& [from, to] : shares(first, first + rows, most))
    out.push_back({{}, {{"first", std::to_string(from)}, {"rows", std::to_string(to - from)}}});
  return out;
}

// Files one after the other, those of a task together.
std::vector<source_piece> file_pieces(const std::vector<std::string>& paths, size_t most,
                                      const std::function<int64_t(const std::string&)>& file_bytes) {
  std::vector<uint64_t> bytes;
  for (const std::string& path : paths) bytes.push_back(static_cast<uint64_t>(std::max<int64_t>(file_bytes(path), 1)));
  const uint64_t total = std::accumulate(bytes.begin(), bytes.end(), uint64_t{0});
  const uint64_t count = std::min<uint64_t>(most, paths.size());
  std::vector<source_piece> out;
  uint64_t before = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    // The piece in which the file's middle lies; what is left must suffice for one file each.
    const uint64_t wanted = (before + bytes[i] / 2) / std::max<uint64_t>(total / count, 1);
    const uint64_t least = count - std::min<uint64_t>(count, paths.size() - i);
    if (out.empty() || (out.size() < count && std::max(wanted, least) >= out.size())) out.emplace_back();
    out.back().paths.push_back(paths[i]);
    before += bytes[i];
  }
  return out;
}

// Of what `range` leaves of a file with `most_units` rows or bytes.
std::vector<source_piece> stretches(const plan::node& n, uint64_t most_units, size_t most) {
  const std::string range = text_of(n, "range");
  const stretch given = stretch_of(range);
  const uint64_t from = std::min(most_units, given.from), to = std::min(most_units, given.to);
  std::vector<source_piece> out;
  for (const auto& [begin, end] : shares(from, std::max(from, to), most))
    out.push_back({{}, {{"range", fmt::format("{}:{}", begin, end)}}});
  // The last one has what doesn't make a row, too, which is an error.
  if (range.empty()) out.back().texts["range"].erase(out.back().texts["range"].find(':') + 1);
  return out;
}

bool has_range(const plan::node& n) {
  const std::vector<plan::parameter_declaration>& all = n.declaration->parameters;
  return std::any_of(all.begin(), all.end(), [](const plan::parameter_declaration& p) { return p.name == "range"; });
}

std::vector<source_piece> row_pieces(const plan::node& n, const std::vector<std::string>& paths, size_t most,
                                     const std::function<int64_t(const std::string&)>& file_bytes) {
  const int64_t num_bytes = file_bytes(paths[0]);
  if (num_bytes < 0 || !n.outputs[0].estimate.exact) return {{}};  // it is compressed
  return stretches(n, static_cast<uint64_t>(num_bytes) / std::max<uint32_t>(n.outputs[0].type.row_bytes(), 1), most);
}

// Of a single file, by bytes.
std::vector<source_piece> text_pieces(const plan::node& n, const std::vector<std::string>& paths, size_t most,
                                      const std::function<int64_t(const std::string&)>& file_bytes) {
  const int64_t num_bytes = file_bytes(paths[0]);
  const bool is_compressed = n.outputs[0].estimate.most_rows == plan::row_estimate::unbounded;
  if (num_bytes <= 0 || is_compressed || !has_range(n)) return {{}};
  return stretches(n, static_cast<uint64_t>(num_bytes), most);
}

}  // namespace

stretch stretch_of(const std::string& range) {
  stretch out;
  const size_t colon = range.find(':');
  if (colon == std::string::npos) return out;
  out.from = specs::to_uint(range.substr(0, colon)).value_or(out.from);
  out.to = specs::to_uint(range.substr(colon + 1)).value_or(out.to);
  return out;
}

std::string path_of(const plan::node& source) { return paths_of(source).at(0); }

std::vector<source_piece> pieces_of(const plan::node& source, size_t most,
                                    const std::function<int64_t(const std::string&)>& file_bytes) {
  const operator_division division = source.declaration->division;
  if (!source.inputs.empty() || !source.scalars.empty() || most < 2) return {{}};
  if (division == operator_division::numbers) return number_pieces(source, most);
  if (division != operator_division::rows && division != operator_division::files) return {{}};
  const std::vector<std::string> paths = paths_of(source);
  if (paths.empty() || must_be_whole(source, paths)) return {{}};
  if (paths.size() > 1) return file_pieces(paths, most, file_bytes);
  return division == operator_division::rows ? row_pieces(source, paths, most, file_bytes)
                                             : text_pieces(source, paths, most, file_bytes);
}

void narrow(specs::Node& source, const source_piece& piece) {
  if (!piece.paths.empty()) set_parameter(source, "path", list_value(piece.paths));
  for (const auto& [name, text] : piece.texts) set_parameter(source, name, text_value(text));
}

}  // namespace flowrun::cluster
