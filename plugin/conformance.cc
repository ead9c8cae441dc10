#include "plugin/conformance.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "engine/base/error.h"
#include "engine/record/batch_pool.h"
#include "engine/record/row_too_large.h"
#include "plugin/tried_arguments.h"

namespace flowrun::plugins {

namespace {

constexpr size_t most_tried = 24;  // of the calls of one function
constexpr size_t num_rows = 300;

// A call that the function takes as it is, without conversions.
struct tried_call {
  tried_arguments arguments;
  record::value_type result;
  std::shared_ptr<const expr::bound_call> call;
  std::string shown;
};

class runner {
 public:
  runner(const tried_call& call, const odd_columns& columns) : call_(call), columns_(columns) {}

  // Rows [from, from + count). `share`: of the arena. Throws what the call throws.
  std::vector<odd_value> run(size_t from, size_t count, size_t share, uint64_t most_text = longest_tried_text) const {
    record::batch_pool pool;
    expr::text_arena arena(pool);
    arena.limit(most_text);
    std::vector<odd_value> out;
    while (out.size() < count) {
      arena.clear();
      arena.begin_step(share);
      step(from + out.size(), count - out.size(), arena, out);
    }
    return out;
  }

 private:
  // Appends the rows of one chunk that the call does.
  void step(size_t from, size_t count, expr::text_arena& arena, std::vector<odd_value>& out) const {
    const tried_cells cells(call_.arguments, columns_, from, count);
    std::vector<uint64_t> out_lanes(count);
    std::vector<std::string_view> out_texts(count);
    expr::text_call call;
    call.args = cells.operands();
    call.num_args = columns_.size();
    const bool gives_text = call_.result.is_text();
    call.out = gives_text ? static_cast<void*>(out_texts.data()) : out_lanes.data();
    call.arena = &arena;
    call.num_rows = count;
    const size_t done = call_.call->run(call);
    for (size_t row = 0; row < done; ++row)
      out.push_back(gives_text ? odd_value{0, std::string(out_texts[row])} : odd_value{out_lanes[row], {}});
  }

  const tried_call& call_;
  const odd_columns& columns_;
};

class function_trial {
 public:
  function_trial(const expr::outside_function& function, uint64_t seed, conformance& out)
      : function_(function), values_(seed), out_(out) {}

  void run() {
    const size_t least = function_.min_args();
    const size_t most = std::min(function_.max_args(), std::max(least, most_arguments));
    std::vector<tried_call> calls;
    for (size_t n = least; n <= most; ++n)
      for_arguments(n, values_, [&](const tried_arguments& arguments) { find_call(arguments, calls); });
    if (calls.empty()) out_.unused.push_back(function_.help().name);
    for (size_t tried = 0; !calls.empty() && tried < most_tried; ++tried) {
      const size_t i = values_.below(calls.size());
      std::swap(calls[i], calls.back());
      try_call(calls.back());
      calls.pop_back();
    }
  }

 private:
  void breach(const std::string& where, const std::string& what) { out_.breach(where, what); }

  void find_call(const tried_arguments& arguments, std::vector<tried_call>& calls) {
    const std::string name = arguments.shown(function_.help().name);
    auto bound = function_.bind(arguments.given());
    auto again = function_.bind(arguments.given());
    if (bound.index() != again.index()) return breach(name, "is bound once, and once it isn't");
    if (const auto* fault = std::get_if<expr::binding_fault>(&bound)) {
      if (fault->message.empty()) breach(name, "is refused without a message");
      return;
    }
    const expr::binding& b = std::get<expr::binding>(bound);
    if (b.result != std::get<expr::binding>(again).result) return breach(name, "gives one type and then another");
    if (b.wanted != arguments.types) return;  // tried with the types that it wants
    calls.push_back({arguments, b.result, b.call, name});
  }

  void try_call(const tried_call& call) {
    ++out_.num_calls;
    const odd_columns columns = random_columns(call.arguments, values_, num_rows);
    // A row at a time: some it may refuse, and the rest is what all other runs must give.
    const runner single(call, columns);
    std::vector<odd_value> expected;
    odd_columns taken(columns.size());
    for (size_t row = 0; row < num_rows; ++row) {
      const auto result = one(call, single, row);
      if (result != one(call, single, row))
        return breach(call.shown, "gives other results, or refuses, the second time");
      if (!result) continue;
      expected.push_back(*result);
      for (size_t i = 0; i < columns.size(); ++i) taken[i].push_back(columns[i][row]);
    }
    out_.num_rows += expected.size();
    if (!expected.empty()) in_chunks(call, taken, expected);
  }

  // A row may be refused, as bad data; anything else is the plugin's mistake.
  std::optional<odd_value> one(const tried_call& call, const runner& rows, size_t row) {
    try {
      return rows.run(row, 1, expr::text_arena::usual_share)[0];
    } catch (const error& problem) {
      if (problem.kind() == error_kind::internal) breach(call.shown, fmt::format("fails: {}", problem.what()));
      return std::nullopt;
    }
  }

  void in_chunks(const tried_call& call, const odd_columns& columns, const std::vector<odd_value>& expected) {
    const runner rows(call, columns);
    const auto compare = [&](const char* how, size_t share) {
      try {
        if (rows.run(0, expected.size(), share) != expected)
          breach(call.shown, fmt::format("gives other results {} than a row at a time", how));
      } catch (const error& problem) {
        breach(call.shown, fmt::format("fails {}, and not a row at a time: {}", how, problem.what()));
      }
    };
    compare("for a whole chunk", expr::text_arena::usual_share);
    compare("where chunks end early", 1);
    bool alike[3] = {true, true, true};
    {
      std::vector<std::jthread> threads;
      for (bool& same : alike)
        threads.emplace_back([&rows, &expected, &same] {
          try {
            for (int round = 0; round < 4; ++round)
              same = same && rows.run(0, expected.size(), expr::text_arena::usual_share) == expected;
          } catch (const error&) {
            same = false;
          }
        });
    }
    if (std::count(std::begin(alike), std::end(alike), false) > 0)
      breach(call.shown, "gives other results on several threads at once");
    refuse_memory(call, rows, expected);
  }

  // Without memory for a text, it says so and goes no further.
  void refuse_memory(const tried_call& call, const runner& rows, const std::vector<odd_value>& expected) {
    try {
      if (rows.run(0, expected.size(), expr::text_arena::usual_share, 16) != expected)
        breach(call.shown, "gives other results where texts get no memory");
    } catch (const record::row_too_large&) {
      // What the job is told.
    } catch (const error& problem) {
      breach(call.shown, fmt::format("doesn't stop where a text gets no memory: {}", problem.what()));
    }
  }

  const expr::outside_function& function_;
  odd_values values_;
  conformance& out_;
};

}  // namespace

void conformance::breach(const std::string& where, const std::string& what) {
  const std::string line = fmt::format("{}: {}", where, what);
  if (std::find(breaches.begin(), breaches.end(), line) == breaches.end()) breaches.push_back(line);
}

conformance try_functions(const loaded_plugin& plugin, uint64_t seed) {
  conformance out;
  for (const auto& function : plugin.functions) function_trial(*function, seed++, out).run();
  return out;
}

}  // namespace flowrun::plugins
