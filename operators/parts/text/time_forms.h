// Forms in which people write dates and times, tried on the texts of a column: what is left are those that read them
// all. The forms are those of file.read_csv's `format`, and are read by the same code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flowrun::operators {

class time_forms {
 public:
  void add(std::string_view text);
  // Some form reads all texts so far.
  bool any() const { return !left_.empty(); }
  // The texts are digits alone, as a number could have them.
  bool are_numbers() const;

  // Whether the day stands before the month, where all forms that are left agree on that; nothing where both ways read
  // all texts, or where it is no question (names of months, the year first).
  std::optional<bool> day_first() const;
  bool ambiguous() const;

  struct reading {
    std::string pattern;
    bool has_clock = false;
    int64_t least_us = 0, most_us = 0;
  };
  // Of the forms that are left, the first of those with the day before the month, or behind it; where nobody knows, the
  // usual one: 3/4/2024 is a day of March, 3.4.2024 one of April. There must be one.
  reading best(std::optional<bool> day_first) const;

 private:
  struct candidate {
    size_t form;
    int64_t least_us, most_us;
  };
  std::vector<candidate> left_;
  bool begun_ = false;
};

}  // namespace flowrun::operators
