// The stage before a text sink (file_sink.h): batches become blocks of text, in parallel.
#pragma once

#include <memory>
#include <utility>

#include "engine/exec/operator.h"
#include "operators/parts/files/text_block.h"

namespace flowrun::operators {

// A Formatter has `text_block format(batch, pool, most_bytes) const`: the first rows of the batch, at least one.
// Thread-safe.
template <class Formatter>
class format_stage final : public exec::stateless_stage {
 public:
  format_stage(Formatter formatter, record::batch_pool& pool) : formatter_(std::move(formatter)), pool_(pool) {}

  void apply(const record::batch& in, exec::output& out) const override {
    text_block text = formatter_.format(in, pool_, out.room());
    if (text.num_rows < in.num_rows) out.leave(text.num_rows);
    out.emit(parcel_of_text(std::move(text)));
  }

 private:
  const Formatter formatter_;
  record::batch_pool& pool_;
};

}  // namespace flowrun::operators
