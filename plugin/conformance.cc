#include "plugin/conformance.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <random>
#include <thread>

#include "engine/base/error.h"
#include "engine/expr/text_kernels.h"
#include "engine/record/batch_pool.h"
#include "engine/record/row_too_large.h"

namespace flowrun::plugins {

namespace {

using record::type_kind;
using record::value_type;

constexpr type_kind wide_kinds[] = {type_kind::u64, type_kind::i64, type_kind::f64, type_kind::boolean,
                                    type_kind::string};
constexpr size_t most_arguments = 4;  // more are tried with what fits them by chance
constexpr size_t most_combinations = 4000;
constexpr size_t most_tried = 24;  // of the calls of one function
constexpr size_t num_rows = 300;
constexpr size_t no_limit = std::numeric_limits<size_t>::max();

// A value of an argument or of a result: a lane or a text.
struct value {
  uint64_t lane = 0;
  std::string text;
  bool operator==(const value&) const = default;
};

class values {
 public:
  explicit values(uint64_t seed) : random_(seed) {}

  value of(value_type type) {
    switch (type.kind) {
      case type_kind::boolean: return {random_() % 2, {}};
      case type_kind::f64: return {std::bit_cast<uint64_t>(real()), {}};
      case type_kind::string: return {0, text()};
      default: return {integer(), {}};
    }
  }
  size_t below(size_t n) { return random_() % n; }

 private:
  uint64_t integer() {
    constexpr uint64_t odd[] = {0, 1, 2, ~uint64_t{0}, uint64_t{1} << 63, (uint64_t{1} << 63) - 1, 1000};
    switch (random_() % 3) {
      case 0: return odd[random_() % std::size(odd)];
      case 1: return random_() % 100;
      default: return random_();
    }
  }
  double real() {
    using limits = std::numeric_limits<double>;
    const double odd[] = {0.0,
                          -0.0,
                          1.0,
                          -1.0,
                          limits::infinity(),
                          -limits::infinity(),
                          limits::quiet_NaN(),
                          limits::max(),
                          limits::denorm_min()};
    if (random_() % 4 == 0) return odd[random_() % std::size(odd)];
    return (static_cast<double>(random_() % 200'001) - 100'000) / 1000;
  }
  std::string text() {
    constexpr size_t lengths[] = {0, 1, 3, 8, 8, 12, 40, 5000};
    std::string out(lengths[random_() % std::size(lengths)], '\0');
    const bool is_plain = random_() % 3 != 0;
    for (char& c : out)
      c = static_cast<char>(is_plain ? "0123456789abcdefghijklmnopqrstuvwxyz,-. "[random_() % 40] : random_());
    return out;
  }

  std::mt19937_64 random_;
};

// A call that the function takes as it is, without conversions.
struct tried_call {
  std::vector<value_type> types;
  std::vector<std::optional<value>> constants;
  value_type result;
  std::shared_ptr<const expr::bound_call> call;
  std::string shown;  // "encode(f64, f64, constant u64)"
};

std::string shown(const std::string& name, const std::vector<expr::given_argument>& args) {
  std::string out = name + "(";
  for (size_t i = 0; i < args.size(); ++i)
    out += (i > 0 ? ", " : "") + std::string(args[i].is_constant ? "constant " : "") + to_string(args[i].type);
  return out + ")";
}

class runner {
 public:
  runner(const tried_call& call, const std::vector<std::vector<value>>& columns) : call_(call), columns_(columns) {}

  // Rows [from, from + count). `in_chunk`: one chunk of all of them, else a row at a time with all arguments alike.
  // `share`: of the arena. Throws what the call throws.
  std::vector<value> run(size_t from, size_t count, size_t share, uint64_t most_text = no_limit) const {
    record::batch_pool pool;
    expr::text_arena arena(pool);
    arena.limit(most_text);
    std::vector<value> out;
    while (out.size() < count) {
      arena.clear();
      arena.begin_step(share);
      step(from + out.size(), count - out.size(), arena, out);
    }
    return out;
  }

 private:
  // Appends the rows of one chunk that the call does.
  void step(size_t from, size_t count, expr::text_arena& arena, std::vector<value>& out) const {
    const size_t num_args = call_.types.size();
    std::vector<std::vector<uint64_t>> lanes(num_args);
    std::vector<std::vector<std::string_view>> texts(num_args);
    std::vector<expr::text_operand> operands;
    for (size_t i = 0; i < num_args; ++i) {
      // What is the same for all rows is one cell.
      const bool once = call_.constants[i].has_value() || count == 1;
      for (size_t row = 0; row < (once ? 1 : count); ++row) {
        const value& v = call_.constants[i] ? *call_.constants[i] : columns_[i][from + row];
        lanes[i].push_back(v.lane);
        texts[i].push_back(v.text);
      }
      const bool is_text = call_.types[i].is_text();
      operands.push_back({is_text ? static_cast<const void*>(texts[i].data()) : lanes[i].data(), once ? 0U : 1U});
    }
    std::vector<uint64_t> out_lanes(count);
    std::vector<std::string_view> out_texts(count);
    expr::text_call call;
    call.args = operands.data();
    call.num_args = operands.size();
    const bool gives_text = call_.result.is_text();
    call.out = gives_text ? static_cast<void*>(out_texts.data()) : out_lanes.data();
    call.arena = &arena;
    call.num_rows = count;
    const size_t done = call_.call->run(call);
    for (size_t row = 0; row < done; ++row)
      out.push_back(gives_text ? value{0, std::string(out_texts[row])} : value{out_lanes[row], {}});
  }

  const tried_call& call_;
  const std::vector<std::vector<value>>& columns_;
};

bool holds(value_type type, uint64_t lane) {
  if (type.is_boolean()) return lane <= 1;
  const uint32_t bits = 8 * type.num_bytes;
  if (type.is_unsigned()) return bits == 64 || lane >> bits == 0;
  if (!type.is_signed() || bits == 64) return true;
  const auto number = static_cast<int64_t>(lane);
  const int64_t most = (int64_t{1} << (bits - 1)) - 1;
  return number >= -most - 1 && number <= most;
}

class function_trial {
 public:
  function_trial(const expr::outside_function& function, uint64_t seed, conformance& out)
      : function_(function), values_(seed), out_(out) {}

  void run() {
    const size_t least = function_.min_args();
    const size_t most = std::min(function_.max_args(), std::max(least, most_arguments));
    std::vector<tried_call> calls;
    for (size_t n = least; n <= most; ++n) find_calls(n, calls);
    if (calls.empty()) out_.unused.push_back(function_.help().name);
    for (size_t tried = 0; !calls.empty() && tried < most_tried; ++tried) {
      const size_t i = values_.below(calls.size());
      std::swap(calls[i], calls.back());
      try_call(calls.back());
      calls.pop_back();
    }
  }

 private:
  void breach(const std::string& where, const std::string& what) {
    const std::string line = fmt::format("{}: {}", where, what);
    if (std::find(out_.breaches.begin(), out_.breaches.end(), line) == out_.breaches.end())
      out_.breaches.push_back(line);
  }

  // Every type and constness of n arguments, or as many as time allows.
  void find_calls(size_t n, std::vector<tried_call>& calls) {
    size_t all = 1;
    for (size_t i = 0; i < n && all <= most_combinations; ++i) all *= 2 * std::size(wide_kinds);
    for (size_t c = 0; c < std::min(all, most_combinations); ++c) {
      size_t rest = all <= most_combinations ? c : values_.below(no_limit);
      std::vector<expr::given_argument> args(n);
      std::vector<value> constants(n);
      for (size_t i = 0; i < n; ++i, rest /= 2 * std::size(wide_kinds)) {
        args[i].type = value_type::of(wide_kinds[rest % std::size(wide_kinds)]);
        args[i].is_constant = args[i].is_known = rest / std::size(wide_kinds) % 2 == 1;
        // Small values: most constants say how many, or which.
        constants[i] = args[i].type.is_integer() ? value{values_.below(12) + 1, {}} : values_.of(args[i].type);
        args[i].lane = constants[i].lane;
        args[i].text = constants[i].text;
        if (!args[i].is_constant) args[i].lane = 0, args[i].text = {};
      }
      find_call(args, constants, calls);
    }
  }

  void find_call(const std::vector<expr::given_argument>& args, const std::vector<value>& constants,
                 std::vector<tried_call>& calls) {
    const std::string name = shown(function_.help().name, args);
    auto bound = function_.bind(args);
    auto again = function_.bind(args);
    if (bound.index() != again.index()) return breach(name, "is bound once, and once it isn't");
    if (const auto* fault = std::get_if<expr::binding_fault>(&bound)) {
      if (fault->message.empty()) breach(name, "is refused without a message");
      return;
    }
    const expr::binding& b = std::get<expr::binding>(bound);
    if (b.result != std::get<expr::binding>(again).result) return breach(name, "gives one type and then another");
    std::vector<value_type> given;
    for (const expr::given_argument& a : args) given.push_back(a.type);
    if (b.wanted != given) return;  // tried with the types that it wants
    tried_call call{given, {}, b.result, b.call, name};
    for (size_t i = 0; i < args.size(); ++i)
      call.constants.push_back(args[i].is_constant ? std::optional(constants[i]) : std::nullopt);
    calls.push_back(std::move(call));
  }

  void try_call(const tried_call& call) {
    ++out_.num_calls;
    std::vector<std::vector<value>> columns(call.types.size());
    for (size_t i = 0; i < columns.size(); ++i)
      for (size_t row = 0; row < num_rows; ++row) columns[i].push_back(values_.of(call.types[i]));
    // A row at a time: some it may refuse, and the rest is what all other runs must give.
    const runner single(call, columns);
    std::vector<value> expected;
    std::vector<std::vector<value>> taken(columns.size());
    for (size_t row = 0; row < num_rows; ++row) {
      const auto result = one(call, single, row);
      if (result != one(call, single, row))
        return breach(call.shown, "gives other results, or refuses, the second time");
      if (!result) continue;
      if (!call.result.is_text() && !call.result.is_float() && !holds(call.result, result->lane))
        return breach(call.shown, fmt::format("gives {}, which {} doesn't hold", result->lane, to_string(call.result)));
      expected.push_back(*result);
      for (size_t i = 0; i < columns.size(); ++i) taken[i].push_back(columns[i][row]);
    }
    out_.num_rows += expected.size();
    if (!expected.empty()) in_chunks(call, taken, expected);
  }

  // A row may be refused, as bad data; anything else is the plugin's mistake.
  std::optional<value> one(const tried_call& call, const runner& rows, size_t row) {
    try {
      return rows.run(row, 1, expr::text_arena::usual_share)[0];
    } catch (const error& problem) {
      if (problem.kind() == error_kind::internal) breach(call.shown, fmt::format("fails: {}", problem.what()));
      return std::nullopt;
    }
  }

  void in_chunks(const tried_call& call, const std::vector<std::vector<value>>& columns,
                 const std::vector<value>& expected) {
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
  void refuse_memory(const tried_call& call, const runner& rows, const std::vector<value>& expected) {
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
  values values_;
  conformance& out_;
};

}  // namespace

conformance try_functions(const loaded_plugin& plugin, uint64_t seed) {
  conformance out;
  for (const auto& function : plugin.functions) function_trial(*function, seed++, out).run();
  return out;
}

}  // namespace flowrun::plugins
