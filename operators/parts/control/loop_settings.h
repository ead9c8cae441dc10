// What a loop carries, and what becomes of it: read from its parameters and checked together with its body.
//
// The orders of carried streams are a greatest fixed point: the first iteration's order is assumed, the body is
// checked, the assumption is weakened to what the body gives, and so on until it holds. Each round only ever shortens
// an order, so it ends after at most as many rounds as there are keys.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operators/parts/control/control_values.h"

namespace flowrun::operators {

// Where rows come from after an iteration: a stream of the body as it was, or a result of the body.
struct body_rows {
  std::string stream;  // by name; or
  std::string result;  // by id
};

struct carried_stream {
  std::string name;
  std::optional<std::vector<std::vector<expr::expression>>> rows;  // that stand in the spec; or
  std::optional<size_t> input;                                     // those of an input
  record::row_type type;
  plan::order sorted_by;
  bool any_order = false;  // at first: there are no rows
  plan::order declared;    // by `sorted_by`: the body counts on it
  bool sought = false;     // needs an index
  body_rows next;
};

struct carried_scalar {
  std::string name;
  record::value_type type;
  expr::expression initial;
  std::optional<expr::expression> next = {};  // nullopt: stays
};

struct collected_rows {
  std::string port;
  body_rows from;
  record::row_type type;
};

struct loop_settings {
  std::vector<carried_stream> streams;
  std::vector<carried_scalar> scalars;
  std::vector<collected_rows> collected;
  std::vector<std::string> inputs;  // that the body reads under their own names, by input; empty: hidden
  std::optional<expr::expression> until;
  std::optional<expr::expression> times;
  uint64_t max_iterations = 0;
  mentioned_nodes mentioned;
};

loop_settings check_loop(plan::node_checker& node);

// The last output port. In front of it are the ports of collected rows, then a port for each carried stream, by its
// name.
constexpr const char* scalars_port = "scalars";
// The scalar that expressions of the loop use for the number of the iteration, from 0.
constexpr const char* iteration_name = "iteration";
// The column of scalars_port that has the number of iterations; left out where a carried scalar has this name.
constexpr const char* iterations_column = "iterations";

}  // namespace flowrun::operators
