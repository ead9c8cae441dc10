#include "plugin/function.h"

#include <fmt/format.h>

#include "engine/expr/checker.h"
#include "plugin/arguments.h"
#include "plugin/crash_line.h"
#include "plugin/texts.h"

namespace flowrun::plugins {

namespace {

class plugin_call final : public expr::bound_call {
 public:
  plugin_call(const fr_function& table, void* state, record::value_type type, const std::string& who)
      : table_(table), state_(state), type_(type), who_(who) {}
  ~plugin_call() override {
    if (state_ != nullptr && table_.destroy_state != nullptr) table_.destroy_state(state_);
  }

  size_t run(const expr::text_call& c) const override {
    fr_problem problem;
    fr_arena arena{*c.arena, problem};
    const fr_call call = call_of(c, arena);
    const size_t done = run_inside(call);
    check_done(done, c.num_rows, problem, who_);
    check_cells(type_, c.out, done, who_);
    return done;
  }

 private:
  size_t run_inside(const fr_call& call) const {
    const inside plugin(who_);
    return table_.run(state_, &call);
  }

  const fr_function& table_;
  void* state_;
  const record::value_type type_;
  const std::string& who_;
};

class plugin_function final : public expr::outside_function {
 public:
  plugin_function(const fr_function& table, const std::string& plugin, const std::string& who)
      : table_(table),
        help_(help_of(plugin, table.name, table.signature, table.help)),
        who_(fmt::format("{}, function {}", who, as_string(table.name))) {}

  const expr::function_help& help() const override { return help_; }
  size_t min_args() const override { return table_.min_args; }
  size_t max_args() const override {
    return table_.max_args == FR_ANY_NUMBER ? expr::any_number : size_t{table_.max_args};
  }

  std::variant<expr::binding, expr::binding_fault> bind(const std::vector<expr::given_argument>& given) const override {
    if (auto no = decimal_given(given)) return *std::move(no);
    given_arguments handed(given);
    fr_problem problem;
    fr_binding out{};
    out.size = sizeof out;
    out.wanted = handed.wanted.data();
    out.faulty_argument = FR_NO_ARGUMENT;
    if (bind_inside(handed.args, out, problem) != FR_OK) return fault_of(problem, out.faulty_argument, given.size());
    const auto result = result_type(out.result);
    // From here on the state is let go of whatever comes.
    auto call = std::make_shared<plugin_call>(table_, out.state, result.value_or(record::value_type()), who_);
    auto wanted = wanted_types(handed.wanted);
    if (!result || !wanted)
      throw error(error_kind::internal, fmt::format("{} gives types that functions can't have", who_),
                  "tell the author of the plugin");
    return expr::binding{*result, std::move(*wanted), std::move(call)};
  }

 private:
  int bind_inside(const std::vector<fr_argument>& args, fr_binding& out, fr_problem& problem) const {
    const inside plugin(who_);
    return table_.bind(table_.context, args.data(), args.size(), &out, &problem);
  }

  fr_function table_;
  expr::function_help help_;
  std::string who_;
};

// Why the table can't be used; empty: it can.
std::string fault_of(const fr_function& t) {
  std::string no = fault_of_word("function", t.name, t.signature, t.help, t.min_args, t.max_args);
  if (no.empty() && (t.bind == nullptr || t.run == nullptr))
    no = fmt::format("the function {} has no bind or no run", as_string(t.name));
  return no;
}

}  // namespace

std::unique_ptr<const expr::outside_function> make_function(const fr_function& table, const std::string& plugin,
                                                            const std::string& who) {
  const fr_function known = known_part(table);
  if (const std::string no = fault_of(known); !no.empty())
    throw error(error_kind::internal, fmt::format("{}: {}", who, no), "tell the author of the plugin");
  return std::make_unique<plugin_function>(known, plugin, who);
}

}  // namespace flowrun::plugins
