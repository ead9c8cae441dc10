// The formats that `flowrun infer` knows, one function each. A new one is a file in this folder and a line in the table
// of source_format.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "operators/parts/infer/inferred_source.h"

namespace flowrun::operators {

struct infer_options {
  uint64_t most_rows = 100'000;
  uint64_t most_bytes = uint64_t{16} << 20;
  bool all = false;    // every byte of every file
  std::string format;  // by its name; empty: as the file shows
  std::optional<char> delimiter;
  std::optional<bool> header;
  std::string descriptors, message;  // of messages of Protocol Buffers; empty: they aren't given
};

// A stretch of a file's text, or of the bytes that it has.
struct text_stretch {
  std::string_view text;
  uint64_t offset = 0;  // of its first byte
  bool begins = true;   // the file, or right behind what was taken before: else a record may begin anywhere in it
  bool ends = false;    // the text goes on no further
};

// Sees the files one after another, and says what they are. What is wrong with them for good is thrown as
// error(bad_data).
class source_inference {
 public:
  source_inference() = default;
  virtual ~source_inference() = default;
  source_inference(const source_inference&) = delete;
  source_inference& operator=(const source_inference&) = delete;

  virtual void begin_file(const std::string& path) = 0;
  // Takes records, at most `most_rows`, and returns how many bytes they are. What is left comes again with more behind
  // it, unless it ends there.
  virtual size_t add(const text_stretch& stretch, uint64_t most_rows) = 0;
  virtual uint64_t num_rows() const = 0;
  // The beginning of a file says how many rows it has, and num_rows() are all those of the files seen.
  virtual bool knows_rows() const { return false; }
  virtual inferred_source finish() = 0;
};

// The beginning of the first file that has one, without a byte order mark.
struct file_beginning {
  const std::string& path;
  std::string_view text;
  bool whole = false;  // that is all
};

struct source_format {
  std::string_view name;
  bool is_text = true;  // else its files may have any bytes
  // Null where the file isn't of this format. `asked`: the user says that it is.
  std::unique_ptr<source_inference> (*recognise)(const file_beginning& beginning, const infer_options& options,
                                                 bool asked);
};

// In the order in which they are tried; the last one takes any text.
std::span<const source_format> source_formats();

std::unique_ptr<source_inference> recognise_protobuf(const file_beginning& beginning, const infer_options& options,
                                                     bool asked);
std::unique_ptr<source_inference> recognise_npy(const file_beginning& beginning, const infer_options& options,
                                                bool asked);
std::unique_ptr<source_inference> recognise_json_lines(const file_beginning& beginning, const infer_options& options,
                                                       bool asked);
std::unique_ptr<source_inference> recognise_csv(const file_beginning& beginning, const infer_options& options,
                                                bool asked);
std::unique_ptr<source_inference> recognise_lines(const file_beginning& beginning, const infer_options& options,
                                                  bool asked);

// Whether the first lines look like objects of JSON, or lists.
bool are_json_lines(std::string_view text, bool also_lists);

}  // namespace flowrun::operators
