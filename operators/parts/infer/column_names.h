// Names of columns for what a header calls them: "Amount (EUR)" is amount_eur.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flowrun::operators {

// One for each header, all different. A header that can name a column, and isn't very long, keeps its name; one of
// which nothing can be used becomes column_N by its place, from 1.
std::vector<std::string> column_names(const std::vector<std::string>& headers);

// Names that are given out once.
class free_names {
 public:
  // `wanted`, or with a number behind it where it can't be had any more.
  std::string take(const std::string& wanted);
  bool is_taken(const std::string& name) const { return taken_.contains(name); }

 private:
  std::set<std::string> taken_;
  std::map<std::string, size_t> next_;
};

// A name for nodes and types from a file's: "data/Sales 2024.csv.gz" is sales_2024. `fallback` where nothing of it can
// be used.
std::string node_name(const std::string& path, std::string_view fallback);

}  // namespace flowrun::operators
