// ${name} and ${env:VAR:-default} in the scalars of a job, replaced once at load.
//
// One pass: what a parameter brings in is not looked at again, neither here nor, as a scalar says which of its bytes
// these are, where a path's {column} is looked for. $$ stands for one $, and a $ before anything else stands
// for itself. ${env:VAR:-default} takes the default when the variable is unset or empty, as a shell does. The bytes of
// all inserted text together are bounded by max_inserted_bytes. A scalar with a fault keeps its text and is marked
// unresolved, so that no later check reports it a second time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "specs/fault_sink.h"
#include "specs/source_text.h"
#include "specs/value.h"

namespace flowrun::specs {

constexpr uint64_t max_inserted_bytes = uint64_t{16} << 20;

// The value of an environment variable; nullopt when it is not set.
using environment = std::function<std::optional<std::string>(const std::string& name)>;

class expander {
 public:
  expander(environment env, const source_text& source, fault_sink& faults)
      : env_(std::move(env)), source_(source), faults_(faults) {}

  void define(const std::string& name, std::string value) { values_[name] = std::move(value); }
  // A parameter that exists and has no value, which was reported (or, with `reason`, will be where it is used).
  void define_broken(const std::string& name, std::string reason = {}) { broken_[name] = std::move(reason); }
  // One whose declaration has not been read yet.
  void announce(const std::string& name) { announced_.insert(name); }

  // Replaces in every scalar of the tree.
  void expand(Value& v);

 private:
  using place = std::function<Position()>;  // finding it takes as long as the text is: faults alone ask
  using spans = google::protobuf::RepeatedPtrField<Span>;
  std::optional<std::string> expand_text(const std::string& text, const Position& start, spans& inserted);
  bool append_variable(const std::string& name, const place& at, std::string& out);
  bool append_environment(const std::string& name, const place& at, std::string& out);
  bool append(const std::string& value, const place& at, std::string& out);

  environment env_;
  const source_text& source_;
  fault_sink& faults_;
  std::map<std::string, std::string> values_;
  std::map<std::string, std::string> broken_;
  std::set<std::string> announced_;
  uint64_t inserted_bytes_ = 0;
};

}  // namespace flowrun::specs
