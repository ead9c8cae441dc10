#include "operators/parts/messages/message_layout.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/descriptor_database.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/fault.h"

namespace flowrun::operators {

namespace {

namespace pb = google::protobuf;
using record::type_kind;
using record::value_type;

constexpr std::string_view timestamp_name = "google.protobuf.Timestamp";

// The first thing that is wrong with the files of a set.
class first_error final : public pb::DescriptorPool::ErrorCollector {
 public:
  void AddError(const std::string& file, const std::string& element, const pb::Message*, ErrorLocation,
                const std::string& message) override {
    if (text.empty()) text = fmt::format("{}: {}: {}", file, element, message);
  }
  std::string text;
};

// The column that has the field's values; nothing: there is none. Enums may also be strings.
std::optional<value_type> usual_type(const pb::FieldDescriptor& f) {
  switch (f.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_INT32:
    case pb::FieldDescriptor::CPPTYPE_ENUM: return value_type::of(type_kind::i32);
    case pb::FieldDescriptor::CPPTYPE_INT64: return value_type::of(type_kind::i64);
    case pb::FieldDescriptor::CPPTYPE_UINT32: return value_type::of(type_kind::u32);
    case pb::FieldDescriptor::CPPTYPE_UINT64: return value_type::of(type_kind::u64);
    case pb::FieldDescriptor::CPPTYPE_FLOAT: return value_type::of(type_kind::f32);
    case pb::FieldDescriptor::CPPTYPE_DOUBLE: return value_type::of(type_kind::f64);
    case pb::FieldDescriptor::CPPTYPE_BOOL: return value_type::of(type_kind::boolean);
    case pb::FieldDescriptor::CPPTYPE_STRING: return value_type::of(type_kind::string);
    case pb::FieldDescriptor::CPPTYPE_MESSAGE:
      if (f.message_type()->full_name() == timestamp_name) return value_type::of(type_kind::timestamp);
      return std::nullopt;
  }
  return std::nullopt;
}

message_value value_of(const pb::FieldDescriptor& f, value_type column) {
  switch (f.type()) {
    case pb::FieldDescriptor::TYPE_SINT32: return message_value::zigzag32;
    case pb::FieldDescriptor::TYPE_SINT64: return message_value::zigzag64;
    case pb::FieldDescriptor::TYPE_BOOL: return message_value::truth;
    case pb::FieldDescriptor::TYPE_FIXED32:
    case pb::FieldDescriptor::TYPE_SFIXED32:
    case pb::FieldDescriptor::TYPE_FLOAT: return message_value::fixed32;
    case pb::FieldDescriptor::TYPE_FIXED64:
    case pb::FieldDescriptor::TYPE_SFIXED64:
    case pb::FieldDescriptor::TYPE_DOUBLE: return message_value::fixed64;
    case pb::FieldDescriptor::TYPE_STRING:
    case pb::FieldDescriptor::TYPE_BYTES: return column.is_bytes() ? message_value::exact_text : message_value::text;
    case pb::FieldDescriptor::TYPE_ENUM: return column.is_string() ? message_value::enum_name : message_value::varint;
    case pb::FieldDescriptor::TYPE_MESSAGE:
    case pb::FieldDescriptor::TYPE_GROUP: return message_value::timestamp;
    default: return message_value::varint;
  }
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> out;
  for (size_t from = 0; from <= path.size();) {
    const size_t end = std::min(path.find('.', from), path.size());
    out.push_back(path.substr(from, end - from));
    from = end + 1;
  }
  return out;
}

std::vector<std::string> names_of(const pb::Descriptor& message) {
  std::vector<std::string> out;
  for (int i = 0; i < message.field_count(); ++i) out.push_back(message.field(i)->name());
  return out;
}

template <class number>
void put(std::byte* to, number value) {
  std::memcpy(to, &value, sizeof value);
}

class layout_maker {
 public:
  layout_maker(const pb::Descriptor& message, const message_columns& columns) : message_(message), columns_(columns) {
    out_.type = columns.type;
    out_.messages.emplace_back();
    out_.defaults.resize(columns.type.row_bytes());
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

  // "{id: u64, name: string}": what can be columns of the message.
  static std::string type_of(const pb::Descriptor& message) {
    constexpr int most_shown = 40;
    std::vector<std::string> out;
    for (int i = 0; i < message.field_count() && i < most_shown; ++i) {
      const pb::FieldDescriptor& f = *message.field(i);
      if (const auto type = usual_type(f); type && !f.is_repeated())
        out.push_back(fmt::format("{}: {}", f.name(), record::to_string(*type)));
    }
    return "{" + joined(out, ", ") + "}";
  }

  const pb::FieldDescriptor& field_of(const pb::Descriptor& message, const std::string& name) const {
    const pb::FieldDescriptor* const found = message.FindFieldByName(name);
    if (found == nullptr) {
      const std::vector<std::string> names = names_of(message);
      const std::string meant = did_you_mean(name, names);
      fail(fmt::format("the message {} has no field '{}'; it has {}", message.full_name(), name, joined(names, ", ")),
           meant.empty() ? "what it can give is type: " + type_of(message) : meant);
    }
    if (found->is_repeated())
      fail(fmt::format("the field '{}' of {} is repeated: it has many values, and a column of a row one", name,
                       message.full_name()),
           "leave it out, or write a message for each of its values");
    return *found;
  }

  void add_column(size_t i) {
    const std::vector<std::string> parts = parts_of(columns_.paths[i]);
    const pb::Descriptor* message = &message_;
    size_t at = 0;
    std::string path;
    for (size_t p = 0; p < parts.size(); ++p) {
      const pb::FieldDescriptor& f = field_of(*message, parts[p]);
      path += (path.empty() ? "" : ".") + parts[p];
      if (p + 1 == parts.size()) return add_leaf(i, f, at, path);
      if (f.type() != pb::FieldDescriptor::TYPE_MESSAGE)
        fail(fmt::format("the field '{}' of {} is no message that has fields", path, message_.full_name()));
      message = f.message_type();
      at = message_at(at, f, path);
    }
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
    insert(at, {static_cast<uint32_t>(f.number()), message_value::message, target, {}, path}, f);
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
    const std::optional<value_type> usual = usual_type(f);
    if (!usual)
      fail(fmt::format("the field '{}' of {} is a message, {}", path, message_.full_name(),
                       f.message_type()->full_name()),
           f.message_type()->field_count() == 0
               ? "leave it out"
               : fmt::format("name a field of it, such as {}.{}", path, f.message_type()->field(0)->name()));
    const bool fits = *usual == to.type || (is_enum && to.type.is_string()) || (is_text && to.type.is_bytes());
    if (!fits)
      fail(fmt::format("the field '{}' of {} is {} ({}), but `type` says {}: {}", path, message_.full_name(),
                       f.type_name(), record::to_string(*usual), to.name, record::to_string(to.type)),
           is_enum ? "say i32 for the number, string for the name" : "what it can give is type: " + type_of(message_));
    for (const message_layout::field& known : out_.messages[at])
      if (known.number == static_cast<uint32_t>(f.number()))
        fail(fmt::format("two columns take the field '{}'", path), "take it once; map gives a column a second name");
    insert(at, {static_cast<uint32_t>(f.number()), value_of(f, to.type), column, {}, path}, f);
    if (is_enum && to.type.is_string())
      for (int i = 0; i < f.enum_type()->value_count(); ++i)  // (the first of several names)
        out_.enum_names[column].try_emplace(f.enum_type()->value(i)->number(), f.enum_type()->value(i)->name());
    set_default(column, f);
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
            insert(m, {number, message_value::skipped, 0, {}, other.name()}, other);
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

  const pb::Descriptor& message_;
  const message_columns& columns_;
  message_layout out_;
  std::map<std::pair<size_t, uint32_t>, const pb::FieldDescriptor*> descriptors_;  // by message and number
};

void messages_in(const pb::DescriptorProto& message, const std::string& scope, std::vector<std::string>& out) {
  out.push_back(scope.empty() ? message.name() : scope + "." + message.name());
  const std::string own = out.back();
  for (const pb::DescriptorProto& inner : message.nested_type())
    if (!inner.options().map_entry()) messages_in(inner, own, out);
}

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

message_layout message_layout_of(std::string_view descriptors, const std::string& path, const std::string& message,
                                 const message_columns& columns) {
  const pb::LogSilencer silence;  // what is wrong is told here
  pb::FileDescriptorSet set;
  if (!set.ParseFromArray(descriptors.data(), static_cast<int>(descriptors.size())) || set.file_size() == 0)
    throw error(error_kind::bad_data, fmt::format("{}: it has no descriptors of messages", path),
                "protoc --include_imports --descriptor_set_out=FILE NAME.proto makes such a file");
  pb::SimpleDescriptorDatabase files;
  std::vector<std::string> names;
  for (const pb::FileDescriptorProto& file : set.file()) {
    if (!files.Add(file))
      throw error(error_kind::bad_data, fmt::format("{}: '{}' is there twice", path, file.name()),
                  "make the file anew, with protoc");
    for (const pb::DescriptorProto& m : file.message_type()) messages_in(m, file.package(), names);
  }
  first_error problem;
  pb::DescriptorPool pool(&files, &problem);
  const pb::Descriptor* const found = pool.FindMessageTypeByName(message);
  if (found == nullptr && !problem.text.empty())
    throw error(error_kind::bad_data, fmt::format("{}: {}", path, problem.text),
                "make it with protoc --include_imports, so that it has what its files import");
  if (found == nullptr) {
    const std::string meant = did_you_mean(message, names);
    throw error(error_kind::bad_data,
                fmt::format("{}: there is no message '{}'; there are {}", path, message, joined(names, ", ")), meant);
  }
  return layout_maker(*found, columns).make();
}

}  // namespace flowrun::operators
