// What the tasks of a stage read of its source: pieces of about the same size, which laid one behind the other are all
// of it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/plan/graph.h"
#include "specs/job.pb.h"

namespace flowrun::cluster {

// Parameters of the source that are other ones for this piece.
struct source_piece {
  std::vector<std::string> paths;            // empty: those that it has
  std::map<std::string, std::string> texts;  // range, first, rows
};

// What `range` says: FROM:TO, both of which may be left out.
struct stretch {
  uint64_t from = 0, to = UINT64_MAX;
};
stretch stretch_of(const std::string& range);

// The file of a source that reads a single one.
std::string path_of(const plan::node& source);

// At most `most` of them; a single one, which changes nothing: the source is read as a whole. `file_bytes`: negative
// where it isn't known. Of text, pieces are stretches of
// bytes, whose ends are still to be moved (text_cuts.h).
std::vector<source_piece> pieces_of(const plan::node& source, size_t most,
                                    const std::function<int64_t(const std::string&)>& file_bytes);

// The same source, for one piece.
void narrow(specs::Node& source, const source_piece& piece);

}  // namespace flowrun::cluster
