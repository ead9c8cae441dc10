// What `flowrun plugin new` writes. @NAME@ stands for the plugin's name.
#pragma once

namespace flowrun::runner {

struct plugin_template {
  const char* kind;    // of --kind
  const char* source;  // @NAME@.cc
  const char* job;     // job.yaml
};

inline constexpr const char* plugin_cmake = R"text(cmake_minimum_required(VERSION 3.25)
project(@NAME@ LANGUAGES CXX)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
find_package(flowrun REQUIRED)
flowrun_add_plugin(@NAME@ @NAME@.cc)

enable_testing()
# The tests in the job, and what every plugin has to keep.
add_test(NAME job COMMAND ${FLOWRUN_EXECUTABLE} --plugin $<TARGET_FILE:@NAME@> test ${CMAKE_CURRENT_SOURCE_DIR}/job.yaml)
add_test(NAME check COMMAND ${FLOWRUN_EXECUTABLE} plugins check $<TARGET_FILE:@NAME@>)
)text";

inline constexpr const char* plugin_readme = R"text(# @NAME@

A plugin of Flowrun: words for its jobs.

Build it and run its tests (FLOWRUN is where Flowrun is installed):

```sh
cmake -S . -B build -DCMAKE_PREFIX_PATH=FLOWRUN
cmake --build build
ctest --test-dir build --output-on-failure
```

Use it:

```sh
flowrun plugins --plugin build/@NAME@.so            # what is in it
flowrun run job.yaml --plugin build               # a directory where jobs find the plugins that they name
```

`@NAME@.cc` has the words; `job.yaml` shows them and tests them. `flowrun plugins check build/@NAME@.so` calls each
function and aggregate with odd values, in chunks of all sizes and from several threads, and runs the tests in `job.yaml`
under many settings. The guide is docs/plugins.md of Flowrun.
)text";

inline constexpr plugin_template plugin_templates[] = {
    {"function", R"text(// @NAME@: functions for expressions of Flowrun.
#include <algorithm>
#include <flowrun/plugin.hpp>

FLOWRUN_PLUGIN("@NAME@", "0.1.0") {
  // A lambda computes one row; parameters are double, int64_t, uint64_t, bool or std::string_view.
  plugin.add(fr::function("clamp")
                 .signature("clamp(x, low, high) → f64")
                 .help("x, or the nearer bound where it lies outside of low to high.")
                 .overload([](double x, double low, double high) { return x < low ? low : x > high ? high : x; }));

  // A constant is looked at once, and a wrong one is a fault at its place in the job. A text is written to `out`.
  plugin.add(fr::function("mask")
                 .signature("mask(text, letters) → string")
                 .help("The text with all but its last `letters` bytes, a constant, replaced by *.")
                 .overload(
                     [](uint64_t letters) {
                       if (letters > 1000) throw fr::error("that many letters hide nothing", "at most 1000");
                       return letters;
                     },
                     [](uint64_t letters, std::string_view text, fr::constant<uint64_t>, fr::text_out& out) {
                       const size_t hidden = text.size() - std::min<size_t>(letters, text.size());
                       std::fill_n(out.extend(hidden), hidden, '*');
                       out.append(text.substr(hidden));
                     }));
}
)text",
     R"text(flowrun: 1
name: @NAME@
doc: Shows what the functions of the plugin do.
plugins: [@NAME@]

nodes:
  read:   {op: generate, with: {rows: 10, columns: {x: "f64(i) * 2 - 4", card: 4929123412345678 + i}}}
  masked: {op: map, in: read, with: {x: "@NAME@.clamp(x, 0, 10)", card: "@NAME@.mask(string(card), 4)"}}
  write:  {op: file.write_csv, in: masked, with: {path: output.csv}}

tests:
  - name: numbers stay within their bounds
    given:  {read: [[-1, 1234], [5.5, 7], [11, 12]]}
    expect: {write: ["0,1234", "5.5,7", "10,12"]}
  - name: only the last four letters are seen
    given:  {read: [[1, 4929123412345678]]}
    expect: {write: ["1,************5678"]}
)text"},
    {"aggregate", R"text(// @NAME@: aggregates of Flowrun, for group, reduce and a sort that combines.
#include <cmath>
#include <flowrun/plugin.hpp>

namespace {

// What is known of a group so far: plain data without pointers, which starts as it is written here.
struct sum_and_count {
  int64_t sum = 0;
  uint64_t count = 0;
};
struct mean_so_far {
  double mean = 0, squares = 0;
  uint64_t count = 0;
};

}  // namespace

FLOWRUN_PLUGIN("@NAME@", "0.1.0") {
  // A state takes rows; states of parts become one; a state gives the result. Of integers these are the same numbers
  // however the rows are divided.
  plugin.add(fr::aggregate("mean")
                 .signature("mean(x) → f64")
                 .help("The mean of integers, and 0 where there are none.")
                 .overload<sum_and_count>(
                     [](sum_and_count& s, int64_t x) {
                       s.sum += x;
                       ++s.count;
                     },
                     [](sum_and_count& s, const sum_and_count& more) {
                       s.sum += more.sum;
                       s.count += more.count;
                     },
                     [](const sum_and_count& s) {
                       return s.count == 0 ? 0.0 : static_cast<double>(s.sum) / static_cast<double>(s.count);
                     }));

  // Floats are rounded, so the result would depend on how rows are divided: all of a group go to one state, in order
  // (Welford, 1962).
  plugin.add(fr::aggregate("deviation")
                 .signature("deviation(x) → f64")
                 .help("The standard deviation of the numbers of a group.")
                 .overload<mean_so_far>(
                     [](mean_so_far& s, double x) {
                       const double from_mean = x - s.mean;
                       s.mean += from_mean / static_cast<double>(++s.count);
                       s.squares += from_mean * (x - s.mean);
                     },
                     fr::not_combinable,
                     [](const mean_so_far& s) {
                       return s.count == 0 ? 0.0 : std::sqrt(s.squares / static_cast<double>(s.count));
                     }));

  // A constant is looked at once, and a wrong one is a fault at its place in the job. The others get what was made of
  // it in front.
  plugin.add(fr::aggregate("longer")
                 .signature("longer(text, length) → u64")
                 .help("How many texts have more than `length` bytes, a constant.")
                 .overload<uint64_t>(
                     [](uint64_t length) {
                       if (length > 1'000'000) throw fr::error("no text is that long", "at most 1000000");
                       return length;
                     },
                     [](uint64_t length, uint64_t& count, std::string_view text, fr::constant<uint64_t>) {
                       count += text.size() > length ? 1 : 0;
                     },
                     [](uint64_t, uint64_t& count, uint64_t more) { count += more; },
                     [](uint64_t, uint64_t count) { return count; }));
}
)text",
     R"text(flowrun: 1
name: @NAME@
doc: Shows what the aggregates of the plugin do.
plugins: [@NAME@]

nodes:
  read:   {op: generate, with: {rows: 10, columns: {key: i % 3, x: "i64(i) - 4", square: i * i}}}
  totals: {op: sort, in: read, with: {by: [key], combine: {mean: "@NAME@.mean(x)", long: "@NAME@.longer(string(square), 1)"}}}
  spread: {op: reduce, in: read, with: {let: {deviation: "@NAME@.deviation(x)"}}}
  write:  {op: file.write_csv, in: totals, with: {path: output.csv}}
  write2: {op: file.write_csv, in: spread, with: {path: spread.csv}}

tests:
  - name: the mean of each key
    given:  {read: [[1, 0, 100], [0, 2, 1], [1, 1, 16], [0, 1, 0]]}
    expect: {write: ["0,1.5,0", "1,0.5,2"], write2: ["0.7071067811865476"]}
)text"},
    {"stateless", R"text(// @NAME@: an operator of Flowrun that works on each batch by itself, on several threads at once.
#include <flowrun/plugin.hpp>
#include <string_view>

namespace {

// What check() makes of a node's parameters, for apply().
struct settings {
  fr::row_type type;     // of the output: word, and how long it is
  uint32_t text = 0;     // where the text lies in a row of the input
  uint64_t least = 0;
};

settings check(fr::node& node) {
  settings s;
  const fr::row_type input = node.input();
  const std::vector<uint32_t> columns = node.columns("text");
  if (!node.good()) return s;
  if (columns.size() != 1 || input[columns[0]].type.kind != FR_STRING) {
    node.fault("text", "this is no column of strings", "one column of type string", "write string(x) in a map in front");
    return s;
  }
  s.text = input[columns[0]].offset;
  s.least = node.integer("least");
  s.type = fr::row_type({{"word", {FR_STRING, 8}}, {"length", {FR_U32, 4}}});
  node.set_output(0, s.type);
  return s;
}

// The words of each text, cut at blanks.
void apply(const settings& s, const fr::batch& in, fr::out& out) {
  fr::row_writer& rows = out.rows(s.type);
  auto from = static_cast<size_t>(out.within());  // where the first text goes on, if rows come again
  for (size_t i = 0; i < in.size(); ++i, from = 0) {
    const std::string_view text = in.text(i, s.text);
    while (from < text.size()) {
      if (out.full()) return out.leave(i, from);
      const size_t end = std::min(text.find(' ', from), text.size());
      const std::string_view word = text.substr(from, end - from);
      from = end + 1;
      if (word.empty() || word.size() < s.least) continue;
      unsigned char* const row = rows.append();
      rows.put_text(row, s.type[0].offset, word);
      rows.put(row, s.type[1].offset, static_cast<uint32_t>(word.size()));
    }
  }
}

}  // namespace

FLOWRUN_PLUGIN("@NAME@", "0.1.0") {
  plugin.add(fr::stateless<settings>("words")
                 .summary("Cuts texts into words at blanks: a row for each.")
                 .order("keeps: nothing")
                 .example("words: {op: @NAME@.words, in: lines, with: {text: [line]}}\n")
                 .input("in", "rows with a text")
                 .output("out", "the words, and how many bytes each has")
                 .parameter({.name = "text", .kind = FR_PARAMETER_COLUMNS, .required = true, .help = "The text."})
                 .parameter({.name = "least",
                             .kind = FR_PARAMETER_INTEGER,
                             .default_text = "1",
                             .help = "Words of fewer bytes are left out."})
                 .check(check)
                 .apply(apply));
}
)text",
     R"text(flowrun: 1
name: @NAME@
doc: Shows what the operator of the plugin does.
plugins: [@NAME@]

nodes:
  rows:  {op: generate, with: {rows: 3, columns: {n: i}}}
  lines: {op: map, in: rows, with: {line: "concat('line  number ', n)"}}
  words: {op: @NAME@.words, in: lines, with: {text: [line], least: 2}}
  write: {op: file.write_csv, in: words, with: {path: output.csv}}

tests:
  - name: short words are left out
    given:  {rows: [[7], [12]]}
    expect: {write: ["line,4", "number,6", "line,4", "number,6", "12,2"]}
)text"},
    {"ordered", R"text(// @NAME@: an operator of Flowrun that sees its rows in order, with a state.
#include <flowrun/plugin.hpp>

namespace {

// What check() makes of a node's parameters.
struct settings {
  uint32_t offset = 0;  // of the column
  uint64_t gap = 0;
};

// Of a run.
struct state {
  settings given;
  bool has_last = false;
  uint64_t last = 0;
};

settings check(fr::node& node) {
  settings s;
  const fr::row_type input = node.input();
  const std::vector<uint32_t> columns = node.columns("by");
  if (!node.good()) return s;
  if (columns.size() != 1 || input[columns[0]].type.kind != FR_U64) {
    node.fault("by", "this is no u64 column", "one column of type u64", "write u64(x) in a map in front");
    return s;
  }
  s.offset = input[columns[0]].offset;
  s.gap = node.integer("gap");
  node.require_order({{input[columns[0]].name}});
  node.set_output(0, input, node.input_order());
  return s;
}

void push(state& s, const fr::batch& in, fr::out& out) {
  for (size_t i = 0; i < in.size(); ++i) {
    const auto value = in.get<uint64_t>(i, s.given.offset);
    if (!s.has_last || value - s.last > s.given.gap) out.pass(in, i, 1);
    s.has_last = true;
    s.last = value;
  }
}

}  // namespace

FLOWRUN_PLUGIN("@NAME@", "0.1.0") {
  plugin.add(fr::ordered<settings, state>("starts")
                 .summary("The rows that come after a gap: the first of each session.")
                 .order("needs: by; keeps: the input's order")
                 .example("sessions: {op: @NAME@.starts, in: sorted, with: {by: [time], gap: 1800}}\n")
                 .input("in", "rows sorted by a number, such as a time")
                 .output("out", "the first row, and each that is further from the one before than the gap")
                 .parameter({.name = "by", .kind = FR_PARAMETER_COLUMNS, .required = true, .help = "The number."})
                 .parameter({.name = "gap", .kind = FR_PARAMETER_INTEGER, .required = true, .help = "How far is too far."})
                 .check(check)
                 .run([](const settings& s, const fr::job&) { return state{s}; }, push));
}
)text",
     R"text(flowrun: 1
name: @NAME@
doc: Shows what the operator of the plugin does.
plugins: [@NAME@]

nodes:
  events: {op: generate, with: {rows: 100, columns: {time: "rand(1, i) % 1000"}}}
  sorted: {op: sort, in: events, with: {by: [time]}}
  starts: {op: @NAME@.starts, in: sorted, with: {by: [time], gap: 20}}
  write:  {op: file.write_csv, in: starts, with: {path: output.csv}}

tests:
  - name: what comes after a gap
    given:  {events: [[50], [10], [20], [71], [41]]}
    expect: {write: ["10", "41", "71"]}
)text"},
    {"source", R"text(// @NAME@: an operator of Flowrun that makes rows.
#include <algorithm>
#include <flowrun/plugin.hpp>

namespace {

// What check() makes of a node's parameters.
struct settings {
  fr::row_type type{std::vector<fr::column>{{"n", {FR_U64, 8}}, {"collatz", {FR_U64, 8}}}};
  uint64_t rows = 0;
};

// Of a run.
struct state {
  const settings* given;
  uint64_t next = 1;
};

settings check(fr::node& node) {
  settings s;
  s.rows = node.integer("rows");
  if (s.rows > 1'000'000'000) node.fault("rows", "that many steps may not fit", "at most 1000000000");
  const uint64_t num_bytes = s.rows * s.type.row_bytes();
  node.set_output(0, s.type, {{"n"}}, {s.rows, num_bytes, true, true, s.rows, num_bytes});
  return s;
}

// About a batch; whether there is more.
bool pull(state& s, fr::out& out) {
  fr::row_writer& rows = out.rows(s.given->type);
  for (int i = 0; i < 1000 && s.next <= s.given->rows; ++i, ++s.next) {
    uint64_t steps = 0;
    for (uint64_t n = s.next; n != 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    unsigned char* const row = rows.append();
    rows.put(row, 0, s.next);
    rows.put(row, 8, steps);
  }
  return s.next <= s.given->rows;
}

}  // namespace

FLOWRUN_PLUGIN("@NAME@", "0.1.0") {
  plugin.add(fr::source<settings, state>("collatz")
                 .summary("The numbers from 1, and how many steps of Collatz lead from each to 1.")
                 .order("gives: n")
                 .example("numbers: {op: @NAME@.collatz, with: {rows: 1000}}\n")
                 .output("out", "n and the steps")
                 .parameter({.name = "rows", .kind = FR_PARAMETER_INTEGER, .required = true, .help = "How many."})
                 .check(check)
                 .run([](const settings& s, const fr::job&) { return state{&s}; }, pull));
}
)text",
     R"text(flowrun: 1
name: @NAME@
doc: Shows what the operator of the plugin does.
plugins: [@NAME@]

params:
  rows: {type: int, default: 1000}

nodes:
  numbers: {op: @NAME@.collatz, with: {rows: "${rows}"}}
  longest: {op: sort, in: numbers, with: {by: [-collatz, n], limit: 3}}
  write:   {op: file.write_csv, in: longest, with: {path: output.csv}}

tests:
  - name: the longest ways of the first ten
    params: {rows: 10}
    expect: {write: ["9,19", "7,16", "6,8"]}
)text"},
};

}  // namespace flowrun::runner
