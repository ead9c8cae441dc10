// Lines of JSON, each an object, into rows.
//
// simdjson finds the tokens of many lines at once, and of a line alone where something is wrong: then nothing but that
// line counts. It finds the same in both cases, as a line end within a text is no JSON, and escapes nothing elsewhere.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "operators/parts/text/json_reading.h"
#include "operators/parts/text/row_filler.h"

namespace flowrun::operators {

// Not thread-safe; what it allocates grows with the longest text that it was given.
class json_line_reader {
 public:
  // Both outlive it.
  json_line_reader(const json_reading& how, row_filler& to);
  ~json_line_reader();

  // The lines that read() will be given next, without the last one's end; json_reading::padding_bytes are readable
  // behind them. May be left out.
  void look_ahead(std::string_view lines);

  // Fills `row`, which the filler has begun, from a line that isn't blank; json_reading::padding_bytes are readable
  // behind it. False: it is malformed.
  bool read(std::string_view line, std::byte* row);

  // Of the line that read() refused: the place in it, and what is wrong there.
  const char* where() const;
  std::string reason() const;

 private:
  class steps;
  const std::unique_ptr<steps> steps_;
};

}  // namespace flowrun::operators
