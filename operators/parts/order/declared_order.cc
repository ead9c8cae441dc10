#include "operators/parts/order/declared_order.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/error.h"
#include "engine/base/fault.h"
#include "operators/parts/order/row_order.h"

namespace flowrun::operators {

namespace {

class order_check final : public exec::ordered_stage {
 public:
  order_check(const record::row_type& type, const plan::order& sorted_by, const std::vector<std::string>& paths)
      : order_(type, sorted_by),
        has_strings_(type.has_strings()),
        files_(joined(paths, ", ")),
        by_(plan::to_string(sorted_by)) {}

  outcome push(record::batch& in, exec::output& out, waker&) override {
    if (!last_.empty() && order_.out_of_order(last_.data(), last_of_.heap, in.rows, in.heap)) fail(in.first_row);
    if (const size_t i = order_.first_out_of_order(in); i < in.num_rows) fail(in.first_row + i);
    last_.assign(in.row(in.num_rows - 1), in.row(in.num_rows));
    if (has_strings_) last_of_ = in;
    out.emit(std::move(in));
    return outcome::ready();
  }

 private:
  [[noreturn]] void fail(uint64_t row) const {
    throw error(error_kind::bad_data,
                fmt::format("{}: row {} (counted from 0) comes before its predecessor by {}", files_, row, by_),
                "the rows are not sorted as `sorted_by` says: leave it out and sort them");
  }

  row_order order_;
  const bool has_strings_;
  const std::string files_;
  const std::string by_;
  std::vector<std::byte> last_;
  record::batch last_of_;  // whose heap has the strings of the last row
};

}  // namespace

plan::parameter_declaration declared_order_parameter() {
  plan::parameter_declaration p;
  p.name = "sorted_by";
  p.kind = plan::parameter_kind::sort_keys;
  p.help = "The columns by which the rows are sorted.";
  return p;
}

plan::order read_declared_order(plan::node_checker& node, const record::row_type& type) {
  plan::order out;
  if (!node.has("sorted_by")) return out;
  for (const plan::sort_key& key : node.sort_keys("sorted_by", expr::scope{.row = &type})) {
    if (key.term)
      out.push_back(*key.term);
    else
      node.fault_at_parameter("sorted_by", fmt::format("'{}' is no column", key.value.text()),
                              "columns, such as [src, -dst]");
  }
  return out;
}

std::unique_ptr<exec::ordered_stage> make_order_check(const record::row_type& type, const plan::order& sorted_by,
                                                      const std::vector<std::string>& paths) {
  return std::make_unique<order_check>(type, sorted_by, paths);
}

}  // namespace flowrun::operators
