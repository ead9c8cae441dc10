#include "runner/infer_words.h"

#include <algorithm>

#include "runner/option_values.h"
#include "specs/value.h"

namespace flowrun::runner {

namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& hint) {
  throw error(error_kind::usage, what, hint);
}

choices<std::string> formats() {
  choices<std::string> out;
  for (const operators::source_format& f : operators::source_formats()) out.emplace_back(f.name, f.name);
  return out;
}

const choices<bool>& yes_or_no() {
  static const choices<bool> both = {{"yes", true}, {"no", false}};
  return both;
}

}  // namespace

void infer_words::declare(declared_command& of) {
  of.word("-n,--rows", rows, "N", "Looks at no more than so many rows; 100000.");
  of.word("--bytes", bytes, "BYTES", "Looks at no more text than that; 16MiB.");
  of.flag("-a,--all", all, "Looks at everything. Without a sample's doubts, but it takes time.");
  const std::vector<std::string> names = names_of(formats());
  of.word("--as", format, "FORMAT", "What it is: " + joined(names, ", ") + ". Default: as it looks.").one_of(names);
  of.word("--delimiter", delimiter, "BYTE", "What stands between fields; \\t for a tab.");
  of.word("--header", header, "yes|no", "Whether line 1 names the columns.").one_of(names_of(yes_or_no()));
  of.word("--descriptors", descriptors, "FILE",
          "Of messages of Protocol Buffers: what protoc --include_imports --descriptor_set_out=FILE has written.");
  of.word("--message", message, "NAME", "Which of its messages they are, with its package.");
  of.word("--name", node, "NODE", "The name of the node. Default: after the file.");
  of.flag("--json", as_json, "Everything that was found, as JSON.");
  of.word("-o,--output", output, "JOB.yaml", "Writes a whole job, which copies the rows to standard output.");
}

infer_arguments values_of(const infer_words& given, const std::vector<std::string>& files) {
  infer_arguments out;
  if (files.empty()) refuse("infer needs a FILE", "flowrun infer data.csv; - for standard input");
  if (std::count(files.begin(), files.end(), "-") > 1)
    refuse("standard input is named twice", "leave one of the two out");
  if (given.all && !(given.rows.empty() && given.bytes.empty()))
    refuse("--all and a limit exclude each other", "leave --rows and --bytes out");
  if (given.as_json && !given.output.empty()) refuse("--json and -o exclude each other", "leave one of them out");
  if (!given.node.empty() && !specs::is_id(given.node))
    refuse("--name '" + given.node + "' can't name a node", "a letter or _, then letters, digits, _ and -");
  out.files = files;
  out.node = given.node;
  out.output = given.output;
  out.as_json = given.as_json;
  out.options.all = given.all;
  if (!given.rows.empty()) out.options.most_rows = number_of("--rows", given.rows);
  if (out.options.most_rows == 0) refuse("--rows is 0", "a number from 1 on");
  if (!given.bytes.empty()) out.options.most_bytes = bytes_of("--bytes", given.bytes);
  if (!given.format.empty()) out.options.format = choice_of("--as", given.format, formats());
  if (!given.header.empty()) out.options.header = choice_of("--header", given.header, yes_or_no());
  if (!given.delimiter.empty()) out.options.delimiter = delimiter_of("--delimiter", given.delimiter);
  if (given.descriptors.empty() != given.message.empty())
    refuse("--descriptors and --message belong together", "--descriptors shop.desc --message shop.Visit");
  if (!given.format.empty() && given.format != "protobuf" && !given.descriptors.empty())
    refuse("--descriptors and --message belong to protobuf", "leave them out, or --as protobuf");
  out.options.descriptors = given.descriptors;
  out.options.message = given.message;
  if (!given.format.empty() && given.format != "csv" && (out.options.header || out.options.delimiter))
    refuse("--delimiter and --header belong to csv", "leave them out, or --as csv");
  return out;
}

}  // namespace flowrun::runner
