// A job to begin with, from a chain of operators: file.read_csv/sort/file.write_csv.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/plan/graph.h"

namespace flowrun::runner {

// What a job with this text would be: its graph, or its faults.
using job_checker = std::function<plan::check_result(const std::string& text)>;

// The text of a job in which each operator reads the one before. Required parameters have the values of the
// declarations' examples, or, where these don't fit the rows that come, others that do; what stands in front of them
// says what they mean. Pure but for `check`, which every node has passed. Throws error(usage) where the chain is none,
// and where nothing was found for a node that the checker takes.
std::string new_job(const std::string& chain, const plan::vocabulary& catalog, const job_checker& check);

}  // namespace flowrun::runner
