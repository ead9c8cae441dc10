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
       "with combine."},
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
       "elsewhere."},
      {"unknown aggregate", "`let` or `combine` calls an aggregate that doesn't exist, or that has another name here.",
       "`flowrun ops expressions` lists the aggregates: count, sum, avg, min, max, first, last, and others."},
      {"is an aggregate and no function", "An aggregate such as `sum` stands in an expression about one row.",
       "Aggregates belong into `let` of group and reduce, or `combine` of sort. To have a total beside every row, name "
       "the node that computes it under `scalars:`."},
      {"has no column", "A parameter names a column that the rows don't have.",
       "The line `expected` lists the columns that there are. A `map` and a `group` keep only what they name."},
      {"have a column",
       "Two inputs of a join, lookup or zip have a column of the same name, and the result would have it twice.",
       "Give one of them another name with `rename: {OLD: NEW}`, or leave it out with a `map`."},
      {"has no output", "A node is read as NODE.PORT, and it has no port of that name.",
       "The line `expected` lists its outputs. The first output of a node is read by the node's name alone."},
      {"the rejected rows of", "`on_error: {to: PORT}` sends bad rows to a port, and no node reads it.",
       "Let a file.write_lines node read NODE.PORT, or drop such rows with `on_error: skip`."},
      {"may both write", "Two paths with {column} in them could give the same file.",
       "Give each node a directory of its own."},
      {"can't be compared", "The two sides have types that have no common order, such as a number and a text.",
       "Convert one of them: `to_u64(text)`, `string(number)`, `to_date(text)`."},
      {"does not fit in", "A constant is too large, too small or too exact for its type.",
       "Take a wider type (u64, i64, f64) or another constant."},
      {"is no date", "A text should be a date, and is none: wrong form, or a day that the month doesn't have.",
       "Dates are YYYY-MM-DD. Other forms are read with a pattern: `to_date(text, '%d.%m.%Y')`, or `format` at "
       "file.read_csv."},
      {"can't name a column",
       "Names of columns are made of letters, digits and _, and don't begin with a digit; words of expressions such as "
       "`and` are taken.",
       "Choose another name. A source can map it to the name in the file: `names: {amount: \"Amount (EUR)\"}`."},
      {"has no name to come out", "A key of a sort with `combine` is an expression, so its column needs a name.",
       "Write the key as a map: `by: [{day: \"date_trunc('day', t)\"}]`."},
      {"needs quotes here", "Inside {…} and […] YAML ends a plain word at any of [ ] { } and the comma.",
       "Put the text in quotes: \"bytes[10]\", \"${input}\"."},
      {", got \"", "A value of a file is no value of its column's type.",
       "The message has file, line and byte. Mend the line, take another type (`flowrun infer FILE` shows what fits), "
       "or go on without such lines: `on_error: skip`, or `on_error: {to: PORT}` to keep them."},
      {"more than max_ratio", "More rows were bad than `on_error` allows.",
       "The message shows the first one. If many rows are bad, `delimiter`, `header` or the type is probably wrong: "
       "`flowrun infer FILE` shows what fits."},
      {"would go to more than", "A sink with {COLUMN} in its path makes a file for each value, and there are too many.",
       "Name a column with fewer values in the path: a `map` can make one, a month of a day, say. Or allow more files "
       "with `max_files`."},
      {"the header has no column", "With `columns: header` every column of `type` must be in the header of the file.",
       "Check the spelling, large and small letters too, and `delimiter`. `names: {COLUMN: NAME}` says what the header "
       "calls a column."},
      {"expected an object",
       "A line of a JSON lines file is something else than an object, often because the file is one large array.",
       "`jq -c '.[]' FILE` makes one line of each element."},
      {"no column takes the key", "An object has a key that `type` doesn't name.",
       "Add a column for it, or say `other_keys: skip`."},
      {"bytes more", "The size of a file of packed rows is no multiple of the width of a row.",
       "Check that the type is the one that the file was written with, and that the file was copied as a whole."},
      {"is cut off", "A compressed file ends too early.",
       "Copy or make it again; `gzip -t FILE` and `zstd -t FILE` tell whether a file is whole."},
      {"comes before its predecessor", "The job says that a file is sorted (`sorted_by`), and it isn't.",
       "Remove `sorted_by` and put a `sort` behind the source, or sort the file."},
      {"breaks the rule", "A `check` has found a row for which its `where` doesn't hold.",
       "The message has the row, counted from 0. The data or the rule is wrong; a `filter` would drop such rows "
       "instead of ending the job."},
      {"has two rows of the key", "The table of a `lookup` must have each key once.",
       "Put a `sort` with `unique: true` in front of the table, or use a `join`, which makes a row of each pair."},
      {"has no row for", "A `lookup` has found no row for a key in its table.",
       "Say `missing: drop` to leave such rows out, or `missing: default` to go on with zero, empty text or "
       "`defaults`."},
      {"a decimal becomes too large", "A result has more digits than a decimal can hold (about 18).",
       "Round to fewer digits (`round(x, 2)`), or compute with floats (`f64(x)`)."},
      {"has not ended after", "The condition `until` of a loop was never true.",
       "Look at `until` and `next`; a loop that needs more iterations takes a higher `max_iterations`."},
      {"the scratch limit allows", "The rows don't fit in memory, and scratch may not take as much as is needed.",
       "Raise `--scratch-limit` or a directory's limit, name more directories (`-T DIR`), or give more memory (`-m`). "
       "`flowrun plan` shows which sort takes how much."},
      {"a line is longer than", "A line must fit in the part of the memory that its source has.",
       "Give more memory (`-m`). If lines should be short, check the delimiter and whether the file is text: `head -c "
       "300 FILE`."},
      {"no file matches", "A path has wildcards, and there is no such file.",
       "Put the pattern in quotes in the shell. Relative patterns begin at the working directory."},
      {"can't create the directory", "The directory of an output isn't there, and it can't be made.",
       "Check the path: one of its parts may be a file, or belong to somebody else."},
      {"it names a directory", "The path of an output ends with a slash.", "Name a file in the directory."},
      {"it is a directory", "The path of a file is that of a directory.",
       "Name a file in it, or, for an input, all of its files: `DIR/*.csv`. A folder that a run with `--cluster` has "
       "written is in the way of the same job without it: give another path, or remove it."},
      {"no space left on device", "The disk of an output or of a scratch directory is full.",
       "Free some space or choose another place; `flowrun plan` shows how much a job writes. Nothing is left behind by "
       "the run that failed."},
      {"is no directory", "Scratch needs a directory, and the path is something else.",
       "Name a directory with `-T` or under `resources:`; one that isn't there is made."},
      {"there is no plugin", "The job or the command names a plugin, and no directory that is looked into has it.",
       "Give `--plugin PATH` with the file or its directory, or name the directory in FLOWRUN_PLUGIN_PATH. `flowrun "
       "plugins` lists what is found."},
      {"can't be loaded",
       "A plugin is no shared object, is built for another version of the interface, or may be written by others.",
       "`flowrun plugins` says what speaks against it. `chmod go-w FILE` takes the right to write from others; another "
       "version is built again with this one's headers."},
      {"can't be read again",
       "`--resume` reads an input a second time after a kill, and standard input or a pipe is gone by then.",
       "Write the input to a file first, or leave out `--resume`."},
      {"starts over",
       "Something is kept of an earlier run with `--resume`, and it doesn't fit this one: the message says what has "
       "changed.",
       "Nothing, if the change was meant: the result is right, only later. `flowrun plan --resume` with the same "
       "options says before the run what would be used."},
      {"unknown option", "The command has no such option.",
       "`flowrun COMMAND --help` lists the options with examples."},
      {"is neither a command nor a job", "The first word is no command of flowrun, and there is no job of that name.",
       "`flowrun --help` lists the commands. Paths of jobs begin at the working directory."}};
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
