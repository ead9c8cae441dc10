// What the tests of the reader share: read a text, and say its faults in one line each.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "specs/yaml_reader.h"

namespace flowrun::specs::testing {

// "7:9 message" for each fault; "FILE message" for those that stand outside the file job.yaml.
inline std::vector<std::string> faults_of(const read_result& result) {
  std::vector<std::string> lines;
  for (const fault& f : result.faults) {
    std::string at = f.where.file;
    if (f.where.line > 0) at = std::to_string(f.where.line) + ":" + std::to_string(f.where.column);
    lines.push_back(at + " " + f.message);
  }
  return lines;
}

inline std::vector<std::string> faults_in(const std::string& text,
                                          const std::map<std::string, std::string>& parameters = {},
                                          const std::vector<std::pair<std::string, std::string>>& overrides = {}) {
  return faults_of(read_job(text, "job.yaml", parameters, overrides));
}

// The one fault of a text; a fault that says so when there is another number of them.
inline fault only_fault(const std::string& text, const std::map<std::string, std::string>& parameters = {},
                        const std::vector<std::pair<std::string, std::string>>& overrides = {}) {
  read_result result = read_job(text, "job.yaml", parameters, overrides);
  if (result.faults.size() == 1) return result.faults.front();
  fault none;
  none.message = std::to_string(result.faults.size()) + " faults instead of one";
  for (const std::string& line : faults_of(result)) none.message += "\n  " + line;
  return none;
}

// A sound job around one node's `with:` (in flow style) that starts in line 3, column 25.
inline std::string job_with(const std::string& with) {
  return "flowrun: 1\nnodes:\n  a: {op: filter, with: " + with + "}\n";
}

// The job of the language's description.
inline const char* const out_degree = R"yaml(# yaml-language-server: $schema=./flowrun-1.schema.json
flowrun: 1
name: out-degree
doc: How many different targets each source has.
params:
  input:  {type: path, required: true, help: "text edge list: src dst"}
  memory: {type: bytes, default: 1GiB}
resources:
  memory: ${memory}
  scratch:
    - {path: /mnt/nvme0/flowrun, limit: 500GiB}
    - {path: /mnt/nvme1/flowrun, limit: 200GiB}
types:
  edge: {src: u64, dst: u64}
nodes:
  edges:   {op: file.read_csv, with: {path: "${input}", delimiter: " ", type: edge}, on_error: {to: bad, max_ratio: 0.5}}
  sorted:  {op: sort, in: edges, with: {by: [src, dst], unique: true}}
  degree:  {op: group, in: sorted, with: {by: [src], let: {deg: "count()"}}}
  top:     {op: sort, in: degree, with: {by: [-deg, src], limit: 10}}
  write:   {op: file.write_csv, in: top, with: {path: out/degree.csv}}
  rejects: {op: file.write_lines, in: edges.bad, with: {path: out/rejected.txt}}
tests:
  - {name: duplicates count once, given: {edges: ["1 2", "1 2", "x"]}, expect: {write: ["1,1"], rejects: ["x"]}}
)yaml";

// Control flow: a loop with an `if` inside (breadth-first search), and two graphs.
inline const char* const search_levels = R"yaml(flowrun: 1
name: search-levels
params:
  source: {type: int, required: true}
types:
  node: {node: u32}
nodes:
  edges: {op: file.read_rows, with: {path: edges.bin, type: {src: u32, dst: u32}, sorted_by: [src]}}
  levels:
    op: loop
    in: {edges: edges}
    with:
      carry:
        prev: {rows: []}
        cur:  {rows: [{node: "${source}"}], type: node}
        t:    {value: 0}
      body:
        reached: {op: join, in: {left: cur, right: edges}, with: {by: {node: src}, skip: true}}
        next:    {op: map, in: reached, with: {node: dst}}
        sorted:  {op: sort, in: next, with: {by: [node], unique: true}}
        fresh:   {op: join, in: {left: sorted, right: cur}, with: {by: [node], kind: anti}}
        new:     {op: join, in: {left: fresh, right: prev}, with: {by: [node], kind: anti}}
        level:   {op: map, in: new, with: {node: node, value: "t + 1"}}
        halves:
          op: if
          in: {rows: level}
          with:
            condition: "rows(rows) > 10"
            then: {some: {op: filter, in: rows, with: {where: "node != ${source}"}}}
            else: {some: {op: call, in: {text: rows, more: rows}, with: {graph: halve, depth: "t"}}}
            out: {rows: some}
      next:    {prev: cur, cur: new, t: "t + 1"}
      until:   "rows(new) == 0"
      collect: {out: halves}
      max_iterations: 1000000
  write: {op: file.write_rows, in: levels, with: {path: levels.bin}}
graphs:
  halve:
    doc: every second row
    in: {text: any, more: node}
    out: {rest: cut.odd, kept: {from: kept, type: {x: u8}}}
    scalars: {depth: {type: int, default: 0}, share: {type: float, help: "of the rows"}}
    nodes:
      kept: {op: filter, in: text, with: {where: "x > 0"}}
      cut:  {op: split, in: more, with: {ports: {odd: "node % 2 == 1"}, rest: even}}
  one:
    out: n
    nodes: {n: {op: generate, with: {rows: 1}}}
)yaml";

}  // namespace flowrun::specs::testing
