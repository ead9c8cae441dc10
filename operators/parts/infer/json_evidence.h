// What the keys of JSON objects have had for values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "operators/parts/infer/column_evidence.h"

namespace flowrun::operators {

enum class json_kind_seen : uint8_t { null, text, number, truth, object, array };
constexpr size_t num_kinds = 6;

// What a key has had for values so far.
struct key_evidence {
  std::string key;
  size_t parent = 0;
  std::array<uint64_t, num_kinds> counts{};
  column_evidence texts, numbers;
  uint64_t last_line = 0;  // that has it

  uint64_t count(json_kind_seen kind) const { return counts[static_cast<size_t>(kind)]; }
};

// All keys, numbered as they come; number 0 is the object of a line itself.
class key_tree {
 public:
  key_tree() : keys_(1) {}
  // Throws error(bad_data) where there are too many.
  size_t number(size_t parent, const std::string& key);
  key_evidence& operator[](size_t number) { return keys_[number]; }
  const key_evidence& operator[](size_t number) const { return keys_[number]; }
  size_t size() const { return keys_.size(); }

 private:
  std::vector<key_evidence> keys_;
  std::unordered_map<std::string, size_t> numbers_;  // by parent and key
};

// Reads one line after another. What is in arrays counts as one array.
class json_line_listener {
 public:
  struct value {
    size_t key;
    json_kind_seen kind;
    std::string text;  // of texts, numbers and true and false
  };

  explicit json_line_listener(key_tree& keys);
  ~json_line_listener();
  // Why the line is no object; empty: it is one, and values() are its values.
  std::string hear(std::string_view line);
  const std::vector<value>& values() const;

 private:
  class events;
  std::unique_ptr<events> events_;
};

}  // namespace flowrun::operators
