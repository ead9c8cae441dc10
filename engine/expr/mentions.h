// What an expression mentions of things that are not columns: rows(new), total.count. For conditions of loops, whose
// nodes have to be counted before the condition can be checked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flowrun::expr {

struct mentions {
  std::vector<std::string> counted;                          // of rows(x) and rows(x.y): "x", "x.y"; distinct
  std::vector<std::pair<std::string, std::string>> members;  // of x.y elsewhere: (x, y); distinct
};

// Of a text that is no expression, nothing.
mentions mentioned(std::string_view text);

}  // namespace flowrun::expr
