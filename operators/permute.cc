// permute: every row to a place of its own, by an expression or by a bit matrix.
//
//   [place of each row] ─▶ run creation | merge ─▶ [places are 0, 1, 2, …?] ─▶ [without them]
//
// It is a sort by the places, which can always keep the disks busy. With N rows, M of them in memory and B in a block,
// it is one merge pass over N/M runs. The factors of a BMMC permutation take rank(γ) / lg(M/B) + 2 passes (ViC*,
// section 4.2). The places of a bit matrix take no more bytes than they need, so that narrow rows stay narrow. Where a
// matrix sends each memoryload of rows to whole blocks, no sort is needed at all: permute_in_blocks.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/expr/conversion.h"
#include "operators/parts/algorithms/bit_matrix.h"
#include "operators/parts/order/permute_in_blocks.h"
#include "operators/parts/order/sort_stages.h"
#include "operators/parts/rules/column_copy.h"
#include "operators/parts/rules/fixed_rows.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {
  std::optional<expr::expression> to;  // an integer
  std::optional<bit_matrix> matrix;
  void bind(const expr::scalar_values& values) { expr::bind(to, values); }
};

// A matrix by name or as it is written.
std::optional<bit_matrix> read_matrix(plan::node_checker& node) {
  if (node.has("bits")) {
    if (!node.has("n")) {
      node.fault_at_parameter("bits", "how many bits there are is not said", "n, a number from 1 to 63",
                              "n: 20 for 2^20 rows");
      return std::nullopt;
    }
    const uint64_t n = node.integer("n");
    if (n == 0 || n > bit_matrix::most_bits) {
      node.fault_at_parameter("n", fmt::format("{} bits can't be reversed", n), "a number from 1 to 63");
      return std::nullopt;
    }
    return bit_matrix::reversal(static_cast<unsigned>(n));
  }
  std::string problem;
  std::optional<bit_matrix> out = bit_matrix::parse(node.text("matrix"), problem);
  if (!out) {
    node.fault_at_parameter("matrix", problem, "rows of 0 and 1, as many as each has digits: \"010 001 100\"");
    return std::nullopt;
  }
  if (!out->is_permutation()) {
    node.fault_at_parameter("matrix", fmt::format("the matrix has rank {} of {}", out->rank(), out->num_bits()),
                            "a nonsingular matrix", "two row numbers would go to one place");
    return std::nullopt;
  }
  return out;
}

void read_complement(plan::node_checker& node, bit_matrix& matrix) {
  const std::string digits = node.text("complement");
  uint64_t bits = 0;
  for (const char digit : digits) bits = bits << 1 | (digit == '1');
  if (digits.size() != matrix.num_bits() || digits.find_first_not_of("01") != std::string::npos)
    node.fault_at_parameter("complement", fmt::format("'{}' is not a number of {} bits", digits, matrix.num_bits()),
                            fmt::format("{} digits 0 and 1, the highest first", matrix.num_bits()));
  else
    matrix.set_complement(bits);
}

// As narrow as `to` or the matrix allows, so that narrow rows stay narrow.
record::value_type place_type(const settings& s) {
  using record::type_kind;
  if (s.to && s.to->type().is_unsigned()) return s.to->type();
  constexpr std::pair<unsigned, type_kind> widths[] = {{8, type_kind::u8},   {16, type_kind::u16},
                                                       {24, type_kind::u24}, {32, type_kind::u32},
                                                       {40, type_kind::u40}, {48, type_kind::u48}};
  if (s.matrix)
    for (const auto& [num_bits, kind] : widths)
      if (s.matrix->num_bits() <= num_bits) return record::value_type::of(kind);
  return record::value_type::of(type_kind::u64);
}

settings read(plan::node_checker& node) {
  settings out;
  const int ways = (node.has("to") ? 1 : 0) + (node.has("bits") ? 1 : 0) + (node.has("matrix") ? 1 : 0);
  if (ways != 1) {
    node.fault_at_node(ways == 0 ? "where the rows go is not said" : "where the rows go is said twice",
                       "one of to, bits and matrix");
    return out;
  }
  if (node.has("to")) {
    out.to = node.expression("to", expr::scope{.row = &node.input_type(), .row_number = true});
    if (out.to && !out.to->type().is_integer()) {
      node.fault_at_parameter("to", fmt::format("'{}' is {}", out.to->text(), record::to_string(out.to->type())),
                              "an integer: the place of the row, from 0");
      out.to.reset();
    } else if (out.to && !out.to->converted_to(place_type(out))) {
      node.fault_at_parameter("to", expr::conversion_problem(*out.to, place_type(out)).message,
                              "the place of the row, from 0");
      out.to.reset();
    }
  } else {
    out.matrix = read_matrix(node);
  }
  if (node.has("n") && !node.has("bits"))
    node.fault_at_parameter("n", "n belongs to bits", {}, "leave it out; a matrix has as many bits as rows");
  if (node.has("complement")) {
    if (node.has("to"))
      node.fault_at_parameter("complement", "a complement belongs to bits or a matrix", {}, "compute it in `to`");
    else if (out.matrix)
      read_complement(node, *out.matrix);
  }
  return out;
}

settings check(plan::node_checker& node) {
  settings s = read(node);
  if (!node.ok()) return s;
  const std::optional<uint64_t> rows = fixed_rows(node, 0);
  if (s.matrix && rows && *rows != uint64_t{1} << s.matrix->num_bits())
    node.fault_at_input(0, fmt::format("the input has {}", counted(*rows, "row")),
                        fmt::format("{} rows, for {}", format_count(uint64_t{1} << s.matrix->num_bits()),
                                    counted(s.matrix->num_bits(), "bit")));
  describe_hidden_key(node, with_hidden_key(node.input_type(), place_type(s)));
  if (s.matrix) node.facts().pass = placement_rule(*s.matrix, node.input_type());
  node.set_output(0, node.input_type(), {}, node.input_estimate());
  return s;
}

// Puts each row's place behind its columns.
class placing_stage final : public exec::ordered_stage {
 public:
  placing_stage(const std::string& node, const bit_matrix& matrix, const record::row_type& placed,
                record::batch_pool& pool)
      : node_(node),
        num_bits_(matrix.num_bits()),
        place_bytes_(placed.columns().back().type.num_bytes),
        walk_(matrix, 0),
        pool_(pool) {}

  outcome push(record::batch& in, exec::output& out, waker&) override {
    num_rows_ += in.num_rows;
    if (num_rows_ > uint64_t{1} << num_bits_)
      throw wrong_number_of_rows(node_, fmt::format("{} or more", num_rows_), num_bits_);
    const uint32_t row_bytes = in.row_bytes + place_bytes_;
    std::shared_ptr<std::byte[]> rows = pool_.take(in.num_rows * row_bytes);
    std::byte* to = rows.get();
    for (size_t i = 0; i < in.num_rows; ++i, to += row_bytes) {
      copy_bytes(to, in.row(i), in.row_bytes);
      const uint64_t place = walk_.take();
      std::memcpy(to + in.row_bytes, &place, place_bytes_);
    }
    out.emit(sharing_heap(in, std::move(rows), in.num_rows, row_bytes));
    return outcome::ready();
  }
  outcome finish(exec::output&, waker&) override {
    if (num_rows_ != uint64_t{1} << num_bits_)
      throw wrong_number_of_rows(node_, fmt::format("{}", num_rows_), num_bits_);
    return outcome::done();
  }

 private:
  const std::string node_;
  const unsigned num_bits_;
  const uint32_t place_bytes_;
  bit_matrix_walk walk_;
  record::batch_pool& pool_;
  uint64_t num_rows_ = 0;
};

// The rows of the merge go to 0, 1, 2, …, or it was no permutation.
class checking_stage final : public exec::ordered_stage {
 public:
  checking_stage(const std::string& node, const record::row_type& placed, bool is_signed)
      : node_(node),
        offset_(placed.columns().back().offset),
        num_bytes_(placed.columns().back().type.num_bytes),
        signed_(is_signed) {}

  outcome push(record::batch& in, exec::output& out, waker&) override {
    for (size_t i = 0; i < in.num_rows; ++i, ++next_) {
      const uint64_t place = record::load_unsigned(in.row(i) + offset_, num_bytes_);
      if (place == next_) continue;
      if (place < next_)
        throw error(error_kind::bad_data, fmt::format("node '{}': two rows go to place {}", node_, place),
                    "each place from 0 on needs exactly one row");
      const std::string next = signed_ ? fmt::format("{}", static_cast<int64_t>(place)) : fmt::format("{}", place);
      throw error(error_kind::bad_data,
                  fmt::format("node '{}': no row goes to place {}; the next one goes to {}", node_, next_, next),
                  "the places must be 0 to the number of rows less one, each once");
    }
    out.emit(in);
    return outcome::ready();
  }

 private:
  const std::string node_;
  const uint32_t offset_;
  const uint32_t num_bytes_;
  const bool signed_;
  uint64_t next_ = 0;
};

exec::assembly build(exec::build_context& c, const settings& s) {
  exec::assembly out;
  if (s.matrix && c.is_intake()) add_permuting_in_blocks(out, c, *s.matrix);
  if (!c.is_intake()) add_reading_of_blocks(out, c);
  if (out.head != nullptr || !out.stages.empty()) return out;
  const hidden_key sorted = with_hidden_key(c.input_type(), place_type(s));
  if (!c.is_intake()) {
    add_merge(out, c, sorted.settings);
    if (s.to)
      out.stages.emplace_back(std::make_unique<checking_stage>(c.node.id, sorted.type, s.to->type().is_signed()));
    out.stages.push_back(without_hidden_key(sorted, c.job.pool()));
    return out;
  }
  if (s.matrix) {
    out.stages.emplace_back(std::make_unique<placing_stage>(c.node.id, *s.matrix, sorted.type, c.job.pool()));
  } else {
    named_expressions columns = identity(c.input_type());
    columns.emplace_back(hidden_key_column(), *s.to->converted_to(place_type(s)));
    out.stages.push_back(make_program(c.input_type(), {program_step::map(std::move(columns))}, c.job.pool()));
  }
  add_run_creation(out, c, sorted.settings);
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"permute">() {
  plan::operator_declaration d;
  d.name = "permute";
  d.summary = "Puts every row at the place that is computed for it.";
  d.details =
      "`to` gives the place of each row from its columns and its row_number. The places must be 0, 1, … to the number "
      "of rows less one, each once: a place that is taken twice or not at all stops the job with an error that names "
      "it.\n\n"
      "A transposed matrix of R rows and C columns: to: \"u40(row_number % C * R + row_number / C)\". The rows are "
      "sorted by their places, so a type that is no wider than the places need makes less to sort.\n\n"
      "`bits: reverse` and `matrix` compute the place from the bits of the row number, for inputs of exactly 2^n "
      "rows: y = A x + c over the integers modulo 2 (a BMMC permutation). Rows that fit in memory are put into place "
      "there. Of more rows, as many as fit are taken at a time: if the matrix sends these to whole blocks of the "
      "result, each block is written once and nothing is sorted. Otherwise the rows are sorted by their places. "
      "`flowrun plan` says which of the two it will be.";
  d.order = "needs: nothing; gives: nothing";
  d.example =
      "transposed: {op: permute, in: cells, with: {to: \"row_number % 1000 * 500 + row_number / 1000\"}}\n"
      "reversed:   {op: permute, in: samples, with: {bits: reverse, n: 20}}\n"
      "rotated:    {op: permute, in: samples, with: {matrix: \"010 001 100\"}}\n";
  d.role = plan::operator_role::breaker;
  d.inputs = {{"in", "the rows"}};
  d.outputs = {{"out", "the same rows, by place"}};
  d.parameters = {
      {.name = "to", .kind = plan::parameter_kind::expression, .help = "The place of the row, from 0: an integer."},
      {.name = "bits",
       .kind = plan::parameter_kind::choice,
       .choices = {"reverse"},
       .help = "The place is the row number with its n bits in reverse order."},
      {.name = "n", .kind = plan::parameter_kind::integer, .help = "With bits: how many, 1 to 63; there are 2^n rows."},
      {.name = "matrix",
       .kind = plan::parameter_kind::text,
       .help = "Rows of 0 and 1, separated by blanks. The first row gives the highest bit of the place: "
               "the sum, modulo 2, of the bits of the row number that have a 1 in it, the highest "
               "leftmost."},
      {.name = "complement",
       .kind = plan::parameter_kind::text,
       .help = "With bits or matrix: n digits 0 and 1; the bits of the place that are turned over in the "
               "end."}};
  d.memory = sort_memory;
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
