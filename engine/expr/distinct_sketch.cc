// approx_count_distinct: HyperLogLog (Flajolet, Fusy, Gandouet, Meunier 2007), 4,096 registers of a byte with 64-bit
// hashes, and the estimator of Ertl, "New cardinality estimation algorithms for HyperLogLog sketches" (2017, algorithm
// 6), which needs no corrections for small and large numbers. The standard error is 1.04 / sqrt(4096) = 1.6 %.
//
// A register is the largest rank that it has seen, so it is a function of the set of values. Few values need none:
// their hashes themselves are the state, first as a list, then as a table, and the number is exact.
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "engine/expr/lane.h"
#include "engine/expr/own_aggregates.h"
#include "engine/expr/text_kernels.h"

namespace flowrun::expr {

namespace {

using record::type_kind;
using record::value_type;

constexpr size_t index_bits = 12;
constexpr size_t num_registers = size_t{1} << index_bits;
constexpr size_t most_rank = 64 - index_bits + 1;

constexpr size_t most_listed = 32;   // in a list, which is searched from end to end
constexpr size_t num_slots = 512;    // of the table
constexpr size_t most_exact = 384;   // in the table
constexpr size_t header_bytes = 16;  // keeps what follows aligned
constexpr size_t state_bytes = header_bytes + num_registers;
static_assert(num_slots * sizeof(uint64_t) == num_registers);

enum class form : uint32_t { list, table, registers };

void add_hash(std::byte* registers, uint64_t hash) {
  const size_t index = hash >> (64 - index_bits);
  const uint64_t rest = hash << index_bits;
  const size_t rank = rest == 0 ? most_rank : static_cast<size_t>(__builtin_clzll(rest)) + 1;
  registers[index] = std::max(registers[index], static_cast<std::byte>(rank));
}

double sigma(double x) {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double y = 1, z = x, before = -1;
  while (z != before) {
    x *= x;
    before = z;
    z += x * y;
    y += y;
  }
  return z;
}

double tau(double x) {
  if (x == 0 || x == 1) return 0;
  double y = 1, z = 1 - x, before = -1;
  while (z != before) {
    x = std::sqrt(x);
    before = z;
    y *= 0.5;
    z -= (1 - x) * (1 - x) * y;
  }
  return z / 3;
}

uint64_t estimate(const std::byte* registers) {
  std::array<size_t, most_rank + 1> with_rank{};
  for (size_t i = 0; i < num_registers; ++i) ++with_rank[std::min(static_cast<size_t>(registers[i]), most_rank)];
  constexpr double m = num_registers, log_of_2 = 0x1.62e42fefa39efp-1;
  double z = m * tau(1 - static_cast<double>(with_rank[most_rank]) / m);
  for (size_t rank = most_rank - 1; rank >= 1; --rank) z = 0.5 * (z + static_cast<double>(with_rank[rank]));
  z += m * sigma(static_cast<double>(with_rank[0]) / m);
  return static_cast<uint64_t>(std::round(m * m / (2 * log_of_2 * z)));
}

// A state, at any address. Hashes are not 0, which marks a free slot.
class sketch_view {
 public:
  explicit sketch_view(const std::byte* at) : at_(at) {}

  form shape() const { return header().shape; }
  const std::byte* registers() const { return at_ + header_bytes; }
  uint64_t count() const { return shape() == form::registers ? estimate(registers()) : header().count; }
  template <class Function>
  void for_each_hash(Function use) const {
    const size_t end = shape() == form::list ? header().count : num_slots;
    for (size_t i = 0; i < end; ++i)
      if (const uint64_t h = hash(i); h != 0) use(h);
  }

 protected:
  struct header_fields {
    form shape = form::list;
    uint32_t count = 0;  // of hashes
  };
  header_fields header() const {
    header_fields out;
    std::memcpy(&out, at_, sizeof out);
    return out;
  }
  uint64_t hash(size_t i) const {
    uint64_t out;
    std::memcpy(&out, at_ + header_bytes + i * sizeof out, sizeof out);
    return out;
  }

 private:
  const std::byte* at_;
};

class sketch : public sketch_view {
 public:
  explicit sketch(std::byte* at) : sketch_view(at), at_(at) {}

  // What lies behind the header is read where it was written only.
  void start() { std::memset(at_, 0, header_bytes); }
  std::byte* registers() { return at_ + header_bytes; }

  void add(uint64_t hash) {
    switch (shape()) {
      case form::list: return add_to_list(hash);
      case form::table: return add_to_table(hash);
      case form::registers: return add_hash(registers(), hash);
    }
  }
  void add(const sketch_view& other) {
    if (other.shape() != form::registers) return other.for_each_hash([&](uint64_t hash) { add(hash); });
    if (shape() != form::registers) change_to(form::registers);
    for (size_t i = 0; i < num_registers; ++i) registers()[i] = std::max(registers()[i], other.registers()[i]);
  }

 private:
  void set(header_fields h) { std::memcpy(at_, &h, sizeof h); }
  void set_hash(size_t i, uint64_t hash) { std::memcpy(at_ + header_bytes + i * sizeof hash, &hash, sizeof hash); }

  void add_to_list(uint64_t hash) {
    const uint32_t count = header().count;
    for (size_t i = 0; i < count; ++i)
      if (this->hash(i) == hash) return;
    if (count == most_listed) {
      change_to(form::table);
      return add_to_table(hash);
    }
    set_hash(count, hash);
    set({form::list, count + 1});
  }

  void add_to_table(uint64_t hash) {
    size_t slot = hash % num_slots;
    for (; this->hash(slot) != 0; slot = (slot + 1) % num_slots)
      if (this->hash(slot) == hash) return;
    const uint32_t count = header().count;
    if (count == most_exact) {
      change_to(form::registers);
      return add_hash(registers(), hash);
    }
    set_hash(slot, hash);
    set({form::table, count + 1});
  }

  void change_to(form shape) {
    std::array<uint64_t, most_exact> hashes;
    size_t count = 0;
    for_each_hash([&](uint64_t hash) { hashes[count++] = hash; });
    std::memset(at_ + header_bytes, 0, num_registers);
    set({shape, 0});
    for (size_t i = 0; i < count; ++i) add(hashes[i]);
  }

  std::byte* at_;
};

class distinct_sketch final : public bound_aggregate {
 public:
  explicit distinct_sketch(value_type wanted) : wanted_(wanted) {}

  void start(std::byte* states, size_t num_states) const override {
    for (size_t k = 0; k < num_states; ++k) sketch(states + k * state_bytes).start();
  }
  void update(const row_targets& to, const text_operand* args) const override {
    for (size_t k = 0; k < to.num_states; ++k) {
      sketch state(to.states + k * state_bytes);
      uint32_t row = to.starts[k];
      while (row < to.starts[k + 1] && state.shape() != form::registers) state.add(hash_of(args[0], row++));
      while (row < to.starts[k + 1]) add_hash(state.registers(), hash_of(args[0], row++));
    }
  }
  void combine(const row_targets& to, const std::byte* from, size_t step) const override {
    for (size_t k = 0; k < to.num_states; ++k) {
      sketch state(to.states + k * state_bytes);
      for (uint32_t row = to.starts[k]; row < to.starts[k + 1]; ++row) state.add(sketch_view(from + row * step));
    }
  }
  size_t finish(const std::byte* states, const text_call& call) const override {
    for (size_t k = 0; k < call.num_rows; ++k)
      static_cast<uint64_t*>(call.out)[k] = sketch_view(states + k * state_bytes).count();
    return call.num_rows;
  }

 private:
  uint64_t hash_of(const text_operand& arg, uint32_t row) const {
    uint64_t hash = 0;
    if (wanted_.is_text()) {
      const std::string_view text = static_cast<const std::string_view*>(arg.data)[row * arg.step];
      hash = XXH3_64bits(text.data(), text.size());
    } else {
      // Equal as keys are: by their bits (decision D15).
      hash = lane::mix(lane::mix(static_cast<const uint64_t*>(arg.data)[row * arg.step]));
    }
    return std::max<uint64_t>(hash, 1);
  }
  const value_type wanted_;
};

std::variant<aggregate_binding, binding_fault> bind_distinct(const std::vector<given_argument>& args) {
  const value_type type = args[0].type;
  const type_kind wide = type.is_text()      ? type_kind::string
                         : type.is_float()   ? type_kind::f64
                         : type.is_boolean() ? type_kind::boolean
                         : type.is_time()    ? type.kind
                         : type.is_signed()  ? type_kind::i64
                                             : type_kind::u64;
  aggregate_binding out;
  out.result = value_type::of(type_kind::u64);
  out.wanted = {type.is_decimal() ? type : value_type::of(wide)};
  out.state_bytes = state_bytes;
  out.is_combinable = true;
  out.aggregate = std::make_shared<distinct_sketch>(out.wanted[0]);
  return out;
}

constexpr own_aggregate table[] = {
    {"approx_count_distinct", "approx_count_distinct(x) → u64",
     "How many different values there are: exact for up to 384, for more in two of three cases within 1.6 % "
     "(HyperLogLog, 4 KiB a group). For the exact number of more, sort by the keys and x with `unique: true`, and "
     "count().",
     1, 1, bind_distinct},
};

}  // namespace

std::span<const own_aggregate> distinct_aggregates() { return table; }

}  // namespace flowrun::expr
