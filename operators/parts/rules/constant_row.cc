#include "operators/parts/rules/constant_row.h"

#include <fmt/format.h>

#include <cstring>

#include "engine/expr/conversion.h"
#include "operators/parts/rules/column_copy.h"

namespace flowrun::operators {

named_expressions read_constants(plan::node_checker& node, const std::string& parameter, const record::row_type& type,
                                 const std::string& owner) {
  named_expressions out;
  for (const auto& [name, value] : node.named_expressions(parameter, expr::scope{})) {
    const auto column = type.index_of(name);
    const std::string place = parameter + "." + name;
    if (!column) {
      node.fault_at_parameter(place, fmt::format("'{}' has no column '{}'", owner, name), "",
                              did_you_mean(name, type.names()));
    } else if (!value.is_constant()) {
      node.fault_at_parameter(place, fmt::format("'{}' is not a constant", value.text()), "a value such as 0");
    } else if (auto converted = value.converted_to(type[*column].type)) {
      out.emplace_back(name, *std::move(converted));
    } else {
      const expr::problem why = expr::conversion_problem(value, type[*column].type);
      node.fault_at_parameter(place, why.message, why.expected, why.hint);
    }
  }
  return out;
}

record::batch constant_row(const record::row_type& type, const named_expressions& constants, record::batch_pool& pool) {
  record::batch_builder builder(type, pool, record::rows_of_any_length(1));
  std::byte* to = builder.append();
  std::memset(to, 0, type.row_bytes());
  if (!constants.empty()) {
    std::vector<record::batch> values;
    const expr::row_program program = exec::program_stage::compile(record::row_type(), {program_step::map(constants)});
    program.generate(0, 1, pool, values);
    std::vector<std::pair<size_t, size_t>> columns;
    for (const auto& [name, value] : constants) columns.emplace_back(columns.size(), *type.index_of(name));
    column_copy(program.output(), type, columns).copy(values[0].rows, values[0].heap, to, builder);
  }
  return builder.take();
}

}  // namespace flowrun::operators
