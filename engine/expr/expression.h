// Expressions: typed, immutable values made from a text such as "if(deg > 10, src + 1, 0)".
//
// compile() parses and checks a text against a scope (columns, state variables, neighbours of a window) and answers
// with an expression or with all problems found, each with its place in the text. Nothing here throws on a wrong text.
//
// Types. Integers compute in 64 bits and wrap around modulo 2^64: unsigned op unsigned gives u64, signed op signed
// gives i64, mixed gives i64; with a float on either side everything is f64. A literal that is not negative takes the
// signedness of the other side. A bare column or a cast keeps its narrow type. x / 0 and x % 0 are 0 for integers.
// Integer division rounds toward zero, and % has the sign of the dividend. A shift by 64 or more gives 0. Casts between
// integers keep the low bits; float to integer saturates, NaN gives 0. Comparing u64 with i64 is mathematically right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/record/row_type.h"

namespace flowrun::expr {

// A fault in an expression; `offset` counts bytes from the start of the expression's text.
struct problem {
  size_t offset = 0;
  std::string message;   // what is wrong, one line
  std::string expected;  // what would be right; may be empty
  std::string hint;      // the way out; may be empty
};

struct variable {
  std::string name;
  record::value_type type;
};

// row[-1].x: column x of the row before.
struct neighbour {
  std::string column;
  int distance = 0;
  bool operator==(const neighbour&) const = default;
};

// The name of the column that carries a neighbour's value in a row_program's input: "x[-1]". No column of a user has
// such a name.
std::string neighbour_column_name(std::string_view column, int distance);

// A value with a name that is the same for all rows: a scalar of a loop or of a graph. Names may have the form of what
// stands in the text, "rows(new)" or "total.count". In a scope only name and type matter: the value is bound later.
struct constant {
  std::string name;
  record::value_type type;  // a number or bool
  uint64_t bits = 0;        // integers and booleans as bits, floats as the bits of a double
};

struct node;  // node.h

// A parameter of the job, which expressions name as params.NAME. Its value is known while they are checked, and counts
// as if it were written there.
struct parameter {
  std::string name;
  std::shared_ptr<const node> value;  // a constant; null: it has none in this run
};

class outside_functions;  // outside_function.h

// What the names in an expression mean.
struct scope {
  const record::row_type* row = nullptr;           // columns; none when null
  bool row_number = false;                         // `row_number` may be used
  std::string index_name = {};                     // another name for row_number (generate: "i"); none when empty
  std::vector<variable> state = {};                // state variables; they hide columns of the same name
  int before = 0, after = 0;                       // row[-before] … row[after] may be used
  static constexpr int most_neighbours = 1 << 20;  // that each of these may be
  // Columns and state variables of the same name hide them. Nothing that is checked depends on their values, which
  // change from run to run (scalars.h).
  std::vector<constant> constants = {};
  // The job's parameters. A column or a constant with the name params.NAME of a parameter is a fault where it is named.
  const std::vector<parameter>* parameters = nullptr;
  // Functions beyond the table that may be called; none when null.
  const outside_functions* functions = nullptr;
  // Whether a name is that of a node whose values `scalars:` could bring in, for what is said of NAME.column; none when
  // empty.
  std::function<bool(const std::string&)> is_node = {};
};

class expression {
 public:
  expression(std::shared_ptr<const node> root, std::string text);

  record::value_type type() const;
  // The column that this expression merely names.
  std::optional<size_t> as_column() const;
  // A bytes[N] column cut at constant places: key[0:10].
  struct slice {
    size_t column;
    uint32_t from, length;
  };
  std::optional<slice> as_slice() const;
  // Uses no column, state or row number; scalars it may use.
  bool is_constant() const;
  // The value of a constant: integers and booleans as bits, floats as the bits of a double. nullopt for text, if not
  // constant, and while it uses scalars without a value.
  std::optional<uint64_t> constant_bits() const;
  // The value of a constant text.
  std::optional<std::string> constant_text() const;
  bool uses_row_number() const;
  // Distinct columns it reads, ascending; neighbours are not among them.
  std::vector<size_t> columns() const;
  // Distinct neighbours it reads, in order of appearance.
  std::vector<neighbour> neighbours() const;
  // What the user wrote.
  std::string text() const { return text_; }
  // The same value as another type, where that needs no explicit cast: integers to integers (low bits are kept),
  // numbers to floats, bytes[N] to string, a text literal of N bytes to bytes[N], anything to itself. nullopt
  // otherwise.
  std::optional<expression> converted_to(record::value_type type) const;

  // With the values of its scalars. A constant is then one number (or text); over rows, it reads the same columns as
  // before.
  expression with(const std::vector<constant>& scalars) const;
  // The same over other rows: column k is column places[k] there, and has the same type.
  expression over(const std::vector<size_t>& places) const;

  const std::shared_ptr<const node>& root() const { return root_; }

 private:
  std::shared_ptr<const node> root_;
  std::string text_;
};

struct compiled {
  std::optional<expression> value;  // set exactly when there are no problems
  std::vector<problem> problems;
};

compiled compile(std::string_view text, const scope& names);
// As compile, and the result must be bool.
compiled compile_condition(std::string_view text, const scope& names);

// The expression that names column `column` of `row`.
expression column_expression(const record::row_type& row, size_t column);

// A sort key: "-deg" is descending by deg. A leading sign belongs to the key and not to the expression ("-a + b" is
// descending by a + b), so that text can be sorted in descending order as well.
struct sort_term {
  expression value;
  bool descending = false;
};
struct compiled_sort_term {
  std::optional<sort_term> value;
  std::vector<problem> problems;
};
compiled_sort_term compile_sort_term(std::string_view text, const scope& names);

// Names that no column may have: "and", "if", "row", "row_number", …
bool is_reserved_word(std::string_view word);

}  // namespace flowrun::expr
