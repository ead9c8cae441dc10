#include "operators/parts/text/parse_stage.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/exec/parcel.h"
#include "operators/parts/text/file_column.h"
#include "operators/parts/text/text_scan.h"
#include "operators/parts/text/text_source.h"

namespace flowrun::operators {

record::row_type reject_type() {
  using record::type_kind;
  using record::value_type;
  return record::row_type({{"text", value_type::of(type_kind::string)},
                           {"line", value_type::of(type_kind::u64)},
                           {"column", value_type::of(type_kind::u32)},
                           {"reason", value_type::of(type_kind::string)}});
}

namespace {

class parse_stage final : public exec::parcel_stage<numbered_text> {
 public:
  parse_stage(parse_stage_options options, text_parser parse, std::shared_ptr<rejection_tally> tally,
              record::batch_pool& pool)
      : options_(std::move(options)),
        parse_(std::move(parse)),
        reject_type_(reject_type()),
        tally_(std::move(tally)),
        pool_(pool),
        file_column_(options_.read_type, options_.given_type, options_.paths),
        batch_bytes_(file_column_.without(options_.batch_bytes)) {}

  void open(const numbered_text& in, exec::output& out) const override {
    const std::string_view done = in.piece.text.substr(0, out.within());
    const std::string_view text = in.piece.text.substr(done.size());
    // (Texts are no longer than the piece.)
    record::batch_builder rejects(reject_type_, pool_, record::rows_of_any_length(batch_bytes_));
    std::vector<record::batch> rows, rejected;
    const auto reject = [&](const malformed_record& bad) {
      if (!tally_->reject(in.file, bad)) return false;
      if (!options_.keep_rejects) return true;
      std::byte* const row = rejects.append();
      const auto column = static_cast<uint32_t>(std::min<uint64_t>(bad.column, UINT32_MAX));
      rejects.put_string(row + reject_type_[0].offset, bad.text);
      const uint64_t line = count_of(options_.lines_in_front) + bad.line;
      std::memcpy(row + reject_type_[1].offset, &line, sizeof line);
      std::memcpy(row + reject_type_[2].offset, &column, sizeof column);
      rejects.put_string(row + reject_type_[3].offset, bad.reason);
      if (rejects.full()) rejected.push_back(rejects.take());
      return true;
    };
    const parse_progress parsed = parse_({.text = text,
                                          .first_line = in.piece.first_line + count_byte(done, '\n'),
                                          .file = in.file,
                                          .is_padded = in.piece.is_copy,
                                          .batch_bytes = batch_bytes_,
                                          .most_bytes = file_column_.without(out.room())},
                                         pool_, rows, reject);
    if (options_.given_type.num_columns() > options_.read_type.num_columns())
      for (record::batch& b : rows) b = file_column_.add(b, in.file, pool_);
    if (!rejects.empty()) rejected.push_back(rejects.take());
    out.emit(rows, 0);
    out.emit(rejected, 1);
    const bool ends = parsed.num_bytes == text.size();
    tally_->parsed(parsed.num_records, ends);
    if (!ends) out.leave(0, done.size() + parsed.num_bytes);
  }

 private:
  const parse_stage_options options_;
  const text_parser parse_;
  const record::row_type reject_type_;
  const std::shared_ptr<rejection_tally> tally_;
  record::batch_pool& pool_;
  const file_column file_column_;
  const size_t batch_bytes_;
};

}  // namespace

std::unique_ptr<exec::stateless_stage> make_parse_stage(parse_stage_options options, text_parser parse,
                                                        std::shared_ptr<rejection_tally> tally,
                                                        record::batch_pool& pool) {
  return std::make_unique<parse_stage>(std::move(options), std::move(parse), std::move(tally), pool);
}

}  // namespace flowrun::operators
