// Compresses what goes into an output, beside the pipeline: pieces of the text (io/encoder.h) are handed to the threads
// of the job, and go to the file in their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/base/outcome.h"
#include "engine/base/waker.h"
#include "engine/exec/services.h"
#include "engine/io/encoding.h"

namespace flowrun::operators {

// What a piece at work takes: its text, what becomes of it, and the encoder.
uint64_t encoding_bytes(io::encoding content);

// Where compressed bytes go.
class encoded_taker {
 public:
  virtual ~encoded_taker() = default;
  // As output_file::write(), for one of several files.
  virtual outcome take_encoded(uint32_t file, std::span<const std::byte> bytes, size_t& consumed, waker& w) = 0;
};

// One thread at a time calls. `job` and `counters` outlive it.
class encoded_output {
 public:
  // As many pieces at once as `memory_bytes` hold, one at least, and one more than there are threads at most.
  encoded_output(exec::services& job, exec::node_counters& counters, io::encoding content, uint64_t memory_bytes);
  // Doesn't wait for pieces at work: whoever runs them keeps what they need.
  ~encoded_output();
  encoded_output(const encoded_output&) = delete;
  encoded_output& operator=(const encoded_output&) = delete;

  // As output_file::write(): text of the file with this number. What follows for another file is compressed by itself.
  outcome write(uint32_t file, std::span<const std::byte> text, size_t& consumed, encoded_taker& to, waker& w);
  // No more text will come. blocked until `to` has taken all, then done. `at_least_one`: what has had no text at all is
  // an empty one, of file 0.
  outcome finish(bool at_least_one, encoded_taker& to, waker& w);

 private:
  class core;
  const std::shared_ptr<core> core_;
};

}  // namespace flowrun::operators
