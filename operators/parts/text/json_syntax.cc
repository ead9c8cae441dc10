#include "operators/parts/text/json_syntax.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace flowrun::operators {

namespace {

// Takes everything, and keeps the first fault.
struct listener : nlohmann::json_sax<nlohmann::json> {
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string& last_token, const nlohmann::json::exception& error) override {
    const auto* const of_text = dynamic_cast<const nlohmann::json::parse_error*>(&error);
    // A number beyond those of a double is JSON. The parser stops there, and calls what is behind it the end.
    if (of_text == nullptr) is_read = false;
    if (!is_read) return true;
    // "[json.exception.parse_error.101] parse error at line 1, column 9: syntax error while …; last read: '…'"
    std::string what = error.what();
    if (const size_t colon = what.find(": "); colon != std::string::npos) what.erase(0, colon + 2);
    if (what.starts_with("syntax error ")) what.erase(0, std::string_view("syntax error ").size());
    const std::string last_read = "; last read: '" + last_token + "'";
    if (const size_t at = what.find(last_read); at != std::string::npos) what.erase(at, last_read.size());
    fault = {std::max<size_t>(position, 1) - 1, "this is no JSON: " + what};
    return false;
  }

  std::optional<json_fault> fault;
  bool is_read = true;  // up to where the parser stands
};

}  // namespace

std::optional<json_fault> json_fault_in(std::string_view text) {
  listener heard;
  nlohmann::json::sax_parse(text.begin(), text.end(), &heard);
  if (heard.fault) heard.fault->at = std::min(heard.fault->at, text.size());
  return heard.fault;
}

}  // namespace flowrun::operators
