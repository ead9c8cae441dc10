#include "plugin/aggregate_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "engine/base/error.h"
#include "engine/record/batch_pool.h"
#include "plugin/tried_arguments.h"

namespace flowrun::plugins {

namespace {

constexpr size_t most_tried = 24;  // of the calls of one aggregate
constexpr size_t num_rows = 300;
constexpr size_t guard_bytes = 64;  // behind states: nobody writes there
constexpr std::byte guard{0xA5};

struct tried_call {
  tried_arguments arguments;
  expr::aggregate_binding bound;
  std::string shown;
};

struct written_beyond {};  // a state

// Some states side by side, `shift` bytes behind an aligned address.
class state_buffer {
 public:
  state_buffer(const expr::aggregate_binding& bound, size_t num_states, size_t shift = 0)
      : state_bytes_(bound.state_bytes),
        shift_(shift),
        bytes_(shift + num_states * bound.state_bytes + guard_bytes, guard) {}
  std::byte* state(size_t k) { return bytes_.data() + shift_ + k * state_bytes_; }
  void check() const {
    const bool is_whole = std::all_of(bytes_.end() - guard_bytes, bytes_.end(), [](std::byte b) { return b == guard; });
    if (!is_whole) throw written_beyond();
  }

 private:
  size_t state_bytes_, shift_;
  std::vector<std::byte> bytes_;
};

// Computes results of rows in several ways. Throws what the aggregate throws.
class runner {
 public:
  runner(const tried_call& call, const odd_columns& columns) : call_(call), columns_(columns) {}

  // The rows between each two of `cuts`, one after the other.
  odd_value in_pieces(const std::vector<size_t>& cuts) const {
    state_buffer states(call_.bound, 1);
    aggregate().start(states.state(0), 1);
    for (size_t i = 0; i + 1 < cuts.size(); ++i) update(states.state(0), cuts[i], cuts[i + 1]);
    return finish(states, 1)[0];
  }

  // A result for the rows between each two of `cuts`, all at once.
  std::vector<odd_value> in_groups(const std::vector<size_t>& cuts) const {
    const size_t num_groups = cuts.size() - 1;
    state_buffer states(call_.bound, num_groups);
    aggregate().start(states.state(0), num_groups);
    std::vector<uint32_t> starts;
    for (const size_t cut : cuts) starts.push_back(static_cast<uint32_t>(cut - cuts.front()));
    const tried_cells cells(call_.arguments, columns_, cuts.front(), cuts.back() - cuts.front());
    if (starts.back() > 0) aggregate().update({states.state(0), num_groups, starts.data()}, cells.operands());
    return finish(states, num_groups);
  }

  // From states of the parts between the cuts, which are combined two at a time, as `pick` says: pick(n) is one of the
  // first n of n + 1 parts, and takes in the one behind it. The parts are in the order that `order` says.
  template <class Pick>
  odd_value combined(const std::vector<size_t>& cuts, const std::vector<size_t>& order, Pick pick) const {
    std::vector<state_buffer> parts;
    for (const size_t i : order) {
      state_buffer aligned(call_.bound, 1);
      aggregate().start(aligned.state(0), 1);
      update(aligned.state(0), cuts[i], cuts[i + 1]);
      aligned.check();
      parts.emplace_back(call_.bound, 1, parts.size() % 8);  // as in rows: at any address
      std::memcpy(parts.back().state(0), aligned.state(0), call_.bound.state_bytes);
    }
    constexpr uint32_t one[] = {0, 1};
    while (parts.size() > 1) {
      const size_t into = pick(parts.size() - 1);
      aggregate().combine({parts[into].state(0), 1, one}, parts[into + 1].state(0), call_.bound.state_bytes);
      parts[into].check();
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(into) + 1);
    }
    state_buffer total(call_.bound, 1);
    std::memcpy(total.state(0), parts.front().state(0), call_.bound.state_bytes);
    return finish(total, 1)[0];
  }

  // The same, all parts at once into a state that has no rows yet; as rows that are wider than a state.
  odd_value combined_at_once(const std::vector<size_t>& cuts) const {
    const size_t step = call_.bound.state_bytes + 3;
    const size_t num_parts = cuts.size() - 1;
    std::vector<std::byte> rows(num_parts * step);
    for (size_t i = 0; i < num_parts; ++i) {
      state_buffer part(call_.bound, 1);
      aggregate().start(part.state(0), 1);
      update(part.state(0), cuts[i], cuts[i + 1]);
      std::memcpy(rows.data() + i * step, part.state(0), call_.bound.state_bytes);
    }
    state_buffer total(call_.bound, 1);
    aggregate().start(total.state(0), 1);
    const uint32_t starts[] = {0, static_cast<uint32_t>(num_parts)};
    aggregate().combine({total.state(0), 1, starts}, rows.data(), step);
    return finish(total, 1)[0];
  }

 private:
  const expr::bound_aggregate& aggregate() const { return *call_.bound.aggregate; }

  void update(std::byte* state, size_t from, size_t to) const {
    if (from == to) return;
    const tried_cells cells(call_.arguments, columns_, from, to - from);
    const uint32_t starts[] = {0, static_cast<uint32_t>(to - from)};
    aggregate().update({state, 1, starts}, cells.operands());
  }

  std::vector<odd_value> finish(state_buffer& states, size_t count) const {
    states.check();
    record::batch_pool pool;
    expr::text_arena arena(pool);
    arena.limit(longest_tried_text);
    const bool gives_text = call_.bound.result.is_text();
    std::vector<odd_value> out;
    while (out.size() < count) {
      arena.clear();
      arena.begin_step(expr::text_arena::usual_share);
      const size_t left = count - out.size();
      std::vector<uint64_t> lanes(left);
      std::vector<std::string_view> texts(left);
      expr::text_call call;
      call.out = gives_text ? static_cast<void*>(texts.data()) : lanes.data();
      call.arena = &arena;
      call.num_rows = left;
      const size_t done = aggregate().finish(states.state(out.size()), call);
      for (size_t k = 0; k < done; ++k)
        out.push_back(gives_text ? odd_value{0, std::string(texts[k])} : odd_value{lanes[k], {}});
    }
    return out;
  }

  const tried_call& call_;
  const odd_columns& columns_;
};

class aggregate_trial {
 public:
  aggregate_trial(const expr::outside_aggregate& aggregate, uint64_t seed, conformance& out)
      : aggregate_(aggregate), values_(seed), out_(out) {}

  void run() {
    const size_t least = aggregate_.min_args();
    const size_t most = std::min(aggregate_.max_args(), std::max(least, most_arguments));
    std::vector<tried_call> calls;
    for (size_t n = least; n <= most; ++n)
      for_arguments(n, values_, [&](const tried_arguments& arguments) { find_call(arguments, calls); });
    if (calls.empty()) out_.unused.push_back(aggregate_.help().name);
    for (size_t tried = 0; !calls.empty() && tried < most_tried; ++tried) {
      std::swap(calls[values_.below(calls.size())], calls.back());
      try_call(calls.back());
      calls.pop_back();
    }
  }

 private:
  void breach(const std::string& where, const std::string& what) { out_.breach(where, what); }

  void find_call(const tried_arguments& arguments, std::vector<tried_call>& calls) {
    const std::string name = arguments.shown(aggregate_.help().name);
    auto bound = aggregate_.bind(arguments.given());
    auto again = aggregate_.bind(arguments.given());
    if (bound.index() != again.index()) return breach(name, "is bound once, and once it isn't");
    if (const auto* fault = std::get_if<expr::binding_fault>(&bound)) {
      if (fault->message.empty()) breach(name, "is refused without a message");
      if (fault->hint.starts_with("tell the author")) breach(name, fault->message);
      return;
    }
    const expr::aggregate_binding& b = std::get<expr::aggregate_binding>(bound);
    const expr::aggregate_binding& other = std::get<expr::aggregate_binding>(again);
    if (b.result != other.result || b.state_bytes != other.state_bytes)
      return breach(name, "gives one type or size of state and then another");
    if (b.wanted != arguments.types) return;  // tried with the types that it wants
    calls.push_back({arguments, b, name});
  }

  void try_call(const tried_call& call) {
    ++out_.num_calls;
    try {
      for (const bool are_odd : {true, false})
        try_rows(call, acceptable(call, random_columns(call.arguments, values_, num_rows, are_odd)));
    } catch (const written_beyond&) {
      breach(call.shown, "writes beyond the end of a state");
    } catch (const error& problem) {
      if (problem.kind() == error_kind::internal) breach(call.shown, fmt::format("fails: {}", problem.what()));
    }
  }

  // Without rows that it refuses, as bad data.
  odd_columns acceptable(const tried_call& call, const odd_columns& columns) {
    const runner single(call, columns);
    odd_columns out(columns.size());
    for (size_t row = 0; row < num_rows; ++row) {
      try {
        static_cast<void>(single.in_pieces({row, row + 1}));
      } catch (const error& problem) {
        if (problem.kind() == error_kind::internal) throw;
        continue;
      }
      for (size_t i = 0; i < columns.size(); ++i) out[i].push_back(columns[i][row]);
    }
    return out;
  }

  void try_rows(const tried_call& call, const odd_columns& columns) {
    const size_t rows = columns.empty() ? num_rows : columns[0].size();
    out_.num_rows += rows;
    const runner whole(call, columns);
    const odd_value expected = whole.in_pieces({0, rows});
    if (whole.in_pieces({0, rows}) != expected) return breach(call.shown, "gives other results the second time");
    try_cuts(call, whole, rows, expected);
    try_groups(call, whole, rows);
    if (call.bound.is_combinable && rows > 0) try_parts(call, columns, rows, expected);
    try_threads(call, whole, rows, expected);
  }

  void try_cuts(const tried_call& call, const runner& whole, size_t rows, const odd_value& expected) {
    std::vector<size_t> each(rows + 1);
    std::iota(each.begin(), each.end(), size_t{0});
    if (whole.in_pieces(each) != expected)
      breach(call.shown, "gives another result for a row at a time than for all rows at once");
    for (int round = 0; round < 4; ++round)
      if (whole.in_pieces(random_cuts(rows, 7)) != expected)
        breach(call.shown, "gives another result for rows in pieces than for all at once");
  }

  void try_groups(const tried_call& call, const runner& whole, size_t rows) {
    const std::vector<size_t> cuts = random_cuts(rows, 40);
    const std::vector<odd_value> together = whole.in_groups(cuts);
    for (size_t k = 0; k < together.size(); ++k)
      if (whole.in_pieces({cuts[k], cuts[k + 1]}) != together[k])
        return breach(call.shown, fmt::format("gives other results for a group of {} rows beside others than alone",
                                              cuts[k + 1] - cuts[k]));
  }

  void try_parts(const tried_call& call, const odd_columns& columns, size_t rows, const odd_value& expected) {
    const runner whole(call, columns);
    const auto first = [](size_t) { return size_t{0}; };
    const auto any = [this](size_t n) { return values_.below(n); };
    bool is_told = false;  // one way of combining says it for all
    const auto must_be = [&](const odd_value& got, const std::string& how) {
      if (got == expected || std::exchange(is_told, true)) return;
      breach(call.shown, fmt::format("gives another result from states that are combined {}{}", how,
                                     call.bound.result.is_float()
                                         ? "; where combining rounds, fr::not_combinable stands in its place"
                                         : ""));
    };
    for (const size_t num_parts : {size_t{2}, size_t{3}, size_t{12}, rows}) {
      const std::vector<size_t> cuts = filled_cuts(rows, num_parts);
      std::vector<size_t> order(cuts.size() - 1);
      std::iota(order.begin(), order.end(), size_t{0});
      const std::string parts = fmt::format("of {} parts", order.size());
      must_be(whole.combined(cuts, order, first), parts + ", the first with the next");
      must_be(whole.combined(cuts, order, any), parts + ", neighbours in any sequence");
      must_be(whole.combined_at_once(cuts), parts + ", all into a state without rows");
      if (call.bound.is_ordered) continue;
      for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[values_.below(i)]);
      must_be(whole.combined(cuts, order, any),
              parts + " in another order: an aggregate for which it matters says in_order()");
    }
  }

  void try_threads(const tried_call& call, const runner& whole, size_t rows, const odd_value& expected) {
    bool alike[3] = {true, true, true};
    {
      std::vector<std::jthread> threads;
      for (bool& same : alike)
        threads.emplace_back([&] {
          try {
            for (int round = 0; round < 4; ++round) same = same && whole.in_pieces({0, rows}) == expected;
          } catch (const error&) {
            same = false;
          }
        });
    }
    if (std::count(std::begin(alike), std::end(alike), false) > 0)
      breach(call.shown, "gives other results on several threads at once");
  }

  // 0, some places between, of which some are the same, `rows`.
  std::vector<size_t> random_cuts(size_t rows, size_t num_pieces) {
    std::vector<size_t> out = {0, rows};
    while (out.size() < num_pieces + 1) out.push_back(values_.below(rows + 1));
    std::sort(out.begin(), out.end());
    return out;
  }
  // No two are the same: partial results have rows.
  std::vector<size_t> filled_cuts(size_t rows, size_t num_parts) {
    std::vector<size_t> out = {0, rows};
    if (num_parts >= rows) {
      out.resize(rows + 1);
      std::iota(out.begin(), out.end(), size_t{0});
      return out;
    }
    while (out.size() < num_parts + 1) {
      const size_t cut = values_.below(rows);
      if (std::find(out.begin(), out.end(), cut) == out.end()) out.push_back(cut);
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  const expr::outside_aggregate& aggregate_;
  odd_values values_;
  conformance& out_;
};

}  // namespace

void try_aggregates(const loaded_plugin& plugin, uint64_t seed, conformance& out) {
  for (const auto& aggregate : plugin.aggregates) aggregate_trial(*aggregate, seed++, out).run();
}

}  // namespace flowrun::plugins
