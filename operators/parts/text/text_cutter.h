// Cuts a stream of text into pieces of whole records, so that the pieces can be parsed in parallel.
//
// Serial, and therefore kept to what memchr can do: per byte it looks for quotes and counts lines, nothing more. A
// piece lies in the chunk it came from (nothing is copied); only the one record that straddles two chunks is put
// together in a buffer of its own. A record ends at `line_end` outside quotes (text_scan.h has the rule).
//
// Example, chunks "a\nb" and "c\n\"d\n\"\ne": the pieces are "a\n", "bc\n", "\"d\n\"\n", and at the end "e".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/buffer.h"
#include "engine/record/batch.h"
#include "operators/parts/text/byte_range.h"
#include "operators/parts/text/text_scan.h"

namespace flowrun::operators {

struct text_piece {
  std::shared_ptr<const void> owner;
  std::string_view text;    // whole records, the last with its line end unless the file ends without one
  uint64_t first_line = 0;  // line ends before it in its file
  uint64_t offset = 0;      // of its first byte in its file
  bool is_copy = false;     // it owns a copy with padding_bytes behind it, and no buffer that a reader waits for
};

struct cutter_options {
  char line_end = '\n';
  csv_format format{'\0', std::nullopt};  // lines that are no CSV have no quotes
  bool skip_byte_order_mark = false;
  bool skip_header = false;  // the first record of each file is dropped
  size_t piece_bytes = 1 << 18;
  // Looks at the header of each file, with its line end, before a piece of that file is cut, and may throw; may be
  // empty. `file`: as begin_file was told.
  std::function<void(size_t file, const std::string& path, std::string_view record)> on_header;
  size_t max_record_bytes = 1 << 26;  // without its line end
  size_t padding_bytes = 0;           // of zeros that can be read behind a copy
  bool more_memory_helps = true;      // against records that are longer
  std::string node;                   // that reads, for the message
  line_counter lines_in_front = {};   // of the first byte that is fed, for the message
};

// Throws what a record that is longer than max_record_bytes ends the job with: error(resources), or error(bad_data)
// where more memory doesn't help. `line`: its number in the file, from 1.
[[noreturn]] void refuse_length(const cutter_options& options, const std::string& path, uint64_t line);

class text_cutter {
 public:
  text_cutter(cutter_options options, record::batch_pool& pool);

  // `path` is for messages, `file` is its index. The file before must be finished.
  void begin_file(std::string path, size_t file = 0);
  // The same, but what is fed begins there: at the beginning of a record, of the first where there are no lines before.
  void begin_within(std::string path, uint64_t offset, uint64_t num_lines, size_t file = 0);
  // The next bytes of the file. Appends pieces that share `owner`, or own a copy.
  // Throws as refuse_length() when a record is longer than max_record_bytes.
  void feed(const std::shared_ptr<const void>& owner, std::string_view chunk, std::vector<text_piece>& out);
  // The end of the file: what is left is the last record.
  void finish(std::vector<text_piece>& out);
  // Line ends in all pieces of this file so far, and one for a last line without.
  uint64_t num_lines() const { return line_; }
  // Where the first byte lies that is in none of these pieces.
  uint64_t offset() const { return offset_; }

 private:
  struct cut;  // state of cutting one chunk
  void skip_mark(std::string_view& text);
  void scan(cut& c);
  void segment(cut& c, const char* from, const char* to);
  void emit(const std::shared_ptr<const void>& owner, std::string_view text, std::vector<text_piece>& out,
            bool is_copy = false);
  void check_length(size_t num_bytes) const;
  size_t carried_bytes() const { return long_record_ ? long_bytes_ : carried_.size(); }
  void carry(std::string_view text);
  void emit_carried(std::string_view rest, std::vector<text_piece>& out);

  cutter_options options_;
  record::batch_pool* pool_;
  std::string path_;
  size_t file_ = 0;
  uint64_t line_ = 0;
  uint64_t offset_ = 0;
  std::string start_;  // the first bytes of a file, until a byte order mark can be told
  bool at_start_ = true;
  bool header_due_ = false;
  std::string carried_;  // a record that began in earlier chunks
  // The same once it is long: room for the longest, of which only what is used is resident.
  std::shared_ptr<aligned_buffer> long_record_;
  size_t long_bytes_ = 0;
  bool in_quotes_ = false;
  bool quote_pending_ = false;  // the last byte was a quote within quotes: closing, or the first of two
  bool at_field_start_ = true;  // the next byte is the first of a field
};

}  // namespace flowrun::operators
