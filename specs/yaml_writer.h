// Writes a tree of values as YAML that reads as the same tree: keys, kinds and texts.
//
// Small collections stand on one line, the others in blocks. Text that YAML can't say is refused, never changed: it is
// UTF-8, and a file name, say, is any bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "specs/value.h"

namespace flowrun::specs {

// What becomes of a $ in a value.
enum class dollars {
  doubled,  // for a job, whose reader takes $$ for one $ and ${name} for a parameter
  kept      // for a text in which nothing is replaced: the machine's configuration
};

// `root` is a map, the document. Throws error(bad_spec) where a text is not UTF-8, or a key holds "${".
std::string write_yaml(const Value& root, dollars style);

// One text as a scalar: in double quotes, without them where `quoted` is false and it reads the same.
std::string yaml_scalar(std::string_view text, bool quoted, dollars style);

// The same in single quotes; nothing where that would take more than one line, or escapes.
std::optional<std::string> yaml_in_single_quotes(std::string_view text, dollars style);

// The same as a block of text behind "|", each line of it behind `indent` blanks; without a line end at its end.
// Nothing where a block can't say the text, or not safely: control characters, a first line that begins with a blank.
std::optional<std::string> yaml_text_block(std::string_view text, size_t indent, dollars style);

}  // namespace flowrun::specs
