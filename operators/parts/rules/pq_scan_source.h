// Time-forward processing: the events of sorted inputs and of messages, in order (STXXL, section 5.4; Chiang et
// al. 1995).
//
//   inputs ──▶ keys, lanes (1,024 rows at a time) ─┐
//   queue  ──▶ message, columns ───────────────────┴─▶ smallest key ─▶ [new group: at_end, state anew] ─▶ rules
//     ▲                                                                                                   │
//     └───────────────────────────── push: later than now ────────────────────────────────────────────────┴─▶ emit
//
// A key is the order columns as one number. Ties: messages first, by their other columns, then the inputs as they are
// listed. So every event sees all messages that were sent to its time.
#pragma once

#include <memory>

#include "engine/exec/operator_definition.h"
#include "operators/parts/rules/pq_scan_settings.h"

namespace flowrun::operators {

std::unique_ptr<exec::source> make_pq_scan_source(exec::build_context& c, pq_scan_settings s);

}  // namespace flowrun::operators
