#include "operators/parts/messages/message_type.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/excerpt.h"
#include "engine/base/fault.h"
#include "engine/base/units.h"

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

[[noreturn]] void fail(const std::string& message, const std::string& hint = {}) {
  throw error(error_kind::bad_data, message, hint);
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

void messages_in(const pb::DescriptorProto& message, const std::string& scope, std::vector<std::string>& out) {
  out.push_back(scope.empty() ? message.name() : scope + "." + message.name());
  const std::string own = out.back();
  for (const pb::DescriptorProto& inner : message.nested_type())
    if (!inner.options().map_entry()) messages_in(inner, own, out);
}

std::string columns_of(const pb::Descriptor& message) {
  constexpr int most_shown = 40;
  std::vector<std::string> out;
  for (int i = 0; i < message.field_count() && i < most_shown; ++i) {
    const pb::FieldDescriptor& f = *message.field(i);
    if (const auto type = usual_type(f); type && !f.is_repeated())
      out.push_back(fmt::format("{}: {}", f.name(), record::to_string(*type)));
  }
  return "{" + joined(out, ", ") + "}";
}

// The file `last` and those that it imports, each behind its own imports: a pool builds what it doesn't have yet by
// calling itself.
std::vector<std::string> by_imports(const pb::FileDescriptorSet& set, const std::string& last,
                                    const std::string& path) {
  std::unordered_map<std::string_view, const pb::FileDescriptorProto*> files;
  for (const pb::FileDescriptorProto& file : set.file()) files.emplace(file.name(), &file);
  struct step {
    const pb::FileDescriptorProto* file;
    int next = 0;  // of its imports
  };
  std::vector<std::string> out;
  std::vector<step> way;
  std::unordered_set<std::string_view> on_way, done;
  const auto go_to = [&](const std::string& name) {
    const auto found = files.find(name);
    if (found == files.end() || done.contains(name)) return;  // the pool says what is missing
    if (!on_way.insert(found->first).second)
      fail(fmt::format("{}: '{}' imports itself, by way of others", path, name), "make the file anew, with protoc");
    way.push_back({found->second});
  };
  go_to(last);
  while (!way.empty()) {
    const pb::FileDescriptorProto& file = *way.back().file;
    if (way.back().next < file.dependency_size()) {
      go_to(file.dependency(way.back().next++));
      continue;
    }
    out.push_back(file.name());
    on_way.erase(file.name());
    done.insert(file.name());
    way.pop_back();
  }
  return out;
}

}  // namespace

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

message_type::message_type(std::string_view descriptors, const std::string& path, const std::string& message)
    : files_(std::make_unique<pb::SimpleDescriptorDatabase>()) {
  const pb::LogSilencer silence;  // what is wrong is told here
  pb::FileDescriptorSet set;
  if (!set.ParseFromArray(descriptors.data(), static_cast<int>(descriptors.size())) || set.file_size() == 0)
    fail(fmt::format("{}: it has no descriptors of messages", path),
         "protoc --include_imports --descriptor_set_out=FILE NAME.proto makes such a file");
  std::vector<std::string> names;
  for (const pb::FileDescriptorProto& file : set.file()) {
    if (!files_->Add(file))
      fail(fmt::format("{}: '{}' is there twice", path, file.name()), "make the file anew, with protoc");
    for (const pb::DescriptorProto& m : file.message_type()) messages_in(m, file.package(), names);
  }
  auto problem = std::make_unique<first_error>();
  pool_ = std::make_unique<pb::DescriptorPool>(files_.get(), problem.get());
  pb::FileDescriptorProto holder;
  if (files_->FindFileContainingSymbol(message, &holder))
    for (const std::string& file : by_imports(set, holder.name(), path)) pool_->FindFileByName(file);
  message_ = pool_->FindMessageTypeByName(message);
  if (message_ == nullptr && !problem->text.empty())
    fail(fmt::format("{}: {}", path, problem->text),
         "make it with protoc --include_imports, so that it has what its files import");
  if (message_ == nullptr)
    throw unknown_message(error_kind::bad_data,
                          fmt::format("{}: there is no message '{}'; there are {}", path, message, joined(names, ", ")),
                          did_you_mean(message, names));
  problem_ = std::move(problem);
}

std::string message_type::columns_text() const { return columns_of(*message_); }

const pb::FieldDescriptor& message_type::field_of(const pb::Descriptor& message, const std::string& name) const {
  const pb::FieldDescriptor* const found = message.FindFieldByName(name);
  if (found == nullptr) {
    const std::vector<std::string> names = names_of(message);
    const std::string meant = did_you_mean(name, names);
    fail(fmt::format("the message {} has no field '{}'; it has {}", message.full_name(), name, joined(names, ", ")),
         meant.empty() ? "what can be columns is type: " + columns_of(message) : meant);
  }
  if (found->is_repeated())
    fail(fmt::format("the field '{}' of {} is repeated: it has many values, and a column of a row one", name,
                     message.full_name()),
         "leave it out, or write a message for each of its values");
  return *found;
}

std::vector<const pb::FieldDescriptor*> message_type::fields_on(const std::string& path) const {
  const std::vector<std::string> parts = parts_of(path);
  if (parts.size() > most_nested)
    fail(fmt::format("the path {} has {} fields", quoted_excerpt(path), format_count(parts.size())),
         fmt::format("messages lie in each other up to {} deep", most_nested));
  std::vector<const pb::FieldDescriptor*> out;
  const pb::Descriptor* message = message_;
  for (size_t p = 0; p < parts.size(); ++p) {
    out.push_back(&field_of(*message, parts[p]));
    if (p + 1 == parts.size()) break;
    if (out.back()->type() != pb::FieldDescriptor::TYPE_MESSAGE) {
      const std::vector<std::string> before(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(p) + 1);
      fail(fmt::format("the field '{}' of {} is no message that has fields", joined(before, "."), name()));
    }
    message = out.back()->message_type();
  }
  const pb::FieldDescriptor& last = *out.back();
  if (usual_type(last)) return out;
  fail(fmt::format("the field '{}' of {} is a message, {}", path, name(), last.message_type()->full_name()),
       last.message_type()->field_count() == 0
           ? "leave it out"
           : fmt::format("name a field of it, such as {}.{}", path, last.message_type()->field(0)->name()));
}

}  // namespace flowrun::operators
