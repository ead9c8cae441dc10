#include "specs/node_reader.h"

#include "specs/grammar.h"

namespace flowrun::specs {

namespace {

constexpr std::string_view input_forms = "a node, node.port, a map {port: node}, or a list [node, node]";

// "id" or "id.port"
bool read_endpoint(const Value& value, Input& input, fault_sink& faults) {
  *input.mutable_position() = value.position();
  if (is_unresolved(value)) return false;
  if (!is_scalar(value)) {
    faults.add(value.position(), "an input is " + std::string(kind_name(value)), "a node, or node.port");
    return false;
  }
  const std::string& word = text(value);
  const size_t dot = word.find('.');
  input.set_from_node(word.substr(0, dot));
  if (dot != std::string::npos) input.set_from_port(word.substr(dot + 1));
  if (is_id(input.from_node()) && (dot == std::string::npos || is_id(input.from_port()))) return true;
  faults.add(value.position(), "'" + quotable(word) + "' names no output", "a node, or node.port",
             word.find(',') != std::string::npos ? "write several inputs as a list: [a, b]" : "");
  return false;
}

void add_input(const Value& value, const std::string& port, Node& node, fault_sink& faults) {
  Input input;
  input.set_port(port);
  if (read_endpoint(value, input, faults)) *node.add_inputs() = std::move(input);
}

void read_inputs(const Entry& entry, Node& node, fault_sink& faults) {
  const Value& value = entry.value();
  *node.mutable_in_position() = is_null(value) ? entry.key_position() : value.position();
  if (is_null(value)) {
    faults.add(entry.key_position(), "'in' has no value", std::string(input_forms),
               "remove it from a node that reads files");
  } else if (is_scalar(value)) {
    node.set_input_form(INPUT_SINGLE);
    add_input(value, "", node, faults);
  } else if (is_list(value)) {
    node.set_input_form(INPUT_LIST);
    if (value.list().items().empty()) faults.add(value.position(), "an empty list of inputs", std::string(input_forms));
    for (const Value& item : value.list().items()) add_input(item, "", node, faults);
  } else {
    node.set_input_form(INPUT_NAMED);
    if (value.map().entries().empty()) faults.add(value.position(), "an empty map of inputs", std::string(input_forms));
    for (const Entry& input : value.map().entries())
      if (expect_id(input, "an input", faults)) add_input(input.value(), input.key(), node, faults);
  }
}

void read_error_target(const Entry& entry, OnError& on_error, fault_sink& faults) {
  constexpr std::string_view expected = "skip, fail, or the name of the port that rejected rows go to";
  const std::string* word = expect_text(entry, expected, faults);
  if (!word) return;
  *on_error.mutable_to_position() = entry.value().position();
  if (*word == "skip") {
    on_error.set_action(OnError::SKIP);
  } else if (*word == "fail") {
    on_error.set_action(OnError::FAIL);
  } else if (is_id(*word)) {
    on_error.set_action(OnError::PORT);
    on_error.set_port(*word);
  } else {
    faults.add(entry.value().position(), "'" + quotable(*word) + "' is no name for a port", std::string(expected));
  }
}

void read_on_error(const Entry& entry, OnError& on_error, fault_sink& faults) {
  *on_error.mutable_position() = entry.key_position();
  if (is_scalar(entry.value())) return read_error_target(entry, on_error, faults);
  if (!expect_map(entry, "{to: PORT | skip | fail, max_ratio: 0.01}", faults)) return;
  check_keys(entry.value(), "on_error", {"to", "max_ratio"}, faults,
             {{"port", "to"}, {"action", "to"}, {"ratio", "max_ratio"}});
  if (const Entry* to = find_entry(entry.value(), "to"))
    read_error_target(*to, on_error, faults);
  else
    faults.add(entry.value().position(), "on_error doesn't say where the rows go", "to: PORT, skip or fail");
  if (const Entry* ratio = find_entry(entry.value(), "max_ratio")) {
    constexpr std::string_view expected = "a number from 0 to 1: the share of rows that may be wrong";
    *on_error.mutable_max_ratio_position() = ratio->value().position();
    const std::optional<double> value = expect_number<double>(*ratio, to_double, expected, faults);
    if (value && *value >= 0 && *value <= 1)
      on_error.set_max_ratio(*value);
    else if (value)
      faults.add(ratio->value().position(), "max_ratio is " + quotable(text(ratio->value())), std::string(expected));
  }
}

// A key without a value is always a slip: a comma inside an expression in {…}, or a value that was forgotten. In a list
// it may be meant (null), so lists are left alone.
void check_empty_values(const Value& value, fault_sink& faults) {
  for (const Value& item : value.list().items()) check_empty_values(item, faults);
  for (const Entry& entry : value.map().entries()) {
    if (is_null(entry.value()))
      faults.add(entry.key_position(), "'" + quotable(entry.key()) + "' has no value", "key: value",
                 "inside {…} put text that holds a ',' in quotes");
    check_empty_values(entry.value(), faults);
  }
}

void read_node(const Entry& entry, Node& node, fault_sink& faults) {
  node.set_id(entry.key());
  *node.mutable_position() = entry.key_position();
  expect_id(entry, "a node", faults);
  if (!expect_map(entry, "{op: …, in: …, with: {…}}", faults)) return;
  const Value& value = entry.value();
  check_keys(value, "a node; the operator's own parameters go under with:", {"op", "in", "with", "on_error", "doc"},
             faults,
             {{"inputs", "in"},
              {"input", "in"},
              {"from", "in"},
              {"type", "op"},
              {"operator", "op"},
              {"params", "with"},
              {"parameters", "with"},
              {"config", "with"},
              {"args", "with"},
              {"error", "on_error"},
              {"description", "doc"},
              {"help", "doc"}});
  if (const Entry* op = find_entry(value, "op")) {
    *node.mutable_op_position() = is_null(op->value()) ? op->key_position() : op->value().position();
    if (const std::string* word = expect_text(*op, "the name of an operator", faults)) {
      node.set_op(*word);
      if (word->empty()) faults.add(op->value().position(), "'op' is empty", "the name of an operator");
    }
  } else {
    *node.mutable_op_position() = entry.key_position();
    faults.add(entry.key_position(), "the node '" + quotable(entry.key()) + "' has no op",
               "op: the name of an operator");
  }
  if (const Entry* in = find_entry(value, "in")) read_inputs(*in, node, faults);
  if (const Entry* with = find_entry(value, "with"); with && !is_null(with->value())) {
    if (expect_map(*with, "{parameter: value, …}", faults)) {
      check_empty_values(with->value(), faults);
      *node.mutable_with() = with->value();
    }
  }
  if (const Entry* on_error = find_entry(value, "on_error")) read_on_error(*on_error, *node.mutable_on_error(), faults);
  if (const Entry* doc = find_entry(value, "doc"))
    if (const std::string* words = expect_text(*doc, "text", faults)) node.set_doc(*words);
}

}  // namespace

void read_nodes(const Entry& section, JobSpec& job, fault_sink& faults) {
  constexpr std::string_view expected = "NAME: {op: …, in: …, with: {…}} for each node";
  if (is_null(section.value()) || (is_map(section.value()) && section.value().map().entries().empty())) {
    faults.add(section.key_position(), "the job has no nodes", std::string(expected));
    return;
  }
  if (!expect_map(section, expected, faults)) return;
  for (const Entry& entry : section.value().map().entries()) read_node(entry, *job.add_nodes(), faults);
}

}  // namespace flowrun::specs
