// The outputs of a job get their names together, or none of them does.
//
//   all: sync      all: look at the targets      one by one: place      all: sync directories
//   ─────── a failure changes nothing ─────▶│◀── undoes what was placed ─▶│◀── all are in place, perhaps not for a
//   power cut
//
// What can fail is done before the first name changes. A file that is replaced stays beside until the last output is in
// place, so that names can be put back. A name of a new output is put back by removing it, a replaced file by
// exchanging the two (renameat2), or by a second name of the old one where the file system can't exchange. Where it
// can't do that either, or refuses the way back, the error and the results say what is in place.
//
// A power cut or kill -9 between two renames can't be undone: file systems rename one file at a time. The window is a
// few system calls long, since all content is on the disk before. Streams (pipes, devices) are written while the job
// runs and can't be taken back.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/joint_output.h"

namespace flowrun::io {

enum class output_state {
  as_before,    // nothing has the name, or what had it still does
  partly,       // some of its files are in place, since they could not be taken back
  in_place,     // the new content has it, on the disk
  not_durable,  // it has, but a power cut may still take the name away
  written,      // a stream
};
std::string_view to_string(output_state state);

struct output_result {
  std::string path;
  output_state state = output_state::as_before;
  std::optional<output_files> files = std::nullopt;     // where there are several
  std::optional<uint64_t> content_hash = std::nullopt;  // joint_output::content_hash()
};

// Where the outputs are before a commit, or without one.
std::vector<output_result> results_before_commit(std::span<const std::unique_ptr<joint_output>> outputs);

// The outputs were finished. Blocks for the disks. Throws error(io) or error(output); `results`, in the order of the
// outputs, then still says where each of them is. `inputs`: files that were read, of which none is replaced by one of
// an output that has several.
void commit_together(std::span<const std::unique_ptr<joint_output>> outputs, std::vector<output_result>& results,
                     const std::vector<std::string>& inputs = {});

// Some outputs of a commit have their names, and others don't yet. What would end the process waits for that. Any
// thread, and handlers of signals.
bool names_are_changing() noexcept;

}  // namespace flowrun::io
