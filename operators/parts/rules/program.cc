#include "operators/parts/rules/program.h"

#include "engine/base/error.h"
#include "operators/parts/order/stage_state.h"

namespace flowrun::operators {

namespace {

// Counts the rows that it has seen, for programs that use row_number.
class counting_program final : public exec::ordered_stage {
 public:
  counting_program(const record::row_type& input, const std::vector<program_step>& steps, record::batch_pool& pool)
      : program_(exec::program_stage::compile(input, steps)), pool_(&pool) {}

  outcome push(record::batch& in, exec::output& out, waker&) override {
    const size_t num_taken = program_.run(in, next_row_, *pool_, results_, out.limits());
    next_row_ += num_taken;
    out.emit(results_);
    if (num_taken < in.num_rows) out.leave(num_taken);
    return outcome::ready();
  }
  bool has_state() const override { return true; }
  std::string state(const resume::source_position&) const override {
    state_writer out;
    out.number(next_row_);
    return out.take();
  }
  void begin_with(const std::string& state) override { next_row_ = state_reader(state).number(); }

 private:
  expr::row_program program_;
  record::batch_pool* pool_;
  uint64_t next_row_ = 0;
  std::vector<record::batch> results_;
};

bool uses_row_number(const std::vector<program_step>& steps) {
  for (const program_step& s : steps) {
    if (s.condition && s.condition->uses_row_number()) return true;
    for (const auto& [name, value] : s.columns)
      if (value.uses_row_number()) return true;
  }
  return false;
}

}  // namespace

exec::stage make_program(const record::row_type& input, std::vector<program_step> steps, record::batch_pool& pool) {
  if (uses_row_number(steps)) return std::make_unique<counting_program>(input, steps, pool);
  return std::make_unique<exec::program_stage>(input, std::move(steps), pool);
}

named_expressions identity(const record::row_type& type) {
  named_expressions out;
  for (size_t i = 0; i < type.num_columns(); ++i) out.emplace_back(type[i].name, expr::column_expression(type, i));
  return out;
}

expr::expression constant(const std::string& text) {
  expr::compiled c = expr::compile(text, expr::scope{});
  FLOWRUN_CHECK(c.value.has_value());
  return *std::move(c.value);
}

record::row_type type_of(const named_expressions& columns) {
  std::vector<record::column> out;
  for (const auto& [name, value] : columns) out.push_back({name, value.type()});
  return record::row_type(std::move(out));
}

std::vector<std::pair<std::string, std::string>> renamed(const named_expressions& columns,
                                                         const record::row_type& input) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [name, value] : columns)
    if (const auto column = value.as_column()) out.emplace_back(input[*column].name, name);
  return out;
}

}  // namespace flowrun::operators
