#include "operators/parts/messages/message_layout.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/fault.h"
#include "engine/record/batch.h"

namespace flowrun::operators {

namespace {

namespace pb = google::protobuf;

template <class number>
void put(std::byte* to, number value) {
  std::memcpy(to, &value, sizeof value);
}

class layout_maker {
 public:
  layout_maker(const message_type& message, const message_columns& columns) : message_(message), columns_(columns) {
    out_.type = with_told_columns(columns.type, columns.missing);
    out_.messages.emplace_back();
    out_.defaults.resize(out_.type.row_bytes());
    out_.told_by.resize(columns.type.num_columns());
    out_.implied_texts.resize(columns.type.num_columns());
    out_.texts.resize(columns.type.num_columns());
    out_.enum_names.resize(columns.type.num_columns());
  }

  message_layout make() {
    for (size_t i = 0; i < columns_.type.num_columns(); ++i) add_column(i);
    for (size_t m = 0; m < out_.messages.size(); ++m) find_oneofs(m);
    return std::move(out_);
  }

 private:
  [[noreturn]] static void fail(const std::string& message, const std::string& hint = {}) {
    throw error(error_kind::bad_data, message, hint);
  }

  void add_column(size_t i) {
    size_t at = 0;
    std::string path;
    message_layout::field* around = nullptr;
    for (const pb::FieldDescriptor* f : message_.fields_on(columns_.paths[i])) {
      path += (path.empty() ? "" : ".") + f->name();
      if (path == columns_.paths[i]) {
        set_missing(i, *f, around);
        return add_leaf(i, *f, at, path);
      }
      const size_t outer = std::exchange(at, message_at(at, *f, path));
      around = &field_at(outer, static_cast<uint32_t>(f->number()));
    }
  }

  // What the job says of messages in which the field is absent. A field without presence is as much as there when the
  // message around it is: nothing tells its being absent from its being zero.
  void set_missing(size_t i, const pb::FieldDescriptor& f, message_layout::field* around) {
    if (columns_.missing.columns.empty() || !columns_.missing.columns[i].allowed) return;
    if (const std::string fault = presence_fault(message_, columns_, i); !fault.empty()) fail(fault, presence_hint);
    if (!f.has_presence()) around->implied.push_back(i);
    out_.told_by[i] = columns_.missing.columns[i].told_by;
  }

  message_layout::field& field_at(size_t message, uint32_t number) {
    message_layout::fields& all = out_.messages[message];
    return *std::find_if(all.begin(), all.end(), [&](const auto& f) { return f.number == number; });
  }

  // The fields of the message in the field `f` of the message `at`.
  size_t message_at(size_t at, const pb::FieldDescriptor& f, const std::string& path) {
    for (const message_layout::field& known : out_.messages[at])
      if (known.number == static_cast<uint32_t>(f.number())) {
        if (known.value == message_value::message) return known.target;
        fail(fmt::format("the columns take '{}' as a whole and in parts", path), "take one of both");
      }
    const size_t target = out_.messages.size();
    out_.messages.emplace_back();
    insert(at, {static_cast<uint32_t>(f.number()), message_value::message, target, {}, path, {}}, f);
    return target;
  }

  void insert(size_t at, message_layout::field field, const pb::FieldDescriptor& f) {
    message_layout::fields& all = out_.messages[at];
    const auto place = std::find_if(all.begin(), all.end(), [&](const auto& x) { return x.number > field.number; });
    all.insert(place, std::move(field));
    descriptors_[{at, static_cast<uint32_t>(f.number())}] = &f;
  }

  void add_leaf(size_t column, const pb::FieldDescriptor& f, size_t at, const std::string& path) {
    const record::column& to = columns_.type[column];
    const bool is_enum = f.type() == pb::FieldDescriptor::TYPE_ENUM;
    const bool is_text = f.cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING;
    const record::value_type usual = *usual_type(f);
    const bool fits = usual == to.type || (is_enum && to.type.is_string()) || (is_text && to.type.is_bytes());
    if (!fits)
      fail(fmt::format("the field '{}' of {} is {} ({}), but `type` says {}: {}", path, message_.name(), f.type_name(),
                       record::to_string(usual), to.name, record::to_string(to.type)),
           is_enum ? "say i32 for the number, string for the name"
                   : "what can be columns is type: " + message_.columns_text());
    for (const message_layout::field& known : out_.messages[at])
      if (known.number == static_cast<uint32_t>(f.number()))
        fail(fmt::format("two columns take the field '{}'", path), "take it once; map gives a column a second name");
    insert(at, {static_cast<uint32_t>(f.number()), value_of(f, to.type), column, {}, path, {}}, f);
    if (is_enum && to.type.is_string())
      for (int i = 0; i < f.enum_type()->value_count(); ++i)  // (the first of several names)
        out_.enum_names[column].try_emplace(f.enum_type()->value(i)->number(), f.enum_type()->value(i)->name());
    set_default(column, f);
    out_.implied_texts[column] = out_.texts[column];
    replace_default(column);
  }

  // By what the job says.
  void replace_default(size_t i) {
    if (out_.told_by[i]) put(out_.defaults.data() + *out_.told_by[i], uint8_t{1});
    const csv_missing& missing = columns_.missing;
    if (missing.columns.empty() || !missing.columns[i].has_default) return;
    const std::byte* const from = missing.values.data() + columns_.type[i].offset;
    if (columns_.type[i].type.is_string())
      out_.texts[i] = record::load_string(from, reinterpret_cast<const std::byte*>(missing.default_texts.data()));
    else
      std::memcpy(out_.defaults.data() + columns_.type[i].offset, from, columns_.type[i].type.num_bytes);
  }

  // Zero or empty in the syntax of today; a field of proto2 may have another.
  void set_default(size_t column, const pb::FieldDescriptor& f) {
    std::byte* const to = out_.defaults.data() + columns_.type[column].offset;
    switch (f.cpp_type()) {
      case pb::FieldDescriptor::CPPTYPE_INT32: return put(to, f.default_value_int32());
      case pb::FieldDescriptor::CPPTYPE_INT64: return put(to, f.default_value_int64());
      case pb::FieldDescriptor::CPPTYPE_UINT32: return put(to, f.default_value_uint32());
      case pb::FieldDescriptor::CPPTYPE_UINT64: return put(to, f.default_value_uint64());
      case pb::FieldDescriptor::CPPTYPE_FLOAT: return put(to, f.default_value_float());
      case pb::FieldDescriptor::CPPTYPE_DOUBLE: return put(to, f.default_value_double());
      case pb::FieldDescriptor::CPPTYPE_BOOL: return put(to, static_cast<uint8_t>(f.default_value_bool()));
      case pb::FieldDescriptor::CPPTYPE_ENUM:
        if (columns_.type[column].type.is_string())
          out_.texts[column] = f.default_value_enum()->name();
        else
          put(to, static_cast<int32_t>(f.default_value_enum()->number()));
        return;
      case pb::FieldDescriptor::CPPTYPE_STRING: {
        const std::string& text = f.default_value_string();
        if (columns_.type[column].type.is_string())
          out_.texts[column] = text;
        else if (text.size() == columns_.type[column].type.num_bytes)
          std::memcpy(to, text.data(), text.size());
        return;
      }
      case pb::FieldDescriptor::CPPTYPE_MESSAGE: return;
    }
  }

  void columns_in(size_t m, std::vector<size_t>& out) const {
    for (const message_layout::field& f : out_.messages[m])
      if (f.value == message_value::message)
        columns_in(f.target, out);
      else if (f.value != message_value::skipped)
        out.push_back(f.target);
  }

  void find_oneofs(size_t m) {
    for (const message_layout::field& f : message_layout::fields(out_.messages[m]))
      if (const pb::OneofDescriptor* const one = descriptors_.at({m, f.number})->containing_oneof())
        for (int i = 0; i < one->field_count(); ++i) {
          const pb::FieldDescriptor& other = *one->field(i);
          const auto number = static_cast<uint32_t>(other.number());
          if (!descriptors_.contains({m, number}))
            insert(m, {number, message_value::skipped, 0, {}, other.name(), {}}, other);
        }
    for (message_layout::field& f : out_.messages[m]) {
      const pb::OneofDescriptor* const one = descriptors_.at({m, f.number})->containing_oneof();
      if (one == nullptr) continue;
      for (const message_layout::field& other : out_.messages[m]) {
        if (other.number == f.number || descriptors_.at({m, other.number})->containing_oneof() != one) continue;
        if (other.value == message_value::message)
          columns_in(other.target, f.cleared);
        else if (other.value != message_value::skipped)
          f.cleared.push_back(other.target);
      }
    }
  }

  const message_type& message_;
  const message_columns& columns_;
  message_layout out_;
  std::map<std::pair<size_t, uint32_t>, const pb::FieldDescriptor*> descriptors_;  // by message and number
};

}  // namespace

const message_layout::field* message_layout::find(size_t message, uint32_t number) const {
  const fields& all = messages[message];
  // Most messages have few, and in the order of their numbers.
  for (const field& f : all) {
    if (f.number == number) return &f;
    if (f.number > number) return nullptr;
  }
  return nullptr;
}

std::string presence_fault(const message_type& message, const message_columns& columns, size_t column) {
  if (columns.missing.columns.empty() || !columns.missing.columns[column].allowed) return {};
  const std::vector<const pb::FieldDescriptor*> fields = message.fields_on(columns.paths[column]);
  if (fields.size() > 1 || fields.front()->has_presence()) return {};
  return fmt::format("the field '{}' of {} has no presence: no message tells whether it is absent or {}",
                     fields.front()->name(), message.name(), columns.type[column].type.is_text() ? "empty" : "zero");
}

message_layout message_layout_of(const message_type& message, const message_columns& columns) {
  return layout_maker(message, columns).make();
}

}  // namespace flowrun::operators
