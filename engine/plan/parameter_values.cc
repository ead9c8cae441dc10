#include "engine/plan/parameter_values.h"

#include <string>

#include "engine/base/calendar.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/expr/decimals.h"
#include "engine/expr/exact.h"
#include "engine/expr/node.h"
#include "specs/value.h"

namespace flowrun::plan {

namespace {

using record::type_kind;
using record::value_type;

// The reader of jobs has looked at the texts: each is a value of its parameter's type.
expr::node_ptr value_of(specs::ParamType type, const std::string& text) {
  int64_t time = 0;
  switch (type) {
    case specs::PARAM_INT: {
      const std::optional<int64_t> with_sign = specs::to_int(text);
      return expr::literal_node(with_sign ? expr::exact_number{*with_sign} : specs::to_uint(text).value());
    }
    case specs::PARAM_BYTES: return expr::literal_node(parse_bytes(text).value());
    case specs::PARAM_FLOAT: return expr::signed_real_node(specs::to_double(text).value(), text);
    case specs::PARAM_BOOL:
      return expr::number_node(value_type::of(type_kind::boolean), specs::to_bool(text).value() ? 1 : 0);
    case specs::PARAM_DATE:
      FLOWRUN_CHECK(calendar::parse_date(text, time));
      return expr::number_node(value_type::of(type_kind::date), static_cast<uint64_t>(time));
    case specs::PARAM_TIMESTAMP:
      FLOWRUN_CHECK(calendar::parse_timestamp(text, time));
      return expr::number_node(value_type::of(type_kind::timestamp), static_cast<uint64_t>(time));
    default: return expr::text_node(text);
  }
}

}  // namespace

std::vector<expr::parameter> parameter_values(const specs::JobSpec& job) {
  std::vector<expr::parameter> out;
  for (const specs::Param& p : job.params())
    out.push_back({p.name(), p.has_value() ? value_of(p.type(), p.value()) : nullptr});
  return out;
}

}  // namespace flowrun::plan
