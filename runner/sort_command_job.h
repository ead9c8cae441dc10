// What flowrun sort does, as a job: a tree of values, which the run takes as it is and --print-spec writes as YAML.
//
// Names of files come from the command line and go into the tree byte for byte. No text of YAML lies between.
//
//   file.read_lines ─▶ [map: key columns in front of the line] ─▶ sort ─▶ file.write_lines
//
// With -m, one reader, map and check for each file, and a merge; with -c, a check instead of the sort. A key is a
// column of bytes whose order is the order asked for (fields, decimal_key, …); the line itself is the last key, unless
// -s or -u leave lines with equal keys in their order. Without keys the line is the only one, and there is no map.
#pragma once

#include "runner/sort_command_line.h"
#include "specs/job.pb.h"

namespace flowrun::runner {

// The nodes of the job that belong to one input each are named NAME1, NAME2 …, counted like the request's files.
inline constexpr const char* sort_check_node = "checked";
inline constexpr const char* sort_line_column = "text";

specs::Value sort_job(const sort_request& request);

// The memory that a job of a request needs at least; -S asks for more or is raised to this.
uint64_t least_sort_memory(const sort_request& request);

// A merge of more files than this sorts instead: each input has buffers of its own.
inline constexpr size_t most_merged_files = 48;  // with 64 open files that a process may have

}  // namespace flowrun::runner
