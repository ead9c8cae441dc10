#include "specs/node_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "specs/control_words.h"
#include "specs/grammar.h"
#include "specs/source_text.h"
#include "specs/type_reader.h"
#include "specs/yaml_quoting.h"

namespace flowrun::specs {

const std::vector<std::string>& node_keys() {
  static const std::vector<std::string> keys = {"op", "in", "scalars", "with", "on_error", "doc"};
  return keys;
}

namespace {

constexpr std::string_view input_forms = "a node, node.port, a map {port: node}, or a list [node, node]";
constexpr std::string_view scalars_forms = "a node, node.port, a map {name: node}, or a list [node, node]";
constexpr std::string_view nodes_form = "NAME: {op: …, in: …, with: {…}} for each node";

using input_list = google::protobuf::RepeatedPtrField<Input>;

// An input that names no output stays, without a node, so that a body may use its name.
void add_input(const Value& value, const std::string& port, input_list& inputs, fault_sink& faults) {
  Input& input = *inputs.Add();
  input.set_port(port);
  *input.mutable_position() = value.position();
  endpoint from;
  if (!read_endpoint(value, "an input", from, faults)) return;
  input.set_from_node(std::move(from.node));
  input.set_from_port(std::move(from.port));
}

// What `in:` or `scalars:` is made of, in words.
struct stream_words {
  std::string_view forms, one, many, way_out;
};
constexpr stream_words of_in = {input_forms, "an input", "inputs", "remove it from a node that reads files"};
constexpr stream_words of_scalars = {scalars_forms, "a row of scalars", "rows of scalars",
                                     "remove it where no expression names a value of a row"};

InputForm read_streams(const Entry& entry, const stream_words& words, input_list& streams, fault_sink& faults) {
  const Value& value = entry.value();
  const std::string forms(words.forms);
  const auto report_empty = [&](std::string_view kind) {
    faults.add(value.position(), fmt::format("an empty {} of {}", kind, words.many), forms);
  };
  if (is_null(value)) {
    faults.add(entry.key_position(), fmt::format("'{}' has no value", quotable(entry.key())), forms,
               std::string(words.way_out));
    return INPUT_NONE;
  }
  if (is_scalar(value)) {
    add_input(value, "", streams, faults);
    return INPUT_SINGLE;
  }
  if (is_list(value)) {
    if (value.list().items().empty()) report_empty("list");
    for (const Value& item : value.list().items()) add_input(item, "", streams, faults);
    return INPUT_LIST;
  }
  if (value.map().entries().empty()) report_empty("map");
  for (const Entry& stream : value.map().entries())
    if (expect_id(stream, words.one, faults)) add_input(stream.value(), stream.key(), streams, faults);
  return INPUT_NAMED;
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
    if (const Value* to = find(entry.value(), "to"); to != nullptr && text(*to) == "fail")
      faults.add(ratio->key_position(), "max_ratio beside 'to: fail', which ends the job at the first wrong row",
                 "to: PORT or skip");
  }
}

// A value that commas have cut: {d: decimal(18,2)} is a d, "decimal(18", and a key "2)" without a value.
struct cut_value {
  std::string key, text;  // empty: it is none
  int last = 0;           // the entry that has its end
};
cut_value cut_at_commas(const google::protobuf::RepeatedPtrField<Entry>& entries, int first_without) {
  if (first_without == 0 || !is_scalar(entries[first_without - 1].value())) return {};
  const Entry& begun = entries[first_without - 1];
  if (begun.value().scalar().quoted()) return {};
  cut_value out{begun.key(), text(begun.value()), first_without};
  const auto is_open = [&out] {
    return std::count(out.text.begin(), out.text.end(), '(') > std::count(out.text.begin(), out.text.end(), ')');
  };
  for (; is_open() && out.last < entries.size() && is_null(entries[out.last].value()); ++out.last)
    out.text += ", " + entries[out.last].key();
  if (out.last == first_without || is_open()) return {};
  --out.last;
  return out;
}

// From the source, where texts still have the quotes that YAML takes from them; `piece`: where the second one begins.
std::optional<std::string> advice_from_source(const Position& piece, const source_text& source) {
  const std::optional<size_t> offset = source.offset_of(piece.line(), piece.column());
  return offset && piece.origin().empty() ? advice_on_expression(source.text(), *offset) : std::nullopt;
}

std::string way_to_keep(const cut_value& whole, const Position& piece, const source_text* source) {
  const std::string type = value_type_hint(whole.text);
  const size_t begin = type.find("'decimal["), end = begin == std::string::npos ? begin : type.find('\'', begin + 1);
  if (end != std::string::npos)
    return fmt::format("write {}: \"{}\", with the quotes: {}", whole.key, type.substr(begin + 1, end - begin - 1),
                       type.substr(end + 3));
  const std::optional<std::string> advice = source != nullptr ? advice_from_source(piece, *source) : std::nullopt;
  return advice.value_or("inside {…} put text that holds a ',' in quotes");
}

// A key without a value is always a slip: a comma inside an expression in {…}, or a value that was forgotten. In a list
// it may be meant (null), so lists are left alone.
void check_empty_values(const Value& value, fault_sink& faults) {
  for (const Value& item : value.list().items()) check_empty_values(item, faults);
  const auto& entries = value.map().entries();
  for (int i = 0; i < entries.size(); ++i) {
    if (!is_null(entries[i].value())) {
      check_empty_values(entries[i].value(), faults);
      continue;
    }
    const cut_value whole = cut_at_commas(entries, i);
    faults.add(entries[i].key_position(), "'" + quotable(entries[i].key()) + "' has no value", "key: value",
               whole.text.empty() ? "inside {…} put text that holds a ',' in quotes; ~ and null are no value, either"
                                  : way_to_keep(whole, entries[i].key_position(), faults.source()));
    if (!whole.text.empty()) i = whole.last;  // the rest of it is the same slip
  }
}

void read_node(const Entry& entry, Node& node, fault_sink& faults);

// May be empty: a loop that only counts.
void read_body(const Entry& entry, Body& body, fault_sink& faults) {
  body.set_name(entry.key());
  *body.mutable_position() = entry.key_position();
  if (!expect_map(entry, nodes_form, faults)) return;
  for (const Entry& inner : entry.value().map().entries()) read_node(inner, *body.add_nodes(), faults);
}

// The parameters; of a control word without the bodies, which become Node.bodies.
void read_with(const Entry& with, const control_word* control, Node& node, fault_sink& faults) {
  if (is_null(with.value()) || !expect_map(with, "{parameter: value, …}", faults)) return;
  Value& kept = *node.mutable_with();
  *kept.mutable_position() = with.value().position();
  kept.mutable_map();
  for (const Entry& entry : with.value().map().entries()) {
    if (control && std::find(control->bodies.begin(), control->bodies.end(), entry.key()) != control->bodies.end())
      read_body(entry, *node.add_bodies(), faults);
    else
      *kept.mutable_map()->add_entries() = entry;
  }
  check_empty_values(kept, faults);
}

void read_node(const Entry& entry, Node& node, fault_sink& faults) {
  node.set_id(entry.key());
  *node.mutable_position() = entry.key_position();
  expect_id(entry, "a node", faults);
  if (!expect_map(entry, "{op: …, in: …, with: {…}}", faults)) return;
  const Value& value = entry.value();
  // with: and, below it, keys of the same indentation as its own.
  const Entry* const with = find_entry(value, "with");
  const auto keys_of_with = [&](const Entry& other) {
    const std::vector<std::string> known = node_keys();
    return std::find(known.begin(), known.end(), other.key()) == known.end();
  };
  const auto& entries = value.map().entries();
  const auto stray = std::find_if(entries.begin(), entries.end(), keys_of_with);
  if (with != nullptr && is_null(with->value()) && stray != entries.end()) {
    faults.add(with->key_position(), "with: has no value, and its keys stand beside it",
               "with: {key: value}, or its keys in the lines below, indented",
               fmt::format("indent '{}' more than 'with'", quotable(stray->key())));
    return;
  }
  check_keys(value, "a node; the operator's own parameters go under with:", node_keys(), faults,
             {{"inputs", "in"},
              {"input", "in"},
              {"from", "in"},
              {"type", "op"},
              {"operator", "op"},
              {"params", "with"},
              {"parameters", "with"},
              {"config", "with"},
              {"args", "with"},
              {"scalar", "scalars"},
              {"values", "scalars"},
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
  const control_word* control = find_control_word(node.op());
  if (const Entry* in = find_entry(value, "in")) {
    *node.mutable_in_position() = is_null(in->value()) ? in->key_position() : in->value().position();
    node.set_input_form(read_streams(*in, of_in, *node.mutable_inputs(), faults));
  }
  if (const Entry* scalars = find_entry(value, "scalars"))
    node.set_scalars_form(read_streams(*scalars, of_scalars, *node.mutable_scalars(), faults));
  if (with != nullptr) read_with(*with, control, node, faults);
  if (control && node.bodies().empty())
    faults.add(
        node.op_position(),
        fmt::format("the {} '{}' has no {}", control->op, quotable(node.id()), fmt::join(control->bodies, ": or ")),
        fmt::format("with: {{{}: {{NAME: {{op: …}}}}}}", control->bodies.front()));
  if (const Entry* on_error = find_entry(value, "on_error")) read_on_error(*on_error, *node.mutable_on_error(), faults);
  if (const Entry* doc = find_entry(value, "doc"))
    if (const std::string* words = expect_text(*doc, "text", faults)) node.set_doc(*words);
}

}  // namespace

void read_nodes(const Entry& section, const std::string& of, node_list& nodes, fault_sink& faults) {
  if (is_null(section.value()) || (is_map(section.value()) && section.value().map().entries().empty())) {
    faults.add(section.key_position(), of + " has no nodes", std::string(nodes_form));
    return;
  }
  if (!expect_map(section, nodes_form, faults)) return;
  for (const Entry& entry : section.value().map().entries()) read_node(entry, *nodes.Add(), faults);
}

bool read_endpoint(const Value& value, std::string_view what, endpoint& end, fault_sink& faults) {
  if (is_unresolved(value)) return false;
  if (!is_scalar(value)) {
    faults.add(value.position(), fmt::format("{} is {}", what, kind_name(value)), "a node, or node.port");
    return false;
  }
  const std::string& word = text(value);
  const size_t dot = word.find('.');
  end.node = word.substr(0, dot);
  end.port = dot == std::string::npos ? "" : word.substr(dot + 1);
  if (is_id(end.node) && (dot == std::string::npos || is_id(end.port))) return true;
  faults.add(value.position(), "'" + quotable(word) + "' names no output", "a node, or node.port",
             word.find(',') != std::string::npos ? "write several inputs as a list: [a, b]" : "");
  return false;
}

}  // namespace flowrun::specs
