#include "engine/runs/sorted_runs.h"

namespace flowrun::runs {

namespace {

// Takes the first rows off the run; the blocks that held them go to `gone`. False: it has no more than that.
bool leave_out(run& r, uint64_t num_rows, std::vector<block::block_id>& gone) {
  if (num_rows > r.num_rows) return false;
  r.rows_before = num_rows;
  r.num_rows -= num_rows;
  size_t used_up = 0;
  for (; used_up < r.blocks.size() && r.blocks.num_rows(used_up) <= num_rows; ++used_up) {
    num_rows -= r.blocks.num_rows(used_up);
    gone.push_back(r.blocks.id(used_up));
  }
  r.blocks.drop_front(used_up);
  r.blocks_before = static_cast<uint32_t>(used_up);
  r.rows_before_in_block = static_cast<uint32_t>(num_rows);
  return true;
}

}  // namespace

bool sorted_runs::begin_at(const merge_position& position) {
  if (position.size() != runs.size() || !in_memory.empty()) return false;
  std::vector<block::block_id> gone;
  for (size_t i = 0; i < runs.size(); ++i)
    if (position[i].stream != runs[i].stream || !leave_out(runs[i], position[i].num_rows, gone)) return false;
  for (const block::block_id id : gone) blocks_->free(id);
  return true;
}

}  // namespace flowrun::runs
