#include "cluster/text_cuts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/record/batch.h"
#include "operators/parts/text/csv_settings.h"
#include "operators/parts/text/line_delimiter.h"
#include "operators/parts/text/text_cutter.h"
#include "specs/value.h"

namespace flowrun::cluster {

namespace {

// A file that is read here and there.
class opened_text {
 public:
  opened_text(const std::string& path, const std::atomic<bool>& stop) : path_(path), stop_(stop) {
    if (!file_)
      throw error(error_kind::missing_input, fmt::format("can't open {}: {}", path, errno_text(errno)),
                  "check the path; relative paths start at the working directory");
  }

  // As much of [from, to) as fits and the file has.
  std::string_view read(uint64_t from, uint64_t to) {
    if (stop_.load()) throw error(error_kind::cancelled, "the job was stopped", "");
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(from));
    file_.read(buffer_.data(), static_cast<std::streamsize>(std::min<uint64_t>(buffer_.size(), to - from)));
    if (file_.bad()) throw error(error_kind::io, fmt::format("can't read {}: {}", path_, errno_text(errno)), "");
    return {buffer_.data(), static_cast<size_t>(file_.gcount())};
  }

 private:
  const std::string path_;
  const std::atomic<bool>& stop_;
  std::ifstream file_{path_, std::ios::binary};
  std::string buffer_ = std::string(MiB, '\0');
};

// Behind the first line end at or behind byte `at` - 1; where the file ends if there is none.
uint64_t next_line(opened_text& text, char line_end, uint64_t at) {
  for (uint64_t from = at - 1;;) {
    const std::string_view bytes = text.read(from, UINT64_MAX);
    if (bytes.empty()) return from;
    const size_t found = bytes.find(line_end);
    if (found != std::string_view::npos) return from + found + 1;
    from += bytes.size();
  }
}

text_form form_of(const plan::node& source) {
  const auto has = [&](const std::string& name) {
    return std::any_of(source.declaration->parameters.begin(), source.declaration->parameters.end(),
                       [&](const plan::parameter_declaration& p) { return p.name == name; });
  };
  const auto given = [&](const std::string& name) { return specs::find(source.spec->with(), name); };
  text_form out;
  const specs::Value* const delimiter = given("delimiter");
  if (!has("quote")) {
    if (delimiter != nullptr) out.line_end = operators::line_delimiter_byte(specs::text(*delimiter)).value_or('\n');
    return out;
  }
  out.format = {};
  if (delimiter != nullptr) out.format.delimiter = operators::delimiter_byte(specs::text(*delimiter)).value_or(',');
  if (const specs::Value* const quote = given("quote"); quote != nullptr) {
    const std::string text = specs::text(*quote);
    if (text.empty())
      out.format.quote.reset();
    else
      out.format.quote = text[0];
  }
  return out;
}

}  // namespace

std::vector<uint64_t> ends_of_records(const std::string& path, const text_form& form, uint64_t from,
                                      const std::vector<uint64_t>& near, const std::atomic<bool>& stop) {
  opened_text text(path, stop);
  std::vector<uint64_t> out;
  if (!form.format.quote) {
    for (const uint64_t at : near)
      out.push_back(!out.empty() && out.back() >= at ? out.back() : next_line(text, form.line_end, at));
    return out;
  }
  record::batch_pool pool;
  operators::cutter_options options;
  options.line_end = form.line_end;
  options.format = form.format;
  options.skip_byte_order_mark = true;
  options.piece_bytes = MiB;
  operators::text_cutter cutter(options, pool);
  cutter.begin_within(path, from, 0);
  std::vector<operators::text_piece> pieces;
  uint64_t read = from;
  try {
    for (const uint64_t at : near) {
      while (read < at) {
        const std::string_view bytes = text.read(read, at);
        if (bytes.empty()) break;
        cutter.feed(nullptr, bytes, pieces);
        pieces.clear();
        read += bytes.size();
      }
      // A byte order mark goes with the record behind it.
      const bool at_start = from == 0 && cutter.offset() <= operators::byte_order_mark.size();
      out.push_back(at_start ? 0 : cutter.offset());
    }
  } catch (const error& problem) {
    // A quoted field that never ends, say. The task that reads it says what is wrong, at its place.
    if (problem.kind() != error_kind::bad_data && problem.kind() != error_kind::resources) throw;
    out.resize(near.size(), out.empty() ? from : out.back());
  }
  return out;
}

std::vector<source_piece> at_ends_of_records(const plan::node& source, const std::vector<source_piece>& pieces,
                                             const std::atomic<bool>& stop) {
  if (source.declaration->division != plan::operator_division::files || pieces.size() < 2 || !pieces[0].paths.empty())
    return pieces;
  std::vector<uint64_t> near;
  for (const source_piece& p : pieces) near.push_back(stretch_of(p.texts.at("range")).from);
  const uint64_t from = near.front();
  near.erase(near.begin());
  const std::vector<uint64_t> ends = ends_of_records(path_of(source), form_of(source), from, near, stop);
  std::vector<source_piece> out = pieces;
  for (size_t i = 0; i < ends.size(); ++i) {
    const std::string range = out[i + 1].texts["range"];
    out[i].texts["range"] = fmt::format("{}:{}", stretch_of(out[i].texts["range"]).from, ends[i]);
    out[i + 1].texts["range"] = fmt::format("{}{}", ends[i], range.substr(range.find(':')));
  }
  return out;
}

}  // namespace flowrun::cluster
