#include "operators/parts/order/sort_combine.h"

#include <algorithm>
#include <cstring>

namespace flowrun::operators {

namespace {

using expr::aggregate_kind;

class partial_combiner final : public sort::row_combiner {
 public:
  partial_combiner(const record::row_type& type, size_t num_keys, const std::vector<column_aggregate>& totals) {
    for (size_t i = 0; i < totals.size(); ++i) {
      const size_t column = num_keys + i;
      lanes_.push_back({totals[i].kind, type[column].offset, type[column].type.num_bytes,
                        record::row_comparator(type, {{column, false, 0, 0}}),
                        totals[i].outside ? totals[i].outside->aggregate : nullptr});
    }
  }

  void add(std::byte* into, const std::byte* row) const override {
    for (const lane& l : lanes_) {
      switch (l.kind) {
        case aggregate_kind::count:
        case aggregate_kind::sum: add_number(into + l.offset, row + l.offset, l.num_bytes); break;
        case aggregate_kind::min:
          if (l.order.compare(row, nullptr, into, nullptr) < 0) take(l, into, row);
          break;
        case aggregate_kind::max:
          if (l.order.compare(row, nullptr, into, nullptr) > 0) take(l, into, row);
          break;
        case aggregate_kind::first:
        case aggregate_kind::distinct: break;
        case aggregate_kind::last: take(l, into, row); break;
        case aggregate_kind::outside: {
          constexpr uint32_t one_row[] = {0, 1};
          l.outside->combine({into + l.offset, 1, one_row}, row + l.offset, l.num_bytes);
          break;
        }
      }
    }
  }

 private:
  struct lane {
    aggregate_kind kind;
    uint32_t offset, num_bytes;
    record::row_comparator order;
    std::shared_ptr<const expr::bound_aggregate> outside;
  };

  // Sums of integers of 64 bits wrap around, signed or not; shorter ones have room for all rows.
  static void add_number(std::byte* into, const std::byte* from, uint32_t num_bytes) {
    const uint64_t sum = record::load_unsigned(into, num_bytes) + record::load_unsigned(from, num_bytes);
    std::memcpy(into, &sum, num_bytes);
  }
  static void take(const lane& l, std::byte* into, const std::byte* row) {
    std::memcpy(into + l.offset, row + l.offset, l.num_bytes);
  }

  std::vector<lane> lanes_;
};

// What a sum needs for few_rows values of this type.
record::value_type sum_of_few(const record::value_type& value, const record::value_type& result) {
  using record::type_kind;
  switch (value.kind) {
    case type_kind::u8: return record::value_type::of(type_kind::u40);
    case type_kind::u16: return record::value_type::of(type_kind::u48);
    default: return result;
  }
}

// What one row contributes to an aggregate.
std::optional<expr::expression> partial_result(const expr::aggregate& a, bool few) {
  if (a.outside) {
    try {
      return a.outside->state_of_row();
    } catch (const expr::call_failed&) {  // over constants it runs at once; behind the sort it fails as all do
      return {};
    }
  }
  if (a.kind == aggregate_kind::count)
    return constant("1").converted_to(few ? record::value_type::of(record::type_kind::u32) : a.result);
  if (a.kind == aggregate_kind::sum && few) return a.argument->converted_to(sum_of_few(a.argument->type(), a.result));
  return a.argument->converted_to(a.result);
}

// A count takes eight bytes where the row may have had four: that is worth it as soon as keys repeat a few times.
bool worth_it(const record::row_type& input, const record::row_type& partial) {
  constexpr uint32_t always = 16;
  return partial.row_bytes() <= std::max(always, 2 * input.row_bytes());
}

}  // namespace

std::optional<partial_results> plan_partial_results(const record::row_type& input, const named_expressions& keys,
                                                    const named_aggregates& aggregates, bool few) {
  named_aggregates apart;  // all but those that count different values, which are keys
  for (const auto& a : aggregates)
    if (!a.second.is_distinct()) apart.push_back(a);
  const aggregation_plan plan = plan_aggregation(input, {}, apart, false);
  if (!can_combine(plan.aggregates)) return {};
  partial_results out;
  out.projection = keys;
  for (const auto& [name, aggregate] : apart) {
    if (aggregate.result.is_string() && !aggregate.outside) return {};
    const std::optional<expr::expression> part = partial_result(aggregate, few);
    if (!part) return {};
    out.projection.emplace_back(name, *part);
  }
  out.type = type_of(out.projection);
  if (!worth_it(input, out.type)) return {};
  std::vector<column_aggregate> totals = combining(plan.aggregates, out.type, keys.size());
  out.combiner = std::make_shared<partial_combiner>(out.type, keys.size(), totals);
  auto next = totals.begin();
  for (const auto& [name, aggregate] : aggregates)
    out.totals.push_back(aggregate.is_distinct()
                             ? column_aggregate{aggregate.kind, out.type[keys.size() - 1], aggregate.result, {}}
                             : *next++);
  return out;
}

}  // namespace flowrun::operators
