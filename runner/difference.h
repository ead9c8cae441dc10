// What was expected beside what was found, as diff(1) shows it: "- line" was expected, "+ line" was found instead.
//
// Lines in common at both ends are left out but for two. What lies between is aligned by its longest common
// subsequence, as long as the product of both lengths is at most 4 million: that is what it costs in time and memory.
#pragma once

#include <string>
#include <vector>

namespace flowrun::runner {

// One line less of what is left to compare: of what was expected, of what was found, or of both, where they are equal.
enum class difference_step : char { both, expected, found };

// From the first line to the last. Where lines differ, those that were expected come before those that were found
// instead, unless a longer common subsequence wants it otherwise.
std::vector<difference_step> difference_steps(const std::vector<std::string>& expected,
                                              const std::vector<std::string>& found);

// One line each, without line ends; at most `most_lines` of them, then a line that says how many more there are. Empty:
// no difference.
std::vector<std::string> difference(const std::vector<std::string>& expected, const std::vector<std::string>& found,
                                    size_t most_lines);

}  // namespace flowrun::runner
