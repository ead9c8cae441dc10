// A linear program over one chunk of rows: steps with register operands, made from a value graph.
//
// Two register files: numbers (lanes of 8 bytes) and texts (views), a lane or view for each row of a chunk. A filter
// step narrows the chunk: it compacts the registers still in use and the list of surviving rows; later loads read only
// those. Columns are loaded as late as possible, so what only survivors need is loaded for survivors only.
// Chunks are the shorter the more registers there are, so that a frame (all registers) and the output rows of a chunk
// take at most 1 MiB each, unless 16 rows take more than that. Where texts get long a chunk ends early: a step that has
// used up its share of the arena leaves the rows behind for the next chunk, which then begins with fewer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/mutex.h"
#include "engine/expr/kernels.h"
#include "engine/expr/text_kernels.h"
#include "engine/expr/value_graph.h"
#include "engine/record/batch.h"

namespace flowrun::expr {

struct register_ref {
  enum class file : uint8_t { numbers, texts, text_constants };
  file where = file::numbers;
  uint32_t index = 0;
};

enum class step_kind : uint8_t { load, load_bytes, load_string, number_rows, lanes, texts, filter, scan };

struct step {
  step_kind kind = step_kind::lanes;
  register_ref out;
  std::vector<register_ref> args;
  uint64_t imm = 0, imm2 = 0;
  uint32_t offset = 0;     // loads: of the field in the row
  uint32_t num_bytes = 0;  // load_bytes
  load_kernel load = nullptr;
  lane_kernel lanes = nullptr;
  text_kernel texts = nullptr;
  std::shared_ptr<const outside_call> call;        // keeps what imm points to
  std::vector<uint32_t> live_numbers, live_texts;  // filter: registers to compact
};

// What the row-at-a-time part of a program does with a chunk (state_program.cc).
class scan_step {
 public:
  virtual ~scan_step() = default;
  // Called once per chunk between the steps before and behind, from the thread that runs the program. `in` are the
  // registers of the inputs, `out` those of the captures, in the order given to chunk_builder::scan. Returns how many
  // rows it has done: as of a text_kernel.
  virtual size_t run(const std::vector<text_operand>& in, const std::vector<void*>& out, text_arena& arena,
                     size_t num_rows) = 0;
};

struct chunk_code {
  std::vector<step> steps;
  uint32_t num_number_registers = 0;
  uint32_t num_text_registers = 0;
  std::vector<std::pair<uint32_t, uint64_t>> number_constants;  // registers that hold a constant throughout
  std::vector<std::string> text_constants;
  bool has_filter = false;
  size_t rows_per_chunk = chunk_rows;  // 16 to chunk_rows, a multiple of 16
  size_t arena_share = 0;              // of each step that makes new texts
};

// Orders the values of a graph into steps and gives them registers.
class chunk_builder {
 public:
  chunk_builder(const record::row_type& input, const value_graph& graph) : input_(input), graph_(graph) {}

  // Only rows for which `condition` holds go on.
  void filter(value_id condition) { stages_.push_back({stage_kind::filter, {condition}, {}}); }
  // The row-at-a-time part: needs `inputs` (not stateful), defines `captures` (stateful).
  void scan(std::vector<value_id> inputs, std::vector<value_id> captures) {
    stages_.push_back({stage_kind::scan, std::move(inputs), std::move(captures)});
  }
  // The code, and where each of `results` lies after the last step. `output_row_bytes` is what a row becomes.
  chunk_code build(const std::vector<value_id>& results, size_t output_row_bytes, std::vector<register_ref>& places);

 private:
  enum class stage_kind { filter, scan };
  struct stage {
    stage_kind kind;
    std::vector<value_id> needs, defines;
  };
  struct event;
  class allocator;

  const record::row_type& input_;
  const value_graph& graph_;
  std::vector<stage> stages_;
};

// Registers of one running program. Memory comes from the pool and goes back to it when the frame dies.
class chunk_frame {
 public:
  chunk_frame(const chunk_code& code, record::batch_pool& pool);
  chunk_frame(const chunk_frame&) = delete;
  chunk_frame& operator=(const chunk_frame&) = delete;

  // Runs all steps over the first of `num_rows` <= code.rows_per_chunk rows: all of them, unless their texts get long.
  // Returns how many survive. `scan` serves the scan step, if any.
  size_t run(const std::byte* rows, size_t row_bytes, const std::byte* heap, uint64_t first_row, size_t num_rows,
             scan_step* scan = nullptr);
  // How many rows the next run should get, as far as earlier ones can tell.
  size_t rows_wanted() const { return rows_wanted_; }
  void limit_texts(uint64_t most_bytes) { arena_.limit(most_bytes); }
  // For the next run: `count` rows give as much as is wanted.
  void want_rows(size_t count) { rows_wanted_ = std::max<size_t>(count, 1); }

  // After run(): of how many rows, the first ones, the survivors are known, and how many the scan step has seen.
  size_t num_taken() const { return num_taken_; }
  size_t num_scanned() const { return num_scanned_; }
  // The surviving rows' positions in the chunk; null when all survived.
  const uint16_t* selected() const { return selected_ ? rows_ : nullptr; }
  // The position of the survivor `i`.
  size_t position(size_t i) const { return selected_ ? rows_[i] : i; }
  const uint64_t* numbers(register_ref r) const { return numbers_at(r.index); }
  text_operand operand(register_ref r) const;
  // Texts that were computed are invalid afterwards; their memory is given up if there is much of it.
  void forget_texts() { arena_.clear(); }

 private:
  void filter(const step& s, size_t& n);
  void prepare_calls();
  size_t run_texts(const step& s, size_t n);
  size_t run_scan(const step& s, scan_step& scan, size_t n);
  void cut(size_t& n, size_t done);
  void* cells(register_ref r) const;
  uint64_t* numbers_at(size_t index) const { return numbers_ + index * code_.rows_per_chunk; }
  std::string_view* texts_at(size_t index) const { return texts_ + index * code_.rows_per_chunk; }

  const chunk_code& code_;
  const kernel_set& kernels_;
  std::shared_ptr<std::byte[]> memory_;
  uint64_t* numbers_ = nullptr;
  std::string_view* texts_ = nullptr;
  std::vector<std::string_view> text_constants_;
  // What each step over texts, or that calls a function, is handed, but for the number of rows; of the others nothing.
  std::vector<text_call> calls_;
  std::vector<text_operand> operands_;  // of all of them
  text_arena arena_;
  size_t num_taken_ = 0, num_scanned_ = 0, rows_wanted_;
  bool selected_ = false;
  uint16_t rows_[chunk_rows];
  uint16_t positions_[chunk_rows];
};

// The frames of a program that are not in use: their memory is there and the constants are in place, so that a call for
// a few rows costs a few rows. There are at most as many frames as threads were inside the program at once.
// Thread-safe. Outlives what take() returned; `code` outlives the list.
class frame_list {
 public:
  explicit frame_list(const chunk_code& code) : code_(code) {}
  frame_list(const frame_list&) = delete;
  frame_list& operator=(const frame_list&) = delete;

  struct giver_back {
    frame_list* to;
    void operator()(chunk_frame* frame) const noexcept { to->give_back(frame); }
  };
  using lease = std::unique_ptr<chunk_frame, giver_back>;
  // A frame for the caller alone. A new one takes its memory from `pool`.
  lease take(record::batch_pool& pool);

 private:
  void give_back(chunk_frame* frame) noexcept;

  const chunk_code& code_;
  mutex mutex_;
  std::vector<std::unique_ptr<chunk_frame>> free_ FLOWRUN_GUARDED_BY(mutex_);  // has room for all frames
  size_t num_frames_ FLOWRUN_GUARDED_BY(mutex_) = 0;
};

}  // namespace flowrun::expr
