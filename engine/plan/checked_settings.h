// What an operator's check has made of a node's parameters: a type of its own, which the engine hands to the operator's
// memory wish and build and never looks into. So nothing reads the YAML again after the check.
#pragma once

#include <any>
#include <memory>
#include <utility>

#include "engine/base/error.h"

namespace flowrun::plan {

class checked_settings {
 public:
  checked_settings() = default;  // of nodes that the engine itself adds
  template <class settings>
  static checked_settings of(settings value) {
    checked_settings out;
    out.value_ = std::make_shared<const settings>(std::move(value));
    return out;
  }

  // What the check gave, which is a `settings`.
  template <class settings>
  const settings& as() const {
    const auto* const held = std::any_cast<std::shared_ptr<const settings>>(&value_);
    FLOWRUN_CHECK(held != nullptr);
    return **held;
  }

 private:
  std::any value_;  // std::shared_ptr<const settings>: copies of a graph share it
};

}  // namespace flowrun::plan
