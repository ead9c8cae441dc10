#include "engine/expr/membership.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>

#include "engine/expr/coerce.h"
#include "engine/expr/lane.h"
#include "engine/expr/outside_call.h"
#include "engine/expr/row_call.h"

namespace flowrun::expr {

namespace {

// From so many on a look into a table is the faster way; below, comparisons of a chunk of rows with each constant.
constexpr size_t least_texts = 4;
constexpr size_t least_numbers = 32;

uint64_t hash_of(uint64_t lane) { return lane::mix(lane); }
uint64_t hash_of(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

// Immutable; places are a power of two, of which at most half are taken.
template <class Stored, class Asked>
class constant_table {
 public:
  explicit constant_table(std::vector<Stored> values) : values_(std::move(values)) {
    places_.resize(std::bit_ceil(2 * values_.size()));
    for (size_t i = 0; i < values_.size(); ++i) {
      size_t at = first_place(values_[i]);
      while (places_[at] != 0) at = (at + 1) & (places_.size() - 1);
      places_[at] = static_cast<uint32_t>(i + 1);
    }
  }

  bool contains(Asked value) const {
    for (size_t at = first_place(value); places_[at] != 0; at = (at + 1) & (places_.size() - 1))
      if (values_[places_[at] - 1] == value) return true;
    return false;
  }

 private:
  size_t first_place(Asked value) const { return hash_of(value) & (places_.size() - 1); }

  std::vector<Stored> values_;
  std::vector<uint32_t> places_;  // 0: empty; else the index of a value, and 1
};

std::shared_ptr<const bound_call> look_up(std::vector<uint64_t> lanes) {
  return call_of_rows([table = constant_table<uint64_t, uint64_t>(std::move(lanes))](const row_args& r) {
    return uint64_t{table.contains(r.lane(0))};
  });
}

std::shared_ptr<const bound_call> look_up(std::vector<std::string> texts) {
  // Most texts that are none of them have another length.
  const auto bit_of = [](size_t length) { return uint64_t{1} << std::min<size_t>(length, 63); };
  uint64_t lengths = 0;
  for (const std::string& text : texts) lengths |= bit_of(text.size());
  return call_of_rows(
      [table = constant_table<std::string, std::string_view>(std::move(texts)), lengths, bit_of](const row_args& r) {
        const std::string_view text = r.text(0);
        return uint64_t{(lengths & bit_of(text.size())) != 0 && table.contains(text)};
      });
}

bool is_constant(const node& n) { return n.op == opcode::constant || n.op == opcode::text_constant; }

// The same value under the same conversions, which comparisons make anew for each constant.
bool is_same(const node_ptr& a, const node_ptr& b, int levels = 3) {
  if (a == b) return true;
  if (levels == 0 || a->op != b->op || a->type != b->type || a->imm != b->imm || a->call != b->call) return false;
  if (a->args.empty() || a->args.size() != b->args.size()) return is_constant(*a) && a->text == b->text;
  for (size_t i = 0; i < a->args.size(); ++i)
    if (!is_same(a->args[i], b->args[i], levels - 1)) return false;
  return true;
}

// The constants that one value is compared with, bit by bit.
struct constants_of {
  node_ptr value;
  std::vector<const node*> constants;
  std::vector<node_ptr> equalities;  // with each
};

template <class T>
std::vector<T> each_once(std::vector<T> all) {
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<uint64_t> lanes_of(const constants_of& of) {
  std::vector<uint64_t> out;
  for (const node* c : of.constants) out.push_back(c->imm);
  return each_once(std::move(out));
}

std::vector<std::string> texts_of(const constants_of& of) {
  std::vector<std::string> out;
  for (const node* c : of.constants) out.push_back(c->text);
  return each_once(std::move(out));
}

node_ptr in_table(const constants_of& of) {
  auto call = std::make_shared<outside_call>();
  call->bound = of.value->type.is_text() ? look_up(texts_of(of)) : look_up(lanes_of(of));
  return call_node(std::move(call), record::value_type::of(record::type_kind::boolean), {of.value});
}

// Those that follow each other closely are bits of a word, which the value shifts.
std::vector<node_ptr> of_numbers(const constants_of& of) {
  const record::value_type u64 = record::value_type::of(record::type_kind::u64);
  const record::value_type boolean = record::value_type::of(record::type_kind::boolean);
  std::vector<node_ptr> out;
  const std::vector<uint64_t> lanes = lanes_of(of);
  for (size_t first = 0; first < lanes.size();) {
    size_t end = first;
    uint64_t bits = 0;
    for (; end < lanes.size() && lanes[end] - lanes[first] < 64; ++end)
      bits |= uint64_t{1} << (lanes[end] - lanes[first]);
    constexpr size_t least_bits = 3;
    if (end - first < least_bits) {
      for (; first < end; ++first)
        out.push_back(op_node(opcode::eq, boolean, {of.value, number_node(u64, lanes[first])}));
      continue;
    }
    const node_ptr place = op_node(opcode::sub, u64, {retype_node(of.value, u64), number_node(u64, lanes[first])});
    const node_ptr bit = op_node(opcode::shr_u, u64, {number_node(u64, bits), place});  // 0 beyond the word
    const node_ptr last = op_node(opcode::bit_and, u64, {bit, number_node(u64, 1)});
    out.push_back(op_node(opcode::ne, boolean, {last, number_node(u64, 0)}));
    first = end;
  }
  return out;
}

// As a tree whose depth is the logarithm of their number.
node_ptr any_of(const node_ptr* first, size_t count) {
  if (count == 1) return *first;
  return or_node(any_of(first, count / 2), any_of(first + count / 2, count - count / 2));
}

}  // namespace

node_ptr one_holds(const std::vector<node_ptr>& equalities) {
  std::vector<constants_of> groups;
  std::vector<node_ptr> out;
  for (const node_ptr& equality : equalities) {
    const bool bitwise = equality->op == opcode::eq || equality->op == opcode::eq_text;
    if (!bitwise || is_constant(*equality->args[0]) == is_constant(*equality->args[1])) {
      out.push_back(equality);
      continue;
    }
    const size_t at = is_constant(*equality->args[0]) ? 1 : 0;
    const node_ptr& value = equality->args[at];
    // One value has few conversions; a long list of values beside one constant has many groups.
    constexpr size_t most_searched = 8;
    auto group = std::find_if(groups.end() - static_cast<std::ptrdiff_t>(std::min(groups.size(), most_searched)),
                              groups.end(), [&](const constants_of& g) { return is_same(g.value, value); });
    if (group == groups.end()) {
      groups.push_back({value, {}, {}});
      group = groups.end() - 1;
    }
    group->constants.push_back(equality->args[1 - at].get());
    group->equalities.push_back(equality);
  }
  for (const constants_of& group : groups) {
    const bool texts = group.value->type.is_text();
    const std::vector<node_ptr> each = texts ? group.equalities : of_numbers(group);
    if (each.size() >= (texts ? least_texts : least_numbers))
      out.push_back(in_table(group));
    else
      out.insert(out.end(), each.begin(), each.end());
  }
  return any_of(out.data(), out.size());
}

}  // namespace flowrun::expr
