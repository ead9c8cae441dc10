#include "operators/parts/infer/infer_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/decoder.h"
#include "engine/io/file.h"
#include "operators/parts/infer/text_front.h"
#include "operators/parts/text/readable_text.h"
#include "operators/parts/text/text_scan.h"

namespace flowrun::operators {

namespace {

constexpr size_t most_files = 16;
constexpr size_t num_places = 5;  // in a file
constexpr uint64_t least_place_bytes = 64 * KiB;
constexpr size_t longest_record = 16 * MiB;
constexpr size_t chunk_bytes = 1 * MiB;
constexpr uint64_t no_limit = UINT64_MAX;

void refuse_missing(const std::string& path) {
  std::error_code cause;
  const auto status = std::filesystem::status(real_path(path), cause);
  if (std::filesystem::exists(status) && !std::filesystem::is_directory(status)) return;
  const std::string why =
      std::filesystem::is_directory(status) ? errno_text(EISDIR) : errno_text(cause ? cause.value() : ENOENT);
  throw error(error_kind::missing_input, fmt::format("can't read {}: {}", path, why),
              std::filesystem::is_directory(status) ? "the files in it: 'DIR/*.csv', in quotes"
                                                    : "check the path; relative paths start at the working directory");
}

// The length of a file that can be read from any byte; nothing of a pipe, or of compressed content.
std::optional<uint64_t> plain_bytes(const std::string& path) {
  std::error_code cause;
  if (path == "-" || !std::filesystem::is_regular_file(path, cause) || io::is_compressed(path)) return std::nullopt;
  const uint64_t size = std::filesystem::file_size(path, cause);
  if (cause || size == 0) return std::nullopt;  // files of /proc have no length either
  return size;
}

// Evenly spread, the first and the last among them.
std::vector<size_t> chosen_files(size_t num_files, bool all) {
  const size_t wanted = all ? num_files : std::min(num_files, most_files);
  std::vector<size_t> out;
  for (size_t i = 0; i < wanted; ++i) out.push_back(wanted == 1 ? 0 : i * (num_files - 1) / (wanted - 1));
  return out;
}

class sampling {
 public:
  sampling(const std::vector<std::string>& paths, const infer_options& options) : paths_(paths), options_(options) {}

  inferred_source take() {
    const std::vector<size_t> files = chosen_files(paths_.size(), options_.all);
    if (!options_.all) {
      file_bytes_ = std::max(options_.most_bytes / files.size(), num_places * least_place_bytes);
      file_rows_ = std::max<uint64_t>(options_.most_rows / files.size(), 1);
    }
    for (const std::string& path : paths_) refuse_missing(path);
    begin_where_rows_are(files);
    for (const size_t file : files) look_at(paths_[file]);
    if (inference_ == nullptr)
      throw error(error_kind::bad_data,
                  fmt::format("{}: {}", paths_[0],
                              paths_.size() == 1 ? "there is nothing in it" : "there is nothing in the files"),
                  "an empty file has no columns to find");
    inferred_source out = inference_->finish();
    seen_.rows = inference_->num_rows();
    seen_.files = files.size();
    seen_.all_files = paths_.size();
    seen_.whole = all_seen_ && files.size() == paths_.size();
    if (inference_->knows_rows()) {
      seen_.whole = files.size() == paths_.size();
      if (!seen_.whole) seen_.all_rows = seen_.rows * paths_.size() / files.size();
    } else if (!seen_.whole && seen_.bytes > 0 && all_bytes_)
      seen_.all_rows = static_cast<uint64_t>(static_cast<double>(seen_.rows) * static_cast<double>(*all_bytes_) /
                                             static_cast<double>(seen_.bytes) * static_cast<double>(paths_.size()) /
                                             static_cast<double>(files.size()));
    out.seen = seen_;
    return out;
  }

 private:
  // A first file of one line, as a day without rows has, says too little: whether it is a header, and of what. Then the
  // first one that has more tells what all are.
  void begin_where_rows_are(const std::vector<size_t>& files) {
    if (files.size() == 1 || std::find(paths_.begin(), paths_.end(), "-") != paths_.end()) return;
    for (const size_t file : files) {
      text_front front(paths_[file]);
      front.read(static_cast<size_t>(std::min<uint64_t>(file_bytes_ / num_places, chunk_bytes)));
      if (front.ended() && count_byte(front.text(), '\n') <= 1) continue;
      if (file != files.front()) begin(paths_[file], front);
      return;
    }
  }

  void look_at(const std::string& path) {
    const std::optional<uint64_t> size = plain_bytes(path);
    text_front front(path);
    front.read(static_cast<size_t>(std::min<uint64_t>(file_bytes_ / num_places, chunk_bytes)));
    if (front.text().empty()) return;
    if (inference_ == nullptr) begin(path, front);
    inference_->begin_file(path);
    const places from = places_in(path, size);
    const bool whole = from_front(path, front, from.bytes, from.rows + file_rows_ % from.count);
    all_seen_ = all_seen_ && whole;
    if (size) {
      add_size(*size);
    } else {
      std::error_code cause;
      const uint64_t content = path == "-" ? 0 : std::filesystem::file_size(path, cause);
      const double expansion = front.num_taken() == 0 ? 1
                                                      : static_cast<double>(front.offset() + front.text().size()) /
                                                            static_cast<double>(front.num_taken());
      if (whole)
        add_size(front.offset());
      else if (path == "-" || cause)
        all_bytes_.reset(), size_unknown_ = true;
      else
        add_size(static_cast<uint64_t>(static_cast<double>(content) * expansion));
    }
    if (!whole && from.count > 1) from_further_on(path, *size, from, front.offset());
  }

  // How a file is looked at: its beginning alone, or pieces that are evenly spread.
  struct places {
    size_t count = 1;
    uint64_t bytes = no_limit, rows = no_limit;  // of each
  };
  places places_in(const std::string& path, std::optional<uint64_t> size) const {
    const places front{1, file_bytes_, file_rows_};
    if (options_.all || !size || !begins_anywhere_) return front;
    if (*size <= file_bytes_ && !has_more_lines(path, file_rows_)) return front;
    const size_t count = std::min<uint64_t>(num_places, file_rows_);
    return {count, std::min(file_bytes_, *size) / num_places, file_rows_ / count};
  }

  // Lines are counted, and no records, of which there are at most as many.
  static bool has_more_lines(const std::string& path, uint64_t most) {
    const auto file = io::file::open(path, io::open_mode::read);
    std::string text(chunk_bytes, '\0');
    char last = '\n';
    uint64_t lines = 0;
    for (uint64_t offset = 0; lines <= most;) {
      const auto got = static_cast<size_t>(read_at(path, *file, offset, text));
      if (got == 0) return lines + (last != '\n') > most;
      lines += count_byte(std::string_view(text).substr(0, got), '\n');
      last = text[got - 1];
      offset += got;
    }
    return true;
  }

  static int64_t read_at(const std::string& path, io::file& file, uint64_t offset, std::string& to) {
    const int64_t got = file.read_at(offset, reinterpret_cast<std::byte*>(to.data()), to.size());
    if (got < 0)
      throw error(error_kind::io, fmt::format("reading {} failed: {}", path, errno_text(static_cast<int>(-got))),
                  "check the disk");
    return got;
  }

  void add_size(uint64_t num_bytes) {
    if (!size_unknown_) all_bytes_ = all_bytes_.value_or(0) + num_bytes;
  }

  // Chooses the format.
  void begin(const std::string& path, const text_front& front) {
    const file_beginning beginning{path, front.text(), front.ended()};
    bool known_as_text = false;
    for (const source_format& format : source_formats()) {
      const bool asked = format.name == options_.format;
      if (!options_.format.empty() && !asked) continue;
      if (format.is_text && !known_as_text) {
        refuse_unreadable(path, beginning.text);
        known_as_text = true;
      }
      inference_ = format.recognise(beginning, options_, asked);
      begins_anywhere_ = format.is_text;  // behind a line end
      if (inference_ != nullptr) return;
    }
    throw error(error_kind::bad_data, fmt::format("{}: this is not of the format {}", path, options_.format),
                "without --as the file shows what it is");
  }

  // Whether that is all of the file.
  bool from_front(const std::string& path, text_front& front, uint64_t most_bytes, uint64_t most_rows) {
    ++seen_.places;
    const uint64_t rows_before = inference_->num_rows();
    for (;;) {
      const uint64_t rows = inference_->num_rows() - rows_before;
      if (rows >= most_rows) return front.ended() && front.text().empty();
      const size_t taken = inference_->add({front.text(), front.offset(), true, front.ended()}, most_rows - rows);
      seen_.bytes += taken;
      front.drop(taken);
      if (inference_->num_rows() - rows_before >= most_rows) continue;
      if (front.ended()) return true;
      const bool enough = front.offset() + front.text().size() >= most_bytes && front.offset() > 0;
      if (enough) return false;
      if (front.text().size() >= longest_record)
        throw error(error_kind::bad_data,
                    fmt::format("{}: at byte {} begins a line that is longer than {}", path,
                                format_count(front.offset()), format_bytes(longest_record)),
                    "is a quoted field never closed, or is the file no text?");
      const uint64_t known = front.offset() + front.text().size();
      const uint64_t wanted = most_bytes > known ? std::max(most_bytes - known, least_place_bytes) : chunk_bytes;
      front.read(static_cast<size_t>(std::min<uint64_t>(wanted, chunk_bytes)));
    }
  }

  // Pieces evenly spread behind the front, the last one with the file's last rows.
  void from_further_on(const std::string& path, uint64_t size, const places& from, uint64_t front_end) {
    const auto file = io::file::open(path, io::open_mode::read);
    std::string text;
    for (size_t place = 1; place < from.count; ++place) {
      const bool last = place + 1 == from.count;
      const uint64_t begin = (size - from.bytes) / (from.count - 1) * place;
      const uint64_t end = last ? size : begin + from.bytes;
      const uint64_t offset = std::max(begin, front_end);
      if (offset >= end) continue;
      text.resize(static_cast<size_t>(end - offset));
      text.resize(static_cast<size_t>(read_at(path, *file, offset, text)));
      const size_t skipped = last ? begin_of_last_lines(text, from.rows) : 0;
      const uint64_t before = inference_->num_rows();
      const size_t taken =
          inference_->add({std::string_view(text).substr(skipped), offset + skipped, false, last}, from.rows);
      if (inference_->num_rows() == before) continue;  // no record begins there
      seen_.bytes += taken;
      ++seen_.places;
    }
  }

  // At the line end before them.
  static size_t begin_of_last_lines(std::string_view text, uint64_t num_lines) {
    size_t at = text.size() - (text.ends_with('\n') ? 1 : 0);
    for (uint64_t i = 0; i < num_lines; ++i) {
      const size_t found = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
      if (found == std::string_view::npos) return 0;
      at = found;
    }
    return at;
  }

  const std::vector<std::string>& paths_;
  const infer_options& options_;
  uint64_t file_bytes_ = no_limit;
  uint64_t file_rows_ = no_limit;
  std::unique_ptr<source_inference> inference_;
  bool begins_anywhere_ = false;
  bool all_seen_ = true;
  bool size_unknown_ = false;
  std::optional<uint64_t> all_bytes_;
  inferred_source::sample seen_;
};

}  // namespace

inferred_source infer_source(const std::vector<std::string>& paths, const infer_options& options) {
  return sampling(paths, options).take();
}

}  // namespace flowrun::operators
