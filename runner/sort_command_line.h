// The command line of flowrun sort: the grammar of GNU sort, and what it means, with inherited ordering options
// resolved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/error.h"

namespace flowrun::runner {

// How a key compares.
enum class key_kind { bytes, numeric, general_numeric, human_numeric, month, version };

struct key_ordering {
  key_kind kind = key_kind::bytes;
  bool reverse = false;
  bool fold_case = false;
  bool dictionary = false;      // blanks and alphanumeric characters only
  bool printable_only = false;  // -d wins over it
  bool first_skips_blanks = false;
  bool last_skips_blanks = false;
  std::string letters;  // as they were written, for messages

  // True without any option but -r: only then a key inherits the global options.
  bool is_plain() const {
    return kind == key_kind::bytes && !fold_case && !dictionary && !printable_only && !first_skips_blanks &&
           !last_skips_blanks;
  }
};

// One -k, or the whole line.
struct line_key {
  std::string first = "1";  // FIELD[.BYTE]
  std::string last;         // the same; empty: to the end of the line
  key_ordering ordering;
};

enum class sort_task { sort, merge, check };

struct sort_request {
  sort_task task = sort_task::sort;
  bool silent_check = false;       // -C
  std::vector<std::string> files;  // at least one; "-": standard input, at most once
  std::string output = "-";
  std::vector<line_key> keys;  // none: the line, byte by byte
  bool reverse = false;        // of lines whose keys are all equal, and of lines without keys
  bool unique = false;
  bool stable = false;
  bool zero_terminated = false;
  std::optional<char> separator;
  std::optional<uint64_t> memory_bytes;
  std::optional<unsigned> memory_percent;
  std::optional<unsigned> threads;
  std::vector<std::string> scratch;
  bool print_spec = false;
  bool debug = false;
  bool help = false;
  bool version = false;
};

// A word behind --sort= or --check= that is none: GNU sort ends with 1, not with 2.
class unknown_word final : public error {
 public:
  unknown_word(const std::string& message, const std::string& hint) : error(error_kind::usage, message, hint) {}
};

// `arguments` are those behind the word sort. Throws error(usage), or error(missing_input) for the file of
// --files0-from.
sort_request parse_sort_command_line(const std::vector<std::string>& arguments);

}  // namespace flowrun::runner
