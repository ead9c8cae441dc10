#include "specs/job_reader.h"

#include "specs/grammar.h"
#include "specs/graph_reader.h"
#include "specs/node_reader.h"
#include "specs/references.h"
#include "specs/resource_reader.h"
#include "specs/type_reader.h"

namespace flowrun::specs {

namespace {

constexpr uint64_t language_version = 1;

Position first_character() {
  Position position;
  position.set_line(1);
  position.set_column(1);
  return position;
}

void read_version(const Value& root, JobSpec& job, fault_sink& faults) {
  const Entry* entry = find_entry(root, "flowrun");
  if (!entry) {
    faults.add(first_character(), "the job doesn't say its version", "flowrun: 1",
               "begin the file with the line 'flowrun: 1'");
    return;
  }
  const std::optional<uint64_t> version = expect_number<uint64_t>(*entry, to_uint, "flowrun: 1", faults);
  if (!version) return;
  if (*version == language_version)
    job.set_version(static_cast<uint32_t>(*version));
  else
    faults.add(entry->value().position(),
               "version " + quotable(text(entry->value())) + " of the job language is not known", "flowrun: 1",
               "this program reads version 1");
}

void read_tests(const Entry& entry, JobSpec& job, fault_sink& faults) {
  if (is_null(entry.value())) return;
  if (!is_list(entry.value())) {
    faults.add(entry.value().position(), "'tests' is " + std::string(kind_name(entry.value())),
               "a list of {name: …, given: {…}, expect: {…}}");
    return;
  }
  for (const Value& item : entry.value().list().items()) {
    TestCase& test = *job.add_tests();
    *test.mutable_position() = item.position();
    *test.mutable_value() = item;
    if (!is_map(item) && !is_unresolved(item))
      faults.add(item.position(), "a test is " + std::string(kind_name(item)), "{name: …, given: {…}, expect: {…}}");
  }
}

void read_plugins(const Entry& entry, JobSpec& job, fault_sink& faults) {
  constexpr std::string_view expected = "a list of names, such as [geo]";
  if (is_null(entry.value())) return;
  if (!is_list(entry.value())) {
    faults.add(entry.value().position(), "'plugins' is " + std::string(kind_name(entry.value())),
               std::string(expected));
    return;
  }
  for (const Value& item : entry.value().list().items()) {
    if (is_unresolved(item)) continue;
    if (!is_scalar(item) || text(item).find('/') != std::string::npos) {
      faults.add(
          item.position(),
          is_scalar(item) ? "'" + quotable(text(item)) + "' is a path" : "a plugin is " + std::string(kind_name(item)),
          "the name of a plugin, such as geo", "where plugins lie is said by --plugin PATH, or FLOWRUN_PLUGIN_PATH");
      continue;
    }
    PluginName& plugin = *job.add_plugins();
    plugin.set_name(text(item));
    *plugin.mutable_position() = item.position();
  }
}

}  // namespace

void read_sections(const Value& root, JobSpec& job, fault_sink& faults) {
  if (is_null(root)) {
    faults.add(first_character(), "the job is empty", "flowrun: 1, and nodes:");
    return;
  }
  if (!is_map(root)) {
    faults.add(root.position(), "the job is " + std::string(kind_name(root)), "a map with the keys flowrun and nodes",
               is_scalar(root) ? "is this a job file? write 'key: value' lines" : "");
    return;
  }
  check_keys(
      root, "the job",
      {"flowrun", "name", "doc", "verify", "plugins", "params", "resources", "types", "nodes", "tests", "graphs"},
      faults,
      {{"version", "flowrun"},
       {"parameters", "params"},
       {"steps", "nodes"},
       {"pipeline", "nodes"},
       {"tasks", "nodes"},
       {"operators", "nodes"},
       {"description", "doc"},
       {"subgraphs", "graphs"},
       {"functions", "graphs"},
       {"schemas", "types"},
       {"schema", "types"}});
  read_version(root, job, faults);
  if (const Entry* name = find_entry(root, "name"))
    if (const std::string* words = expect_text(*name, "text", faults)) job.set_name(*words);
  if (const Entry* doc = find_entry(root, "doc"))
    if (const std::string* words = expect_text(*doc, "text", faults)) job.set_doc(*words);
  if (const Entry* verify = find_entry(root, "verify"))
    if (const std::optional<bool> flag = expect_number<bool>(*verify, to_bool, "true or false", faults))
      job.set_verify(*flag);
  if (const Entry* plugins = find_entry(root, "plugins")) read_plugins(*plugins, job, faults);
  if (const Entry* resources = find_entry(root, "resources"))
    read_resources(*resources, *job.mutable_resources(), faults);
  if (const Entry* types = find_entry(root, "types")) read_types(*types, job, faults);
  if (const Entry* graphs = find_entry(root, "graphs")) read_graphs(*graphs, job, faults);
  if (const Entry* tests = find_entry(root, "tests")) read_tests(*tests, job, faults);
  if (const Entry* nodes = find_entry(root, "nodes"))
    read_nodes(*nodes, "the job", *job.mutable_nodes(), faults);
  else
    faults.add(first_character(), "the job has no nodes", "nodes: NAME: {op: …, in: …, with: {…}} for each node");
  check_references(job, faults);
}

}  // namespace flowrun::specs
