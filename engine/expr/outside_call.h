// A call of an outside function as a node: bound, its arguments converted, folded where all of them are constants.
#pragma once

#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "engine/expr/node.h"
#include "engine/expr/outside_function.h"

namespace flowrun::expr {

// What a node of such a call has beside its converted arguments.
struct outside_call {
  // Null where the language itself has made the call, of constants that have values: it is not bound again.
  const outside_function* function = nullptr;
  std::vector<node_ptr> given;  // the arguments before they were converted: to bind them again
  std::shared_ptr<const bound_call> bound;
};

std::variant<node_ptr, binding_fault> outside_call_node(const outside_function& function, std::vector<node_ptr> given);

// `bind` gets the arguments described, with the values of those that are known.
void bind_arguments(const std::vector<node_ptr>& given,
                    const std::function<void(const std::vector<given_argument>&)>& bind);
// The arguments as the call wants them, or why one can't become that.
// Makes times of constant texts where times are wanted; then the call is to be bound again, with these. False: there
// are none.
bool texts_as_times(std::vector<node_ptr>& given, const std::vector<record::value_type>& wanted);

std::variant<std::vector<node_ptr>, binding_fault> converted_arguments(const std::vector<node_ptr>& given,
                                                                       const std::vector<record::value_type>& wanted);
// For a call that was bound before, without the values that its arguments have now.
[[noreturn]] void refuse_binding(const std::string& name, const binding_fault& fault);

// The call with other arguments of the same types. `binds`: they may have become known, so it is bound again; throws
// error(bad_spec) when it can't be.
node_ptr outside_call_again(const node& call, std::vector<node_ptr> args, std::vector<node_ptr> given, bool binds);

}  // namespace flowrun::expr
