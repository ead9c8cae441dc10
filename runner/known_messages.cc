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

// Whether `text` has the parts of the phrase between its "…", one behind the other.
bool has_phrase(std::string_view text, std::string_view phrase) {
  constexpr std::string_view gap = "…";
  size_t from = 0;
  while (true) {
    const size_t end = std::min(phrase.find(gap), phrase.size());
    const size_t found = text.find(phrase.substr(0, end), from);
    if (found == std::string_view::npos) return false;
    if (end == phrase.size()) return true;
    from = found + end;
    phrase.remove_prefix(end + gap.size());
  }
}

}  // namespace

const std::vector<known_message>& known_messages() {
  static const std::vector<known_message> all = {
      {"unknown column", "An expression or a key names a column that the rows of the input don't have.",
       "The line `expected` lists the columns that there are. A `map` and a `group` keep only what they name."},
      {"unknown key", "A map of the job has a key that Flowrun doesn't know there.",
       "Check the spelling: the line `expected` lists the keys that there can be. What belongs to the operator stands "
       "under `with:`."},
      {"unknown operator", "The word behind `op:` is no operator, or belongs to a plugin that the job doesn't name.",
       "`flowrun ops` lists the operators; words of plugins need `plugins: [NAME]` in the job."},
      {"unknown function", "An expression calls what the expression language doesn't have.",
       "`flowrun ops expressions` lists all functions. Aggregates such as `sum` belong in group, reduce and sort "
       "with combine."},
      {"there is no node", "`in:` names a node that the job doesn't have.",
       "Check the spelling. Within a loop's body, names are those of the body, of what is carried and of the inputs."},
      {"never used", "A node gives rows that no other node reads.",
       "Let a node read them (`file.write_csv`, say), or remove the node."},
      {"has no input",
       "A node doesn't say whose rows it reads, names an input that its operator doesn't have, or is a source and has "
       "an `in:`.",
       "Say `in: NODE`; for an operator with several inputs `in: {left: a, right: b}`, whose names `flowrun ops NAME` "
       "lists. Sources, such as `file.read_csv` and `generate`, have no `in:`."},
      {"needs the parameter", "A parameter without which the operator can't work is missing under `with:`.",
       "`flowrun ops NAME` shows the operator's parameters."},
      {"has no parameter", "A key under `with:` is none of the operator's parameters.",
       "Check the spelling; `flowrun ops NAME` lists the parameters."},
      {"is not right for", "A value under `with:` is of another form than its parameter takes.",
       "The line `expected` says what the parameter takes; `flowrun ops NAME` has examples."},
      {"is required and has no value", "The job has a parameter without a default, and the command gave it no value.",
       "Add `-p NAME=VALUE` to the command, or a `default:` to the job."},
      {"there is no parameter", "The job uses `${NAME}` or `params.NAME`, and `params:` doesn't have the name.",
       "Check the spelling, or declare it: `params: {NAME: {type: string}}`. For the characters `${` themselves write "
       "`$${`."},
      {"the environment variable … is not set", "The job uses `${env:NAME}`, and the environment doesn't have NAME.",
       "Set it: `NAME=value flowrun job.yaml`. Or give it a default in the job: `${env:NAME:-default}`."},
      {"sorted by", "The operator works on sorted rows, and it isn't proved that these are.",
       "Put a `sort` in front of it. If its rows are sorted already, put a `check` with `sorted` there; file.read_rows "
       "and file.read_npy have `sorted_by` too."},
      {"next to each other", "`group` takes equal keys that stand together, and it isn't proved that they do.",
       "Put a `sort` by these columns in front, or use `sort` with `combine`, which groups while it sorts."},
      {"is no value type", "A column's type is spelled as another language spells it.",
       "Types are u8 to u64, i8 to i64, f32, f64, bool, string, date, timestamp, decimal[S] and bytes[N]."},
      {"on the left", "The two key columns of a join have different types.",
       "Convert one side in a `map` before the join: `u64(x)`, `to_u64(text)`."},
      {"'…' is … in '…', '…' is … in '…'", "The key columns of a lookup's two inputs have different types.",
       "Convert one side in a `map` before the lookup: `{\"*\": all, k: u64(k)}`, or `to_u64(k)` for a text."},
      {"both write", "Two nodes would write one file.",
       "Give each a path of its own; `concat` makes one stream of two."},
      {"needs numbers", "An operator of arithmetic has a text beside it.",
       "Convert the text with `to_i64(x)` or `to_f64(x)`; `concat(a, b)` joins texts."},
      {"have no common type",
       "An expression chooses between values of kinds that don't go together, as `if`, `min` and `coalesce` do: a text "
       "and a number, a bool and a number, a date and a timestamp, or a signed and an unsigned integer of 64 bits.",
       "Convert one of them: `string(x)` for a text, `to_i64(text)` for a number, `u8(condition)` for 0 and 1, "
       "`i64(x)` or `u64(x)` for integers of one sign."},
      {"the expression ends too early", "Something is missing at the end of an expression, such as a value behind `+`.",
       "Add what is missing. A text needs quotes, a pattern as well: `name like 'x%'`. Within {…} and […] put the "
       "whole expression in double quotes: YAML ends it at a comma, a bracket or ` #`."},
      {"unexpected '", "An expression has a word or a sign where none like it can stand.",
       "The `^` stands under it. Two values need an operator between them, a text needs quotes ('a text'), and much of "
       "SQL is written in another way: `if(c, a, b)` for CASE, say. `flowrun ops expressions` lists what there is."},
      {"unexpected byte", "An expression has a character that has no meaning there, such as a curly quote (“ ”).",
       "Write straight quotes, ' or \". Letters beyond a to z may stand in texts only."},
      {"the condition is", "A condition must be true or false, and this expression is a number or a text.",
       "Compare it: `x != 0`, `name != ''`."},
      {"a tab in the indentation", "YAML is indented with blanks only.", "Replace the tab by blanks."},
      {"in a text without quotes", "YAML takes this character for one of its own marks.",
       "Put the whole text in quotes: \"…\"."},
      {"is never closed", "A { or [ of the job has no } or ] of its own, or one of a text stands there without quotes.",
       "Put what is missing where the map or list ends. A text with { [ or ' #' in it is put in quotes."},
      {"stands here twice", "A map has one key twice; the second would replace the first without a word.",
       "Rename or remove one of the two."},
      {"run in a circle", "A node reads, through others, its own output.",
       "Break the circle; repetition is what `loop` is for."},
      {"is too small for this job", "The budget is less than the least with which the job can work.",
       "Raise it with `-m`; the message says how much is needed, and for which nodes."},
      {"the job doesn't say its version", "A job begins with the version of its language.",
       "Write `flowrun: 1` as its first line."},
      {"there is no job", "The path of the job is wrong.", "Relative paths begin at the working directory."},
      {"no such file", "An input is not there.", "Relative paths begin at the working directory, not at the job."},
      {"fields, got", "A line of a CSV file has more or fewer fields than the type has columns.",
       "Check `delimiter`, `header` and the type; `flowrun infer FILE` shows what fits. `on_error` sends such lines "
       "elsewhere."},
      {"unknown aggregate", "`let` or `combine` calls an aggregate that doesn't exist, or that has another name here.",
       "`flowrun ops expressions` lists the aggregates: count, sum, avg, min, max, first, last, and others."},
      {"is no aggregate",
       "What stands in `let` or `combine` is more than one aggregate, as `sum(x) / 2`, or less, as a column alone.",
       "Compute inside the aggregate, `sum(x / 2)`, or in a `map` behind. `first(x)` is the value of a column."},
      {"is an aggregate and no function", "An aggregate such as `sum` stands in an expression about one row.",
       "Aggregates belong in `let` of group and reduce, or `combine` of sort. To have a total beside every row, name "
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
      {"got an empty field", "A value of a CSV file is missing, and its column's type has no empty value.",
       "Say what a missing value looks like, `null_values: [\"\"]`: it becomes zero, and a bool column can tell. Or "
       "drop "
       "such lines: `on_error: skip`."},
      {"more than max_ratio", "More rows were bad than `on_error` allows.",
       "The message shows the first one. If many rows are bad, `delimiter`, `header` or the type is probably wrong: "
       "`flowrun infer FILE` shows what fits."},
      {"would go to more than", "A sink with {COLUMN} in its path makes a file for each value, and there are too many.",
       "Name a column with fewer values in the path: a `map` can make one, a month of a day, say. Or allow more files "
       "with `max_files`."},
      {"the header has the column … twice", "Two fields of a CSV header have the name of one column of `type`.",
       "Mend the header. Or take it off (`tail -n +2 FILE`), and take the fields by their position: all of them in "
       "`type`, and no `columns: header`."},
      {"a quoted field is never closed",
       "A field of a CSV file begins with a quote, and no other quote ends it: the file is cut, or the quote belongs "
       "to the text.",
       "Mend the line. If quotes are characters like others in this file, say `quote: \"\"`."},
      {"the header has no column", "With `columns: header` every column of `type` must be in the header of the file.",
       "Check the spelling, large and small letters too, and `delimiter`. `names: {COLUMN: NAME}` says what the header "
       "calls a column."},
      {"expected an object",
       "A line of a JSON lines file is something else than an object, often because the file is one large array.",
       "`jq -c '.[]' FILE` makes one line of each element."},
      {"got an array", "A value of a JSON object is an array, and a column holds a single value.",
       "Leave the column out of `type`, with `other_keys: skip`. Or make single values before: `jq -c '{id, x: "
       ".list[]}' FILE` makes a row of each element."},
      {"no column takes the key", "An object has a key that `type` doesn't name.",
       "Add a column for it, or say `other_keys: skip`."},
      {"which has no fixed width", "Binary files and NumPy's arrays have rows of one width, and a string has any.",
       "Make bytes of it in a `map`, `{\"*\": all, name: \"bytes(name, 20)\"}`, or write text: `file.write_csv`."},
      {"bytes more", "The size of a file of packed rows is no multiple of the width of a row.",
       "Check that the type is the one that the file was written with, and that the file was copied as a whole."},
      {"is cut off", "A compressed file ends too early.",
       "Copy or make it again; `gzip -t FILE` and `zstd -t FILE` tell whether a file is whole."},
      {"comes before its predecessor", "The job says that a file is sorted (`sorted_by`), and it isn't.",
       "Remove `sorted_by` and put a `sort` behind the source, or sort the file."},
      {"is out of order by", "A `check` with `sorted` has found a row that belongs in front of the row before.",
       "The message has both rows, counted from 0. Put a `sort` in front of the check, or mend what makes the rows."},
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
      {"the scratch directories have free or may take",
       "The rows don't fit in memory, and the disks of scratch have too little room, or may not give more.",
       "Make room, raise the limits of the directories, name more of them (`-T DIR`), or give more memory (`-m`). "
       "`flowrun plan` shows which sort takes how much."},
      {"out of scratch space",
       "The rows didn't fit in memory, and the disks of scratch were full, or had given all that they may.",
       "Make room, raise `--scratch-limit` or a directory's limit, name more directories (`-T DIR`), or give more "
       "memory (`-m`). `flowrun plan` shows about how much a job needs; run and check warn before where that is too "
       "much."},
      {"another run of this job works there now",
       "The same command with `--resume` is running: both would use what is kept of the job.",
       "Wait until it has ended, or end it; without `--resume` both may run, to other outputs."},
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
       "`flowrun plugins` says why. `chmod go-w FILE` takes the right to write from others; another version is built "
       "again with this one's headers."},
      {"can't be read again",
       "`--resume` reads an input a second time after a kill, and standard input or a pipe is gone by then.",
       "Write the input to a file first, or leave out `--resume`."},
      {"starts over",
       "Something is kept of an earlier run with `--resume`, and it doesn't fit this one: the message says what has "
       "changed.",
       "Nothing, if the change was meant: the result is right, only later. `flowrun plan --resume` with the same "
       "options says before the run what would be used."},
      {"stopped by",
       "A signal has ended the run: Ctrl-C in the terminal, SIGTERM of `kill` or of a scheduler, or a hangup of the "
       "terminal. Before the job had wound down: a second signal came, or some work took longer than a second to end, "
       "as a sort of much memory, or scratch of many gigabytes that is freed.",
       "Start it again. No output was written; what a run with `--resume` has finished is kept, and the same command "
       "goes on from there."},
      {"unknown option", "The command has no such option.",
       "`flowrun COMMAND --help` lists the options with examples."},
      {"is neither a command nor a job", "The first word is no command of flowrun, and there is no job of that name.",
       "`flowrun --help` lists the commands. Paths of jobs begin at the working directory."}};
  return all;
}

std::vector<known_message> messages_like(std::string_view text) {
  const std::string asked = lower(text);
  std::vector<known_message> said, out, near;
  // One or two letters stand in nearly every phrase.
  if (asked.size() < 4) return out;
  for (const known_message& m : known_messages()) {
    const std::string phrase = lower(m.phrase);
    if (has_phrase(asked, phrase))
      said.push_back(m);
    else if (phrase.find(asked) != std::string::npos)
      near.push_back(m);
  }
  std::copy_if(said.begin(), said.end(), std::back_inserter(out), [&](const known_message& m) {
    return std::none_of(said.begin(), said.end(), [&](const known_message& other) {
      return other.phrase.size() > m.phrase.size() && other.phrase.find(m.phrase) != std::string_view::npos;
    });
  });
  std::stable_sort(out.begin(), out.end(),
                   [](const known_message& a, const known_message& b) { return a.phrase.size() > b.phrase.size(); });
  out.insert(out.end(), near.begin(), near.end());
  return out;
}

}  // namespace flowrun::runner
