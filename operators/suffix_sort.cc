// suffix_sort: the suffixes of a string in order, in memory (suffix_order.h). The base case of external suffix sorting,
// which ends its recursion as soon as what is left fits.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/exec/vector_stages.h"
#include "operators/parts/algorithms/suffix_order.h"
#include "operators/parts/order/stored_source.h"
#include "operators/parts/rules/estimates.h"
#include "operators/parts/rules/fixed_rows.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

constexpr const char* on_scratch = "specs/jobs/suffix-array.yaml sorts suffixes on scratch";
constexpr uint64_t least_reading = 256 * KiB, most_reading = 4 * MiB;

record::row_type output_type() { return record::row_type({{"pos", record::value_type::of(record::type_kind::u32)}}); }

struct settings {
  plan::row_estimate letters;
  bool runs_with_all = false;  // so many come in every run: a body may be there for fewer
  uint64_t most_symbols = 0;   // letters up to the largest that the type has
};

settings check(plan::node_checker& node) {
  const record::row_type& input = node.input_type();
  if (input.num_columns() != 1 || !input[0].type.is_unsigned()) {
    node.fault_at_input(0, fmt::format("the rows of '{}' are {}", node.input_name(0), to_string(input)),
                        "one column of an unsigned type: the letters", "make it so with a map");
    return {};
  }
  const plan::row_estimate& rows = node.input_estimate();
  if (const std::optional<uint64_t> fixed = fixed_rows(node, 0); fixed && *fixed > suffix_order::most_letters)
    node.fault_at_input(
        0, fmt::format("the input has {} rows", format_count(*fixed)),
        fmt::format("{} letters at most, since they are sorted in memory", format_count(suffix_order::most_letters)),
        on_scratch);
  if (rows.known) node.facts().stored_bytes = rows.num_bytes;
  record::row_type type = output_type();
  const plan::row_estimate estimate = with_type(rows, input, type);
  node.set_output(0, std::move(type), {}, estimate);
  return {rows, rows.exact && node.owner().path.empty(),
          uint64_t{1} << std::min<uint32_t>(8 * input[0].type.num_bytes, 32)};
}

// The intake holds the letters as they came, the work sorts.
plan::memory_wish memory(const plan::node& n, plan::node_part part) {
  if (part == plan::node_part::intake) return stored_memory(n, part);
  plan::memory_wish wish{MiB, UINT64_MAX / 4, 1};
  const plan::row_estimate& letters = n.settings.as<settings>().letters;
  if (n.settings.as<settings>().runs_with_all && letters.rows <= suffix_order::most_letters)
    wish.minimum = std::max(wish.minimum, suffix_order::memory_bytes(letters.rows, 0) + most_reading);
  if (letters.most_rows <= suffix_order::most_letters)
    wish.maximum = std::max(wish.minimum, 2 * suffix_order::memory_bytes(letters.most_rows, 0) +
                                              4 * n.settings.as<settings>().most_symbols + most_reading);
  return wish;
}

class suffix_source final : public exec::source {
 public:
  explicit suffix_source(exec::build_context& c)
      : node_(c.node.id),
        memory_bytes_(c.memory_bytes),
        num_letters_(std::any_cast<exec::shared_rows>(c.states[0])->num_rows()),
        letter_bytes_(c.input_type()[0].type.num_bytes),
        reading_(std::clamp(c.memory_bytes / 16, least_reading, most_reading)),
        order_(checked_capacity()),
        letters_(std::any_cast<exec::shared_rows>(c.states[0])->read(reading_)),
        builder_(c.output_type(), c.job.pool(), c.batches) {}

  outcome pull(exec::output& out, waker& w) override {
    if (letters_ != nullptr) return read_letters(w);
    if (!sorted_) {
      sorted_ = !order_.step();
      return outcome::ready();
    }
    const std::span<const int32_t> rest = order_.suffixes().subspan(num_given_);
    const size_t count = std::min(builder_.room(), rest.size());
    if (count == 0) return outcome::done();
    std::memcpy(builder_.append(count), rest.data(), 4 * count);
    num_given_ += count;
    out.emit(builder_.take());
    return outcome::ready();
  }

 private:
  outcome read_letters(waker& w) {
    const record::batch* front = nullptr;
    const outcome o = letters_->front(front, w);
    if (o.is_blocked()) return o;
    if (o.is_done()) {
      letters_.reset();
      check_memory(order_.num_symbols());
      return outcome::ready();
    }
    for (size_t i = 0; i < front->num_rows; ++i) {
      const uint64_t letter = record::load_unsigned(front->row(i), letter_bytes_);
      if (letter >= UINT32_MAX) fail_letter(letter);
      order_.add(static_cast<uint32_t>(letter));
    }
    letters_->pop();
    return outcome::ready();
  }

  uint64_t checked_capacity() const {
    check_memory(0);
    return num_letters_;
  }

  // For letters below `num_symbols`.
  void check_memory(uint64_t num_symbols) const {
    if (num_letters_ > suffix_order::most_letters)
      throw error(error_kind::resources,
                  fmt::format("node '{}': {} letters are too many to be sorted in memory; {} are the most", node_,
                              format_count(num_letters_), format_count(suffix_order::most_letters)),
                  on_scratch);
    const uint64_t wanted = suffix_order::memory_bytes(num_letters_, num_symbols) + reading_;
    if (wanted <= memory_bytes_) return;
    throw error(error_kind::resources,
                fmt::format("node '{}': the suffixes of {} letters{} need {} of memory, and the node has {}", node_,
                            format_count(num_letters_),
                            num_symbols == 0 ? "" : fmt::format(", the largest of which is {},", num_symbols - 1),
                            format_bytes(wanted), format_bytes(memory_bytes_)),
                "more memory (-m); or smaller letters, such as their ranks (sort, scan with dense_rank); "
                "specs/jobs/suffix-array.yaml sorts suffixes on scratch");
  }

  [[noreturn]] void fail_letter(uint64_t letter) const {
    throw error(error_kind::bad_data,
                fmt::format("node '{}': letter {} (counted from 0) is {}, and the largest one may be {}", node_,
                            order_.num_letters(), letter, UINT32_MAX - 1),
                "give the letters their ranks as names: sort, scan with dense_rank");
  }

  const std::string node_;
  const uint64_t memory_bytes_;
  const uint64_t num_letters_;
  const uint32_t letter_bytes_;
  const uint64_t reading_;
  suffix_order order_;
  std::unique_ptr<container::stored_reader> letters_;  // until all are read
  bool sorted_ = false;
  size_t num_given_ = 0;
  record::batch_builder builder_;
};

exec::assembly build(exec::build_context& c, const settings&) {
  exec::assembly out;
  out.head = std::make_unique<suffix_source>(c);
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"suffix_sort">() {
  plan::operator_declaration d;
  d.name = "suffix_sort";
  d.summary = "Sorts the suffixes of a string of numbers, in memory.";
  d.details =
      "The rows are the letters of the string, in its order: one column of an unsigned type. What comes out are the "
      "positions of the letters, from 0, as {pos: u32}, in the order of the suffixes that begin there: the suffix "
      "array. A suffix comes before those that it begins.\n\n"
      "It takes 8 bytes of memory for each letter, and 4 for each number up to the largest letter where that exceeds "
      "how many letters there are; with less the job ends with an error, before the run where the job alone says how "
      "many there are. A condition may compare `memory` with rows(INPUT) (see if, call), so that a job does this only "
      "where it fits. The time depends on how long the repetitions are: fast where most letters are different, at most "
      "n log n steps.";
  d.order = "gives: nothing";
  d.example = "array: {op: suffix_sort, in: letters}\n";
  d.role = plan::operator_role::meeting;
  d.inputs = {{.name = "in", .help = "the letters", .stored = true, .as_vector = true}};
  d.outputs = {{"out", "{pos: u32}: the suffixes, in ascending order"}};
  d.memory = memory;
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
