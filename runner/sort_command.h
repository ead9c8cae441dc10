// flowrun sort: GNU sort's command line over a job. Its options, messages and exit codes are GNU's, so it doesn't pass
// through the grammar of the other commands.
#pragma once

#include <string>
#include <vector>

#include "runner/last_words.h"

namespace flowrun::runner {

inline constexpr last_words_style words_of_sort = {"flowrun sort: ", "-S", "--parallel", 2};

// `arguments` are those behind the word sort. Returns the exit code: 0 done, 1 disorder found by -c, 2 an error, which
// has been told, or 128 + the signal that stopped it. Throws nothing that can be told. `may_be_piped_away`: SIGPIPE
// had its default action when the program started, so a reader that goes away ends it without a word.
int sort_lines(const std::vector<std::string>& arguments, bool may_be_piped_away);

}  // namespace flowrun::runner
