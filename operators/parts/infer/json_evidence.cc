#include "operators/parts/infer/json_evidence.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "operators/parts/text/json_reading.h"
#include "operators/parts/text/json_syntax.h"
#include "operators/parts/text/json_tokens.h"
#include "operators/parts/text/json_value.h"

namespace flowrun::operators {

namespace {

constexpr size_t most_keys = 20'000;

}  // namespace

size_t key_tree::number(size_t parent, const std::string& key) {
  const auto [found, is_new] = numbers_.try_emplace(fmt::format("{} {}", parent, key), keys_.size());
  if (is_new) {
    if (keys_.size() > most_keys)
      throw error(error_kind::bad_data,
                  fmt::format("the objects have more than {} different keys", format_count(most_keys)),
                  "are some of them values? --as lines reads the lines as they are");
    keys_.push_back({key, parent, {}, {}, {}, 0});
  }
  return found->second;
}

class json_line_listener::events final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit events(key_tree& keys) : keys_(keys) {}

  // Empty: it is an object.
  std::string hear(std::string_view line) {
    values_.clear();
    objects_.clear();
    ignored_ = 0;
    is_object_ = false;
    too_large_.clear();
    const bool parsed = nlohmann::json::sax_parse(line.begin(), line.end(), this);
    if (!too_large_.empty()) return json_refusal(record::value_type::of(record::type_kind::f64), too_large_);
    if (!parsed) {
      if (objects_.empty() && !is_object_ && line[line.find_first_not_of(json_blanks)] != '{') return "no JSON object";
      const auto fault = json_fault_in(line);
      return fault ? fault->what : "objects and arrays within each other are too many";
    }
    return is_object_ ? "" : "no JSON object";
  }
  const std::vector<value>& values() const { return values_; }

  bool null() override { return add(json_kind_seen::null, {}); }
  bool boolean(bool truth) override { return add(json_kind_seen::truth, truth ? "true" : "false"); }
  bool number_integer(number_integer_t number) override { return add(json_kind_seen::number, std::to_string(number)); }
  bool number_unsigned(number_unsigned_t number) override {
    return add(json_kind_seen::number, std::to_string(number));
  }
  bool number_float(number_float_t, const string_t& text) override { return add(json_kind_seen::number, text); }
  bool string(string_t& text) override { return add(json_kind_seen::text, text); }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override {
    if (ignored_ > 0) return go_deeper();
    if (!is_object_) {
      is_object_ = true;
      objects_.push_back(0);
      return true;
    }
    add(json_kind_seen::object, {});
    objects_.push_back(key_);
    return objects_.size() <= json_reading::most_nested;
  }
  bool key(string_t& key) override {
    if (ignored_ == 0) key_ = keys_.number(objects_.back(), key);
    return true;
  }
  bool end_object() override {
    ignored_ > 0 ? static_cast<void>(--ignored_) : objects_.pop_back();
    return true;
  }
  bool start_array(size_t) override {
    if (ignored_ > 0) return go_deeper();
    if (objects_.empty()) return false;
    add(json_kind_seen::array, {});
    ignored_ = 1;
    return true;
  }
  bool end_array() override {
    --ignored_;
    return true;
  }
  // The parser stops at a number that no double can be, and then calls what is behind it a fault, too.
  bool parse_error(size_t, const std::string& token, const nlohmann::json::exception& error) override {
    if (dynamic_cast<const nlohmann::json::out_of_range*>(&error) != nullptr) too_large_ = token;
    return false;
  }

 private:
  bool go_deeper() { return objects_.size() + ++ignored_ <= json_reading::most_nested; }
  bool add(json_kind_seen kind, std::string text) {
    if (ignored_ > 0) return true;
    if (objects_.empty()) return false;  // the line is this value
    values_.push_back({key_, kind, std::move(text)});
    return true;
  }

  key_tree& keys_;
  std::vector<value> values_;
  std::vector<size_t> objects_;  // that are open, by the numbers of their keys
  size_t key_ = 0;
  size_t ignored_ = 0;  // arrays that are open, and what is in them
  bool is_object_ = false;
  std::string too_large_;  // the number that no double can be
};

json_line_listener::json_line_listener(key_tree& keys) : events_(std::make_unique<events>(keys)) {}
json_line_listener::~json_line_listener() = default;

std::string json_line_listener::hear(std::string_view line) { return events_->hear(line); }
const std::vector<json_line_listener::value>& json_line_listener::values() const { return events_->values(); }

}  // namespace flowrun::operators
