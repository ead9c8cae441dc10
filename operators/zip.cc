// zip: the columns of two streams side by side, row by row. Both must have the same number of rows.
#include <optional>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "operators/parts/order/stream_cursor.h"
#include "operators/parts/rules/added_columns.h"
#include "operators/parts/rules/column_copy.h"
#include "operators/parts/rules/estimates.h"
#include "operators/parts/rules/fixed_rows.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

constexpr const char* join_instead = "join them by a row number where rows may be missing";

struct settings {};

settings check(plan::node_checker& node) {
  std::vector<record::column> columns = node.input_type(0).columns();
  const auto names = add_columns(node, {}, columns);
  const std::optional<uint64_t> left = fixed_rows(node, 0), right = fixed_rows(node, 1);
  if (left && right && *left != *right)
    node.fault_at_input(1,
                        fmt::format("'{}' and '{}' have {} and {} rows", node.input_name(0), node.input_name(1),
                                    format_count(*left), format_count(*right)),
                        "two streams of the same length", join_instead);
  if (!node.ok()) return {};
  record::row_type output(std::move(columns));
  plan::row_estimate estimate = sum(node.input_estimate(0), node.input_estimate(1));
  estimate.rows = std::max(node.input_estimate(0).rows, node.input_estimate(1).rows);
  estimate.most_rows = std::min(node.input_estimate(0).most_rows, node.input_estimate(1).most_rows);
  // Both have as many rows, so knowing one of them is enough.
  for (const size_t known : {0, 1})
    if (node.input_estimate(known).known && !node.input_estimate(1 - known).known)
      estimate = with_type(node.input_estimate(known), node.input_type(known), output);
  plan::order order = node.input_order(0);
  if (order.empty()) order = plan::carried_over(node.input_order(1), names);
  node.set_output(0, std::move(output), std::move(order), estimate);
  return {};
}

std::vector<std::pair<size_t, size_t>> columns_to(size_t count, size_t first) {
  std::vector<std::pair<size_t, size_t>> out;
  for (size_t i = 0; i < count; ++i) out.emplace_back(i, first + i);
  return out;
}

class zip_source final : public exec::source {
 public:
  explicit zip_source(exec::build_context& c)
      : node_(c.node.id),
        left_name_(c.input_name(0)),
        right_name_(c.input_name(1)),
        left_(*c.inputs[0], nullptr),
        right_(*c.inputs[1], nullptr),
        left_copy_(c.input_type(0), c.output_type(), columns_to(c.input_type(0).num_columns(), 0)),
        right_copy_(c.input_type(1), c.output_type(),
                    columns_to(c.input_type(1).num_columns(), c.input_type(0).num_columns())),
        row_bytes_(c.output_type().row_bytes()),
        has_strings_(c.output_type().has_strings()),
        builder_(c.output_type(), c.job.pool(), c.batches) {}

  outcome pull(exec::output& out, waker& w) override {
    for (;;) {
      const outcome left = left_.fill(w);
      if (left.is_blocked()) return left;
      const outcome right = right_.fill(w);
      if (right.is_blocked()) return right;
      if (left.is_done() && right.is_done()) {
        out.emit(builder_.take());
        return outcome::done();
      }
      if (left.is_done() != right.is_done()) fail(left.is_done());
      const size_t count = std::min({left_.rows_left(), right_.rows_left(), builder_.room()});
      if (has_strings_)
        put_with_strings(count);
      else
        put(count);
      if (builder_.full()) {
        out.emit(builder_.take());
        return outcome::ready();
      }
    }
  }

 private:
  [[noreturn]] void fail(bool left_ended) const {
    const uint64_t rows = left_ended ? left_.row_number() : right_.row_number();
    throw error(error_kind::bad_data,
                fmt::format("node '{}': '{}' ends after {}, '{}' goes on", node_, left_ended ? left_name_ : right_name_,
                            counted(rows, "row"), left_ended ? right_name_ : left_name_),
                fmt::format("zip needs two streams of the same length; {}", join_instead));
  }

  void put(size_t count) {
    std::byte* to = builder_.append(count);
    for (size_t i = 0; i < count; ++i, to += row_bytes_) {
      left_copy_.copy_fields(left_.rows().row(left_.position() + i), to);
      right_copy_.copy_fields(right_.rows().row(right_.position() + i), to);
    }
    left_.advance(count);
    right_.advance(count);
  }

  // Strings may fill a builder before rows do.
  void put_with_strings(size_t count) {
    for (size_t i = 0; i < count && !builder_.full(); ++i) {
      std::byte* const to = builder_.append();
      left_copy_.copy(left_.row(), left_.heap(), to, builder_);
      right_copy_.copy(right_.row(), right_.heap(), to, builder_);
      left_.advance();
      right_.advance();
    }
  }

  std::string node_;
  std::string left_name_, right_name_;
  stream_cursor left_, right_;
  column_copy left_copy_, right_copy_;
  uint32_t row_bytes_;
  bool has_strings_;
  record::batch_builder builder_;
};

exec::assembly build(exec::build_context& c, const settings&) {
  exec::assembly out;
  out.head = std::make_unique<zip_source>(c);
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"zip">() {
  plan::operator_declaration d;
  d.name = "zip";
  d.summary = "Puts the columns of two streams side by side.";
  d.details =
      "Row i of the output is row i of `left` followed by row i of `right`, whose columns may get other names "
      "(`rename`). When one has more rows the job ends with an error; before the run, where the job alone says how "
      "many rows both have.";
  d.order = "keeps: the order of left, or where nothing is known of it, of right";
  d.example =
      "ranks:  {op: scan, in: sorted, with: {number: rank}}\n"
      "paired: {op: zip, in: {left: names, right: values}}\n";
  d.role = plan::operator_role::meeting;
  d.keeps_row_count = true;  // takes its inputs at one pace
  d.inputs = {{"left", "gives the first columns"}, {"right", "gives the other columns"}};
  d.outputs = {{"out", "the columns of left, then the columns of right"}};
  d.parameters = {rename_parameter("right")};
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
