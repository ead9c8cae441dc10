#include "engine/sort/kept_first_rows.h"

#include <algorithm>
#include <span>

#include "engine/kernels/wide_rows.h"

namespace flowrun::sort {

void forget_unsound_first_rows(const sort_settings& settings, std::vector<runs::run>& runs) {
  if (settings.narrow() || record::key_prefix(settings.type, settings.key).whole()) return;  // none are looked at
  const kernels::wide_rows rows(settings.type, settings.key);
  for (runs::run& r : runs) {
    const std::span<const std::byte> all(r.first_rows);
    const bool sound = std::all_of(r.blocks.begin(), r.blocks.end(), [&](const runs::run_block& b) {
      return b.first_row_at <= all.size() && rows.holds_key(all.subspan(b.first_row_at));
    });
    if (r.knows_first_rows && !sound) r.forget_first_rows();
  }
}

}  // namespace flowrun::sort
