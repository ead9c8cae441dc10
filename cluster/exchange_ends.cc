// exchange.ends: passes sorted rows on to a sink, and tells with which keys they begin and end.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cluster/exchange_words.h"
#include "operators/parts/order/sort_order.h"
#include "operators/parts/text/json_text.h"
#include "operators/parts/text/value_text.h"

namespace flowrun::cluster {

namespace {

constexpr size_t longest_text = 200;

// What JSON can't have as a text, or would fill the manifest, is told as {"hex": …, "bytes": N}: its front in
// hexadecimal digits, and how long it is.
nlohmann::json json_of(std::string_view text) {
  if (text.size() <= longest_text && operators::is_utf8(text)) return std::string(text);
  std::string digits;
  for (const char c : text.substr(0, longest_text)) digits += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return {{"hex", digits}, {"bytes", text.size()}};
}

struct settings {
  plan::order sorted;
  std::string sink;
};

settings check(plan::node_checker& node) {
  settings s{operators::order_parameter(node, "sorted"), node.text("sink")};
  node.set_output(0, node.input_type(), node.input_order(), node.input_estimate());
  return s;
}

class ends_stage final : public exec::ordered_stage {
 public:
  ends_stage(exec::build_context& c, settings s) : type_(c.input_type()), settings_(std::move(s)), job_(c.job) {}

  outcome push(record::batch& in, exec::output& out, waker&) override {
    if (in.num_rows > 0) {
      if (last_.num_rows == 0) first_ = key_of(in.slice(0, 1));
      last_ = in.slice(in.num_rows - 1, 1);
    }
    out.emit(std::move(in));
    return outcome::ready();
  }

  outcome finish(exec::output&, waker&) override {
    if (last_.num_rows == 0) return outcome::done();
    job_.report_value(settings_.sink, first_key, first_);
    job_.report_value(settings_.sink, last_key, key_of(last_));
    return outcome::done();
  }

 private:
  std::string key_of(const record::batch& row) const {
    auto out = nlohmann::json::array();
    for (const plan::order_term& term : settings_.sorted) {
      const record::column& c = type_.columns()[*type_.index_of(term.column)];
      out.push_back(value(c.type, row.row(0) + c.offset, row.heap, term));
    }
    return out.dump();
  }

  static nlohmann::json value(record::value_type type, const std::byte* field, const std::byte* heap,
                              const plan::order_term& term) {
    if (term.length > 0) {
      type.num_bytes = term.length;
      field += term.from;
    }
    if (type.is_string()) return json_of(record::load_string(field, heap));
    if (type.is_bytes()) return json_of({reinterpret_cast<const char*>(field), type.num_bytes});
    const std::string text = operators::value_text(type, field, heap);
    // Decimals have more digits than readers of JSON keep, and neither a time nor nan is a number there.
    if (type.is_decimal()) return text;
    const nlohmann::json number = nlohmann::json::parse(text, nullptr, false);
    return number.is_number() || number.is_boolean() ? number : nlohmann::json(text);
  }

  const record::row_type& type_;
  const settings settings_;
  exec::services& job_;
  std::string first_;
  record::batch last_;
};

exec::assembly build(exec::build_context& c, const settings& s) {
  exec::assembly out;
  out.stages.push_back(std::make_unique<ends_stage>(c, s));
  return out;
}

}  // namespace

const exec::operator_definition& exchange_ends() {
  static const exec::operator_definition word = [] {
    using plan::parameter_kind;
    plan::operator_declaration d;
    d.name = "exchange.ends";
    d.summary = "Tells the first and the last key of what a sink of a job on a cluster writes.";
    d.role = plan::operator_role::ordered;
    d.reports = true;
    d.inputs = {{"in", "sorted rows"}};
    d.outputs = {{"out", "the same rows"}};
    d.parameters = {{.name = "sorted", .kind = parameter_kind::sort_keys, .required = true, .help = "By these keys."},
                    {.name = "sink", .kind = parameter_kind::text, .required = true, .help = "The node behind it."}};
    return exec::define<settings>(std::move(d), check, build);
  }();
  return word;
}

}  // namespace flowrun::cluster
