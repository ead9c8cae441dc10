// Where a single file of text is cut for the tasks that read it: at ends of records, so that each task has whole ones.
//
// A piece of a source is first a stretch of bytes, as long as the others (source_pieces.h). Its ends are moved to ends
// of records when the stage's tasks are made, and stand in the stage's plan from then on. Text without quotes is looked
// at around each end alone. Where fields may be quoted, a line end within quotes looks like any other, and only who
// reads from the beginning can tell: the file is run through once.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "cluster/source_pieces.h"
#include "operators/parts/text/text_scan.h"

namespace flowrun::cluster {

// How records end.
struct text_form {
  char line_end = '\n';
  operators::csv_format format{'\0', std::nullopt};
};

// For each of `near`, which ascend and lie behind `from`, an end of a record close to it, in the file's bytes
// [from, end); they ascend, too. At `from` a record begins. Throws error(cancelled) when `stop` is set.
std::vector<uint64_t> ends_of_records(const std::string& path, const text_form& form, uint64_t from,
                                      const std::vector<uint64_t>& near, const std::atomic<bool>& stop);

// The pieces with their ends moved, where they are stretches of text's bytes; all others as they are.
std::vector<source_piece> at_ends_of_records(const plan::node& source, const std::vector<source_piece>& pieces,
                                             const std::atomic<bool>& stop);

}  // namespace flowrun::cluster
