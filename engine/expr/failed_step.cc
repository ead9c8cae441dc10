#include "engine/expr/failed_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "engine/record/value_text.h"

namespace flowrun::expr {

namespace {

// Columns that a message shows of a row.
constexpr size_t most_columns = 16;

row_program compiled(const record::row_type& input, const std::vector<program_step>& steps) {
  row_program_builder builder(input, failures::as_they_are);
  for (const program_step& step : steps) builder.add(step);
  return builder.build();
}

rows_of_run part_of(const rows_of_run& rows, size_t from, size_t count, record::batch& part) {
  if (rows.in != nullptr) part = rows.in->slice(from, count);
  return {rows.in != nullptr ? &part : nullptr, count, rows.first_row_number + from, rows.limits};
}

// What a program makes of the rows, to the first batches; returns how many rows these are of.
size_t run_some(const row_program& program, const rows_of_run& rows, record::batch_pool& pool,
                std::vector<record::batch>& out) {
  if (rows.in != nullptr) return program.run(*rows.in, rows.first_row_number, pool, out, rows.limits);
  return program.generate(rows.first_row_number, rows.num_rows, pool, out, rows.limits);
}

// Why a program fails for the rows.
std::optional<call_failed> failure(const row_program& program, const rows_of_run& rows, record::batch_pool& pool) {
  try {
    std::vector<record::batch> made;
    for (size_t done = 0; done < rows.num_rows;) {
      record::batch part;
      done += run_some(program, part_of(rows, done, rows.num_rows - done, part), pool, made);
      made.clear();
    }
  } catch (const call_failed& cause) {
    return cause;
  }
  return {};
}

// The first row for which a program fails that fails for one of them.
size_t first_failing(const row_program& program, const rows_of_run& rows, record::batch_pool& pool) {
  size_t from = 0, count = rows.num_rows;
  while (count > 1) {
    const size_t half = count / 2;
    record::batch part;
    if (failure(program, part_of(rows, from, half, part), pool)) {
      count = half;
    } else {
      from += half;
      count -= half;
    }
  }
  return from;
}

// In one line, and not too long.
std::string shown(std::string_view text) {
  constexpr size_t longest = 120;
  std::string out;
  for (const char c : text) {
    const bool is_blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!is_blank)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  if (out.size() <= longest) return out;
  size_t end = longest;
  while ((static_cast<unsigned char>(out[end]) & 0xC0) == 0x80) --end;  // no character is cut
  return out.substr(0, end) + "…";
}

// The values that an expression reads: " for the row {price: 12.00, row_number: 7}".
std::string values_read(const expression& e, const record::row_type& type, const rows_of_run& row) {
  std::vector<record::column> columns;
  for (const size_t c : e.columns()) columns.push_back(type[c]);
  for (const neighbour& n : e.neighbours())
    if (const auto c = type.index_of(neighbour_column_name(n.column, n.distance))) columns.push_back(type[*c]);
  const bool is_cut = columns.size() > most_columns;
  if (is_cut) columns.resize(most_columns);
  std::string text = columns.empty() ? "{}" : record::row_text(columns, row.in->row(0), row.in->heap);
  text.pop_back();
  if (is_cut) text += ", …";
  if (e.uses_row_number()) text += fmt::format("{}row_number: {}", text.size() > 1 ? ", " : "", row.first_row_number);
  return text.size() > 1 ? " for the row " + text + "}" : "";
}

// Of a step that fails for a row: the expression that does, and why.
std::optional<call_failed> failed_expression(const program_step& step, const record::row_type& type,
                                             const rows_of_run& row, record::batch_pool& pool) {
  std::vector<expression> expressions;
  if (step.condition) expressions.push_back(*step.condition);
  for (const auto& [name, value] : step.columns) expressions.push_back(value);
  for (const expression& e : expressions) {
    const auto cause = failure(compiled(type, {{.columns = {{"value", e}}}}), row, pool);
    if (!cause) continue;
    const std::string message =
        fmt::format("'{}' fails{}: {}", shown(e.text()), values_read(e, type, row), cause->what());
    call_failed out(error(cause->kind(), message, cause->hint()));
    return step.node.empty() ? out : call_failed::of_node(step.node, out);
  }
  return {};
}

std::optional<call_failed> placed(const record::row_type& input, const std::vector<program_step>& steps,
                                  const rows_of_run& rows, record::batch_pool& pool) {
  record::batch batch;
  rows_of_run row = part_of(rows, first_failing(compiled(input, steps), rows, pool), 1, batch);
  record::row_type type = input;
  for (const program_step& step : steps) {
    const row_program program = compiled(type, {step});
    std::vector<record::batch> made;
    try {
      run_some(program, row, pool, made);
    } catch (const call_failed&) {
      return failed_expression(step, type, row, pool);
    }
    if (made.empty()) break;  // a filter drops the row
    batch = std::move(made.front());
    row.in = &batch;
    type = program.output();
  }
  return {};
}

}  // namespace

call_failed with_place(const call_failed& cause, const record::row_type& input, const std::vector<program_step>& steps,
                       const rows_of_run& rows, record::batch_pool& pool) {
  try {
    return placed(input, steps, rows, pool).value_or(cause);
  } catch (const std::exception&) {  // no memory for it, say: what failed first is what the job ends with
    return cause;
  }
}

}  // namespace flowrun::expr
