#include "operators/parts/messages/message_form.h"

#include <fmt/format.h>
#include <google/protobuf/wire_format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "engine/expr/conversion.h"

namespace flowrun::operators {

namespace {

namespace pb = google::protobuf;
using pb::internal::WireFormatLite;
using record::type_kind;
using record::value_type;

struct integers {
  int64_t least = 0;
  uint64_t most = 0;
  bool operator<=(const integers& other) const { return other.least <= least && most <= other.most; }
};

template <class number>
constexpr integers all_of = {static_cast<int64_t>(std::numeric_limits<number>::min()),
                             static_cast<uint64_t>(std::numeric_limits<number>::max())};

integers integers_of(value_type column) {
  const uint32_t bits = 8 * column.num_bytes - (column.is_signed() ? 1 : 0);
  const uint64_t most = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  return {column.is_signed() ? -static_cast<int64_t>(most) - 1 : 0, most};
}

// Nothing: it has no integers.
std::optional<integers> integers_of(const pb::FieldDescriptor& f) {
  switch (f.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_INT32:
    case pb::FieldDescriptor::CPPTYPE_ENUM: return all_of<int32_t>;
    case pb::FieldDescriptor::CPPTYPE_INT64: return all_of<int64_t>;
    case pb::FieldDescriptor::CPPTYPE_UINT32: return all_of<uint32_t>;
    case pb::FieldDescriptor::CPPTYPE_UINT64: return all_of<uint64_t>;
    default: return std::nullopt;
  }
}

// Whether all of its values can be written, or some.
bool fits(const pb::FieldDescriptor& f, value_type column) {
  switch (f.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_FLOAT: return column.kind == type_kind::f32;
    case pb::FieldDescriptor::CPPTYPE_DOUBLE: return column.is_float();
    case pb::FieldDescriptor::CPPTYPE_BOOL: return column.is_boolean();
    case pb::FieldDescriptor::CPPTYPE_STRING: return column.is_text();
    case pb::FieldDescriptor::CPPTYPE_MESSAGE: return column.is_timestamp();
    case pb::FieldDescriptor::CPPTYPE_ENUM: return column.is_integer() || column.is_string();
    default: return column.is_integer();
  }
}

// What a number of 10^-scale is called.
std::string fractions_named(uint32_t scale) {
  static constexpr std::array<std::string_view, 4> names = {"", "tenths", "hundredths", "thousandths"};
  return scale < names.size() ? std::string(names[scale]) : fmt::format("parts of 10^-{}", scale);
}

// How a column of another type gets one that fits.
std::string way_to_fit(const record::column& c, value_type usual) {
  // Amounts of money: a message usually has them in cents, and the plain conversion would drop these in silence.
  if (c.type.is_decimal() && c.type.scale > 0 && usual.is_integer())
    return fmt::format(
        "make it {0} in a map: {1}: {0}({1} * 1{2:0>{3}}) for a number of {4}; {0}({1}) drops what is behind the point",
        to_string(usual), c.name, "", c.type.scale, fractions_named(c.type.scale));
  const std::string made = expr::converted_text(c.name, c.type, usual);
  if (made.empty())
    return fmt::format("leave '{}' out, or make a column of type {} in a map", c.name, to_string(usual));
  return fmt::format("make it {} in a map: {}: {}", to_string(usual), c.name, made);
}

std::string kind_of(const pb::FieldDescriptor& f) {
  if (f.enum_type() != nullptr) return "enum " + f.enum_type()->full_name();
  return f.message_type() == nullptr ? f.type_name() : f.message_type()->full_name();
}

// The fields while they are found: in each message by number.
struct node {
  const pb::FieldDescriptor* descriptor = nullptr;
  std::optional<size_t> column;  // of a leaf
  std::string path;
  std::map<int, std::unique_ptr<node>> within;
};

class form_maker {
 public:
  form_maker(const message_type& message, const std::vector<record::column>& columns,
             std::vector<form_problem>& problems)
      : message_(message), columns_(columns), problems_(problems) {}

  message_form make(const std::vector<std::string>& paths) {
    out_.name = message_.name();
    for (size_t i = 0; i < columns_.size(); ++i) {
      try {
        add_column(i, message_.fields_on(paths[i]));
      } catch (const error& problem) {
        const std::string& name = columns_[i].name;
        std::string hint = problem.hint();
        if (paths[i] == name)
          hint += fmt::format("{}`fields: {{{}: FIELD}}` writes it to another field, a map leaves it out",
                              hint.empty() ? "" : "; ", name);
        problems_.push_back({i, fmt::format("column '{}': {}", name, problem.what()), std::move(hint)});
      }
    }
    if (problems_.empty()) look_for_required(root_, message_.descriptor());
    if (problems_.empty()) add_message(root_, 0);
    return std::move(out_);
  }

 private:
  void add_column(size_t i, const std::vector<const pb::FieldDescriptor*>& path) {
    node* at = &root_;
    for (const pb::FieldDescriptor* f : path) {
      std::unique_ptr<node>& next = at->within[f->number()];
      if (next == nullptr) {
        next = std::make_unique<node>();
        next->descriptor = f;
        next->path = at->path + (at->path.empty() ? "" : ".") + f->name();
      } else if (next->column || f == path.back()) {
        return refuse_second(i, *next);
      }
      at = next.get();
    }
    at->column = i;
    const pb::FieldDescriptor& f = *path.back();
    const record::column& c = columns_[i];
    if (fits(f, c.type)) return;
    problems_.push_back({i,
                         fmt::format("column '{}' is {}, but the field '{}' of {} is {}", c.name, to_string(c.type),
                                     at->path, message_.name(), kind_of(f)),
                         way_to_fit(c, *usual_type(f))});
  }

  static size_t first_column(const node& n) { return n.column ? *n.column : first_column(*n.within.begin()->second); }

  void refuse_second(size_t i, const node& taken) {
    problems_.push_back({i,
                         fmt::format("the columns '{}' and '{}' would both be written to the field '{}', or into it",
                                     columns_[first_column(taken)].name, columns_[i].name, taken.path),
                         "say with `fields` which fields they are, or leave one out with a map"});
  }

  // Only in messages that are written.
  void look_for_required(const node& in, const pb::Descriptor& message) {
    for (int i = 0; i < message.field_count(); ++i) {
      const pb::FieldDescriptor& f = *message.field(i);
      const auto found = in.within.find(f.number());
      if (found != in.within.end()) {
        if (!found->second->column) look_for_required(*found->second, *f.message_type());
      } else if (f.is_required()) {
        const std::string path = in.path + (in.path.empty() ? "" : ".") + f.name();
        problems_.push_back(
            {std::nullopt, fmt::format("the field '{}' of {} is required, and no column has it", path, message_.name()),
             in.path.empty() && usual_type(f)
                 ? fmt::format("add a column '{}' in a map, or say which one it is: fields: {{COLUMN: {}}}", path, path)
                 : fmt::format("say which column it is: fields: {{COLUMN: {}}}", path)});
      }
    }
  }

  message_form::field& add(const node& n, size_t parent) {
    message_form::field& out = out_.fields.emplace_back();
    out.name = n.path;
    out.parent = parent;
    if (n.descriptor == nullptr) return out;
    const pb::FieldDescriptor& f = *n.descriptor;
    out.kind = kind_of(f);
    out.tag = pb::internal::WireFormat::MakeTag(&f);
    out.is_always = f.is_required();
    if (const pb::OneofDescriptor* const one = f.real_containing_oneof()) {
      const auto [known, is_new] = oneofs_.try_emplace({parent, one}, out_.num_oneofs);
      out_.num_oneofs += is_new ? 1 : 0;
      out.oneof = known->second;
    }
    return out;
  }

  void add_message(const node& n, size_t parent) {
    const size_t own = out_.fields.size();
    add(n, parent);
    for (const auto& [number, within] : n.within)
      if (within->column)
        add_leaf(*within, own);
      else
        add_message(*within, own);
    out_.fields[own].end = out_.fields.size();
  }

  void add_leaf(const node& n, size_t parent) {
    const pb::FieldDescriptor& f = *n.descriptor;
    message_form::field& out = add(n, parent);
    out.end = out_.fields.size();
    out.from = columns_[*n.column];
    out.value = value_of(f, out.from.type);
    const bool is_message = f.message_type() != nullptr;
    if (f.has_presence() && !is_message && out.oneof == message_form::none) out.is_always = true;
    const bool is_new_syntax = f.file()->syntax() == pb::FileDescriptor::SYNTAX_PROTO3;
    out.must_be_utf8 = f.type() == pb::FieldDescriptor::TYPE_STRING && is_new_syntax;
    if (const pb::EnumDescriptor* const all = f.enum_type()) {
      out.is_closed = all->file()->syntax() != pb::FileDescriptor::SYNTAX_PROTO3;
      for (int i = 0; i < all->value_count(); ++i) {
        out.numbers[all->value(i)->name()] = all->value(i)->number();
        out.named.insert(all->value(i)->number());
      }
    }
    if (const std::optional<integers> range = integers_of(f); range && out.from.type.is_integer()) {
      out.has_all = integers_of(out.from.type) <= *range && !out.is_closed;
      out.least = range->least;
      out.most = range->most;
    }
    set_default(f, out);
  }

  static void set_default(const pb::FieldDescriptor& f, message_form::field& out) {
    switch (f.cpp_type()) {
      case pb::FieldDescriptor::CPPTYPE_INT32: return set_bits(static_cast<int64_t>(f.default_value_int32()), out);
      case pb::FieldDescriptor::CPPTYPE_INT64: return set_bits(f.default_value_int64(), out);
      case pb::FieldDescriptor::CPPTYPE_UINT32: return set_bits(static_cast<int64_t>(f.default_value_uint32()), out);
      case pb::FieldDescriptor::CPPTYPE_UINT64: return set_bits(static_cast<int64_t>(f.default_value_uint64()), out);
      case pb::FieldDescriptor::CPPTYPE_BOOL: return set_bits(f.default_value_bool() ? 1 : 0, out);
      case pb::FieldDescriptor::CPPTYPE_ENUM:
        return set_bits(static_cast<int64_t>(f.default_value_enum()->number()), out);
      case pb::FieldDescriptor::CPPTYPE_FLOAT:
        out.default_bits = std::bit_cast<uint32_t>(f.default_value_float());
        return;
      case pb::FieldDescriptor::CPPTYPE_DOUBLE:
        out.default_bits = std::bit_cast<uint64_t>(f.default_value_double());
        return;
      // As a source gives it: bytes[N] are zeros where no default has their length.
      case pb::FieldDescriptor::CPPTYPE_STRING:
        out.default_text = f.default_value_string();
        if (out.from.type.is_bytes() && f.has_presence() && out.default_text.size() != out.from.type.num_bytes)
          out.default_text.assign(out.from.type.num_bytes, '\0');
        return;
      case pb::FieldDescriptor::CPPTYPE_MESSAGE: return;
    }
  }
  static void set_bits(int64_t value, message_form::field& out) {
    out.default_bits = written_bits(out.value, static_cast<uint64_t>(value));
  }

  const message_type& message_;
  const std::vector<record::column>& columns_;
  std::vector<form_problem>& problems_;
  node root_;
  std::map<std::pair<size_t, const pb::OneofDescriptor*>, size_t> oneofs_;  // by the message that they lie in
  message_form out_;
};

}  // namespace

uint64_t written_bits(message_value how, uint64_t value) {
  switch (how) {
    case message_value::zigzag32: return WireFormatLite::ZigZagEncode32(static_cast<int32_t>(value));
    case message_value::zigzag64: return WireFormatLite::ZigZagEncode64(static_cast<int64_t>(value));
    case message_value::fixed32: return static_cast<uint32_t>(value);
    default: return value;
  }
}

message_form message_form_of(const message_type& message, const std::vector<record::column>& columns,
                             const std::vector<std::string>& paths, std::vector<form_problem>& problems) {
  return form_maker(message, columns, problems).make(paths);
}

}  // namespace flowrun::operators
