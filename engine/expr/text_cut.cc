#include "engine/expr/text_cut.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace flowrun::expr {

namespace {

using record::type_kind;
using record::value_type;

node_ptr fault(std::vector<problem>& problems, size_t offset, std::string message, std::string expected = {},
               std::string hint = {}) {
  problems.push_back({offset, std::move(message), std::move(expected), std::move(hint)});
  return nullptr;
}

bool is_below_zero(const node_ptr& value) {
  return value->known && value->type.is_signed() && static_cast<int64_t>(value->imm) < 0;
}

// As an unsigned lane: below 0 counts as 0.
node_ptr bound(const syntax& s, const node_ptr& value, uint64_t otherwise, std::vector<problem>& problems) {
  if (s.kind == syntax_kind::nothing) return number_node(value_type::of(type_kind::u64), otherwise);
  if (value == nullptr) return nullptr;
  if (!value->type.is_integer())
    return fault(problems, s.first, fmt::format("a bound is an integer, this is {}", to_string(value->type)));
  if (!value->type.is_signed()) return value;
  if (is_below_zero(value))
    return fault(problems, s.first, "a bound is below 0", "bounds count from the start: x[0:10]");
  return op_node(opcode::max_i, value_type::of(type_kind::i64), {value, number_node(value->type, 0)});
}

}  // namespace

node_ptr byte_at_node(const syntax& s, const node_ptr& text, const node_ptr& position, std::vector<problem>& problems) {
  if (text == nullptr || position == nullptr) return nullptr;
  if (!text->type.is_text())
    return fault(problems, s.first, fmt::format("'[…]' needs a text, this is {}", to_string(text->type)),
                 "string or bytes[N]");
  const size_t where = s.children[1]->first;
  if (!position->type.is_integer())
    return fault(problems, where, fmt::format("a position is an integer, this is {}", to_string(position->type)));
  if (is_below_zero(position))
    return fault(problems, where, "a position is below 0", "positions count from the start: x[0]",
                 "the last byte is x[length(x) - 1]");
  return op_node(opcode::byte_at, value_type::of(type_kind::u8), {text, position});
}

node_ptr slice_node(const syntax& s, const node_ptr& text, const node_ptr& from_part, const node_ptr& to_part,
                    std::vector<problem>& problems) {
  const uint64_t end = text != nullptr && text->type.is_bytes() ? text->type.num_bytes : ~uint64_t{0};
  const node_ptr from = bound(*s.children[1], from_part, 0, problems),
                 to = bound(*s.children[2], to_part, end, problems);
  if (text == nullptr || from == nullptr || to == nullptr) return nullptr;
  if (!text->type.is_text())
    return fault(problems, s.first, fmt::format("'[…:…]' needs a text, this is {}", to_string(text->type)),
                 "string or bytes[N]");
  if (text->type.is_string()) return op_node(opcode::slice, text->type, {text, from, to});
  if (!from->constant || !to->constant)
    return fault(problems, s.offset,
                 fmt::format("the bounds of a slice of {} must be constants", to_string(text->type)),
                 "for example x[0:10]", "write string(x)[a:b] for a text whose length varies");
  if (to->imm > text->type.num_bytes || from->imm >= to->imm)
    return fault(problems, s.offset, fmt::format("slice [{}:{}] of {}", from->imm, to->imm, to_string(text->type)),
                 fmt::format("0 <= from < to <= {}", text->type.num_bytes));
  const uint64_t length = to->imm - from->imm;
  if (length == text->type.num_bytes) return text;
  const value_type type = value_type::fixed_bytes(static_cast<uint32_t>(length));
  // A slice of a slice is a slice of the column.
  if (text->op == opcode::cut)
    return op_node(opcode::cut, type, {text->args[0]}, ((text->imm >> 32) + from->imm) << 32 | length);
  return op_node(opcode::cut, type, {text}, from->imm << 32 | length);
}

}  // namespace flowrun::expr
