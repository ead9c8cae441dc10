#include "specs/overrides.h"

#include <algorithm>

#include "specs/source_text.h"
#include "specs/yaml_tree.h"

namespace flowrun::specs {

namespace {

std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> segments(1);
  for (char c : path) {
    if (c == '.')
      segments.emplace_back();
    else
      segments.back() += c;
  }
  return segments;
}

std::vector<std::string> keys_of(const Value& map) {
  std::vector<std::string> keys;
  for (const Entry& entry : map.map().entries()) keys.push_back(entry.key());
  return keys;
}

// "--set" options may hold anything that a shell lets through.
std::optional<Value> parse(const std::string& text, const std::string& origin, fault_sink& faults) {
  if (!text.empty() && std::string_view("[{\"'").find(text.front()) != std::string_view::npos) {
    fault_sink own(origin);
    const source_text source(text);
    std::optional<Value> value;
    if (check_text(text, own)) value = read_yaml(source, own, origin);
    for (const fault& f : own.take()) faults.add(source_position{origin, 0, 0}, f.message, f.expected, f.hint);
    return value;
  }
  if (!is_utf8(text) || !is_utf8(origin)) {
    faults.add(source_position{"--set", 0, 0}, "an option that is not UTF-8", "text in UTF-8");
    return std::nullopt;
  }
  Value value;
  value.mutable_position()->set_origin(origin);
  value.mutable_scalar()->set_text(text);
  return value;
}

class override_application {
 public:
  override_application(const std::string& path, std::string origin, fault_sink& faults)
      : segments_(split_path(path)), where_{std::move(origin), 0, 0}, faults_(faults) {}

  // Down to the value that the path names; null once a fault was reported.
  Value* target(Value& root) {
    Value* at = &root;
    std::string walked = "the job";
    for (size_t i = 0; i < segments_.size() && at; ++i) {
      at = step(*at, segments_[i], i + 1 == segments_.size(), walked);
      walked = i == 0 ? segments_[i] : walked + "." + segments_[i];
    }
    return at;
  }
  int depth() const { return static_cast<int>(segments_.size()); }
  const source_position& where() const { return where_; }

 private:
  Value* step(Value& parent, const std::string& segment, bool last, const std::string& walked) {
    if (segment.empty()) {
      faults_.add(where_, "an empty name in the path", "--set key.key=value");
      return nullptr;
    }
    if (is_list(parent)) return item(*parent.mutable_list(), segment, last, walked);
    if (is_null(parent)) parent.mutable_map();
    if (!is_map(parent)) {
      faults_.add(where_, walked + " is text and has no '" + quotable(segment) + "'", "the path of a map or a list");
      return nullptr;
    }
    for (Entry& entry : *parent.mutable_map()->mutable_entries())
      if (entry.key() == segment) return entry.mutable_value();
    if (!last) {
      const std::vector<std::string> keys = keys_of(parent);
      faults_.add_unknown(where_, "there is no '" + quotable(segment) + "' in " + quotable(walked), segment, keys);
      return nullptr;
    }
    Entry* entry = parent.mutable_map()->add_entries();
    entry->set_key(segment);
    entry->mutable_key_position()->set_origin(where_.file);
    return entry->mutable_value();
  }

  Value* item(List& list, const std::string& segment, bool last, const std::string& walked) {
    const std::optional<uint64_t> index = to_uint(segment);
    const auto count = static_cast<uint64_t>(list.items_size());
    if (index && *index < count) return list.mutable_items(static_cast<int>(*index));
    if (index && last && *index == count) return list.add_items();
    faults_.add(
        where_,
        quotable(walked) + " is a list of " + std::to_string(count) + " and has no item '" + quotable(segment) + "'",
        "a number from 0");
    return nullptr;
  }

  std::vector<std::string> segments_;
  source_position where_;
  fault_sink& faults_;
};

}  // namespace

void apply_overrides(const override_list& overrides, Value& root, fault_sink& faults) {
  for (const auto& [path, text] : overrides) {
    const std::string origin = "--set " + quotable(path) + "=" + quotable(text);
    std::optional<Value> value = parse(text, origin, faults);
    if (!value) continue;
    override_application application(path, origin, faults);
    if (application.depth() + height(*value) > max_depth) {
      faults.add(application.where(), "nested too deeply", "a flatter job");
      continue;
    }
    if (Value* target = application.target(root)) *target = std::move(*value);
  }
}

}  // namespace flowrun::specs
