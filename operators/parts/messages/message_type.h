// A message of Protocol Buffers as the descriptors that protoc has written describe it, and which of its fields can be
// columns.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor_database.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/record/value_type.h"

namespace flowrun::operators {

// How a field lies in a message, and what the column beside it has.
enum class message_value : uint8_t {
  varint,      // its low bits: of int32, uint64, an enum as a number
  zigzag32,    // sint32
  zigzag64,    // sint64
  truth,       // bool
  enum_name,   // an enum as a string
  fixed32,     // four bytes as they are
  fixed64,     // eight
  text,        // string or bytes
  exact_text,  // string or bytes of just as many bytes as the column has
  timestamp,   // google.protobuf.Timestamp
  message,     // a message with fields that are columns
  skipped,     // no column, but one of a oneof whose others are
};
// Of a field that isn't repeated and no message but a Timestamp.
message_value value_of(const google::protobuf::FieldDescriptor& field, record::value_type column);
// The column that has the field's values; nothing: there is none. Enums may also be strings.
std::optional<record::value_type> usual_type(const google::protobuf::FieldDescriptor& field);

// The descriptors have no message of that name.
class unknown_message final : public error {
  using error::error;
};

class message_type {
 public:
  // Messages in each other, of which a path names a field: as many as readers of Protocol Buffers take.
  static constexpr size_t most_nested = 100;

  // `descriptors` is the content of a FileDescriptorSet, of the file `path`; `message` the name of a message in it.
  // Throws error(bad_data) when it is none, and unknown_message when it has no such message.
  message_type(std::string_view descriptors, const std::string& path, const std::string& message);

  const std::string& name() const { return message_->full_name(); }
  const google::protobuf::Descriptor& descriptor() const { return *message_; }
  // "{id: u64, name: string}": what can be columns.
  std::string columns_text() const;
  // Those that a path such as address.city leads through; the last one can be a column. Throws error(bad_data) where
  // there is no such field, or it can't.
  std::vector<const google::protobuf::FieldDescriptor*> fields_on(const std::string& path) const;

 private:
  const google::protobuf::FieldDescriptor& field_of(const google::protobuf::Descriptor& message,
                                                    const std::string& name) const;

  std::unique_ptr<google::protobuf::SimpleDescriptorDatabase> files_;  // of pool_
  std::unique_ptr<google::protobuf::DescriptorPool::ErrorCollector> problem_;
  std::unique_ptr<google::protobuf::DescriptorPool> pool_;
  const google::protobuf::Descriptor* message_ = nullptr;
};

}  // namespace flowrun::operators
