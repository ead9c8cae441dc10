// Arguments and results of a plugin's functions and aggregates, on both sides of the border.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/expr/outside_function.h"
#include "engine/expr/text_kernels.h"
#include "plugin/include/flowrun/plugin.h"
#include "plugin/problem.h"

// Where a call takes memory for its texts.
struct fr_arena {
  flowrun::expr::text_arena& texts;
  fr_problem& problem;
};

namespace flowrun::plugins {

// What bind() is handed.
struct given_arguments {
  explicit given_arguments(const std::vector<expr::given_argument>& given);
  std::vector<fr_argument> args;
  std::vector<uint32_t> wanted;
};

// The fault where a decimal is given: only rows have them.
std::optional<expr::binding_fault> decimal_given(const std::vector<expr::given_argument>& given);

// What a plugin says that a call gives, and that it wants; nullopt: types that there are not.
std::optional<record::value_type> result_type(fr_type type);
std::optional<std::vector<record::value_type>> wanted_types(const std::vector<uint32_t>& wanted);

// Why bind() refused. `faulty` is what it left as faulty_argument.
expr::binding_fault fault_of(const fr_problem& problem, size_t faulty, size_t num_args);

// What a call does with its arena.
char* take_text(fr_arena* arena, size_t num_bytes);
void give_back_text(fr_arena* arena, size_t num_bytes);
int has_made_enough(const fr_arena* arena);

// The call as a plugin sees it; `arena` and `problem` outlive it. There is one for each chunk: each word of it is
// written once.
inline fr_call call_of(const expr::text_call& c, fr_arena& arena) {
  return {sizeof(fr_call),
          c.num_rows,
          c.num_args,
          reinterpret_cast<const fr_cells*>(c.args),
          c.out,
          &arena,
          take_text,
          give_back_text,
          has_made_enough,
          &arena.problem,
          arena.texts.longest()};
}

// Throws what went wrong in a call of `num_rows` rows of which it says that it has done `done`.
[[noreturn]] void raise_undone(size_t done, size_t num_rows, const fr_problem& problem, const std::string& who);
inline void check_done(size_t done, size_t num_rows, const fr_problem& problem, const std::string& who) {
  if (done == 0 || done > num_rows || !problem.is_empty()) raise_undone(done, num_rows, problem, who);
}

// What a plugin has made of `num_rows` rows: throws where the cell of a narrow type holds none of its values. The
// engine relies on it: a bool of 255 would be counted as so many rows.
void check_cells(record::value_type type, const void* cells, size_t num_rows, const std::string& who);

// Why a word can't be declared so; empty: it can. `what`: "function", "aggregate".
std::string fault_of_word(const char* what, fr_text name, fr_text signature, fr_text help, uint32_t min_args,
                          uint32_t max_args);
// PLUGIN.NAME, and so on.
expr::function_help help_of(const std::string& plugin, fr_text name, fr_text signature, fr_text help);

}  // namespace flowrun::plugins
