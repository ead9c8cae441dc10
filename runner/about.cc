// ops, schema, reference, metrics: what flowrun says about itself, all of it generated from the declarations.
#include <algorithm>

#include "engine/expr/functions.h"
#include "engine/expr/outside_function.h"
#include "engine/metrics/names.h"
#include "engine/plan/known_elsewhere.h"
#include "engine/plan/reference.h"
#include "engine/plan/schema_json.h"
#include "runner/commands.h"
#include "runner/document.h"
#include "runner/words.h"

namespace flowrun::runner {

namespace {

std::string table(const char* title, const std::vector<expr::function_help>& rows) {
  size_t width = 0;
  for (const expr::function_help& row : rows) width = std::max(width, row.signature.size());
  std::string out = fmt::format("{}\n", title);
  for (const expr::function_help& row : rows) out += fmt::format("  {:<{}}  {}\n", row.signature, width, row.help);
  return out;
}

// The operators of which `word` is one: in, like, ==.
std::vector<expr::function_help> operators_with(std::string word) {
  if (word == "==" || word == "!=" || word == "<=" || word == ">" || word == ">=") word = "<";  // one line has them all
  std::vector<expr::function_help> out;
  for (const expr::function_help& op : expr::operators()) {
    std::string rest = op.signature;
    for (size_t end = 0; !rest.empty() && end != std::string::npos;
         rest.erase(0, end == std::string::npos ? 0 : end + 1)) {
      end = rest.find(' ');
      if (rest.substr(0, end) == word) {
        out.push_back(op);
        break;
      }
    }
  }
  return out;
}

// Words of expressions that are neither functions nor operators.
const std::vector<expr::function_help>& names_in_expressions() {
  static const std::vector<expr::function_help> names = {
      {"params", "params.NAME", "The value of the job's parameter NAME, with its type: params: {NAME: {type: …}}."},
      {"scalars", "NODE.COLUMN",
       "A value of a node that gives one row, as reduce does: scalars: NODE, or {name: NODE}, beside in: of the node "
       "whose expressions name it."},
      {"row", "row[-1].x", "Column x of the row before, in the let of a window with before: 1; row[1].x of the next."},
      {"row_number", "row_number", "The number of the row, from 0, among all that the node reads."},
      {"i", "i", "In generate: the number of the row that is made, from 0."},
      {"true", "true  false", "The values of bool."},
      {"false", "true  false", "The values of bool."}};
  return names;
}

// What is called `name` in expressions. False if nothing is.
bool show_function(const std::string& name, const plan::vocabulary& catalog) {
  std::string out;
  const auto add = [&](const char* title, const std::vector<expr::function_help>& of) {
    std::vector<expr::function_help> found;
    std::copy_if(of.begin(), of.end(), std::back_inserter(found),
                 [&](const expr::function_help& f) { return f.name == name; });
    if (!found.empty()) out += table(title, found);
  };
  if (const auto found = operators_with(name); !found.empty()) out += table("an operator of expressions:", found);
  add("a name in expressions:", names_in_expressions());
  add("a function of expressions:", expr::functions());
  add("an aggregate, for group, reduce and a sort that combines:", expr::aggregates());
  if (catalog.functions() != nullptr) {
    add("a plugin's function of expressions:", catalog.functions()->help());
    add("a plugin's aggregate, for group, reduce and a sort that combines:", catalog.functions()->aggregate_help());
  }
  if (out.empty()) return false;
  print(out + "\n`flowrun ops expressions` lists all functions and aggregates\n");
  return true;
}

// A word that is known elsewhere is none of this language, so it is refused as any unknown one; the help is what a job
// with that word gets. Throws error(usage), or returns where no other language has the word.
void refuse_word_of_others(const std::string& name) {
  const std::vector<plan::word_elsewhere> meanings = plan::meanings_elsewhere(name);
  if (meanings.empty()) return;
  std::string help = meanings[0].advice;
  for (size_t i = 1; i < meanings.size(); ++i)
    help += fmt::format("; for the {}, {}", meanings[i].kind, meanings[i].advice);
  throw error(error_kind::usage, fmt::format("there is no {} '{}'", meanings[0].kind, name), help);
}

}  // namespace

bool show_word(const std::string& name) {
  load_all_plugins();
  const plan::vocabulary catalog = known_vocabulary();
  const plan::operator_declaration* found = catalog.find(name);
  if (found == nullptr) return show_function(name, catalog);
  print(plan::usage_text(*found));
  return true;
}

int show_operators(const std::string& name) {
  load_all_plugins();
  const plan::vocabulary catalog = known_vocabulary();
  if (name.empty()) {
    print(plan::operator_list(catalog));
    return 0;
  }
  if (name == "expressions") {
    std::string out =
        table("operators, the tightest first", expr::operators()) + table("\nfunctions", expr::functions());
    const auto& of_plugins = catalog.functions();
    if (of_plugins != nullptr && !of_plugins->help().empty())
      out += table("\nfunctions of plugins", of_plugins->help());
    out += table("\naggregates (of group, reduce and a sort that combines)", expr::aggregates());
    if (of_plugins != nullptr && !of_plugins->aggregate_help().empty())
      out += table("\naggregates of plugins", of_plugins->aggregate_help());
    print(out);
    return 0;
  }
  if (show_word(name)) return 0;
  refuse_word_of_others(name);
  const std::string meant = did_you_mean(name, catalog.names());
  throw error(error_kind::usage, "there is no operator '" + name + "'",
              !meant.empty()                        ? meant
              : name.find('.') == std::string::npos ? "flowrun ops lists them, flowrun ops expressions the functions"
                                                    : "flowrun ops lists them; --plugin PATH gives those of a plugin");
}

int show_schema() {
  load_all_plugins();
  print(plan::schema_json(known_vocabulary()));
  return 0;
}

int show_reference() {
  load_all_plugins();
  print(plan::reference_markdown(known_vocabulary()));
  return 0;
}

int show_metrics() {
  print(metrics::list_metrics());
  return 0;
}

}  // namespace flowrun::runner
