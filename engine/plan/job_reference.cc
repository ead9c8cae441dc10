#include "engine/plan/job_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/fault.h"
#include "engine/record/value_type.h"
#include "specs/parameters.h"
#include "specs/resource_reader.h"

namespace flowrun::plan {

namespace {

// A key of the YAML of a job, or several with one meaning: "name, doc".
struct job_key {
  std::string_view names;
  std::string value;
  std::string meaning;
  std::string without = {};  // what holds where it isn't there; empty: the meaning says so
};

struct key_table {
  std::string_view of;  // what has these keys
  std::vector<job_key> keys;
};

const key_table& keys_of_job() {
  static const key_table table = {
      "a job",
      {{"flowrun", "1", "The version of the language; has to be there."},
       {"name, doc", "text", "What the job is called, and what it does."},
       {"verify", "true or false",
        "[Verified sorts](../docs/reliability.md) check that they lose, add and change no row, and that their result "
        "is in order. true: all sorts do, false: none does; without this key those of rows without strings do. The "
        "options `--verify` and `--no-verify` win over it."},
       {"plugins", "a list of names", "The [plugins](../docs/plugins.md) that the job needs."},
       {"params", "a map {NAME: declaration}", "[Parameters](#parameters): what a run may say."},
       {"resources", "a map", "[What the job may use](#resources)."},
       {"types", "a map {NAME: {column: type}}", "[Row types](#types) that nodes name."},
       {"nodes", "a map {NAME: node}", "The [nodes](#nodes); has to be there."},
       {"graphs", "a map {NAME: graph}", "[Graphs](#graphs) that `call` runs."},
       {"tests", "a list", "[Tests](#tests), which `flowrun test` runs."}}};
  return table;
}

const key_table& keys_of_parameter() {
  static const key_table table = {
      "a parameter of a job",
      {{"type", "the name of a type", "What a value looks like."},
       {"default", "text or a number",
        "The value where a run gives none. It may use ${env:…} and the parameters that are declared above it."},
       {"required", "true or false",
        "Whether a run has to give a value; true unless there is a default. A parameter that is neither required nor "
        "has a value must not be used."},
       {"min, max", "a number", "The least and the greatest value of an int, a float or bytes."},
       {"values", "a list", "The values of an enum."},
       {"help", "text", "What it is for."}}};
  return table;
}

const key_table& keys_of_node() {
  static const key_table table = {
      "a node",
      {{"op", "the name of an [operator](#operators)", "What the node does; has to be there."},
       {"in", "NODE, [NODE, …] or {PORT: NODE}",
        "Whose rows it reads: one node, a list where the order of the inputs counts, or one for each named port. "
        "NODE.PORT is one output of a node that has several, and NODE alone its first."},
       {"scalars", "NODE, [NODE, …] or {NAME: NODE}", "Streams of one row, whose values the node's expressions name."},
       {"with", "a map", "The operator's parameters."},
       {"on_error", "fail, skip or PORT; or {to: one of these, max_ratio: NUMBER}",
        "What becomes of rows that can't be read, of operators that say \"rejected rows\"."},
       {"doc", "text", "A note."}}};
  return table;
}

const key_table& keys_of_graph() {
  static const key_table table = {
      "a graph",
      {{"in", "{NAME: type} or {NAME: any}",
        "The inputs, which its nodes read by name. An input of any type takes what the caller gives."},
       {"out", "NODE, {NAME: NODE} or {NAME: {from: NODE, type: T}}",
        "The outputs and the nodes they come from; a single one is called out. The type has to stand there if the "
        "graph calls itself."},
       {"scalars", "{NAME: {type: int, float, bool, date or timestamp, default: VALUE}}",
        "Numbers and times that callers give under `with`, and expressions name."},
       {"nodes", "a map {NAME: node}", "The nodes. They see each other, the inputs and the scalars, nothing else."},
       {"doc", "text", "What it does."}}};
  return table;
}

const key_table& keys_of_test() {
  static const key_table table = {
      "a test",
      {{"name", "text", "What the test is called."},
       {"params", "{NAME: VALUE}", "Values of parameters, as -p gives them. Paths that no test gives need no value."},
       {"given", "{NODE: rows}",
        "What a source gives instead of its file: a list of rows, or a text, which is all that the file holds."},
       {"expect", "{NODE: rows, NODE.NAME: value}", "What a sink gets, and what a node reports (`reduce`, `check`)."},
       {"fails", "text", "The job fails, and its message has this part."},
       {"once", "true or false", "Not again with tiny blocks."}}};
  return table;
}

const key_table& keys_of_resources() {
  static const key_table table = {
      "resources",
      {{"memory", "bytes, or a share such as 50%", "The memory budget of the job.", "50%"},
       {"threads", "1 to 4096", "Threads.", "all usable cores"},
       {"scratch", "a directory, or a list",
        "Where to spill, used in parallel. An item is a directory or `{path: DIR, limit: BYTES, weight: NUMBER}`: the "
        "most it takes, and its speed relative to the others (its MB/s, say; without it, measured during the job).",
        "~/.cache/flowrun"},
       {"scratch_limit", "bytes", "The most that all scratch directories take together.", "none"},
       {"block_size", "bytes", "Size of scratch blocks.", "by memory and runs"},
       {"depth", fmt::format("1 to {}", specs::most_depth), "Transfers in flight per scratch disk.", "chosen"},
       {"allocation", joined(specs::allocation_names(), ", "), "Which disk takes the next block of a run.",
        fmt::format("`{}`", specs::allocation_names().back())},
       {"io_order", joined(specs::io_order_names(), ", "),
        "What a disk does when reads and writes wait for it; alternating: two of each in turn.",
        fmt::format("`{}`", specs::io_order_names().front())}}};
  return table;
}

constexpr std::string_view top_before = R"(## A job

A job is one YAML file in UTF-8. It names the version of the language, and the nodes that rows flow through:

```yaml
flowrun: 1
name: frequent
doc: Which keys occur at least so often, and how often.

params:
  input: {type: path, required: true, help: "lines KEY,VALUE"}
  least: {type: int, default: 2, min: 1, help: "leave out what occurs fewer times"}

types:
  pair: {key: string, value: u32}

nodes:
  pairs:  {op: file.read_csv, with: {path: "${input}", type: pair}}
  sorted: {op: sort, in: pairs, with: {by: [key]}}
  counts: {op: group, in: sorted, with: {by: [key], let: {count: count()}}}
  often:  {op: filter, in: counts, with: {where: "count >= ${least}"}}
  write:  {op: file.write_csv, in: often, with: {path: frequent.csv}}

tests:
  - name: one key occurs twice
    given:  {pairs: ["a,1", "b,2", "a,3"]}
    expect: {write: ["a,2"]}
```

)";

constexpr std::string_view top_behind = R"(
Keys that are not known are faults, everywhere. Names of nodes, ports, parameters and row types begin with a letter or _ and go on with letters, digits, _ and -; names of columns and scalars, which expressions name, have no -. Inside {…} and […] YAML ends a plain word at any of `[ ] { } ,`: write "${name}", "bytes[16]", "decimal[2]" and "key[0:4]" in quotes there.

)";

constexpr std::string_view parameters_before = R"(### Parameters

Each has a `type`; all other keys may be left out.

)";

constexpr std::string_view parameter_types = R"(
| type | a value |
|---|---|
)";

constexpr std::string_view parameters_behind = R"(
A run gives values with `-p NAME=VALUE`. `--set PATH=VALUE` puts a value in the place of any other in the file, as `--set nodes.sorted.with.limit=10`; the path names keys, and items of lists by their number from 0.

### What stands for something else

In every text of the file but keys, once, when the job is read:

| | stands for |
|---|---|
| `${NAME}` | the value of a parameter |
| `${env:VAR}` | the environment variable VAR, which must be set |
| `${env:VAR:-TEXT}` | the same, or TEXT where the variable is not set or empty |
| `$$` | one $ |

What comes in this way is not looked at again, and is text: a parameter that holds `a, b` does not become two items of a list.

### Parameters in expressions

`params.NAME` is a parameter's value in any expression, with its type: a string, a path and one of an enum are texts, an int and bytes are numbers and a float is one with a point, all three as if they were written there, and a bool, a date and a timestamp are what they are called. It is a constant: the check knows it, and what is computed of constants alone is computed once. No character of the value is read as a part of the expression, so this finds O'Brien, which `'${who}'` doesn't:

```yaml
flowrun: 1
params:
  who:  {type: string, default: "O'Brien"}
  from: {type: date, default: 2026-11-01}
nodes:
  orders: {op: file.read_csv, with: {path: orders.csv, type: {name: string, day: date}}}
  kept:   {op: filter, in: orders, with: {where: name == params.who and day >= params.from}}
  write:  {op: file.write_csv, in: kept, with: {path: kept.csv}}
tests:
  - name: a name with a quote
    given:  {orders: ["O'Brien,2026-11-02", "Ida,2026-11-02", "O'Brien,2026-10-31"]}
    expect: {write: ["O'Brien,2026-11-02"]}
```

A parameter with a - in its name can't be named in an expression. Where the rows have a column `params`, the word means the column. Where `scalars:` names a node `params`, `params.NAME` is a value of that node, and a parameter of the same name is a fault.

### Types

A row type is a map {column: type}, under `types:` with a name or wherever a node asks for one. Columns keep their order. A column's type is )";

constexpr std::string_view nodes_before = R"(.

### Nodes

)";

constexpr std::string_view nodes_behind = R"(
The nodes may stand in any order; they must not form a circle. Any number of nodes may read one output. An output that no node reads is a fault, except where the operator says something by itself (`check`, `reduce`).

`scalars: totals` lets the expressions of the node name values of the one row that `totals` gives: `totals.mean` for its column `mean`, as far as that is a number, a time or a bool. With a map, `scalars: {all: totals}`, the name is `all.mean`. Such a value is the same for all rows, as a constant is. The node runs once it is known; rows that would come earlier wait in a queue, on scratch beyond a share of the memory. Another number of rows than one ends the job. A `reduce` always gives one row:

```yaml
flowrun: 1
params:
  log: {type: path, default: readings.csv}
nodes:
  readings: {op: file.read_csv, with: {path: "${log}", type: {place: string, degrees: f64}}}
  all:      {op: reduce, in: readings, with: {let: {mean: avg(degrees)}}}
  warm:     {op: filter, in: readings, scalars: all, with: {where: degrees > all.mean}}
  write:    {op: file.write_csv, in: warm, with: {path: warm.csv}}
tests:
  - name: above the mean
    given:  {readings: ["Ulm,3.5", "Bonn,8", "Aachen,-1"]}
    expect: {write: ["Bonn,8"]}
```

`on_error: fail`, the default, ends the job at the first such row. `skip` drops it, and the run's report says how many there were. Any other word is the name of a port, out of which it comes. With `max_ratio` the job fails if in the end more than that share of all rows was rejected:

```yaml
flowrun: 1
params:
  log: {type: path, default: readings.csv}
nodes:
  readings: {op: file.read_csv, with: {path: "${log}", type: {place: string, degrees: f64}}, on_error: {to: bad, max_ratio: 0.5}}
  sorted:   {op: sort, in: readings, with: {by: [place, degrees]}}
  write:    {op: file.write_csv, in: sorted, with: {path: sorted.csv}}
  rejects:  {op: file.write_lines, in: readings.bad, with: {path: rejected.txt}}
tests:
  - name: a line is no reading
    given:  {readings: "Ulm,3.5\nBonn,warm\nAachen,-1\n"}
    expect: {write: ["Aachen,-1", "Ulm,3.5"], rejects: ["Bonn,warm"]}
  - name: most lines are none
    given: {readings: "Ulm,3.5\nwarm\ncold\n"}
    fails: "rejected"
```

### Graphs

A graph under `graphs:` is a part of a job with a name. `call` runs it, any number of times, and inside of itself too.

)";

constexpr std::string_view graphs_behind = R"(
```yaml
flowrun: 1
graphs:
  largest:
    in: {rows: any}
    out: {best: top}
    scalars: {many: {type: int, default: 1}}
    nodes:
      ranked: {op: sort, in: rows, with: {by: [-value]}}
      top:    {op: filter, in: ranked, with: {where: "row_number < many"}}
nodes:
  numbers: {op: file.read_csv, with: {path: numbers.csv, type: {value: u32}}}
  three:   {op: call, in: {rows: numbers}, with: {graph: largest, many: 3}}
  write:   {op: file.write_csv, in: three.best, with: {path: largest.csv}}
tests:
  - name: three of four
    given:  {numbers: ["5", "9", "2", "7"]}
    expect: {write: ["9", "7", "5"]}
```

### Tests

`flowrun test` runs the job of each test twice, as it is and with tiny blocks and everything on scratch. Files are neither written nor read, but for one that a test names itself, under `params`.

)";

constexpr std::string_view tests_behind = R"(
A row of text is one line of the file. A row of `file.read_rows` and `file.write_rows` is a list of its columns, or the value itself where there is one column.

)";

// The names of a key, one by one.
std::vector<std::string> names_of(const job_key& key) {
  std::vector<std::string> out;
  for (std::string_view rest = key.names; !rest.empty();) {
    const size_t end = std::min(rest.find(", "), rest.size());
    out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  return out;
}

std::string table_markdown(const key_table& table) {
  const bool has_defaults = !table.keys.front().without.empty();
  std::string out = has_defaults ? "| key | value | default | meaning |\n|---|---|---|---|\n"
                                 : "| key | value | meaning |\n|---|---|---|\n";
  for (const job_key& key : table.keys)
    out += fmt::format("| `{}` | {} | {}{} |\n", joined(names_of(key), "`, `"), key.value,
                       has_defaults ? key.without + " | " : "", key.meaning);
  return out;
}

// As a terminal shows it: [a link](page.md) is its text.
std::string without_links(std::string_view markdown) {
  std::string out;
  for (size_t i = 0; i < markdown.size(); ++i) {
    const size_t behind = markdown[i] == '[' ? markdown.find("](", i) : std::string_view::npos;
    const size_t end = behind == std::string_view::npos ? behind : markdown.find(')', behind);
    if (end == std::string_view::npos || markdown.substr(i + 1, behind - i - 1).find('[') != std::string_view::npos) {
      if (markdown[i] != '`') out += markdown[i];
      continue;
    }
    out += markdown.substr(i + 1, behind - i - 1);
    i = end;
  }
  return out;
}

const std::array<const key_table*, 6>& key_tables() {
  static const std::array<const key_table*, 6> all = {&keys_of_job(),   &keys_of_node(), &keys_of_parameter(),
                                                      &keys_of_graph(), &keys_of_test(), &keys_of_resources()};
  return all;
}

}  // namespace

std::vector<std::string> job_key_names() {
  std::vector<std::string> out;
  for (const key_table* table : key_tables())
    for (const job_key& key : table->keys)
      for (std::string& name : names_of(key)) out.push_back(std::move(name));
  return out;
}

std::string job_key_text(const std::string& name) {
  std::string out;
  for (const key_table* table : key_tables())
    for (const job_key& key : table->keys) {
      const std::vector<std::string> names = names_of(key);
      if (std::find(names.begin(), names.end(), name) == names.end()) continue;
      out += fmt::format("a key of {}: {}{}\n  {}\n", table->of, without_links(key.value),
                         key.without.empty() ? "" : "; default: " + without_links(key.without),
                         without_links(key.meaning));
    }
  return out;
}

std::string resources_markdown() {
  return "## Resources\n\nWhat a job may use, under `resources:` in the job or in the machine's configuration "
         "(~/.config/flowrun/config.yaml, else /etc/flowrun.yaml). For each by itself, the command line comes first, "
         "then the job, then the machine. `flowrun bench-disk --save` measures and writes `scratch`, `block_size` and "
         "`depth`.\n\n" +
         table_markdown(keys_of_resources()) + "\n";
}

std::string job_markdown() {
  std::string out(top_before);
  out += table_markdown(keys_of_job());
  out += top_behind;
  out += parameters_before;
  out += table_markdown(keys_of_parameter());
  out += parameter_types;
  for (const specs::param_type_help& type : specs::param_types())
    out += fmt::format("| `{}` | {} |\n", type.name, type.values);
  out += parameters_behind;
  out += record::value_type_names();
  out += nodes_before;
  out += table_markdown(keys_of_node());
  out += nodes_behind;
  out += table_markdown(keys_of_graph());
  out += graphs_behind;
  out += table_markdown(keys_of_test());
  out += tests_behind;
  return out;
}

}  // namespace flowrun::plan
