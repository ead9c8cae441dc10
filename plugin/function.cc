#include "plugin/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/expr/checker.h"
#include "engine/expr/text_kernels.h"
#include "plugin/crash_line.h"
#include "plugin/note.h"
#include "plugin/problem.h"
#include "plugin/texts.h"

// Where a call takes memory for its texts.
struct fr_arena {
  flowrun::expr::text_arena& texts;
  fr_problem& problem;
};

namespace flowrun::plugins {

namespace {

using record::type_kind;
using record::value_type;

// The numbers of kinds in the header are those of type_kind, and operands and texts lie as they do there.
static_assert(FR_BOOL == static_cast<int>(type_kind::boolean) && FR_U8 == static_cast<int>(type_kind::u8));
static_assert(FR_U64 == static_cast<int>(type_kind::u64) && FR_I64 == static_cast<int>(type_kind::i64));
static_assert(FR_F64 == static_cast<int>(type_kind::f64) && FR_STRING == static_cast<int>(type_kind::string));
static_assert(sizeof(fr_cells) == sizeof(expr::text_operand) &&
              offsetof(fr_cells, step) == offsetof(expr::text_operand, step));
static_assert(sizeof(fr_text) == sizeof(std::string_view));

bool texts_lie_alike() {
  constexpr std::string_view view = "text";
  fr_text text;
  std::memcpy(&text, &view, sizeof text);
  return text.size == view.size() && text.data == view.data();
}

char* take(fr_arena* arena, size_t num_bytes) {
  try {
    return arena->texts.take(num_bytes);
  } catch (...) {
    arena->problem.raised = std::current_exception();
    return nullptr;
  }
}
void give_back(fr_arena* arena, size_t num_bytes) { arena->texts.give_back(num_bytes); }
int is_full(const fr_arena* arena) { return arena->texts.step_is_full() ? 1 : 0; }

class plugin_call final : public expr::bound_call {
 public:
  plugin_call(const fr_function& table, void* state, const std::string& who)
      : table_(table), state_(state), who_(who) {}
  ~plugin_call() override {
    if (state_ != nullptr && table_.destroy_state != nullptr) table_.destroy_state(state_);
  }

  size_t run(const expr::text_call& c) const override {
    fr_problem problem;
    fr_arena arena{*c.arena, problem};
    fr_call call{};
    call.size = sizeof call;
    call.num_rows = c.num_rows;
    call.num_args = c.num_args;
    call.args = reinterpret_cast<const fr_cells*>(c.args);
    call.out = c.out;
    call.arena = &arena;
    call.take = take;
    call.give_back = give_back;
    call.is_full = is_full;
    call.problem = &problem;
    call.longest_text = c.arena->longest();
    const size_t done = run_inside(call);
    if (problem.raised) std::rethrow_exception(problem.raised);
    if (done == 0 || problem.kind != 0) throw expr::call_failed(error_of(problem, who_));
    if (done > c.num_rows)
      throw expr::call_failed({error_kind::internal,
                               fmt::format("{} says that it has done {} of {} rows", who_, done, c.num_rows),
                               "tell the author of the plugin"});
    return done;
  }

 private:
  size_t run_inside(const fr_call& call) const {
    const inside plugin(who_);
    return table_.run(state_, &call);
  }

  const fr_function& table_;
  void* state_;
  const std::string& who_;
};

std::optional<value_type> type_from(fr_type type) {
  if (type.kind > FR_STRING || type.kind == FR_BYTES) return std::nullopt;
  return value_type::of(static_cast<type_kind>(type.kind));
}
bool is_wide(uint32_t kind) {
  return kind == FR_U64 || kind == FR_I64 || kind == FR_F64 || kind == FR_BOOL || kind == FR_STRING;
}
uint32_t wide_kind(value_type type) {
  if (type.is_text()) return FR_STRING;
  if (type.is_boolean()) return FR_BOOL;
  return type.is_float() ? FR_F64 : type.is_signed() ? FR_I64 : FR_U64;
}

class plugin_function final : public expr::outside_function {
 public:
  plugin_function(const fr_function& table, const std::string& plugin, const std::string& who)
      : table_(table),
        help_{plugin + "." + as_string(table.name), plugin + "." + as_string(table.signature), as_string(table.help)},
        who_(fmt::format("{}, function {}", who, as_string(table.name))) {}

  const expr::function_help& help() const override { return help_; }
  size_t min_args() const override { return table_.min_args; }
  size_t max_args() const override {
    return table_.max_args == FR_ANY_NUMBER ? expr::any_number : size_t{table_.max_args};
  }

  std::variant<expr::binding, expr::binding_fault> bind(const std::vector<expr::given_argument>& given) const override {
    std::vector<fr_argument> args;
    std::vector<uint32_t> wanted;
    for (const expr::given_argument& a : given) {
      args.push_back({{static_cast<uint32_t>(a.type.kind), a.type.num_bytes},
                      a.is_constant,
                      a.is_known,
                      a.lane,
                      as_text(a.text),
                      {}});
      wanted.push_back(wide_kind(a.type));
    }
    fr_problem problem;
    fr_binding out{};
    out.size = sizeof out;
    out.wanted = wanted.data();
    out.faulty_argument = FR_NO_ARGUMENT;
    if (bind_inside(args, out, problem) != FR_OK) return fault_of(problem, out, given.size());
    // From here on the state is let go of whatever comes.
    auto call = std::make_shared<plugin_call>(table_, out.state, who_);
    const auto result = type_from(out.result);
    if (!result || !std::all_of(wanted.begin(), wanted.end(), is_wide))
      throw error(error_kind::internal, fmt::format("{} gives types that functions can't have", who_),
                  "tell the author of the plugin");
    expr::binding bound{*result, {}, std::move(call)};
    for (const uint32_t kind : wanted) bound.wanted.push_back(value_type::of(static_cast<type_kind>(kind)));
    return bound;
  }

 private:
  int bind_inside(const std::vector<fr_argument>& args, fr_binding& out, fr_problem& problem) const {
    const inside plugin(who_);
    return table_.bind(table_.context, args.data(), args.size(), &out, &problem);
  }

  static expr::binding_fault fault_of(const fr_problem& problem, const fr_binding& out, size_t num_args) {
    expr::binding_fault fault;
    if (out.faulty_argument < num_args) fault.argument = out.faulty_argument;
    fault.message = problem.kind == 0 ? "the plugin refuses the call and doesn't say why" : problem.message;
    fault.hint = problem.hint;
    return fault;
  }

  fr_function table_;
  expr::function_help help_;
  std::string who_;
};

// Why the table can't be used; empty: it can.
std::string fault_of(const fr_function& t) {
  const std::string name = as_string(t.name);
  if (!is_word(name)) return fmt::format("the name '{}' is no word of lower case letters, digits and _", name);
  if (t.help.size == 0) return fmt::format("the function {} has no help", name);
  if (t.signature.size == 0) return fmt::format("the function {} has no signature", name);
  if (t.bind == nullptr || t.run == nullptr) return fmt::format("the function {} has no bind or no run", name);
  if (t.min_args > t.max_args) return fmt::format("the function {} takes at least more arguments than at most", name);
  return {};
}

}  // namespace

std::unique_ptr<const expr::outside_function> make_function(const fr_function& table, const std::string& plugin,
                                                            const std::string& who) {
  FLOWRUN_CHECK(texts_lie_alike());
  const fr_function known = known_part(table);
  if (const std::string no = fault_of(known); !no.empty())
    throw error(error_kind::internal, fmt::format("{}: {}", who, no), "tell the author of the plugin");
  return std::make_unique<plugin_function>(known, plugin, who);
}

}  // namespace flowrun::plugins
