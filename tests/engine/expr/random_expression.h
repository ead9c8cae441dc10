// Random expressions that know their own value: a tree, its text in the language, and a naive evaluation of one row at
// a time that shares nothing with the engine.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/engine/expr/program_harness.h"

namespace flowrun::expr::testing {

enum class kind { u, i, f, b, s };

struct random_tree {
  kind type = kind::u;
  std::string op;   // an operator, a function or a leaf's text
  int column = -1;  // of a leaf that is a column
  cell constant;    // of a leaf that is none
  std::vector<random_tree> args;
};

// The columns that the trees are about: a u64, b u24, c i8, d i64, e f64, ok bool, t string, k bytes[3].
record::row_type random_columns();
row random_row(std::mt19937_64& random);

random_tree random_expression(std::mt19937_64& random, kind type, int depth);
std::string text_of(const random_tree& tree);
cell naive_value(const random_tree& tree, const row& values);

}  // namespace flowrun::expr::testing
