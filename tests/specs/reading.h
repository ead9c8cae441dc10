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

}  // namespace flowrun::specs::testing
