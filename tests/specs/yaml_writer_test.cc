// What is written reads as the tree that was written, for texts of any bytes.
#include "specs/yaml_writer.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/base/error.h"
#include "specs/expand.h"
#include "specs/source_text.h"
#include "specs/yaml_reader.h"
#include "specs/yaml_tree.h"

namespace flowrun::specs {
namespace {

using random_bits = std::mt19937_64;

// Kinds, keys and texts, without positions.
std::string described(const Value& v) {
  std::string out;
  if (is_scalar(v)) return "'" + text(v) + "'";
  for (const Entry& entry : v.map().entries()) out += "<" + entry.key() + ">" + described(entry.value()) + ";";
  for (const Value& item : v.list().items()) out += described(item) + ",";
  return (is_map(v) ? "map(" : is_list(v) ? "list(" : "null(") + out + ")";
}

// As the reader of jobs does: YAML, then the parameters, of which there are none.
std::string read_back(const std::string& written, bool expanded) {
  fault_sink faults("written.yaml");
  EXPECT_TRUE(check_text(written, faults)) << written;
  const source_text source(written);
  std::optional<Value> root = read_yaml(source, faults);
  if (!root) return "unreadable: " + faults.take().front().message + "\n" + written;
  expander variables([](const std::string&) { return std::nullopt; }, source, faults);
  if (expanded) variables.expand(*root);
  for (const fault& f : faults.take()) ADD_FAILURE() << f.message << "\n" << written;
  return described(*root);
}

size_t below(random_bits& random, size_t n) { return static_cast<size_t>(random() % n); }

// Bytes and characters that mean something to YAML or to jobs, and any others.
std::string random_text(random_bits& random, bool any_bytes) {
  static const std::vector<std::string> telling = {
      "$",      "$$",     "${",         "}",    "${HOME}", "\"",   "'",  "\\",     "\n",     "\t",     "\r",
      " ",      ":",      ": ",         "#",    " #",      "-",    "- ", "[",      "]",      "{",      ",",
      "&",      "*",      "!",          "|",    ">",       "%",    "@",  "`",      "~",      "?",      "null",
      "true",   "0",      "007",        "\x7f", "\x01",    "\x1b", "é",  "\u0085", "\u00a0", "\u2028", "\u2029",
      "\ufeff", "\uffff", "\U0001F600", "a",    "B",       ".",    "/",  "<<",     "="};
  std::string out;
  for (size_t n = below(random, 8); n > 0; --n)
    out += any_bytes && below(random, 3) == 0 ? std::string(1, static_cast<char>(1 + below(random, 255)))
                                              : telling[below(random, telling.size())];
  return out;
}

Value random_value(random_bits& random, bool any_bytes, int depth) {
  Value out;
  const size_t kind = depth == 0 ? 0 : below(random, 4);
  if (kind == 1) {
    out.mutable_list();
    for (size_t n = below(random, 6); n > 0; --n)
      *out.mutable_list()->add_items() = random_value(random, any_bytes, depth - 1);
  } else if (kind == 2) {
    out.mutable_map();
    for (size_t n = below(random, 6); n > 0; --n) {
      std::string key = std::to_string(n) + random_text(random, false);
      for (size_t at; (at = key.find("${")) != std::string::npos;) key.erase(at, 1);
      Entry& entry = *out.mutable_map()->add_entries();
      entry.set_key(key);
      *entry.mutable_value() = random_value(random, any_bytes, depth - 1);
    }
  } else if (kind == 0 || below(random, 4) > 0) {
    out.mutable_scalar()->set_text(random_text(random, any_bytes));
    out.mutable_scalar()->set_quoted(below(random, 3) > 0);
  }
  return out;
}

Value random_document(random_bits& random, bool any_bytes) {
  Value root;
  root.mutable_map();
  for (int i = 0; i < 3; ++i) {
    Entry& entry = *root.mutable_map()->add_entries();
    entry.set_key("key" + std::to_string(i));
    *entry.mutable_value() = random_value(random, any_bytes, 4);
  }
  return root;
}

bool all_utf8(const Value& v) {
  bool good = is_utf8(text(v));
  for (const Value& item : v.list().items()) good = good && all_utf8(item);
  for (const Entry& entry : v.map().entries()) good = good && all_utf8(entry.value());
  return good;
}

TEST(yaml_writer, random_trees_come_back) {
  random_bits random(20261122);
  for (int i = 0; i < 5000; ++i) {
    const Value root = random_document(random, false);
    ASSERT_EQ(read_back(write_yaml(root, dollars::doubled), true), described(root));
    ASSERT_EQ(read_back(write_yaml(root, dollars::kept), false), described(root));
  }
}

TEST(yaml_writer, bytes_come_back_or_are_refused) {
  random_bits random(7);
  int num_refused = 0, num_written = 0;
  for (int i = 0; i < 5000; ++i) {
    const Value root = random_document(random, true);
    if (all_utf8(root)) {
      ++num_written;
      ASSERT_EQ(read_back(write_yaml(root, dollars::doubled), true), described(root));
    } else {
      ++num_refused;
      ASSERT_THROW(write_yaml(root, dollars::doubled), error);
    }
  }
  EXPECT_GT(num_refused, 100);
  EXPECT_GT(num_written, 100);
}

TEST(yaml_writer, small_collections_stand_on_one_line) {
  fault_sink faults("job.yaml");
  const std::string job = R"yaml(flowrun: 1
nodes:
  lines: {op: file.read_lines, with: {path: ["in $$ out"]}}
  keyed:
    op: map
    in: lines
    with: {first: "upper(fields(text, '1,1'))", second: "decimal_key(fields(text, '2,2', ','))", text: text}
)yaml";
  const std::optional<Value> root = read_yaml(source_text(job), faults);
  ASSERT_TRUE(root);
  EXPECT_EQ(write_yaml(*root, dollars::kept), job);
}

TEST(yaml_writer, a_key_with_a_parameter_is_refused) {
  Value root;
  root.mutable_map()->add_entries()->set_key("a${b}");
  EXPECT_THROW(write_yaml(root, dollars::doubled), error);
  EXPECT_THROW(write_yaml(root, dollars::kept), error);
}

// Nothing is replaced in a tree that was built.
TEST(yaml_writer, built_trees_are_read_as_they_are) {
  fault_sink faults("job.yaml");
  const std::string job = "flowrun: 1\nnodes: {out: {op: file.write_lines, in: out, with: {path: \"a$$b${c}\"}}}\n";
  const std::optional<Value> root = read_yaml(source_text(job), faults);
  ASSERT_TRUE(root);
  const read_result read = read_tree(*root, "built");
  ASSERT_EQ(read.job.nodes_size(), 1);
  EXPECT_EQ(text(*find(read.job.nodes(0).with(), "path")), "a$$b${c}");
}

}  // namespace
}  // namespace flowrun::specs
