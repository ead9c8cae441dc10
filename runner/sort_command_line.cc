#include "runner/sort_command_line.h"

#include <fcntl.h>
#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/expr/text_fields.h"
#include "runner/option_values.h"

namespace flowrun::runner {

namespace {

constexpr const char* hint_for_help = "flowrun sort --help";

// Long options without a letter.
enum long_option : int {
  sort_word = 256,
  check_word,
  batch_size,
  parallel,
  files0_from,
  print_spec,
  debug,
  ignored,
  help,
  version
};

constexpr option long_options[] = {{"ignore-leading-blanks", no_argument, nullptr, 'b'},
                                   {"dictionary-order", no_argument, nullptr, 'd'},
                                   {"ignore-case", no_argument, nullptr, 'f'},
                                   {"general-numeric-sort", no_argument, nullptr, 'g'},
                                   {"ignore-nonprinting", no_argument, nullptr, 'i'},
                                   {"month-sort", no_argument, nullptr, 'M'},
                                   {"human-numeric-sort", no_argument, nullptr, 'h'},
                                   {"numeric-sort", no_argument, nullptr, 'n'},
                                   {"random-sort", no_argument, nullptr, 'R'},
                                   {"random-source", required_argument, nullptr, ignored},
                                   {"version-sort", no_argument, nullptr, 'V'},
                                   {"reverse", no_argument, nullptr, 'r'},
                                   {"sort", required_argument, nullptr, sort_word},
                                   {"check", optional_argument, nullptr, check_word},
                                   {"batch-size", required_argument, nullptr, batch_size},
                                   {"compress-program", required_argument, nullptr, ignored},
                                   {"key", required_argument, nullptr, 'k'},
                                   {"merge", no_argument, nullptr, 'm'},
                                   {"output", required_argument, nullptr, 'o'},
                                   {"parallel", required_argument, nullptr, parallel},
                                   {"stable", no_argument, nullptr, 's'},
                                   {"buffer-size", required_argument, nullptr, 'S'},
                                   {"field-separator", required_argument, nullptr, 't'},
                                   {"temporary-directory", required_argument, nullptr, 'T'},
                                   {"unique", no_argument, nullptr, 'u'},
                                   {"zero-terminated", no_argument, nullptr, 'z'},
                                   {"files0-from", required_argument, nullptr, files0_from},
                                   {"print-spec", no_argument, nullptr, print_spec},
                                   {"debug", no_argument, nullptr, debug},
                                   {"help", no_argument, nullptr, help},
                                   {"version", no_argument, nullptr, version},
                                   {nullptr, 0, nullptr, 0}};

[[noreturn]] void refuse(std::string message, std::string hint = hint_for_help) {
  throw error(error_kind::usage, std::move(message), std::move(hint));
}

enum class end_of_key { first, last, both };

// One ordering letter; false when it is none.
bool add_letter(char letter, end_of_key where, key_ordering& to) {
  switch (letter) {
    case 'b':
      to.first_skips_blanks |= where != end_of_key::last;
      to.last_skips_blanks |= where != end_of_key::first;
      break;
    case 'd': to.dictionary = true; break;
    case 'f': to.fold_case = true; break;
    case 'g': to.kind = key_kind::general_numeric; break;
    case 'h': to.kind = key_kind::human_numeric; break;
    case 'i': to.printable_only = true; break;
    case 'M': to.kind = key_kind::month; break;
    case 'n': to.kind = key_kind::numeric; break;
    case 'r': to.reverse = true; break;
    case 'R': refuse("-R is not supported", "shuf puts lines into random order");
    case 'V': to.kind = key_kind::version; break;
    default: return false;
  }
  if (to.letters.find(letter) == std::string::npos) to.letters += letter;
  return true;
}

// GNU sort refuses two ways to compare one key, and also d or i together with numbers or months.
void check_compatible(const key_ordering& ordering) {
  std::string ways;
  for (const char letter : std::string_view("dghinMV")) {
    if (ordering.letters.find(letter) == std::string::npos || (letter == 'i' && ordering.dictionary)) continue;
    if (letter == 'V' && (ordering.dictionary || ordering.printable_only)) continue;
    ways += letter;
  }
  if (ways.size() > 1) refuse(fmt::format("options '-{}' are incompatible", ways), "one of them for a key");
}

[[noreturn]] void refuse_key(const std::string& spec, const std::string& why) {
  refuse(fmt::format("{}: invalid field specification '{}'", why, spec),
         "-k FIELD[.CHARACTER][OPTIONS][,FIELD[.CHARACTER][OPTIONS]], counted from 1: -k2,2n");
}

// A number as strtoumax(3) takes it: it may have blanks and a plus in front.
std::optional<uint64_t> take_number(std::string_view& rest) {
  std::string_view number = rest.substr(std::min(rest.find_first_not_of(" \t\n\v\f\r"), rest.size()));
  if (number.starts_with('+')) number.remove_prefix(1);
  const auto count = expr::take_count(number);
  if (count) rest = number;
  return count;
}

// FIELD[.CHARACTER] from the front, as text.
std::string take_position(const std::string& spec, std::string_view& rest, bool is_last) {
  const auto field = take_number(rest);
  if (!field) refuse_key(spec, is_last ? "invalid number after ','" : "invalid number at field start");
  if (*field == 0) refuse_key(spec, "field number is zero");
  if (!rest.starts_with('.')) return std::to_string(*field);
  rest.remove_prefix(1);
  const auto character = take_number(rest);
  if (!character) refuse_key(spec, "invalid number after '.'");
  if (*character == 0 && !is_last) refuse_key(spec, "character offset is zero");
  return fmt::format("{}.{}", *field, *character);
}

line_key parse_key(const std::string& spec) {
  line_key out;
  std::string_view rest = spec;
  const auto take_letters = [&](end_of_key where) {
    while (!rest.empty() && add_letter(rest[0], where, out.ordering)) rest.remove_prefix(1);
  };
  out.first = take_position(spec, rest, false);
  take_letters(end_of_key::first);
  if (rest.starts_with(',')) {
    rest.remove_prefix(1);
    out.last = take_position(spec, rest, true);
    take_letters(end_of_key::last);
  }
  if (!rest.empty()) refuse_key(spec, "stray character in field spec");
  return out;
}

// FIELD[.CHARACTER] of a key as it once was written, counted from 0. Nothing: it is none.
struct old_position {
  uint64_t field = 0;
  uint64_t character = 0;
};
std::optional<old_position> take_old_position(std::string_view& rest) {
  old_position out;
  const auto field = take_number(rest);
  if (!field) return std::nullopt;
  out.field = *field;
  if (!rest.starts_with('.')) return out;
  rest.remove_prefix(1);
  const auto character = take_number(rest);
  if (!character) return std::nullopt;
  out.character = *character;
  return out;
}

// +POS1 [-POS2], which is -k POS1+1,POS2 (with a character in POS2: POS2+1). `end`: the word behind it, empty where
// that is no -POS2. Nothing: the word is a file's name.
std::optional<line_key> parse_old_key(const std::string& word, const std::string& end) {
  line_key out;
  std::string_view rest = std::string_view(word).substr(1);
  const auto first = take_old_position(rest);
  if (!first) return std::nullopt;
  while (!rest.empty() && add_letter(rest[0], end_of_key::first, out.ordering)) rest.remove_prefix(1);
  if (!rest.empty()) return std::nullopt;
  out.first = std::to_string(first->field + 1);
  if (first->character > 0) out.first += fmt::format(".{}", first->character + 1);
  if (end.empty()) return out;
  rest = std::string_view(end).substr(1);
  const auto last = take_old_position(rest);
  if (!last) refuse_key(end, "invalid number after '-'");
  while (!rest.empty() && add_letter(rest[0], end_of_key::last, out.ordering)) rest.remove_prefix(1);
  if (!rest.empty()) refuse_key(end, "stray character in field spec");
  out.last = last->character > 0 ? fmt::format("{}.{}", last->field + 1, last->character)
                                 : std::to_string(std::max<uint64_t>(last->field, 1));
  return out;
}

char parse_separator(const std::string& text) {
  if (text.empty()) refuse("empty tab", "-t takes one byte: -t,");
  if (text == "\\0") return '\0';
  if (text.size() > 1) refuse(fmt::format("multi-character tab '{}'", text), "-t takes one byte: -t, or -t $'\\t'");
  return text[0];
}

// SIZE of -S: a number and %, b, or one of the letters that GNU sort knows; K without one.
void parse_memory(const std::string& text, sort_request& to) {
  std::string_view rest = text;
  uint64_t number = 0;
  size_t i = 0;
  bool too_large = false;
  for (; i < rest.size() && rest[i] >= '0' && rest[i] <= '9'; ++i)
    too_large |= __builtin_mul_overflow(number, uint64_t{10}, &number) ||
                 __builtin_add_overflow(number, static_cast<uint64_t>(rest[i] - '0'), &number);
  rest.remove_prefix(i);
  constexpr std::string_view units = "KMGTPEZY", small_units = "kmgt";
  const bool fits = i > 0 && rest.size() <= 1;
  if (fits && rest == "%" && number > 0) {
    to.memory_percent = static_cast<unsigned>(std::min<uint64_t>(number, 100));
    to.memory_bytes.reset();
    return;
  }
  size_t shift = 10;
  if (fits && rest == "b")
    shift = 0;
  else if (fits && !rest.empty()) {
    const size_t at = std::min(units.find(rest[0]), small_units.find(rest[0]));
    shift = at == std::string_view::npos ? 0 : 10 * (at + 1);
  }
  if (!fits || (shift == 0 && rest != "b"))
    refuse(fmt::format("invalid -S argument '{}'", text), "-S 512M, 8G, 50%; without a unit, KiB");
  if (too_large || (number > 0 && (shift >= 64 || number > std::numeric_limits<uint64_t>::max() >> shift)))
    refuse(fmt::format("-S argument '{}' too large", text), "-S 512M, 8G, 50%; without a unit, KiB");
  constexpr uint64_t most = uint64_t{1} << 60;
  to.memory_bytes = number == 0 ? 0 : std::min(number << shift, most);
  to.memory_percent.reset();
}

unsigned parse_threads(const std::string& text) {
  std::string_view rest = text;
  const auto threads = take_number(rest);
  if (!threads || !rest.empty())
    refuse(fmt::format("invalid --parallel argument '{}'", text), "a whole number from 1 on");
  if (*threads == 0) refuse("number in parallel must be nonzero", "--parallel=2");
  return static_cast<unsigned>(std::min<uint64_t>(*threads, 4096));
}

constexpr char unsupported = 'R';  // add_letter() says so

// The letter that a word stands for. It may be cut short as long as that leaves one letter.
char letter_of_word(const char* option, const std::string& word,
                    std::initializer_list<std::pair<std::string_view, char>> words) {
  std::string letters, names;
  for (const auto& [name, letter] : words) {
    if (name == word) return letter;
    if (name.starts_with(word) && letters.find(letter) == std::string::npos) letters += letter;
    if (letter != unsupported) names += (names.empty() ? "" : ", ") + std::string(name);
  }
  if (letters.size() == 1) return letters[0];
  throw unknown_word(fmt::format("{} argument '{}' for '{}'", letters.empty() ? "invalid" : "ambiguous", word, option),
                     names);
}

char letter_of_sort_word(const std::string& word) {
  return letter_of_word("--sort", word,
                        {{"general-numeric", 'g'},
                         {"human-numeric", 'h'},
                         {"month", 'M'},
                         {"numeric", 'n'},
                         {"random", 'R'},
                         {"version", 'V'}});
}

// flowrun chooses how many files are merged at once, so the number has no effect; but a word that is no number is
// refused.
void check_batch_size(const std::string& text) {
  std::string_view rest = text;
  const auto number = take_number(rest);
  if (!number || !rest.empty() || *number < 2)
    refuse(fmt::format("invalid --batch-size argument '{}'", text), "a whole number from 2 on; it changes nothing");
}

// Calls take(piece) with all that is there, as it comes.
template <class Take>
void read_pieces(const std::string& path, const Take& take) {
  const int descriptor = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string buffer(64 * KiB, '\0');
  ssize_t got = descriptor < 0 ? -1 : 1;
  while (got > 0 || (got < 0 && descriptor >= 0 && errno == EINTR)) {
    got = ::read(descriptor, buffer.data(), buffer.size());
    if (got > 0) take(std::string_view(buffer.data(), static_cast<size_t>(got)));
  }
  const int cause = errno;
  if (descriptor > STDIN_FILENO) ::close(descriptor);
  if (got < 0) throw error(error_kind::missing_input, path + ": " + errno_text(cause));
}

// What is no list of names is refused at its first one, however long it is.
std::vector<std::string> names_from(const std::string& path) {
  if (path.empty()) refuse("--files0-from names no file", "a file of names, or - for standard input");
  std::vector<std::string> out;
  std::string name;
  const auto end_name = [&] {
    if (name.empty()) refuse(fmt::format("{}:{}: invalid zero-length file name", path, out.size() + 1));
    if (name == "-") refuse("when reading file names from stdin, no file name of '-' allowed", "name files only");
    out.push_back(std::exchange(name, {}));
  };
  read_pieces(path, [&](std::string_view piece) {
    for (size_t begin = 0; begin < piece.size();) {
      const size_t end = std::min(piece.find('\0', begin), piece.size());
      name += piece.substr(begin, end - begin);
      if (name.size() > PATH_MAX)
        refuse(fmt::format("{}:{}: the file name is too long", path, out.size() + 1),
               "names, each with a zero byte behind it, as find -print0 gives them");
      if (end < piece.size()) end_name();
      begin = end + 1;
    }
  });
  if (!name.empty()) end_name();
  if (out.empty()) refuse(fmt::format("no input from '{}'", path), "names, each with a zero byte behind it");
  return out;
}

class parser {
 public:
  sort_request parse(const std::vector<std::string>& arguments) {
    std::string name = "flowrun sort";
    std::vector<std::string> words = arguments;
    std::vector<char*> argv = {name.data()};
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const auto argc = static_cast<int>(argv.size()) - 1;
    optind = 0;  // glibc: from the start
    for (int letter;
         (letter = getopt_long(argc, argv.data(), "-bcCdfghik:mMno:rRsS:t:T:uVy:z", long_options, nullptr)) != -1;) {
      const std::string value = optarg == nullptr ? std::string() : std::string(optarg);
      if (letter == operand) {
        const char* const next = optind < argc ? argv[static_cast<size_t>(optind)] : "";
        take_operand(value, next[0] == '-' && next[1] >= '0' && next[1] <= '9' ? next : "");
        continue;
      }
      // -y of old systems has a number, or none: then the next word is not its own.
      const bool is_next_word = optarg != nullptr && optarg == argv[static_cast<size_t>(optind) - 1];
      if (letter == 'y' && is_next_word && value.find_first_not_of("0123456789") != std::string::npos) --optind;
      take(letter, value, optarg != nullptr);
    }
    for (int i = optind; i < argc; ++i) out_.files.emplace_back(argv[static_cast<size_t>(i)]);
    finish();
    return std::move(out_);
  }

 private:
  static constexpr int operand = 1;  // what getopt gives for a word that is no option

  // `end`: the word behind it, if that may be the end of a key.
  void take_operand(const std::string& word, const std::string& end) {
    std::optional<line_key> key;
    if (word.starts_with('+')) key = parse_old_key(word, end);
    if (!key) {
      out_.files.push_back(word);
      return;
    }
    out_.keys.push_back(*key);
    if (!end.empty()) ++optind;
  }

  void set_task(sort_task task, char letter) {
    if (task == sort_task::check) {
      if (check_letter_ != 0 && check_letter_ != letter) refuse("options '-cC' are incompatible");
      check_letter_ = letter;
      out_.silent_check = letter == 'C';
    }
    if (out_.task != sort_task::check) out_.task = task;
  }

  void take(int letter, const std::string& value, bool has_value) {
    switch (letter) {
      case 'c': set_task(sort_task::check, 'c'); break;
      case 'C': set_task(sort_task::check, 'C'); break;
      case check_word:
        set_task(sort_task::check,
                 !has_value
                     ? 'c'
                     : letter_of_word("--check", value, {{"quiet", 'C'}, {"silent", 'C'}, {"diagnose-first", 'c'}}));
        break;
      case 'm': set_task(sort_task::merge, 'm'); break;
      case 'k': out_.keys.push_back(parse_key(value)); break;
      case 'o': {
        const std::string file = value == "-" ? "./-" : value;  // a file of that name
        if (file.empty()) refuse(fmt::format("-o '': {}", errno_text(ENOENT)), "-o FILE");
        if (has_output_ && out_.output != file) refuse("multiple output files specified", "one -o");
        has_output_ = true;
        out_.output = file;
        break;
      }
      case 's': out_.stable = true; break;
      case 'S': parse_memory(value, out_); break;
      case 't': {
        const char separator = parse_separator(value);
        if (out_.separator && *out_.separator != separator) refuse("incompatible tabs", "one -t");
        out_.separator = separator;
        break;
      }
      case 'T':
        if (value.empty()) refuse("-T names no directory", "-T DIR");
        out_.scratch.push_back(value);
        break;
      case 'u': out_.unique = true; break;
      case 'z': out_.zero_terminated = true; break;
      case sort_word: add_letter(letter_of_sort_word(value), end_of_key::both, global_); break;
      case batch_size: check_batch_size(value); break;
      case parallel: out_.threads = parse_threads(value); break;
      case files0_from:
        names_file_ = value;
        has_names_file_ = true;
        break;
      case print_spec: out_.print_spec = true; break;
      case debug: out_.debug = true; break;
      case help: out_.help = true; break;
      case version: out_.version = true; break;
      case ignored:
      case 'y': break;
      case '?': refuse("");  // getopt has said what is wrong
      default: add_letter(static_cast<char>(letter), end_of_key::both, global_); break;
    }
  }

  void finish() {
    if (out_.help || out_.version) return;
    for (line_key& key : out_.keys) {
      if (key.ordering.is_plain() && !key.ordering.reverse) key.ordering = global_;
    }
    if (out_.keys.empty() && !global_.is_plain()) {
      line_key whole;
      whole.ordering = global_;
      out_.keys.push_back(whole);
    }
    // Global letters may contradict each other if no key inherits them.
    for (const line_key& key : out_.keys) check_compatible(key.ordering);
    out_.reverse = global_.reverse;
    if (has_names_file_) {
      if (!out_.files.empty())
        refuse(fmt::format("extra operand '{}': file operands cannot be combined with --files0-from", out_.files[0]));
      out_.files = names_from(names_file_);
    }
    if (out_.task == sort_task::check) {
      if (out_.files.size() > 1)
        refuse(fmt::format("extra operand '{}' not allowed with -{}", out_.files[1], check_letter_));
      if (has_output_) refuse(fmt::format("options '-{}o' are incompatible", check_letter_));
    }
    if (out_.files.empty()) out_.files.emplace_back("-");
    // Once standard input has been read, reading it again gives nothing.
    bool standard = false;
    std::erase_if(out_.files, [&](const std::string& file) { return file == "-" && std::exchange(standard, true); });
  }

  sort_request out_;
  key_ordering global_;
  std::string names_file_;
  bool has_names_file_ = false;
  bool has_output_ = false;
  char check_letter_ = 0;
};

}  // namespace

sort_request parse_sort_command_line(const std::vector<std::string>& arguments) { return parser().parse(arguments); }

}  // namespace flowrun::runner
