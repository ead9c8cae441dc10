#include "operators/parts/infer/infer_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/decoded_stream.h"
#include "engine/io/decoder.h"
#include "engine/io/file.h"
#include "operators/parts/text/text_scan.h"

namespace flowrun::operators {

namespace {

constexpr size_t most_files = 16;
constexpr size_t num_places = 5;  // in a file
constexpr uint64_t least_place_bytes = 64 * KiB;
constexpr size_t longest_record = 16 * MiB;
constexpr size_t chunk_bytes = 1 * MiB;
constexpr uint64_t decoder_memory = 256 * MiB;
constexpr uint64_t no_limit = UINT64_MAX;

std::string real_path(const std::string& path) { return path == "-" ? "/dev/stdin" : path; }

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

// The text of a file from front to back, as far as it is wanted.
class text_front {
 public:
  explicit text_front(const std::string& path)
      : path_(path), from_(io::recognised_pipe(real_path(path), {chunk_bytes, 64 * KiB, decoder_memory})) {}

  // Appends up to `num_bytes`.
  void read(size_t num_bytes) {
    const size_t before = text_.size();
    text_.resize(before + num_bytes);
    const int64_t got = from_->read(reinterpret_cast<std::byte*>(text_.data()) + before, num_bytes);
    text_.resize(before + static_cast<size_t>(std::max<int64_t>(got, 0)));
    if (got < 0)
      throw error(error_kind::io, fmt::format("reading {} failed: {}", path_, errno_text(static_cast<int>(-got))),
                  "check the disk, or the program that writes into the pipe");
    ended_ = static_cast<size_t>(got) < num_bytes;
    if (offset_ == 0 && before == 0 && text_.starts_with(byte_order_mark)) drop(byte_order_mark.size());
  }
  void drop(size_t num_bytes) {
    text_.erase(0, num_bytes);
    offset_ += num_bytes;
  }
  const std::string& text() const { return text_; }
  uint64_t offset() const { return offset_; }
  bool ended() const { return ended_; }
  // Bytes of the file that its text so far was made of.
  uint64_t num_taken() const { return from_->num_taken(); }

 private:
  const std::string path_;
  const std::unique_ptr<io::byte_stream> from_;
  std::string text_;
  uint64_t offset_ = 0;
  bool ended_ = false;
};

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
  void look_at(const std::string& path) {
    const std::optional<uint64_t> size = plain_bytes(path);
    const bool from_places = !options_.all && size && *size > file_bytes_;
    const uint64_t front_bytes = from_places ? file_bytes_ / num_places : file_bytes_;
    text_front front(path);
    front.read(static_cast<size_t>(std::min<uint64_t>(front_bytes, chunk_bytes)));
    if (front.text().empty()) return;
    if (inference_ == nullptr) begin(path, front);
    inference_->begin_file(path);
    const bool whole = from_front(path, front, front_bytes, from_places ? file_rows_ / num_places : file_rows_);
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
    if (from_places && !inference_->knows_rows()) from_further_on(path, *size);
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
        refuse_binary(beginning);
        refuse_other_line_ends(beginning);
        known_as_text = true;
      }
      inference_ = format.recognise(beginning, options_, asked);
      if (inference_ != nullptr) return;
    }
    throw error(error_kind::bad_data, fmt::format("{}: this is not of the format {}", path, options_.format),
                "without --as the file shows what it is");
  }

  static void refuse_other_line_ends(const file_beginning& beginning) {
    if (beginning.text.find('\n') == std::string_view::npos &&
        std::count(beginning.text.begin(), beginning.text.end(), '\r') > 1)
      throw error(error_kind::bad_data, fmt::format("{}: its lines end with \\r alone", beginning.path),
                  "tr '\\r' '\\n' < FILE makes lines of it");
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
      front.read(chunk_bytes);
    }
  }

  // Pieces evenly spread, the last one up to the end.
  void from_further_on(const std::string& path, uint64_t size) {
    const auto file = io::file::open(path, io::open_mode::read);
    const uint64_t piece = file_bytes_ / num_places;
    std::string text;
    for (size_t place = 1; place < num_places; ++place) {
      const uint64_t offset = (size - piece) / (num_places - 1) * place;
      const bool last = place + 1 == num_places;
      text.resize(static_cast<size_t>(last ? size - offset : piece));
      const int64_t got = file->read_at(offset, reinterpret_cast<std::byte*>(text.data()), text.size());
      if (got < 0)
        throw error(error_kind::io, fmt::format("reading {} failed: {}", path, errno_text(static_cast<int>(-got))),
                    "check the disk");
      text.resize(static_cast<size_t>(got));
      const uint64_t before = inference_->num_rows();
      const size_t taken = inference_->add({text, offset, false, last}, std::max<uint64_t>(file_rows_ / num_places, 1));
      if (inference_->num_rows() == before) continue;  // no record begins there
      seen_.bytes += taken;
      ++seen_.places;
    }
  }

  const std::vector<std::string>& paths_;
  const infer_options& options_;
  uint64_t file_bytes_ = no_limit;
  uint64_t file_rows_ = no_limit;
  std::unique_ptr<source_inference> inference_;
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
