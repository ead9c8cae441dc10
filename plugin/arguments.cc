#include "plugin/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "plugin/note.h"
#include "plugin/texts.h"
#include "plugin/value_types.h"

namespace flowrun::plugins {

namespace {

using record::type_kind;
using record::value_type;

// The numbers of kinds in the header are those of type_kind, and operands and texts lie as they do there.
static_assert(FR_BOOL == static_cast<int>(type_kind::boolean) && FR_U8 == static_cast<int>(type_kind::u8));
static_assert(FR_U64 == static_cast<int>(type_kind::u64) && FR_I64 == static_cast<int>(type_kind::i64));
static_assert(FR_F64 == static_cast<int>(type_kind::f64) && FR_STRING == static_cast<int>(type_kind::string));
static_assert(FR_DATE == static_cast<int>(type_kind::date) && FR_TIMESTAMP == static_cast<int>(type_kind::timestamp));
static_assert(sizeof(fr_cells) == sizeof(expr::text_operand) &&
              offsetof(fr_cells, step) == offsetof(expr::text_operand, step));
static_assert(sizeof(fr_text) == sizeof(std::string_view));

bool texts_lie_alike() {
  constexpr std::string_view view = "text";
  fr_text text;
  std::memcpy(&text, &view, sizeof text);
  return text.size == view.size() && text.data == view.data();
}

bool is_wide(uint32_t kind) {
  return kind == FR_U64 || kind == FR_I64 || kind == FR_F64 || kind == FR_BOOL || kind == FR_STRING ||
         kind == FR_DATE || kind == FR_TIMESTAMP;
}
uint32_t wide_kind(value_type type) {
  if (type.is_text()) return FR_STRING;
  if (type.is_boolean() || type.is_time()) return static_cast<uint32_t>(type.kind);
  return type.is_float() ? FR_F64 : type.is_signed() ? FR_I64 : FR_U64;
}

}  // namespace

given_arguments::given_arguments(const std::vector<expr::given_argument>& given) {
  FLOWRUN_CHECK(texts_lie_alike());
  for (const expr::given_argument& a : given) {
    args.push_back({{static_cast<uint32_t>(a.type.kind), a.type.num_bytes},
                    a.is_constant,
                    a.is_known,
                    a.lane,
                    as_text(a.text),
                    {}});
    wanted.push_back(wide_kind(a.type));
  }
}

std::optional<expr::binding_fault> decimal_given(const std::vector<expr::given_argument>& given) {
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i].type.is_decimal())
      return expr::binding_fault{i,
                                 fmt::format("this is {}: words of plugins take no decimals", to_string(given[i].type)),
                                 "a value of another type", "write f64(x), or i64(x * 100) for a number of hundredths"};
  return {};
}

std::optional<value_type> result_type(fr_type type) {
  return type.kind == FR_BYTES || type.kind >= FR_DECIMAL ? std::nullopt : value_type_of(type);
}

std::optional<std::vector<value_type>> wanted_types(const std::vector<uint32_t>& wanted) {
  if (!std::all_of(wanted.begin(), wanted.end(), is_wide)) return std::nullopt;
  std::vector<value_type> out;
  for (const uint32_t kind : wanted) out.push_back(value_type::of(static_cast<type_kind>(kind)));
  return out;
}

expr::binding_fault fault_of(const fr_problem& problem, size_t faulty, size_t num_args) {
  expr::binding_fault fault;
  if (faulty < num_args) fault.argument = faulty;
  fault.message = problem.said ? problem.said->message : "the plugin refuses the call and doesn't say why";
  if (problem.said) fault.hint = problem.said->hint;
  return fault;
}

void check_cells(value_type type, const void* cells, size_t num_rows, const std::string& who) {
  if (type.num_bytes == 8 || type.is_float() || type.is_text()) return;
  const std::span lanes(static_cast<const uint64_t*>(cells), num_rows);
  const unsigned unused = 64 - 8 * type.num_bytes;
  const auto read_back = [&](uint64_t lane) {
    if (type.is_boolean()) return lane & 1;
    return type.has_sign() ? static_cast<uint64_t>(static_cast<int64_t>(lane << unused) >> unused)
                           : lane << unused >> unused;
  };
  uint64_t differences = 0;
  for (const uint64_t lane : lanes) differences |= lane ^ read_back(lane);
  if (differences == 0) return;
  const auto wrong = std::find_if(lanes.begin(), lanes.end(), [&](uint64_t lane) { return read_back(lane) != lane; });
  throw expr::call_failed({error_kind::internal,
                           fmt::format("{} gives {}, which {} doesn't hold", who, *wrong, record::to_string(type)),
                           "tell the author of the plugin"});
}

char* take_text(fr_arena* arena, size_t num_bytes) {
  try {
    return arena->texts.take(num_bytes);
  } catch (...) {
    arena->problem.raised = std::current_exception();
    return nullptr;
  }
}
void give_back_text(fr_arena* arena, size_t num_bytes) { arena->texts.give_back(num_bytes); }
int has_made_enough(const fr_arena* arena) { return arena->texts.step_is_full() ? 1 : 0; }

void raise_undone(size_t done, size_t num_rows, const fr_problem& problem, const std::string& who) {
  if (problem.raised) std::rethrow_exception(problem.raised);
  if (done == 0 || problem.kind != 0) throw expr::call_failed(error_of(problem, who));
  throw expr::call_failed({error_kind::internal,
                           fmt::format("{} says that it has done {} of {} rows", who, done, num_rows),
                           "tell the author of the plugin"});
}

std::string fault_of_word(const char* what, fr_text name, fr_text signature, fr_text help, uint32_t min_args,
                          uint32_t max_args) {
  const std::string word = as_string(name);
  if (!is_word(word)) return fmt::format("the name '{}' is no word of lower case letters, digits and _", word);
  if (help.size == 0) return fmt::format("the {} {} has no help", what, word);
  if (signature.size == 0) return fmt::format("the {} {} has no signature", what, word);
  if (min_args > max_args)
    return fmt::format("the {} {} has no form (overload), or takes fewer arguments at most than at least", what, word);
  return {};
}

expr::function_help help_of(const std::string& plugin, fr_text name, fr_text signature, fr_text help) {
  return {plugin + "." + as_string(name), plugin + "." + as_string(signature), as_string(help)};
}

}  // namespace flowrun::plugins
