// How sources are cut into pieces.
#include "cluster/source_pieces.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/checked_job.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::cluster {
namespace {

// "range 0:5 | range 5:10" of the node a.
std::string pieces(const std::string& node, size_t most, const std::map<std::string, int64_t>& sizes = {}) {
  const plan::graph g =
      exec::graph_of("flowrun: 1\nnodes:\n  a: " + node + "\n  r: {op: reduce, in: a, with: {hash: true}}\n");
  std::string out;
  for (const source_piece& p : pieces_of(*g.find("a"), most, [&](const std::string& path) {
         const auto found = sizes.find(path);
         return found == sizes.end() ? int64_t{100} : found->second;
       })) {
    out += out.empty() ? "" : " | ";
    out += fmt::format("{}", fmt::join(p.paths, " "));
    std::string texts;
    for (const auto& [name, text] : p.texts) texts += fmt::format("{}{} {}", texts.empty() ? "" : " ", name, text);
    out += texts;
  }
  return out;
}

TEST(source_pieces, numbers) {
  EXPECT_EQ(pieces("{op: generate, with: {kind: counter, rows: 10}}", 3),
            "first 0 rows 4 | first 4 rows 3 | first 7 rows 3");
  EXPECT_EQ(pieces("{op: generate, with: {kind: counter, rows: 2, first: 40}}", 3),
            "first 40 rows 1 | first 41 rows 1");
  EXPECT_EQ(pieces("{op: generate, with: {kind: counter, rows: 0}}", 3), "first 0 rows 0");
  EXPECT_EQ(pieces("{op: generate, with: {kind: counter, rows: 10}}", 1), "");
}

TEST(source_pieces, rows_of_a_file) {
  const temporary_directory home;
  home.write("x", std::string(80, 'x'));
  const std::string with = fmt::format("path: {}, type: {{k: u64}}", home / "x");
  const std::map<std::string, int64_t> sizes = {{home / "x", 80}};
  EXPECT_EQ(pieces("{op: file.read_rows, with: {" + with + "}}", 3, sizes), "range 0:4 | range 4:7 | range 7:");
  EXPECT_EQ(pieces("{op: file.read_rows, with: {" + with + ", range: \"3:7\"}}", 2, sizes), "range 3:5 | range 5:7");
  EXPECT_EQ(pieces("{op: file.read_rows, with: {" + with + ", range: \"8:70\"}}", 2, sizes), "range 8:9 | range 9:10");
  // Its order is checked from row to row.
  EXPECT_EQ(pieces("{op: file.read_rows, with: {" + with + ", sorted_by: [k]}}", 3, sizes), "");
}

TEST(source_pieces, bytes_of_a_text) {
  const temporary_directory home;
  home.write("x", std::string(50, '\n'));
  const std::map<std::string, int64_t> sizes = {{home / "x", 50}};
  const auto reading = [&](const std::string& op, const std::string& more = {}) {
    return pieces(fmt::format("{{op: {}, with: {{path: {}{}}}}}", op, home / "x", more), 3, sizes);
  };
  EXPECT_EQ(reading("file.read_lines"), "range 0:17 | range 17:34 | range 34:");
  EXPECT_EQ(reading("file.read_csv", ", type: {k: string}, header: true"), "range 0:17 | range 17:34 | range 34:");
  EXPECT_EQ(reading("file.read_json_lines", ", type: {k: u64}"), "range 0:17 | range 17:34 | range 34:");
  EXPECT_EQ(reading("file.read_lines", ", range: \"20:26\""), "range 20:22 | range 22:24 | range 24:26");
  EXPECT_EQ(pieces("{op: file.read_csv, with: {path: " + home / "x" +
                       ", type: {k: string}}, on_error: {to: skip, max_ratio: 0.5}}",
                   3, sizes),
            "");
}

TEST(source_pieces, files_by_their_sizes) {
  EXPECT_EQ(pieces("{op: file.read_lines, with: {path: x}}", 3), "");
  EXPECT_EQ(pieces("{op: file.read_lines, with: {path: [x, y]}}", 3), "x | y");
  EXPECT_EQ(pieces("{op: file.read_lines, with: {path: [a, b, c, d, e]}}", 2), "a b | c d e");
  EXPECT_EQ(pieces("{op: file.read_lines, with: {path: [a, b, c]}}", 2, {{"a", 1000}}), "a | b c");
  EXPECT_EQ(pieces("{op: file.read_lines, with: {path: [a, b, c]}}", 2, {{"c", 1000}}), "a b | c");
  EXPECT_EQ(pieces("{op: file.read_lines, with: {path: [a, b, c]}}", 3, {{"b", 1000000}}), "a | b | c");
  EXPECT_EQ(pieces("{op: file.read_lines, with: {path: [a, b, c]}}", 3, {{"a", 0}, {"b", 0}, {"c", 0}}), "a | b | c");
}

// The share of all rows that may be rejected is known to nobody who reads some of them.
TEST(source_pieces, a_share_of_rejected_rows_needs_all_rows) {
  EXPECT_EQ(
      pieces("{op: file.read_csv, with: {path: [x, y], type: {k: u64}}, on_error: {to: skip, max_ratio: 0.5}}", 3), "");
}

}  // namespace
}  // namespace flowrun::cluster
