// Messages that tests of Protocol Buffers read and write, by the library's own means.
#pragma once

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/timestamp.pb.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace flowrun::operators::testing {

namespace pb = google::protobuf;

// shop.proto, as protoc would describe it: a message with fields of every type.
inline pb::FileDescriptorProto shop_proto() {
  using field = pb::FieldDescriptorProto;
  pb::FileDescriptorProto file;
  file.set_name("shop.proto");
  file.set_package("shop");
  file.set_syntax("proto3");
  file.add_dependency("google/protobuf/timestamp.proto");
  const auto add = [](pb::DescriptorProto& to, const char* name, int number, field::Type type,
                      const char* of = nullptr) -> field& {
    field& f = *to.add_field();
    f.set_name(name);
    f.set_number(number);
    f.set_type(type);
    f.set_label(field::LABEL_OPTIONAL);
    if (of != nullptr) f.set_type_name(of);
    return f;
  };
  pb::DescriptorProto& visit = *file.add_message_type();
  visit.set_name("Visit");
  const field::Type types[] = {field::TYPE_INT32,    field::TYPE_INT64,    field::TYPE_UINT32,  field::TYPE_UINT64,
                               field::TYPE_SINT32,   field::TYPE_SINT64,   field::TYPE_FIXED32, field::TYPE_FIXED64,
                               field::TYPE_SFIXED32, field::TYPE_SFIXED64, field::TYPE_FLOAT,   field::TYPE_DOUBLE,
                               field::TYPE_BOOL,     field::TYPE_STRING,   field::TYPE_BYTES};
  for (int i = 0; i < 15; ++i) add(visit, std::string(1, static_cast<char>('a' + i)).c_str(), i + 1, types[i]);
  add(visit, "p", 16, field::TYPE_ENUM, ".shop.Visit.Colour");
  add(visit, "at", 17, field::TYPE_MESSAGE, ".google.protobuf.Timestamp");
  add(visit, "address", 1000, field::TYPE_MESSAGE, ".shop.Visit.Address");
  visit.add_oneof_decl()->set_name("way");
  add(visit, "card", 20, field::TYPE_STRING).set_oneof_index(0);
  add(visit, "cash", 21, field::TYPE_UINT32).set_oneof_index(0);
  add(visit, "voucher", 22, field::TYPE_MESSAGE, ".shop.Visit.Address").set_oneof_index(0);
  add(visit, "free", 23, field::TYPE_BOOL).set_oneof_index(0);
  add(visit, "items", 30, field::TYPE_INT32).set_label(field::LABEL_REPEATED);
  visit.add_oneof_decl()->set_name("_maybe");
  field& maybe = add(visit, "maybe", 32, field::TYPE_UINT32);
  maybe.set_proto3_optional(true);
  maybe.set_oneof_index(1);
  add(visit, "inner", 33, field::TYPE_MESSAGE, ".shop.Visit");
  pb::EnumDescriptorProto& colours = *visit.add_enum_type();
  colours.set_name("Colour");
  for (const auto& [name, number] : {std::pair{"RED", 0}, std::pair{"GREEN", 1}, std::pair{"BLUE", 5}}) {
    pb::EnumValueDescriptorProto& value = *colours.add_value();
    value.set_name(name);
    value.set_number(number);
  }
  pb::DescriptorProto& address = *visit.add_nested_type();
  address.set_name("Address");
  add(address, "city", 1, field::TYPE_STRING);
  add(address, "zip", 2, field::TYPE_UINT32);
  add(address, "street", 3, field::TYPE_MESSAGE, ".shop.Visit.Address.Street");
  pb::DescriptorProto& street = *address.add_nested_type();
  street.set_name("Street");
  add(street, "name", 7, field::TYPE_STRING);
  return file;
}

// Of the text that the library has for descriptors.
inline pb::FileDescriptorProto described_proto(const std::string& text) {
  pb::FileDescriptorProto file;
  EXPECT_TRUE(pb::TextFormat::ParseFromString(text, &file)) << text;
  return file;
}

class messages {
 public:
  explicit messages(const pb::FileDescriptorProto& file = shop_proto(), const std::string& message = "shop.Visit") {
    pb::Timestamp::descriptor()->file()->CopyTo(set_.add_file());
    *set_.add_file() = file;
    for (const pb::FileDescriptorProto& f : set_.file()) EXPECT_NE(pool_.BuildFile(f), nullptr);
    kind_ = pool_.FindMessageTypeByName(message);
    EXPECT_NE(kind_, nullptr);
  }

  std::string descriptors() const { return set_.SerializeAsString(); }
  std::string bytes(const std::string& text) {
    std::unique_ptr<pb::Message> made(factory_.GetPrototype(kind_)->New());
    EXPECT_TRUE(pb::TextFormat::ParseFromString(text, made.get())) << text;
    return made->SerializeAsString();
  }
  static std::string delimited(const std::string& message) {
    std::string out;
    {
      pb::io::StringOutputStream stream(&out);
      pb::io::CodedOutputStream coded(&stream);
      coded.WriteVarint32(static_cast<uint32_t>(message.size()));
    }
    return out + message;
  }
  std::string file(const std::vector<std::string>& texts) {
    std::string out;
    for (const std::string& text : texts) out += delimited(bytes(text));
    return out;
  }

 private:
  pb::FileDescriptorSet set_;
  pb::DescriptorPool pool_;
  pb::DynamicMessageFactory factory_{&pool_};
  const pb::Descriptor* kind_ = nullptr;
};

}  // namespace flowrun::operators::testing
