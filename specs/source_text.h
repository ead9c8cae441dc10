// The text of a job before YAML sees it: bounded, UTF-8, without characters that a YAML reader would trip over.
//
// yaml-cpp 0.7 takes 0x04 for the end of the file, guesses UTF-16 from NUL bytes, replaces wrong UTF-8 silently and
// lets tabs through in places where they can't indent. All of these are refused here, with their position.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "specs/fault_sink.h"

namespace flowrun::specs {

constexpr size_t max_text_bytes = size_t{4} << 20;
constexpr size_t max_flow_signs = 1'000'000;  // opening brackets and braces, and commas

// What the editor's conveniences added: a UTF-8 byte order mark goes, CRLF becomes LF. Lines and columns stay the same.
std::string plain_text(std::string text);

// Reports what makes `text` unreadable. True when YAML may have it.
bool check_text(std::string_view text, fault_sink& faults);

// Bytes of the UTF-8 character at the front of `text`; 0 when it is none (RFC 3629: no overlong forms, no surrogates).
size_t utf8_length(std::string_view text);
bool is_utf8(std::string_view text);
// With U+FFFD for each byte that is none.
std::string made_utf8(std::string_view text);
// At most so many bytes from the front of UTF-8 text: whole characters.
std::string_view front_of(std::string_view text, size_t most_bytes);

// Finds places in a text by line and column. Refers to the text, doesn't own it.
class source_text {
 public:
  explicit source_text(std::string_view text);

  std::string_view text() const { return text_; }
  // Byte offset of a line and column (from 1); nullopt outside the text.
  std::optional<size_t> offset_of(int line, int column) const;
  Position position_of(size_t offset) const;
  // The place of the n-th (from 0) "${" in the scalar that starts at `start`; `start` itself when it can't be told.
  Position nth_variable(const Position& start, size_t n) const;

 private:
  std::string_view text_;
  std::vector<size_t> line_starts_;
};

}  // namespace flowrun::specs
