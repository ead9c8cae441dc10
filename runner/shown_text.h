// Text from elsewhere, as a terminal may show it: nothing in it moves the cursor, and its columns are known.
#pragma once

#include <string>
#include <string_view>

namespace flowrun::runner {

// What can't be shown becomes a question mark: control characters, broken UTF-8 and, unless `unicode`, whatever is not
// ASCII.
std::string shown_text(std::string_view text, bool unicode);

// Lines for people, in which names, paths and rows from elsewhere may stand: control characters but line ends and tabs
// become question marks, so that nothing in them makes a terminal do something. All else stays as it is, since a log
// wants names as they are.
std::string without_controls(std::string_view lines);

// A word of a command that somebody may copy into a shell: as it is, or in single quotes where a shell would take it
// for something else.
std::string shell_word(std::string_view word);
// In single quotes in any case.
std::string in_single_quotes(std::string_view text);

// Columns that such a text takes.
size_t columns_of(std::string_view shown);

// Its beginning, in at most so many columns.
std::string cut_to(std::string_view shown, size_t columns);

}  // namespace flowrun::runner
