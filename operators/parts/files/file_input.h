// Several input files as one sequence of chunks, read ahead; "-" is standard input.
//
// All sources of files share this: opening, ranges, decoding what is compressed, counting bytes for the report and the
// progress bar, and how much memory reading ahead may take.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/outcome.h"
#include "engine/base/waker.h"
#include "engine/exec/operator_definition.h"
#include "engine/io/file_reader.h"
#include "engine/plan/node_checker.h"

namespace flowrun::operators {

// What is known of a source's files before the run. Each file's first bytes tell whether it is compressed.
struct input_facts {
  std::optional<uint64_t> num_bytes;  // of content, all files together; nothing: one is unknown (a pipe, or not there)
  bool estimated = false;             // from what the first blocks of a compressed file stand for
  std::string beginning;              // of the first file that has some; empty where none can be looked at
  uint64_t decoder_bytes = 0;         // that the most demanding decoder takes; 0: no file is known to be compressed
  bool any_unseen = false;            // a pipe, or not there yet: may be compressed
};
// `decode`: else compressed files are taken as they are.
input_facts look_at_inputs(const plan::node_checker& node, const std::vector<std::string>& paths, bool decode = true);

// What a source of files asks of the planner: two sets of eight buffers, from 64 KiB to 1 MiB each, and what decoding
// takes; where that is not known, as much as it may be worth where there is plenty.
plan::memory_wish reading_memory(const input_facts& inputs);

// The parameters that sources of files have in common: `path`, and `type` with the help of the source.
plan::parameter_declaration input_path_parameter();
plan::parameter_declaration input_type_parameter(std::string help);

// Options for reading with `memory_bytes`, in chunks that are a multiple of unit_bytes where that is possible. With
// `decode`, for file_input, which decodes compressed content within the same memory.
io::file_reader_options reading_options(const exec::services& job, uint64_t memory_bytes, size_t unit_bytes,
                                        bool decode = false);

// Where the first chunk comes from: a byte of a part, of its text if it is compressed. (Which is then decoded from its
// beginning.)
struct input_beginning {
  size_t file = 0;
  uint64_t byte = 0;
};
// Of a source whose positions begin with the file and the byte; null: all that there is.
inline input_beginning beginning_at(const resume::source_position* position) {
  return position == nullptr ? input_beginning() : input_beginning{position->at(0), position->at(1)};
}

class file_input {
 public:
  // The bytes [begin, end) of a file, or of its text if it is compressed.
  struct part {
    std::string path;
    uint64_t begin = 0;
    uint64_t end = UINT64_MAX;
    uint64_t origin = 0;  // the byte of the file that they are counted from
  };
  // Throws error(missing_input) when one of the files can't be opened.
  file_input(exec::services& job, exec::node_counters& counters, std::vector<part> parts,
             io::file_reader_options options, input_beginning from = {});

  // ready: the next bytes of file(). A chunk without bytes says that file() has been read, and that the next chunk
  // belongs to the file after it. done: all files have been read.
  outcome next(io::chunk& out, waker& w);
  // Index and path of the file that the last call of next() was about.
  size_t file() const { return file_; }
  const std::string& path() const { return parts_[file_].path; }

 private:
  void open(size_t file);

  exec::services& job_;
  exec::node_counters& counters_;
  std::vector<part> parts_;
  io::file_reader_options options_;
  std::unique_ptr<io::file_reader> reader_;
  size_t file_ = 0;
  size_t next_ = 0;                  // to be opened
  size_t standard_file_ = SIZE_MAX;  // the part that is a file behind standard input, read to its end; SIZE_MAX: none
};

}  // namespace flowrun::operators
