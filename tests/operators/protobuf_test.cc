// Files of Protocol Buffers messages against the library's own messages: descriptors, fields of all types, cuts at any
// byte, and what is wrong with a file is said with its place.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/base/error.h"
#include "operators/parts/messages/message_cutter.h"
#include "operators/parts/messages/message_layout.h"
#include "operators/parts/messages/message_reader.h"
#include "operators/parts/text/csv_value.h"
#include "tests/operators/harness.h"
#include "tests/operators/shop_messages.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

message_columns columns_of(const std::vector<std::pair<std::string, std::string>>& columns,
                           const std::vector<std::string>& paths = {}) {
  std::vector<record::column> all;
  message_columns out;
  for (const auto& [name, type] : columns) all.push_back({name, *record::parse_value_type(type)});
  out.type = record::row_type(all);
  out.paths = paths.empty() ? out.type.names() : paths;
  return out;
}

std::string source(const temporary_directory& dir, const std::string& type, const std::string& more = {},
                   const std::string& on_error = {}) {
  return "in: {op: file.read_protobuf, with: {path: " + dir / "in.pb" + ", descriptors: " + dir / "shop.desc" +
         ", message: shop.Visit, type: " + type + more + "}" + on_error + "}\nout: {op: test.sink, in: in}\n";
}

std::string error_of(const std::string& nodes, const run_options& options = {}) {
  try {
    run(nodes, {}, options);
  } catch (const error& e) {
    return fmt::format("{}: {} (help: {})", e.exit_code(), e.what(), e.hint());
  }
  ADD_FAILURE() << "the job ended well";
  return {};
}

TEST(file_read_protobuf, takes_fields_of_every_type) {
  const temporary_directory dir;
  messages shop;
  dir.write("shop.desc", shop.descriptors());
  std::mt19937_64 random(5);
  std::vector<std::string> texts;
  rows expected;
  for (int i = 0; i < 3000; ++i) {
    const auto n = static_cast<int32_t>(random());
    const auto wide = static_cast<int64_t>(random());
    const uint32_t u = static_cast<uint32_t>(n);
    const uint64_t w = static_cast<uint64_t>(wide);
    if (i % 5 == 4) {  // all is absent
      texts.emplace_back(i % 2 == 0 ? "" : "items: [1, 2, 3]");
      expected.emplace_back("0,0,0,0,0,0,0,0,0,0,0,0,false,,,0,RED,0,,0,");
      continue;
    }
    const std::string name(random() % 40, static_cast<char>('a' + i % 26));
    texts.push_back(fmt::format(
        "a: {} b: {} c: {} d: {} e: {} f: {} g: {} h: {} i: {} j: {} k: {} l: {} m: true n: '{}' o: '{}' p: {} items: "
        "[7, {}] "
        "at {{seconds: {} nanos: {}}} address {{city: 'c{}' zip: {} street {{name: 's{}'}}}} inner {{a: 3}}",
        n, wide, u, w, n, wide, u, w, n, wide, i * 0.5, i * 0.25, name, name, i % 2 == 0 ? "BLUE" : "GREEN", i,
        i - 1000, i * 1000 + 999, i, i, i));
    expected.push_back(fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},true,{},{},{},{},{},c{},{},s{}", n, wide, u, w,
                                   n, wide, u, w, n, wide, i * 0.5, i * 0.25, name, name, i % 2 == 0 ? 5 : 1,
                                   i % 2 == 0 ? "BLUE" : "GREEN", (i - 1000) * 1000000LL + i, i, i, i));
  }
  dir.write("in.pb", shop.file(texts));
  const std::string type =
      "{a: i32, b: i64, c: u32, d: u64, e: i32, f: i64, g: u32, h: u64, i: i32, j: i64, k: f32, l: f64, m: bool, n: "
      "string, o: string, p: i32, at: timestamp, city: string, zip: u32, street: string}";
  const std::string in = "in: {op: file.read_protobuf, with: {path: " + dir / "in.pb" +
                         ", descriptors: " + dir / "shop.desc" + ", message: shop.Visit, type: " + type +
                         ", fields: {city: address.city, zip: address.zip, street: address.street.name}}}\n";
  const rows got = run_all_ways(
      in + "numbers: {op: map, in: in, with: {a: a, b: b, c: c, d: d, e: e, f: f, g: g, h: h, i: i, j: j, k: k, "
           "l: l, m: m, n: n, o: o, p: p, us: to_i64(at), city: city, zip: zip, street: street}}\n"
           "out: {op: test.sink, in: numbers}\n",
      {});
  const rows colours = run_all_ways(source(dir, "{p: string}"), {});
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    // The name of the colour stands behind its number.
    std::string joined = got[i];
    size_t at = 0;
    for (int commas = 0; commas < 16; ++at) commas += joined[at] == ',';
    joined.insert(at, colours[i] + ",");
    ASSERT_EQ(joined, expected[i]) << i;
  }
}

// The values of one message: "a,b,…", or what is wrong with it.
std::string read(const messages& shop, const message_columns& columns, const std::string& message) {
  const message_layout layout = message_layout_of({shop.descriptors(), "shop.desc", "shop.Visit"}, columns);
  message_reader reader(layout);
  if (!reader.read(message)) return fmt::format("{}: {}", reader.offset(), reader.reason());
  record::batch_pool pool;
  record::batch_builder one(layout.type, pool, record::rows_of_any_length());
  std::byte* const row = one.append();
  std::memcpy(row, reader.row().data(), reader.row().size());
  for (size_t i = 0; i < layout.type.num_columns(); ++i)
    if (layout.type[i].type.is_string()) one.put_string(row + layout.type[i].offset, reader.texts()[i]);
  rows out;
  append_text(layout.type, one.take(), out);
  return out.front();
}

TEST(message_reader, the_last_value_counts_and_messages_are_merged) {
  messages shop;
  const auto columns = columns_of({{"a", "i32"}, {"n", "string"}, {"city", "string"}, {"zip", "u32"}},
                                  {"a", "n", "address.city", "address.zip"});
  EXPECT_EQ(read(shop, columns, shop.bytes("a: 1 n: 'x'") + shop.bytes("a: 2")), "2,x,,0");
  EXPECT_EQ(read(shop, columns, shop.bytes("address {city: 'x' zip: 4}") + shop.bytes("address {zip: 5}")), "0,,x,5");
}

TEST(message_reader, a_oneof_has_one_value) {
  messages shop;
  const auto columns =
      columns_of({{"card", "string"}, {"cash", "u32"}, {"zip", "u32"}}, {"card", "cash", "voucher.zip"});
  EXPECT_EQ(read(shop, columns, shop.bytes("card: 'x'") + shop.bytes("cash: 7")), ",7,0");
  EXPECT_EQ(read(shop, columns, shop.bytes("cash: 7") + shop.bytes("voucher {zip: 3}")), ",0,3");
  EXPECT_EQ(read(shop, columns, shop.bytes("voucher {zip: 3}") + shop.bytes("card: 'x'")), "x,0,0");
  EXPECT_EQ(read(shop, columns, shop.bytes("card: 'x'") + shop.bytes("free: true")), ",0,0");  // which is no column
  EXPECT_EQ(read(shop, columns_of({{"maybe", "u32"}}), shop.bytes("maybe: 3")), "3");
}

// The columns of which a test says what a missing value becomes; all have a column that tells.
message_columns telling(message_columns columns, const std::vector<std::string>& defaults) {
  csv_missing& missing = columns.missing;
  missing.values.resize(columns.type.row_bytes());
  for (size_t i = 0; i < columns.type.num_columns(); ++i) {
    const record::column& c = columns.type[i];
    missing.columns.push_back({true, !defaults[i].empty(), columns.type.row_bytes() + i});
    missing.told_by.push_back("no_" + c.name);
    std::byte* const at = missing.values.data() + c.offset;
    if (c.type.is_string()) {
      const record::string_ref ref{static_cast<uint32_t>(missing.default_texts.size()),
                                   static_cast<uint32_t>(defaults[i].size())};
      std::memcpy(at, &ref, sizeof ref);
      missing.default_texts += defaults[i];
    } else if (!defaults[i].empty()) {
      EXPECT_TRUE(parse_value(c.type, defaults[i], at));
    }
  }
  return columns;
}

TEST(message_reader, tells_which_fields_are_absent) {
  messages shop;
  const auto columns = columns_of({{"maybe", "u32"}, {"card", "string"}});
  const auto told = telling(columns, {"", ""}), others = telling(columns, {"7", "none"});
  EXPECT_EQ(read(shop, told, ""), "0,,true,true");
  EXPECT_EQ(read(shop, told, shop.bytes("maybe: 0 card: ''")), "0,,false,false");
  EXPECT_EQ(read(shop, told, shop.bytes("card: 'x'") + shop.bytes("cash: 7")), "0,,true,true");
  EXPECT_EQ(read(shop, others, ""), "7,none,true,true");
  EXPECT_EQ(read(shop, others, shop.bytes("maybe: 0 card: ''")), "0,,false,false");
  EXPECT_EQ(read(shop, others, shop.bytes("card: 'x'") + shop.bytes("free: true")), "7,none,true,true");
}

TEST(message_reader, tells_which_times_are_absent) {
  messages shop;
  const auto given = [&](const std::string& default_text, const std::string& message) {
    const auto columns = telling(columns_of({{"at", "timestamp"}}), {default_text});
    const message_layout layout = message_layout_of({shop.descriptors(), "shop.desc", "shop.Visit"}, columns);
    message_reader reader(layout);
    EXPECT_TRUE(reader.read(message));
    int64_t us = 0;
    std::memcpy(&us, reader.row().data(), sizeof us);
    return fmt::format("{} {}", us, static_cast<int>(reader.row()[sizeof us]));
  };
  EXPECT_EQ(given("", ""), "0 1");
  EXPECT_EQ(given("", shop.bytes("at {}")), "0 0");
  EXPECT_EQ(given("1969-12-31T23:59:59.75", ""), "-250000 1");
  EXPECT_EQ(given("1969-12-31T23:59:59.75", shop.bytes("at {}")), "0 0");
  EXPECT_EQ(given("1969-12-31T23:59:59.75", shop.bytes("at {seconds: 5}") + shop.bytes("at {nanos: 1000}")),
            "5000001 0");
}

// A field without presence is as much there as the message around it.
TEST(message_reader, fields_without_presence_are_there_with_their_message) {
  messages shop;
  const auto columns = telling(columns_of({{"city", "string"}, {"zip", "u32"}, {"p", "string"}, {"street", "string"}},
                                          {"address.city", "voucher.zip", "inner.p", "address.street.name"}),
                               {"nowhere", "9", "BLUE", "none"});
  EXPECT_EQ(read(shop, columns, ""), "nowhere,9,BLUE,none,true,true,true,true");
  EXPECT_EQ(read(shop, columns, shop.bytes("address {} voucher {} inner {}")), ",0,RED,none,false,false,false,true");
  EXPECT_EQ(read(shop, columns, shop.bytes("address {city: 'x' street {}}") + shop.bytes("address {}")),
            "x,9,BLUE,,false,true,true,false");
  EXPECT_EQ(read(shop, columns, shop.bytes("voucher {zip: 3}") + shop.bytes("cash: 1")),
            "nowhere,9,BLUE,none,true,true,true,true");
  EXPECT_EQ(read(shop, columns, shop.bytes("voucher {zip: 3}") + shop.bytes("cash: 1") + shop.bytes("voucher {}")),
            "nowhere,0,BLUE,none,true,false,true,true");
}

TEST(message_reader, enums_and_texts) {
  messages shop;
  EXPECT_EQ(read(shop, columns_of({{"p", "string"}}), shop.bytes("p: BLUE")), "BLUE");
  EXPECT_EQ(read(shop, columns_of({{"p", "string"}}), std::string("\x80\x01\x09", 3)), "9");
  EXPECT_EQ(read(shop, columns_of({{"p", "i32"}}), std::string("\x80\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 12)),
            "-1");
  EXPECT_EQ(read(shop, columns_of({{"n", "bytes[3]"}}), shop.bytes("n: 'abc'")), "abc");
  EXPECT_EQ(read(shop, columns_of({{"n", "bytes[3]"}}), shop.bytes("n: 'abcd'")),
            "2: the field 'n' has 4 bytes, but its column is bytes[3]");
}

TEST(message_reader, what_is_no_message) {
  messages shop;
  const auto columns =
      columns_of({{"a", "i32"}, {"n", "string"}, {"zip", "u32"}, {"g", "u32"}}, {"a", "n", "address.zip", "g"});
  const std::string whole = shop.bytes("a: 300 n: 'some text' address {city: 'x' zip: 4} items: [1, 2] g: 7 m: true");
  EXPECT_EQ(read(shop, columns, whole), "300,some text,4,7");
  for (size_t length = 0; length < whole.size(); ++length) read(shop, columns, whole.substr(0, length));  // no crash
  EXPECT_EQ(read(shop, columns, whole.substr(0, 1)), "1: the message is cut off or damaged");
  EXPECT_THAT(read(shop, columns, std::string(1, '\0')), HasSubstr("the message is cut off or damaged"));
  EXPECT_THAT(read(shop, columns, "\xC4\x02"), HasSubstr("the message is cut off or damaged"));  // the end of a group
  EXPECT_THAT(read(shop, columns, std::string("\x72\x7F", 2) + "x"), HasSubstr("the message is cut off or damaged"));
  EXPECT_THAT(read(shop, columns, std::string("\x72\xFF\xFF\xFF\xFF\x0F", 6)),
              HasSubstr("the message is cut off or damaged"));
  EXPECT_EQ(read(shop, columns, std::string("\x0A\x01x", 3)),
            "1: the field 'a' is a varint, but lies there as bytes with a length: is it a message of another kind?");
  EXPECT_THAT(read(shop, columns_of({{"at", "timestamp"}}), shop.bytes("at {nanos: -1}")),
              HasSubstr("has 0 seconds and -1 nanoseconds, and nanoseconds are 0 to 999999999"));
  EXPECT_THAT(read(shop, columns_of({{"at", "timestamp"}}), shop.bytes("at {seconds: -62135596801}")),
              HasSubstr("which is none of the years 1 to 9999"));
  EXPECT_THAT(read(shop, columns_of({{"at", "timestamp"}}), shop.bytes("at {seconds: 999999999999}")),
              HasSubstr("999999999999 seconds"));
}

std::string layout_error(const messages& shop, const message_columns& columns,
                         const std::string& message = "shop.Visit") {
  try {
    message_layout_of({shop.descriptors(), "shop.desc", message}, columns);
  } catch (const error& e) {
    return fmt::format("{} (help: {})", e.what(), e.hint());
  }
  return "nothing";
}

TEST(message_layout, says_what_is_wrong) {
  messages shop;
  const auto wrong = [&](const std::string& name, const std::string& type, const std::string& path = {}) {
    return layout_error(shop, columns_of({{name, type}}, {path.empty() ? name : path}));
  };
  EXPECT_THAT(wrong("adress", "string"),
              AllOf(HasSubstr("the message shop.Visit has no field 'adress'; it has a, b, c"),
                    HasSubstr("did you mean 'address'?")));
  EXPECT_THAT(wrong("x", "string", "address.cty"),
              HasSubstr("the message shop.Visit.Address has no field 'cty'; it has city, zip, street"));
  EXPECT_THAT(wrong("a", "i64"), AllOf(HasSubstr("the field 'a' of shop.Visit is int32 (i32), but `type` says a: i64"),
                                       HasSubstr("type: {a: i32, b: i64, c: u32")));
  EXPECT_THAT(wrong("p", "u32"), HasSubstr("say i32 for the number, string for the name"));
  EXPECT_THAT(wrong("items", "i32"), AllOf(HasSubstr("the field 'items' of shop.Visit is repeated"),
                                           HasSubstr("write a message for each of its values")));
  EXPECT_THAT(wrong("address", "string"), HasSubstr("name a field of it, such as address.city"));
  EXPECT_THAT(wrong("x", "i32", "a.b"), HasSubstr("the field 'a' of shop.Visit is no message that has fields"));
  EXPECT_THAT(wrong("x", "i32", "address..zip"), HasSubstr("has no field ''"));
  EXPECT_THAT(layout_error(shop, columns_of({{"x", "i32"}, {"y", "i32"}}, {"a", "a"})),
              HasSubstr("two columns take the field 'a'"));
  EXPECT_THAT(layout_error(shop, columns_of({{"x", "timestamp"}, {"y", "i64"}}, {"at", "at.seconds"})),
              HasSubstr("as a whole and in parts"));
  EXPECT_EQ(layout_error(shop, columns_of({{"y", "i64"}, {"z", "i32"}}, {"at.seconds", "inner.inner.a"})), "nothing");
  EXPECT_THAT(layout_error(shop, columns_of({{"a", "i32"}}), "shop.Vist"),
              AllOf(HasSubstr("shop.desc: there is no message 'shop.Vist'"), HasSubstr("did you mean 'shop.Visit'?")));
  EXPECT_THROW(message_type("no descriptors", "x", "shop.Visit"), error);
  // Without what it imports.
  pb::FileDescriptorSet set;
  set.ParseFromString(shop.descriptors());
  set.mutable_file()->DeleteSubrange(0, 1);
  try {
    message_type(set.SerializeAsString(), "x", "shop.Visit");
    ADD_FAILURE();
  } catch (const error& e) {
    EXPECT_THAT(e.hint(), HasSubstr("--include_imports"));
  }
}

TEST(message_layout, says_which_fields_have_no_presence) {
  messages shop;
  EXPECT_THAT(layout_error(shop, telling(columns_of({{"a", "i32"}}), {""})),
              AllOf(HasSubstr("the field 'a' of shop.Visit has no presence: no message tells whether it is absent or "
                              "zero"),
                    HasSubstr("make the field `optional` in the .proto")));
  EXPECT_THAT(layout_error(shop, telling(columns_of({{"n", "string"}}), {"x"})), HasSubstr("absent or empty"));
  EXPECT_EQ(
      layout_error(shop, telling(columns_of({{"maybe", "u32"}, {"y", "i64"}}, {"maybe", "at.seconds"}), {"", ""})),
      "nothing");
}

// Those of proto2 have presence, and a default of their own where the job says none.
TEST(message_layout, fields_of_proto2) {
  const messages old(
      described_proto("name: 'old.proto' package: 'shop' message_type { name: 'Visit' "
                      "field { name: 'a' number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL "
                      "default_value: '-5' } "
                      "field { name: 'b' number: 2 type: TYPE_INT32 label: LABEL_REQUIRED } }"));
  const auto columns = columns_of({{"a", "i32"}, {"b", "i32"}});
  EXPECT_EQ(read(old, telling(columns, {"", ""}), ""), "-5,0,true,true");
  EXPECT_EQ(read(old, telling(columns, {"8", "9"}), ""), "8,9,true,true");
  EXPECT_EQ(read(old, telling(columns, {"8", "9"}), std::string("\x08\x00", 2)), "0,9,false,true");
}

TEST(message_cutter, cuts_at_any_byte) {
  messages shop;
  std::vector<std::string> texts;
  for (int i = 0; i < 60; ++i)
    texts.push_back(i % 7 == 3 ? "" : fmt::format("a: {} n: '{}'", i, std::string(static_cast<size_t>(i) * 7, 'x')));
  const std::string file = shop.file(texts);
  record::batch_pool pool;
  for (const size_t chunk_bytes : {size_t{1}, size_t{2}, size_t{3}, size_t{50}, size_t{1000}, file.size()})
    for (const size_t piece_bytes : {size_t{1}, size_t{100}, size_t{1} << 20}) {
      message_cutter cutter({piece_bytes, 100000, true, "in"}, pool);
      cutter.begin_file("file");
      std::vector<message_piece> pieces;
      for (size_t at = 0; at < file.size(); at += chunk_bytes)
        cutter.feed(nullptr, std::string_view(file).substr(at, chunk_bytes), pieces);
      cutter.finish();
      std::string all;
      uint64_t number = 0;
      for (const message_piece& p : pieces) {
        EXPECT_EQ(p.first, number);
        EXPECT_EQ(p.offset, all.size());
        number += p.num_rows;
        all += p.bytes;
      }
      EXPECT_EQ(all, file);
      EXPECT_EQ(number, texts.size());
      EXPECT_EQ(cutter.offset(), file.size());
    }
}

TEST(file_read_protobuf, what_is_wrong_ends_the_job_or_is_left_out) {
  const temporary_directory dir;
  messages shop;
  dir.write("shop.desc", shop.descriptors());
  std::string file;
  rows good, bad;
  for (int i = 0; i < 3000; ++i) {
    if (i % 10 == 9) {
      bad.push_back(fmt::format("{},{}", i, file.size() + 2));
      file += messages::delimited(std::string("\x0A\x01x", 3));
    } else {
      file += messages::delimited(shop.bytes(fmt::format("a: {} n: 'name {}'", i, i)));
      good.push_back(fmt::format("{},{}", i, fmt::format("name {}", i)));
    }
  }
  const std::string type = "{a: i32, n: string}";
  dir.write("in.pb", file);
  for (const unsigned threads : {1U, 3U})
    for (const size_t batch_bytes : {size_t{1}, size_t{300}, size_t{1} << 18})
      EXPECT_THAT(error_of(source(dir, type), {.batch_bytes = batch_bytes, .threads = threads}),
                  StartsWith("65: " + dir / "in.pb" + ": message 9 (counted from 0), byte " + bad.front().substr(2) +
                             ": the field 'a' is a varint, but lies there as bytes with a length"));
  EXPECT_EQ(run_all_ways(source(dir, type, "", ", on_error: skip"), {}), good);
  const std::string to_port = source(dir, type, "", ", on_error: {to: bad}");
  const std::string places = "places: {op: map, in: in.bad, with: {message: message, byte: byte}}\n";
  EXPECT_EQ(run_all_ways(to_port + places + "rest: {op: test.sink, in: places}\n", {}), good);
  EXPECT_EQ(run(to_port + places + "rest: {op: test.sink, in: places}\n", {}).sinks["rest"], bad);
  EXPECT_THAT(error_of(source(dir, type, "", ", on_error: {to: skip, max_ratio: 0.01}")),
              HasSubstr("300 of 3,000 messages were rejected: 0.1, more than max_ratio 0.01"));
  const std::string cut = file.substr(0, file.size() - 2);
  dir.write("in.pb", cut);
  EXPECT_THAT(error_of(source(dir, type, "", ", on_error: skip")),
              HasSubstr(fmt::format("the file ends at byte {}, and the message at byte {}", cut.size(), file.size())));
  const std::string begin = shop.file({"a: 1", "a: 2"});
  dir.write("in.pb", begin + std::string(12, '\xFF'));
  EXPECT_THAT(
      error_of(source(dir, type)),
      HasSubstr(fmt::format("message 2 (counted from 0), byte {}: there is no length of a message", begin.size())));
  dir.write("in.pb", begin + "\xFF\xFF\xFF\x7F");
  EXPECT_THAT(error_of(source(dir, type)), AllOf(StartsWith("75: "), HasSubstr("the most that 'in' reads")));
  dir.write("in.pb", begin + "\x80");
  EXPECT_THAT(error_of(source(dir, type)), HasSubstr("within the length of the message"));
  dir.write("in.pb", "");
  EXPECT_EQ(run_all_ways(source(dir, type), {}), rows());
}

TEST(file_read_protobuf, several_files_and_their_names) {
  const temporary_directory dir;
  messages shop;
  dir.write("shop.desc", shop.descriptors());
  dir.write("a.pb", shop.file({"a: 1", "a: 2"}));
  dir.write("b.pb", "");
  dir.write("c.pb", shop.file({"a: 3"}));
  const std::string nodes = "in: {op: file.read_protobuf, with: {path: [" + dir / "a.pb" + ", " + dir / "b.pb" + ", " +
                            dir / "c.pb" + "], descriptors: " + dir / "shop.desc" +
                            ", message: shop.Visit, type: {a: i32}, file_column: file}}\n"
                            "out: {op: test.sink, in: in}\n";
  EXPECT_EQ(run_all_ways(nodes, {}), (rows{"1," + dir / "a.pb", "2," + dir / "a.pb", "3," + dir / "c.pb"}));
}

TEST(file_read_protobuf, tells_what_is_missing) {
  const temporary_directory dir;
  messages shop;
  dir.write("shop.desc", shop.descriptors());
  std::vector<std::string> texts;
  rows expected;
  for (int i = 0; i < 2000; ++i) {
    texts.push_back(i % 3 == 0   ? fmt::format("a: {}", i)
                    : i % 3 == 1 ? fmt::format("a: {} maybe: 0 card: ''", i)
                                 : fmt::format("a: {} maybe: {} card: 'c{}' address {{}}", i, i, i));
    expected.push_back(i % 3 == 0   ? fmt::format("{},7,,nowhere,true,true", i)
                       : i % 3 == 1 ? fmt::format("{},0,,nowhere,false,false", i)
                                    : fmt::format("{},{},c{},,false,false", i, i, i));
  }
  dir.write("in.pb", shop.file(texts));
  const std::string type = "{a: i32, maybe: u32, card: string, city: string}";
  const std::string more =
      ", fields: {city: address.city}, missing: {maybe: no_maybe, card: no_card}, default: {maybe: 7, city: nowhere}";
  EXPECT_EQ(run_all_ways(source(dir, type, more), {}), expected);
  rows with_file;
  for (const std::string& row : expected) with_file.push_back(row + "," + dir / "in.pb");
  EXPECT_EQ(run_all_ways(source(dir, type, more + ", file_column: file"), {}), with_file);
  EXPECT_THAT(error_of(source(dir, type, ", missing: {a: no_a}")),
              HasSubstr("the field 'a' of shop.Visit has no presence"));
  EXPECT_THAT(error_of(source(dir, type, ", default: {a: 1}")),
              HasSubstr("the field 'a' of shop.Visit has no presence"));
  EXPECT_THAT(faults_of(source(dir, type, ", missing: {maybe: a}")), Contains(HasSubstr("the rows have a column 'a'")));
}

TEST(file_read_protobuf, columns_that_the_message_does_not_have) {
  const temporary_directory dir;
  dir.write("in.pb", "");
  dir.write("shop.desc", messages().descriptors());
  EXPECT_THAT(error_of(source(dir, "{items: i32}")), AllOf(StartsWith("65: "), HasSubstr("is repeated")));
  EXPECT_THAT(error_of(source(dir, "{q: i32}")), HasSubstr("the message shop.Visit has no field 'q'"));
  EXPECT_THAT(faults_of(source(dir, "{a: i32}", ", fields: {b: a}")), Contains(HasSubstr("'type' has no column 'b'")));
}

}  // namespace
}  // namespace flowrun::operators::testing
