#include "engine/exec/row_values.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace flowrun::exec {

namespace {

class row_values final : public ordered_stage {
 public:
  row_values(const record::row_type& type, expr::scalar_values& values, std::string rows, std::string readers)
      : type_(type), values_(values), rows_(std::move(rows)), readers_(std::move(readers)) {
    values_.clear();
  }

  outcome push(record::batch& in, output&, waker&) override {
    if (num_rows_ == 0 && in.num_rows > 0)
      for (const record::column& c : type_.columns())
        if (const auto type = expr::scalar_type(c.type))
          values_.push_back({c.name, *type, expr::scalar_bits(in.row(0) + c.offset, c.type)});
    num_rows_ += in.num_rows;
    return outcome::ready();
  }

  outcome finish(output&, waker&) override {
    if (num_rows_ != 1)
      throw error(error_kind::bad_data,
                  fmt::format("'{}' has {} rows; expressions of {} name values of it, for which it needs just one",
                              rows_, num_rows_ == 0 ? "no" : format_count(num_rows_), readers_),
                  "a reduce gives one row of aggregates, of no rows too");
    return outcome::done();
  }

 private:
  const record::row_type type_;
  expr::scalar_values& values_;
  const std::string rows_, readers_;
  uint64_t num_rows_ = 0;
};

class passing_stage final : public stateless_stage {
 public:
  void apply(const record::batch& in, output& out) const override { out.emit(in); }
};

}  // namespace

std::unique_ptr<ordered_stage> make_row_values(const record::row_type& type, expr::scalar_values& values,
                                               std::string rows, std::string readers) {
  return std::make_unique<row_values>(type, values, std::move(rows), std::move(readers));
}

std::unique_ptr<stateless_stage> make_passing_stage() { return std::make_unique<passing_stage>(); }

}  // namespace flowrun::exec
