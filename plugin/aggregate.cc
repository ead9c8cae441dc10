#include "plugin/aggregate.h"

#include <fmt/format.h>

#include "engine/expr/checker.h"
#include "plugin/arguments.h"
#include "plugin/crash_line.h"
#include "plugin/texts.h"

namespace flowrun::plugins {

namespace {

static_assert(FR_LARGEST_STATE == record::max_fixed_bytes);

unsigned char* bytes_of(std::byte* states) { return reinterpret_cast<unsigned char*>(states); }
const unsigned char* bytes_of(const std::byte* states) { return reinterpret_cast<const unsigned char*>(states); }
fr_groups groups_of(const expr::row_targets& to) { return {bytes_of(to.states), to.num_states, to.starts}; }

class plugin_aggregate_call final : public expr::bound_aggregate {
 public:
  plugin_aggregate_call(const fr_aggregate& table, void* bound, size_t num_args, record::value_type type,
                        const std::string& who)
      : table_(table), bound_(bound), num_args_(num_args), type_(type), who_(who) {}
  ~plugin_aggregate_call() override {
    if (bound_ != nullptr && table_.destroy_bound != nullptr) table_.destroy_bound(bound_);
  }

  void start(std::byte* states, size_t num_states) const override {
    run([&](fr_problem& problem) { return table_.start(bound_, bytes_of(states), num_states, &problem); });
  }
  void update(const expr::row_targets& to, const expr::text_operand* args) const override {
    const fr_groups groups = groups_of(to);
    run([&](fr_problem& problem) {
      return table_.update(bound_, &groups, reinterpret_cast<const fr_cells*>(args), num_args_, &problem);
    });
  }
  void combine(const expr::row_targets& to, const std::byte* from, size_t step) const override {
    const fr_groups groups = groups_of(to);
    run([&](fr_problem& problem) { return table_.combine(bound_, &groups, bytes_of(from), step, &problem); });
  }
  size_t finish(const std::byte* states, const expr::text_call& c) const override {
    fr_problem problem;
    fr_arena arena{*c.arena, problem};
    const fr_call call = call_of(c, arena);
    const size_t done = finish_inside(states, call);
    check_done(done, c.num_rows, problem, who_);
    check_cells(type_, c.out, done, who_);
    return done;
  }

 private:
  template <class Call>
  void run(Call call) const {
    fr_problem problem;
    if (run_inside(call, problem) != FR_OK || problem.kind != 0) throw expr::call_failed(error_of(problem, who_));
  }
  template <class Call>
  int run_inside(Call call, fr_problem& problem) const {
    const inside plugin(who_);
    return call(problem);
  }
  size_t finish_inside(const std::byte* states, const fr_call& call) const {
    const inside plugin(who_);
    return table_.finish(bound_, bytes_of(states), &call);
  }

  const fr_aggregate& table_;
  void* const bound_;
  const size_t num_args_;
  const record::value_type type_;
  const std::string& who_;
};

class plugin_aggregate final : public expr::outside_aggregate {
 public:
  plugin_aggregate(const fr_aggregate& table, const std::string& plugin, const std::string& who)
      : table_(table),
        help_(help_of(plugin, table.name, table.signature, table.help)),
        who_(fmt::format("{}, aggregate {}", who, as_string(table.name))) {}

  const expr::function_help& help() const override { return help_; }
  size_t min_args() const override { return table_.min_args; }
  size_t max_args() const override {
    return table_.max_args == FR_ANY_NUMBER ? expr::any_number : size_t{table_.max_args};
  }

  std::variant<expr::aggregate_binding, expr::binding_fault> bind(
      const std::vector<expr::given_argument>& given) const override {
    if (auto no = decimal_given(given)) return *std::move(no);
    given_arguments handed(given);
    fr_problem problem;
    fr_aggregate_binding out{};
    out.size = sizeof out;
    out.wanted = handed.wanted.data();
    out.faulty_argument = FR_NO_ARGUMENT;
    if (bind_inside(handed.args, out, problem) != FR_OK) return fault_of(problem, out.faulty_argument, given.size());
    const auto result = result_type(out.result);
    // From here on what was bound is let go of whatever comes.
    auto call = std::make_shared<plugin_aggregate_call>(table_, out.bound, given.size(),
                                                        result.value_or(record::value_type()), who_);
    auto wanted = wanted_types(handed.wanted);
    if (const std::string no = breach_of(out, result && wanted); !no.empty())
      return expr::binding_fault{std::nullopt, fmt::format("{}: {}", who_, no), "", "tell the author of the plugin"};
    return expr::aggregate_binding{*result,
                                   std::move(*wanted),
                                   out.state_bytes,
                                   (out.flags & FR_COMBINABLE) != 0,
                                   (out.flags & FR_ROWS_IN_ORDER) != 0,
                                   std::move(call)};
  }

 private:
  int bind_inside(const std::vector<fr_argument>& args, fr_aggregate_binding& out, fr_problem& problem) const {
    const inside plugin(who_);
    return table_.bind(table_.context, args.data(), args.size(), &out, &problem);
  }

  // What binding promises wrongly; empty: nothing.
  std::string breach_of(const fr_aggregate_binding& out, bool types_are_good) const {
    if (!types_are_good) return "it gives types that aggregates can't have";
    if (out.state_bytes == 0 || out.state_bytes > FR_LARGEST_STATE)
      return fmt::format("its state has {} bytes, and one has 1 to {}", out.state_bytes, FR_LARGEST_STATE);
    if ((out.flags & FR_COMBINABLE) != 0 && table_.combine == nullptr) return "it is combinable and has no combine";
    return {};
  }

  fr_aggregate table_;
  expr::function_help help_;
  std::string who_;
};

// Why the table can't be used; empty: it can.
std::string fault_of(const fr_aggregate& t) {
  std::string no = fault_of_word("aggregate", t.name, t.signature, t.help, t.min_args, t.max_args);
  if (no.empty() && (t.bind == nullptr || t.start == nullptr || t.update == nullptr || t.finish == nullptr))
    no = fmt::format("the aggregate {} lacks one of bind, start, update and finish", as_string(t.name));
  return no;
}

}  // namespace

std::unique_ptr<const expr::outside_aggregate> make_aggregate(const fr_aggregate& table, const std::string& plugin,
                                                              const std::string& who) {
  const fr_aggregate known = known_part(table);
  if (const std::string no = fault_of(known); !no.empty())
    throw error(error_kind::internal, fmt::format("{}: {}", who, no), "tell the author of the plugin");
  return std::make_unique<plugin_aggregate>(known, plugin, who);
}

}  // namespace flowrun::plugins
