// A batch through one stage, piece by piece, as a pipeline would do it.
#pragma once

#include <memory>
#include <utility>
#include <variant>

#include "engine/exec/operator_definition.h"

namespace flowrun::operators::testing {

// `pass(output)` gets what each step has made, of about `batch_bytes`; `wait()` returns after a wake.
template <class Pass, class Wait>
void feed(exec::stage& stage, record::batch in, size_t batch_bytes, waker& w, Pass pass, Wait wait) {
  uint64_t within = 0;
  for (bool done = false; !done;) {
    exec::output out({.num_bytes = batch_bytes}, in, within);
    outcome step = outcome::ready();
    if (auto* stateless = std::get_if<std::unique_ptr<exec::stateless_stage>>(&stage))
      (*stateless)->apply(in, out);
    else
      step = std::get<std::unique_ptr<exec::ordered_stage>>(stage)->push(in, out, w);
    done = step.is_ready() && !out.leaves_rows();
    if (out.leaves_rows()) {
      in = in.slice(out.rows_taken(), in.num_rows - out.rows_taken());
      within = out.within();
    }
    pass(out);
    if (step.is_blocked()) wait();
  }
}

}  // namespace flowrun::operators::testing
