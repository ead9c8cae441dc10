#include "engine/resume/kept_loop.h"

#include <utility>

#include "engine/resume/manifest.h"

namespace flowrun::resume {

void kept_loop::written(loop_step step) {
  std::vector<block::block_id> replaced;
  for (const auto& [stream, rows] : step.carried) {
    std::vector<block::block_id>& blocks = blocks_[stream];
    replaced.insert(replaced.end(), blocks.begin(), blocks.end());
    blocks.clear();
    for (const runs::run& r : rows)
      for (const runs::run_block& b : r.blocks) blocks.push_back(b.id);
  }
  owner_.save_loop(*this, step, std::move(replaced));
}

}  // namespace flowrun::resume
