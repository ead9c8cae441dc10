// Functions of the expression language that are not in its own table (functions.h): those of plugins.
//
// A call is bound once its arguments' types are known: the function says what it gives, how it wants its arguments, and
// keeps what it makes of the constants among them. Scalars of loops are constants without a value while a job is
// checked; the call is bound again when they have one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/error.h"
#include "engine/expr/functions.h"
#include "engine/record/value_type.h"

namespace flowrun::expr {

struct text_call;

// A call failed while it ran; who runs the program adds the node's name.
class call_failed : public error {
 public:
  explicit call_failed(const error& cause) : error(cause) {}
  call_failed(const std::string& node, const call_failed& cause)
      : error(cause.kind(), cause.names_node_ ? cause.what() : "node '" + node + "': " + cause.what(), cause.hint()) {}
  // For who runs a program of several nodes, and would name another one.
  static call_failed of_node(const std::string& node, const call_failed& cause) {
    call_failed out(node, cause);
    out.names_node_ = true;
    return out;
  }

 private:
  bool names_node_ = false;
};

// An argument of a call that is being bound.
struct given_argument {
  record::value_type type;
  bool is_constant = false;
  bool is_known = false;  // a constant with a value
  uint64_t lane = 0;      // of a known constant that is no text
  std::string_view text;  // of a known constant text
};

// A call that runs over chunks of rows. Immutable, and thread-safe.
class bound_call {
 public:
  virtual ~bound_call() = default;
  // As a text_kernel (text_kernels.h). Arguments are as `wanted` says. Throws call_failed: the job ends.
  virtual size_t run(const text_call& call) const = 0;
  // Every text that it gives is empty or a part of its first argument, so that none has to be copied.
  virtual bool gives_parts() const { return false; }
};

struct binding {
  record::value_type result;               // bytes[N] it is not
  std::vector<record::value_type> wanted;  // of each argument: u64, i64, f64, bool, string, date, timestamp or decimal
  std::shared_ptr<const bound_call> call;
};
// Why a call can't be bound: `argument` is the one at fault, if it is one.
struct binding_fault {
  std::optional<size_t> argument;
  std::string message, expected, hint;
};

class outside_function {
 public:
  virtual ~outside_function() = default;
  // The name is as expressions have it: "geo.encode".
  virtual const function_help& help() const = 0;
  virtual size_t min_args() const = 0;
  virtual size_t max_args() const = 0;
  // Pure.
  virtual std::variant<binding, binding_fault> bind(const std::vector<given_argument>& args) const = 0;
};

class outside_aggregate;  // outside_aggregate.h

// Those that the expressions of a job may name, and the aggregates beside them. They live as long as the program.
class outside_functions {
 public:
  // False when there is a function or an aggregate of that name already.
  bool add(const outside_function& function);
  bool add(const outside_aggregate& aggregate);
  // Null when there is none.
  const outside_function* find(std::string_view name) const;
  const outside_aggregate* find_aggregate(std::string_view name) const;
  // What is said of them, by name.
  std::vector<function_help> help() const;
  std::vector<function_help> aggregate_help() const;

 private:
  std::map<std::string, const outside_function*, std::less<>> by_name_;
  std::map<std::string, const outside_aggregate*, std::less<>> aggregates_;
};

}  // namespace flowrun::expr
