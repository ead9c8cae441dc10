// What a value is called in the name of a file: its text, in which whatever a name can't have, or other programs would
// take for something else, is %XX, as Hive writes it. From the name the text can be had again, so different texts have
// different names.
#pragma once

#include <string>
#include <string_view>

namespace flowrun::operators {

// Written as %XX: control characters, bytes that are no UTF-8, a dot in front, and " # % ' * / : = ? \ { [ ] ^. An
// empty text is called __HIVE_DEFAULT_PARTITION__, and a text that says this itself %5F_HIVE_DEFAULT_PARTITION__. Never
// empty, never "." or "..", and without '/'. Appends to `out`.
void append_name_text(std::string_view text, std::string& out);

}  // namespace flowrun::operators
