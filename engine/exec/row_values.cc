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
    if (num_rows_ == 0 && in.num_rows > 0) values_ = values_of_row(type_, in.row(0));
    num_rows_ += in.num_rows;
    return outcome::ready();
  }

  outcome finish(output&, waker&) override {
    check_one_row(num_rows_, rows_, readers_);
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

expr::scalar_values values_of_row(const record::row_type& type, const std::byte* row) {
  expr::scalar_values out;
  for (const record::column& c : type.columns())
    if (const auto as = expr::scalar_type(c.type))
      out.push_back({c.name, *as, expr::scalar_bits(row + c.offset, c.type)});
  return out;
}

void check_one_row(uint64_t num_rows, const std::string& rows, const std::string& readers) {
  if (num_rows == 1) return;
  throw error(error_kind::bad_data,
              fmt::format("'{}' has {} rows; expressions of {} name values of it, for which it needs just one", rows,
                          num_rows == 0 ? "no" : format_count(num_rows), readers),
              "a reduce gives one row of aggregates, of no rows too");
}

std::unique_ptr<ordered_stage> make_row_values(const record::row_type& type, expr::scalar_values& values,
                                               std::string rows, std::string readers) {
  return std::make_unique<row_values>(type, values, std::move(rows), std::move(readers));
}

std::unique_ptr<stateless_stage> make_passing_stage() { return std::make_unique<passing_stage>(); }

}  // namespace flowrun::exec
