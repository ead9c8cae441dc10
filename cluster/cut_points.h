// Where sorted runs are cut, so that each task merges its part of all of them.
//
//   run 0   ──────┊──────────┊────
//   run 1   ───┊───────────────┊──     each part is a range of keys; laid one behind the other, the merged parts are
//   the run 2   ─────────┊──┊─────────     merge of the runs
//
// Runs are cut when they are sorted already, by what they hold (SPsort cuts its input by samples beforehand). So parts
// come out even for any input, equal keys are divided where that may be, and nothing is sorted again when a guess was
// bad.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/record/key.h"
#include "engine/record/row_type.h"

namespace flowrun::cluster {

// Exchange files of rows sorted by `key`, in the order of the stream: rows with equal keys come by file, then by place.
struct sorted_stream {
  std::vector<std::string> paths;
  record::row_type type;
  record::key key;
};

// [part][stream][file]: the row at which the part begins. One more than there are parts: the end of the last one.
using cut_rows = std::vector<std::vector<std::vector<uint64_t>>>;

// `kept_together` > 0: rows that are equal in so many parts of the key are in one part, in all streams, which agree in
// types and directions of these parts of their keys. 0: one stream, and rows with equal keys may be divided. Parts
// differ by about as many rows as there are between two samples of a file, times the files; some are empty where there
// are few keys. Deterministic. Throws as exchange_index::load() and read_frame().
cut_rows cut_points(const std::vector<sorted_stream>& streams, size_t num_parts, size_t kept_together);

}  // namespace flowrun::cluster
