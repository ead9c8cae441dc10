// check: passes rows on and ends the job when they break a rule.
//
// Rules about rows look at each row (where) or compare it with the one before (sorted, unique); rules about the whole
// stream (empty, count, hash) are looked at when it ends. Cost: a few ns per row and rule; the hash about 10 ns per
// row.
#include "operators/parts/order/row_out_of_order.h"

#include <algorithm>
#include <cstring>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/expr/row_program.h"
#include "engine/record/hash.h"
#include "engine/record/value_text.h"
#include "operators/parts/order/row_groups.h"
#include "operators/parts/order/row_order.h"
#include "operators/parts/order/sort_order.h"
#include "operators/word.h"
#include "specs/value.h"

namespace flowrun::operators {

namespace {

struct settings {
  plan::order sorted;
  std::vector<std::string> unique;
  std::optional<expr::expression> where;
  std::string where_text;
  std::optional<bool> empty;
  std::optional<uint64_t> count;
  std::string hash;  // 32 hexadecimal digits
  void bind(const expr::scalar_values& values) { expr::bind(where, values); }
};

settings read(plan::node_checker& node) {
  settings s;
  if (node.has("sorted")) s.sorted = order_parameter(node, "sorted");
  if (node.has("unique")) s.unique = node.columns("unique");
  if (node.has("where")) {
    s.where = node.condition("where", expr::scope{.row = &node.input_type(), .row_number = true});
    s.where_text = specs::text(*node.value("where"));
  }
  if (node.has("empty")) s.empty = node.boolean("empty");
  if (node.has("count")) s.count = node.integer("count");
  if (node.has("hash")) s.hash = node.text("hash");
  return s;
}

settings check(plan::node_checker& node) {
  settings s = read(node);
  if (s.sorted.empty() && s.unique.empty() && !s.where && !s.empty && !s.count && s.hash.empty() && node.ok())
    node.fault_at_node("a check needs a rule", "one of sorted, unique, where, empty, count, hash");
  const bool digits = std::all_of(s.hash.begin(), s.hash.end(),
                                  [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (!s.hash.empty() && (s.hash.size() != 32 || !digits))
    node.fault_at_parameter("hash", fmt::format("'{}' is not a hash", s.hash),
                            "32 hexadecimal digits, as `reduce` with `hash: true` reports");
  if (!node.ok()) return s;
  // Checked here and so known from here on, also where nothing was known before.
  const plan::order sorted_by = satisfies(node.input_order(), s.sorted) ? node.input_order() : s.sorted;
  if (!s.unique.empty() && !adjacent(sorted_by, s.unique)) node.require_adjacent(0, s.unique);
  node.set_output(0, node.input_type(), sorted_by, node.input_estimate());
  return s;
}

class check_stage final : public exec::ordered_stage {
 public:
  check_stage(exec::build_context& c, settings s)
      : node_(c.node.id),
        type_(c.input_type()),
        settings_(std::move(s)),
        hasher_(type_),
        job_(c.job),
        order_(type_, settings_.sorted),
        unique_(type_, columns_of(type_, settings_.unique)) {
    if (!settings_.where) return;
    expr::row_program_builder builder(type_);
    builder.map({{"holds", *settings_.where}});
    rule_.emplace(builder.build());
  }

  outcome push(record::batch& in, exec::output& out, waker&) override {
    if (settings_.empty == true) fail("the stream has rows", fmt::format("the first is {}", text(in.row(0), in.heap)));
    // The first row that breaks a rule, so that the message doesn't depend on where batches end.
    if (settings_.count && num_rows_ + in.num_rows > *settings_.count) {
      const record::batch counted_ones = in.slice(0, *settings_.count - num_rows_);
      if (counted_ones.num_rows > 0) look_at(counted_ones, out.limits().row_bytes);
      fail("more than " + counted(*settings_.count, "row"), "");
    }
    look_at(in, out.limits().row_bytes);
    if (!settings_.hash.empty()) sum_ += hasher_.hash(in).sum;
    num_rows_ += in.num_rows;
    out.emit(std::move(in));
    return outcome::ready();
  }

  outcome finish(exec::output&, waker&) override {
    if (settings_.empty == false && num_rows_ == 0) fail("the stream is empty", "");
    if (settings_.count && num_rows_ != *settings_.count)
      fail(fmt::format("{} instead of {}", counted(num_rows_, "row"), format_count(*settings_.count)), "");
    if (!settings_.hash.empty() && record::to_string(sum_) != settings_.hash)
      fail(fmt::format("the rows' hash is {} instead of {}", record::to_string(sum_), settings_.hash), "");
    job_.report_value(node_, "rows", std::to_string(num_rows_));
    return outcome::done();
  }

 private:
  void look_at(const record::batch& in, uint64_t row_bytes) {
    const size_t breach = rule_ ? first_breach(in, row_bytes) : in.num_rows;
    if (!settings_.sorted.empty() || !settings_.unique.empty()) {
      if (last_.num_rows > 0) {
        if (!settings_.sorted.empty() && order_.out_of_order(last_.row(0), last_.heap, in.row(0), in.heap))
          fail_order(last_, 0, in, 0);
        if (repeats(last_, in)) fail_unique(last_, 0, in, 0);
      }
      const size_t disorder = settings_.sorted.empty() ? in.num_rows : order_.first_out_of_order(in);
      const size_t repeat = settings_.unique.empty() ? in.num_rows : first_repeat(in);
      if (disorder <= std::min(repeat, breach) && disorder < in.num_rows) fail_order(in, disorder - 1, in, disorder);
      if (repeat <= breach && repeat < in.num_rows) fail_unique(in, repeat - 1, in, repeat);
      last_ = in.slice(in.num_rows - 1, 1);
    }
    if (breach < in.num_rows)
      fail(fmt::format("row {} breaks the rule {}", format_count(num_rows_ + breach), settings_.where_text),
           text(in.row(breach), in.heap));
  }

  static std::vector<size_t> columns_of(const record::row_type& type, const std::vector<std::string>& names) {
    std::vector<size_t> out;
    for (const std::string& name : names) out.push_back(*type.index_of(name));
    return out;
  }

  bool repeats(const record::batch& before, const record::batch& in) const {
    return !settings_.unique.empty() && unique_.equal(before.row(0), before.heap, in.row(0), in.heap);
  }

  // The first row for which `where` does not hold; num_rows if there is none. What a row takes meanwhile is limited as
  // where a map makes it a column.
  size_t first_breach(const record::batch& in, uint64_t longest_row) {
    answers_.clear();
    rule_->run(in, num_rows_, job_.pool(), answers_, {.row_bytes = longest_row});
    size_t from = 0;
    for (const record::batch& answer : answers_) {  // rows of one bool, one byte each
      if (const void* const no = std::memchr(answer.row(0), 0, answer.num_rows); no != nullptr)
        return from + static_cast<size_t>(static_cast<const std::byte*>(no) - answer.row(0));
      from += answer.num_rows;
    }
    return in.num_rows;
  }
  // The first row i > 0 that equals row i - 1 in the unique columns; num_rows if there is none.
  size_t first_repeat(const record::batch& in) {
    starts_.assign(1, 0);
    unique_.find(in, starts_);
    size_t i = 0;
    while (i < starts_.size() && starts_[i] == i) ++i;
    return i;
  }

  [[noreturn]] void fail_order(const record::batch& a, size_t i, const record::batch& b, size_t k) const {
    fail_row(fmt::format("row {} is out of order by {}", format_count(num_rows_ + k), to_string(settings_.sorted)), a,
             i, b, k);
  }
  [[noreturn]] void fail_unique(const record::batch& a, size_t i, const record::batch& b, size_t k) const {
    fail_row(fmt::format("row {} repeats {}", format_count(num_rows_ + k), joined(settings_.unique, ", ")), a, i, b, k);
  }
  // Row k of b may not follow row i of a.
  [[noreturn]] void fail_row(const std::string& what, const record::batch& a, size_t i, const record::batch& b,
                             size_t k) const {
    std::map<std::string, std::string> texts;
    for (const record::column& c : type_.columns()) {
      const std::byte* const field = b.row(k) + c.offset;
      if (c.type.is_string())
        texts[c.name] = record::load_string(field, b.heap);
      else if (c.type.is_bytes())
        texts[c.name].assign(reinterpret_cast<const char*>(field), c.type.num_bytes);
    }
    throw row_out_of_order(
        message(what, fmt::format("{} comes after {}", text(b.row(k), b.heap), text(a.row(i), a.heap))), hint, node_,
        num_rows_ + k, std::move(texts));
  }

  std::string text(const std::byte* row, const std::byte* heap) const { return record::row_text(type_, row, heap); }

  static constexpr const char* hint = "rows are counted from 0; the data or the rule is wrong";
  std::string message(const std::string& what, const std::string& evidence) const {
    return fmt::format("check '{}': {}{}{}", node_, what, evidence.empty() ? "" : ": ", evidence);
  }
  [[noreturn]] void fail(const std::string& what, const std::string& evidence) const {
    throw error(error_kind::bad_data, message(what, evidence), hint);
  }

  std::string node_;
  const record::row_type& type_;
  settings settings_;
  record::row_hasher hasher_;
  exec::services& job_;
  row_order order_;
  row_groups unique_;
  std::optional<expr::row_program> rule_;  // {holds: bool}
  std::vector<record::batch> answers_;
  std::vector<uint32_t> starts_;
  record::batch last_;
  uint64_t num_rows_ = 0;
  record::word128 sum_ = 0;
};

exec::assembly build(exec::build_context& c, const settings& s) {
  exec::assembly out;
  out.stages.emplace_back(std::make_unique<check_stage>(c, s));
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"check">() {
  plan::operator_declaration d;
  d.name = "check";
  d.summary = "Ends the job with an error unless rows are as they should be.";
  d.details =
      "The rows are passed on unchanged; the output need not be used. What was checked to be sorted counts as sorted "
      "behind the check, so a file of unknown order can be joined without a sort. Rows are numbered from 0 in "
      "messages.";
  d.order = "needs: unique needs equal values adjacent; gives: `sorted`, or the input's order";
  d.example = "sure: {op: check, in: edges, with: {sorted: [src, dst], unique: [src, dst], empty: false}}\n";
  d.role = plan::operator_role::ordered;
  d.reports = true;
  d.inputs = {{"in", "the rows to look at"}};
  d.outputs = {{"out", "the same rows"}};
  d.output_optional = true;
  d.parameters = {{.name = "sorted",
                   .kind = plan::parameter_kind::sort_keys,
                   .help = "Rows are sorted by these columns; -column for descending."},
                  {.name = "unique",
                   .kind = plan::parameter_kind::columns,
                   .help = "No two rows have the same values in these columns."},
                  {.name = "where",
                   .kind = plan::parameter_kind::condition,
                   .help = "A condition that every row meets, such as \"src < dst\"; `row_number` is the row's "
                           "position."},
                  {.name = "empty",
                   .kind = plan::parameter_kind::boolean,
                   .help = "true: there are no rows; false: there is at least one."},
                  {.name = "count", .kind = plan::parameter_kind::integer, .help = "There are exactly so many rows."},
                  {.name = "hash",
                   .kind = plan::parameter_kind::text,
                   .help = "The order-independent hash of all rows, 32 hexadecimal digits as reported by reduce."}};
  d.keeps_row_count = true;
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
