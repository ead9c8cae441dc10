// Files of Protocol Buffers messages that a job writes against those of the library, and what it refuses.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/base/error.h"
#include "operators/parts/messages/message_form.h"
#include "operators/parts/messages/message_formatter.h"
#include "tests/operators/harness.h"
#include "tests/operators/shop_messages.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class written_messages {
 public:
  explicit written_messages(const pb::FileDescriptorProto& file = shop_proto(), std::string message = "shop.Visit")
      : of_(file, message), message_(std::move(message)) {
    dir_.write("shop.desc", of_.descriptors());
  }

  std::string nodes(const std::string& type, const std::string& more = {}) const {
    return "in: {op: test.rows, with: {type: " + type + "}}\n" + sink(more);
  }
  std::string sink(const std::string& more = {}) const {
    return "out: {op: file.write_protobuf, in: in, with: {path: " + dir_ / "out.pb" +
           ", descriptors: " + dir_ / "shop.desc" + ", message: " + message_ + more + "}}\n";
  }
  // The bytes of the file.
  std::string write(const std::string& type, const rows& in, const std::string& more = {},
                    const run_options& options = {.batch_bytes = 300}) const {
    run(nodes(type, more), {{"in", in}}, options);
    return dir_.read("out.pb");
  }
  std::string error_of(const std::string& type, const rows& in, const std::string& more = {}) const {
    try {
      write(type, in, more);
    } catch (const error& e) {
      return fmt::format("{}: {} (help: {})", e.exit_code(), e.what(), e.hint());
    }
    return "nothing";
  }
  // The rows of the file that was written last.
  rows read(const std::string& type, const std::string& more = {}) const {
    return run_all_ways("in: {op: file.read_protobuf, with: {path: " + dir_ / "out.pb" +
                            ", descriptors: " + dir_ / "shop.desc" + ", message: " + message_ + ", type: " + type +
                            more + "}}\nout: {op: test.sink, in: in}\n",
                        {});
  }
  // What the library writes.
  std::string file(const std::vector<std::string>& texts) { return of_.file(texts); }
  // What is wrong with columns before the run; `paths`: of those that don't have the field of their name.
  std::vector<std::string> faults(const std::vector<std::pair<std::string, std::string>>& columns,
                                  const std::map<std::string, std::string>& paths = {}) const {
    std::vector<record::column> all;
    std::vector<std::string> all_paths, out;
    for (const auto& [name, type] : columns) {
      all.push_back({name, *record::parse_value_type(type)});
      all_paths.push_back(paths.contains(name) ? paths.at(name) : name);
    }
    std::vector<form_problem> problems;
    message_form_of({of_.descriptors(), "shop.desc", message_}, record::row_type(all).columns(), all_paths, problems);
    for (const form_problem& p : problems)
      out.push_back(fmt::format("{}: {} (help: {})", p.column ? columns[*p.column].first : "", p.message, p.hint));
    return out;
  }
  const temporary_directory& dir() const { return dir_; }

 private:
  messages of_;
  const std::string message_;
  temporary_directory dir_;
};

TEST(file_write_protobuf, fields_of_every_type_as_the_library_writes_them) {
  written_messages shop;
  const std::string type =
      "{street: string, m: bool, at: timestamp, p: i32, a: i32, b: i64, c: u32, d: u64, e: i32, f: i64, g: u32, h: "
      "u64, i: i32, j: i64, k: f32, l: f64, n: string, o: string, zip: u32, maybe: u32, inner: string}";
  const std::string fields = ", fields: {street: address.street.name, zip: address.zip, inner: inner.inner.n}";
  std::mt19937_64 random(7);
  rows in;
  std::vector<std::string> texts;
  const auto often_zero = [&](uint64_t value) { return random() % 3 == 0 ? 0 : value >> random() % 64; };
  for (int i = 0; i < 2000; ++i) {
    uint64_t w[9];
    for (uint64_t& value : w) value = often_zero(random());
    const auto narrow = [&](int at) { return static_cast<int32_t>(w[at]); };
    const auto wide = [&](int at) { return static_cast<int64_t>(w[at]); };
    const auto us = static_cast<int64_t>(often_zero(random()) % 100'000'000'000'000) - 50'000'000'000'000 * (i % 2);
    const int64_t seconds = us / 1'000'000 - (us % 1'000'000 < 0 ? 1 : 0);
    const std::string text(often_zero(random() % 200), static_cast<char>('a' + i % 26));
    const std::string street = i % 4 == 0 ? text : "";
    const uint32_t zip = i % 3 == 0 ? static_cast<uint32_t>(w[0]) : 0;
    const std::string inner = i % 5 == 0 ? text : "";
    const double real = i % 7 == 0 ? 0 : i % 11 == 0 ? -0.0 : i * 0.25;
    in.push_back(fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", street, i % 2 == 0, "AT",
                             narrow(0), narrow(1), wide(2), static_cast<uint32_t>(w[3]), w[4], narrow(5), wide(6),
                             static_cast<uint32_t>(w[7]), w[8], narrow(1), wide(2), real, real, text, text, zip,
                             static_cast<uint32_t>(w[3]), inner));
    // The time as its microseconds: a map makes it one.
    in.back().replace(in.back().find("AT"), 2, std::to_string(us));
    std::string expected = fmt::format(
        "m: {} p: {} a: {} b: {} c: {} d: {} e: {} f: {} g: {} h: {} i: {} j: {} k: {} l: {} n: '{}' o: '{}' maybe: "
        "{} ",
        i % 2 == 0, narrow(0), narrow(1), wide(2), static_cast<uint32_t>(w[3]), w[4], narrow(5), wide(6),
        static_cast<uint32_t>(w[7]), w[8], narrow(1), wide(2), real, real, text, text, static_cast<uint32_t>(w[3]));
    if (us != 0) expected += fmt::format("at {{seconds: {} nanos: {}}} ", seconds, (us - seconds * 1'000'000) * 1000);
    std::string address;
    if (!street.empty()) address += fmt::format("street {{name: '{}'}} ", street);
    if (zip != 0) address += fmt::format("zip: {}", zip);
    if (!address.empty()) expected += "address {" + address + "} ";
    if (!inner.empty()) expected += fmt::format("inner {{inner {{n: '{}'}}}}", inner);
    texts.push_back(std::move(expected));
  }
  const std::string of_rows =
      "rows: {op: test.rows, with: {type: " + std::string(type).replace(type.find("at: timestamp"), 13, "at: i64") +
      "}}\nin: {op: map, in: rows, with: {street: street, m: m, at: to_timestamp(at), p: p, a: "
      "a, b: b, c: c, d: d, e: e, f: f, g: g, h: h, i: i, j: j, k: k, l: l, n: n, o: o, zip: "
      "zip, maybe: maybe, inner: inner}}\n";
  const std::string expected = shop.file(texts);
  for (const unsigned threads : {1U, 3U})
    for (const size_t batch_bytes : {size_t{1}, size_t{300}, size_t{1} << 18}) {
      run(of_rows + shop.sink(fields), {{"rows", in}}, {.batch_bytes = batch_bytes, .threads = threads});
      ASSERT_TRUE(shop.dir().read("out.pb") == expected) << batch_bytes;
    }
  const rows read_again = run_all_ways(of_rows + "out: {op: test.sink, in: in}\n", {{"rows", in}});
  EXPECT_EQ(shop.read(type, fields), read_again);
}

TEST(file_write_protobuf, integers_of_any_width_and_other_columns_that_say_the_same) {
  written_messages shop;
  EXPECT_EQ(shop.write("{a: u64, b: u8, d: i8, e: u48, g: i64, j: u64, l: f32, n: 'bytes[2]', o: 'bytes[1]'}",
                       {"7,8,9,10,4294967295,9223372036854775807,0.5,ab,c"}),
            shop.file({"a: 7 b: 8 d: 9 e: 10 g: 4294967295 j: 9223372036854775807 l: 0.5 n: 'ab' o: 'c'"}));
  const auto refused = [&](const std::string& field, const std::string& type, const std::string& value) {
    return shop.error_of("{" + field + ": " + type + "}", {"0", value});
  };
  EXPECT_EQ(
      refused("a", "u64", "2147483648"),
      "65: node 'out': column 'a', field 'a' of shop.Visit: 2147483648 is none of the numbers of int32, "
      "-2147483648 to 2147483647; the row is {a: 2147483648} (help: leave such rows out with a filter, or give the "
      "message a wider field)");
  EXPECT_THAT(refused("a", "i64", "-2147483649"), HasSubstr("-2147483649 is none of the numbers of int32"));
  EXPECT_EQ(refused("a", "i64", "-2147483648"), "nothing");
  EXPECT_THAT(refused("b", "u64", "9223372036854775808"), HasSubstr("is none of the numbers of int64"));
  EXPECT_THAT(refused("c", "i8", "-1"), HasSubstr("-1 is none of the numbers of uint32, 0 to 4294967295"));
  EXPECT_THAT(refused("d", "i64", "-1"), HasSubstr("-1 is none of the numbers of uint64"));
  EXPECT_THAT(refused("g", "u40", "4294967296"), HasSubstr("is none of the numbers of fixed32"));
  EXPECT_THAT(refused("p", "u32", "4294967295"), HasSubstr("is none of the numbers of enum shop.Visit.Colour"));
}

TEST(file_write_protobuf, enums) {
  written_messages shop;
  EXPECT_EQ(shop.write("{p: string}", {"RED", "BLUE", "9", "-3", "5"}),
            shop.file({"p: RED", "p: BLUE", "", "", "p: BLUE"}).substr(0, 5) + std::string("\x03\x80\x01\x09", 4) +
                std::string("\x0c\x80\x01\xFD\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 13) +
                std::string("\x03\x80\x01\x05", 4));
  EXPECT_EQ(shop.read("{p: string}"), (rows{"RED", "BLUE", "9", "-3", "BLUE"}));
  EXPECT_EQ(shop.write("{p: i32}", {"5", "0", "9"}), std::string("\x03\x80\x01\x05\x00\x03\x80\x01\x09", 9));
  EXPECT_THAT(shop.error_of("{p: string}", {"GREN"}),
              AllOf(StartsWith("65: node 'out': column 'p', field 'p' of shop.Visit: \"GREN\" is no name of enum "
                               "shop.Visit.Colour, and no number of it; the row is {p: \"GREN\"}"),
                    HasSubstr("did you mean 'GREEN'?")));
  EXPECT_THAT(shop.error_of("{p: string}", {""}), HasSubstr("its names are BLUE, GREEN, RED"));
  EXPECT_THAT(shop.error_of("{p: string}", {"4294967296"}), HasSubstr("and no number of it"));
}

TEST(file_write_protobuf, of_a_oneof_there_is_one_or_none) {
  written_messages shop;
  const std::string type = "{card: string, cash: u32, zip: u32, free: bool}", fields = ", fields: {zip: voucher.zip}";
  const rows in = {"x,0,0,false", ",7,0,false", ",0,3,false", ",0,0,true", ",0,0,false"};
  EXPECT_EQ(shop.write(type, in, fields), shop.file({"card: 'x'", "cash: 7", "voucher {zip: 3}", "free: true", ""}));
  EXPECT_EQ(shop.read(type, fields), in);
  EXPECT_THAT(shop.error_of(type, {"x,0,1,false"}, fields),
              AllOf(HasSubstr("has one of the fields 'card' and 'voucher' (they are a oneof), and the row has both: "
                              "{card: \"x\", cash: 0, zip: 1, free: false}"),
                    HasSubstr("a map gives all but one")));
}

TEST(file_write_protobuf, texts_of_proto3_are_utf8) {
  written_messages shop;
  EXPECT_EQ(shop.write("{n: string, o: string}", {"\xC3\xA9,\xFF"}), shop.file({"n: '\xC3\xA9' o: '\\377'"}));
  EXPECT_THAT(shop.error_of("{n: string}", {"\xFF"}),
              AllOf(StartsWith("65: node 'out': column 'n', field 'n' of shop.Visit: \"\xFF\" is no UTF-8"),
                    HasSubstr("hex(n)")));
  EXPECT_THAT(shop.error_of("{n: 'bytes[1]'}", {"\xFF"}), HasSubstr("is no UTF-8"));
}

// Fields of proto2 have presence, and may have other defaults.
TEST(file_write_protobuf, what_has_presence_is_always_there) {
  const std::string proto = R"(name: 'old.proto' package: 'old' syntax: 'proto2'
    enum_type { name: 'Kind' value { name: 'A' number: 1 } value { name: 'B' number: 2 } }
    message_type { name: 'Part'
      field { name: 'id' number: 1 label: LABEL_REQUIRED type: TYPE_INT32 }
      field { name: 'name' number: 2 label: LABEL_OPTIONAL type: TYPE_STRING default_value: 'x' } }
    message_type { name: 'Row'
      field { name: 'id' number: 3 label: LABEL_REQUIRED type: TYPE_UINT32 }
      field { name: 'n' number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 default_value: '5' }
      field { name: 'raw' number: 2 label: LABEL_OPTIONAL type: TYPE_STRING }
      field { name: 'kind' number: 4 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: '.old.Kind' }
      field { name: 'part' number: 6 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: '.old.Part' }
      field { name: 'whole' number: 7 label: LABEL_REQUIRED type: TYPE_MESSAGE type_name: '.old.Part' }
      field { name: 'left' number: 8 label: LABEL_OPTIONAL type: TYPE_INT32 default_value: '3' oneof_index: 0 }
      field { name: 'right' number: 9 label: LABEL_OPTIONAL type: TYPE_STRING oneof_index: 0 }
      oneof_decl { name: 'one' } })";
  written_messages old(described_proto(proto), "old.Row");
  const std::string type =
      "{id: u32, n: i32, raw: string, kind: string, name: string, part: i32, left: i32, right: string}";
  const std::string fields = ", fields: {name: whole.name, part: whole.id}";
  const rows in = {"0,0,,A,,0,3,", "1,5,\xFF,B,x,2,4,", "2,5,,B,y,2,3,z"};
  EXPECT_EQ(old.write(type, in, fields), old.file({"id: 0 n: 0 raw: '' kind: A whole {id: 0 name: ''}",
                                                   "id: 1 n: 5 raw: '\\377' kind: B whole {id: 2 name: 'x'} left: 4",
                                                   "id: 2 n: 5 raw: '' kind: B whole {id: 2 name: 'y'} right: 'z'"}));
  EXPECT_EQ(old.read(type, fields), in);
  EXPECT_THAT(old.error_of("{id: u32, kind: i32, part: i32}", {"1,3,1"}, ", fields: {part: whole.id}"),
              HasSubstr("3 is no number of enum old.Kind, whose syntax is proto2"));
  EXPECT_THAT(old.error_of("{id: u32, kind: string, part: i32}", {"1,3,1"}, ", fields: {part: whole.id}"),
              HasSubstr("\"3\" is no name of enum old.Kind"));
  EXPECT_THAT(
      old.faults({{"n", "i32"}, {"part", "i32"}, {"name", "string"}}, {{"part", "whole.id"}, {"name", "part.name"}}),
      ElementsAre(
          AllOf(HasSubstr("the field 'id' of old.Row is required, and no column has it"),
                HasSubstr("add a column 'id' in a map")),
          AllOf(HasSubstr("the field 'part.id' of old.Row is required"), HasSubstr("fields: {COLUMN: part.id}"))));
}

TEST(file_write_protobuf, what_the_message_does_not_have_is_a_fault) {
  written_messages shop;
  EXPECT_THAT(
      shop.faults({{"adress", "string"}, {"items", "i32"}, {"address", "string"}, {"a", "f64"}}),
      ElementsAre(
          AllOf(StartsWith("adress: column 'adress': the message shop.Visit has no field 'adress'; it has a, b"),
                HasSubstr("did you mean 'address'?; `fields: {adress: FIELD}` writes it to another field")),
          AllOf(HasSubstr("column 'items': the field 'items' of shop.Visit is repeated"),
                HasSubstr("write a message for each of its values")),
          HasSubstr("name a field of it, such as address.city"),
          AllOf(HasSubstr("column 'a' is f64, but the field 'a' of shop.Visit is int32"),
                HasSubstr("make it i32 in a map: a: i32(a)"))));
  EXPECT_THAT(shop.faults({{"at", "date"},
                           {"k", "f64"},
                           {"m", "u8"},
                           {"n", "u8"},
                           {"p", "f32"},
                           {"d", "timestamp"},
                           {"l", "decimal[2]"}}),
              ElementsAre(HasSubstr("at: to_timestamp(at)"), HasSubstr("k: f32(k)"), HasSubstr("m: m != 0"),
                          HasSubstr("n: string(n)"), HasSubstr("p: i32(p)"), HasSubstr("d: u64(to_i64(d))"),
                          HasSubstr("l: f64(l)")));
  EXPECT_THAT(shop.faults({{"x", "i32"}, {"y", "i32"}}, {{"x", "a"}, {"y", "a"}}),
              ElementsAre(HasSubstr("the columns 'x' and 'y' would both be written to the field 'a'")));
  EXPECT_THAT(shop.faults({{"at", "timestamp"}, {"y", "i64"}}, {{"y", "at.seconds"}}),
              ElementsAre(HasSubstr("'at' and 'y' would both be written to the field 'at', or into it")));
  EXPECT_THAT(shop.faults({{"y", "i64"}, {"at", "timestamp"}}, {{"y", "at.seconds"}}),
              ElementsAre(HasSubstr("'y' and 'at' would both be written to the field 'at', or into it")));
  EXPECT_THAT(shop.faults({{"y", "i64"}}, {{"y", "a.b"}}),
              ElementsAre(HasSubstr("the field 'a' of shop.Visit is no message that has fields")));
  EXPECT_THAT(shop.faults({{"at", "timestamp"}, {"y", "i64"}}, {{"y", "inner.inner.b"}}), IsEmpty());
  EXPECT_THAT(faults_of(shop.nodes("{a: i32}", ", fields: {b: a}")), ElementsAre(HasSubstr("has no column 'b'")));
  EXPECT_THAT(shop.error_of("{usr: i32}", {"1"}), HasSubstr("65: column 'usr': the message shop.Visit has no field"));
  shop.dir().write("shop.desc", "syntax = proto3");
  EXPECT_THAT(shop.error_of("{a: i32}", {}), HasSubstr("it has no descriptors of messages"));
}

TEST(file_write_protobuf, no_rows_are_an_empty_file) {
  written_messages shop;
  EXPECT_EQ(shop.write("{a: i32}", {}), "");
  EXPECT_EQ(shop.write("{a: i32}", {"0", "0"}), std::string(2, '\0'));
}

}  // namespace
}  // namespace flowrun::operators::testing
