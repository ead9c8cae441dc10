#include "engine/expr/outside_call.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/expr/coerce.h"
#include "engine/expr/conversion.h"
#include "engine/expr/decimals.h"
#include "engine/expr/scalars.h"
#include "engine/expr/times.h"

namespace flowrun::expr {

namespace {

// `value`: of a constant; outlives the result. Null: it isn't known.
given_argument described(const node& arg, const node* value) {
  given_argument out;
  out.type = arg.type;
  out.is_known = value != nullptr;
  out.is_constant = out.is_known || is_without_rows(arg);
  if (value == nullptr) return out;
  out.lane = value->imm;
  if (value->op == opcode::text_constant) out.text = value->text;
  return out;
}

std::string name_of(size_t argument) { return fmt::format("argument {}", argument + 1); }

}  // namespace

void bind_arguments(const std::vector<node_ptr>& given,
                    const std::function<void(const std::vector<given_argument>&)>& bind) {
  std::vector<given_argument> args;
  std::vector<node_ptr> values;
  for (const node_ptr& arg : given) {
    values.push_back(constant_value(arg));
    args.push_back(described(*arg, values.back().get()));
  }
  bind(args);
}

bool texts_as_times(std::vector<node_ptr>& given, const std::vector<record::value_type>& wanted) {
  bool found = false;
  for (size_t i = 0; i < given.size() && i < wanted.size(); ++i) {
    if (!wanted[i].is_time() || given[i]->type == wanted[i]) continue;
    given[i] = as_time(given[i], wanted[i]);
    found = found || given[i]->type == wanted[i];
  }
  return found;
}

std::variant<std::vector<node_ptr>, binding_fault> converted_arguments(const std::vector<node_ptr>& given,
                                                                       const std::vector<record::value_type>& wanted) {
  FLOWRUN_CHECK(wanted.size() == given.size());
  std::vector<node_ptr> out;
  for (size_t i = 0; i < given.size(); ++i) {
    // A number below 0 would become a huge one, and nobody would see it. Of constants, the value is looked at
    // elsewhere.
    const bool may_wrap = given[i]->type.is_signed() && wanted[i].is_unsigned() && !given[i]->constant;
    // Nor would a huge one become one below 0.
    const bool is_count =
        wanted[i].kind == record::type_kind::i64 && given[i]->type.is_unsigned() && !given[i]->constant;
    node_ptr arg = may_wrap ? nullptr : is_count ? as_count(given[i]) : convert(given[i], wanted[i]);
    if (const auto no = arg == nullptr ? time_misfit(*given[i], wanted[i]) : std::nullopt)
      return binding_fault{i, no->message, no->expected, no->hint};
    if (const auto no = arg == nullptr ? decimal_misfit(*given[i], wanted[i]) : std::nullopt)
      return binding_fault{i, no->message, no->expected, no->hint};
    if (arg == nullptr)
      return binding_fault{i, fmt::format("{} is {}", name_of(i), to_string(given[i]->type)), to_string(wanted[i]),
                           fmt::format("write {}", converted_text("x", given[i]->type, wanted[i]))};
    out.push_back(std::move(arg));
  }
  return out;
}

void refuse_binding(const std::string& name, const binding_fault& fault) {
  throw call_failed(error(error_kind::bad_spec,
                          fmt::format("{}: {}{}", name, fault.message,
                                      fault.expected.empty() ? "" : fmt::format("; expected: {}", fault.expected)),
                          fault.hint));
}

std::variant<node_ptr, binding_fault> outside_call_node(const outside_function& function, std::vector<node_ptr> given) {
  std::variant<binding, binding_fault> bound;
  bind_arguments(given, [&](const std::vector<given_argument>& args) { bound = function.bind(args); });
  if (const auto* b = std::get_if<binding>(&bound); b != nullptr && texts_as_times(given, b->wanted))
    bind_arguments(given, [&](const std::vector<given_argument>& args) { bound = function.bind(args); });
  if (auto* fault = std::get_if<binding_fault>(&bound)) return std::move(*fault);
  binding& b = std::get<binding>(bound);
  FLOWRUN_CHECK(b.call != nullptr);
  auto args = converted_arguments(given, b.wanted);
  if (auto* fault = std::get_if<binding_fault>(&args)) return std::move(*fault);
  auto call = std::make_shared<outside_call>();
  call->function = &function;
  call->given = std::move(given);
  call->bound = std::move(b.call);
  try {
    return call_node(std::move(call), b.result, std::get<std::vector<node_ptr>>(std::move(args)));
  } catch (const error& failed) {  // over constants it runs at once
    return binding_fault{std::nullopt, failed.what(), "", failed.hint()};
  }
}

node_ptr outside_call_again(const node& call, std::vector<node_ptr> args, std::vector<node_ptr> given, bool binds) {
  if (!binds || call.call->function == nullptr) {
    auto again = std::make_shared<outside_call>(*call.call);
    again->given = std::move(given);
    return call_node(std::move(again), call.type, std::move(args));
  }
  const outside_function& function = *call.call->function;
  auto made = outside_call_node(function, std::move(given));
  if (const auto* fault = std::get_if<binding_fault>(&made)) refuse_binding(function.help().name, *fault);
  node_ptr out = std::get<node_ptr>(std::move(made));
  // Bound with a value, a call must give what it gave without.
  if (out->type != call.type)
    throw error(error_kind::internal,
                fmt::format("{} is {} for the value of a scalar, and was {} before it had one", function.help().name,
                            to_string(out->type), to_string(call.type)),
                "tell the author of the plugin: the result's type follows from the arguments' types alone");
  return out;
}

}  // namespace flowrun::expr
