#include "runner/known_messages.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace flowrun::runner {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

const std::vector<known_message>& known_messages() {
  static const std::vector<known_message> all = {
      {"unknown column", "An expression or a key names a column that the rows of the input don't have.",
       "The line `expected` lists the columns that there are. A `map` and a `group` keep only what they name."},
      {"unknown operator", "The word behind `op:` is no operator, or belongs to a plugin that the job doesn't name.",
       "`flowrun ops` lists the operators; words of plugins need `plugins: [NAME]` in the job."},
      {"unknown function", "An expression calls what the expression language doesn't have.",
       "`flowrun ops expressions` lists all functions. Aggregates such as `sum` belong into group, reduce and sort "
       "with "
       "combine."},
      {"there is no node", "`in:` names a node that the job doesn't have.",
       "Check the spelling. Within a loop's body, names are those of the body, of what is carried and of the inputs."},
      {"are never used", "A node gives rows that no other node reads.",
       "Let a node read them (`file.write_csv`, say), or remove the node."},
      {"needs the parameter", "A parameter without which the operator can't work is missing under `with:`.",
       "`flowrun ops NAME` shows the operator's parameters."},
      {"has no parameter", "A key under `with:` is none of the operator's parameters.",
       "Check the spelling; `flowrun ops NAME` lists the parameters."},
      {"is required and has no value", "The job has a parameter without a default, and the command gave it no value.",
       "Add `-p NAME=VALUE` to the command, or a `default:` to the job."},
      {"sorted by", "The operator works on sorted rows, and it isn't proved that these are.",
       "Put a `sort` in front of it. If a file is sorted already, say so with `sorted_by` at its source."},
      {"next to each other", "`group` takes equal keys that stand together, and it isn't proved that they do.",
       "Put a `sort` by these columns in front, or use `sort` with `combine`, which groups while it sorts."},
      {"is no value type", "A column's type is spelled as another language spells it.",
       "Types are u8 to u64, i8 to i64, f32, f64, bool, string, date, timestamp, decimal[S] and bytes[N]."},
      {"on the left", "The two key columns of a join have different types.",
       "Convert one side in a `map` before the join: `u64(x)`, `to_u64(text)`."},
      {"both write", "Two nodes would write one file.",
       "Give each a path of its own; `concat` makes one stream of two."},
      {"needs numbers", "An operator of arithmetic has a text beside it.",
       "Convert the text with `to_i64(x)` or `to_f64(x)`; `concat(a, b)` joins texts."},
      {"have no common type", "A signed and an unsigned integer of 64 bits meet.",
       "Convert one of them: `i64(x)` or `u64(x)`."},
      {"the condition is", "A condition must be true or false, and this expression is a number or a text.",
       "Compare it: `x != 0`, `name != ''`."},
      {"a tab in the indentation", "YAML is indented with blanks only.", "Replace the tab by blanks."},
      {"in a text without quotes", "YAML takes this character for one of its own marks.",
       "Put the whole text in quotes: \"…\"."},
      {"stands here twice", "A map has one key twice; the second would replace the first without a word.",
       "Rename or remove one of the two."},
      {"run in a circle", "A node reads, through others, its own output.",
       "Break the circle; repetition is what `loop` is for."},
      {"is too small for this job", "The budget is less than the least with which the job can work.",
       "Raise it with `-m`; the message says how much is needed, and for which nodes."},
      {"there is no job", "The path of the job is wrong.", "Relative paths begin at the working directory."},
      {"no such file", "An input is not there.", "Relative paths begin at the working directory, not at the job."},
      {"fields, got", "A line of a CSV file has more or fewer fields than the type has columns.",
       "Check `delimiter`, `header` and the type; `flowrun infer FILE` shows what fits. `on_error` sends such lines "
       "elsewhere."}};
  return all;
}

std::vector<known_message> messages_like(std::string_view text) {
  const std::string asked = lower(text);
  std::vector<known_message> out;
  // One or two letters stand in nearly every phrase.
  if (asked.size() < 4) return out;
  std::copy_if(known_messages().begin(), known_messages().end(), std::back_inserter(out), [&](const known_message& m) {
    const std::string phrase = lower(m.phrase);
    return asked.find(phrase) != std::string::npos || phrase.find(asked) != std::string::npos;
  });
  return out;
}

}  // namespace flowrun::runner
