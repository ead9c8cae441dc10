// Names of columns for what a header calls them: "Amount (EUR)" is amount_eur.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flowrun::operators {

// One for each header, all different. A header that can name a column keeps its name; one of which nothing can be used
// becomes column_N by its place, from 1.
std::vector<std::string> column_names(const std::vector<std::string>& headers);

// `wanted`, or with a number behind it where `taken` has it already.
std::string free_name(const std::string& wanted, const std::vector<std::string>& taken);

// A name for nodes and types from a file's: "data/Sales 2024.csv.gz" is sales_2024. `fallback` where nothing of it can
// be used.
std::string node_name(const std::string& path, std::string_view fallback);

}  // namespace flowrun::operators
