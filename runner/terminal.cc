#include "runner/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "runner/shown_text.h"

namespace flowrun::runner {

namespace {

constexpr std::string_view red = "1;31";
constexpr std::string_view yellow = "1;33";
constexpr std::string_view green = "32";

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != 0;
}

bool speaks_utf8() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == 0) continue;
    const std::string_view text = value;
    return text.find("UTF-8") != std::string_view::npos || text.find("utf8") != std::string_view::npos;
  }
  return false;
}

}  // namespace

terminal::terminal(verbosity how_much, color_choice colors)
    : how_much_(how_much),
      choice_(colors),
      is_terminal_(can_draw(STDERR_FILENO)),
      colors_(colors_at(STDERR_FILENO)),
      unicode_(speaks_utf8()) {}

bool terminal::can_draw(int descriptor) {
  const char* kind = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

bool terminal::colors_at(int descriptor) const {
  return choice_ == color_choice::always ||
         (choice_ == color_choice::automatic && can_draw(descriptor) && !is_set("NO_COLOR"));
}

size_t terminal::width() const {
  winsize columns{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &columns) == 0 && columns.ws_col > 0) return columns.ws_col;
  return 80;
}

// When standard error itself fails there is nowhere else to say it.
void terminal::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(STDERR_FILENO, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return;
    text.remove_prefix(static_cast<size_t>(done));
  }
}

std::string terminal::clean(std::string_view text) const { return without_controls(mask_.masked(text)); }

std::string terminal::painted(std::string_view text, std::string_view code) const {
  if (!colors_) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", code, text);
}

void terminal::show(const error& problem) {
  erase_line();
  std::string out = "flowrun: " + painted("error:", red) + " " + clean(problem.what()) + "\n";
  if (!problem.hint().empty()) out += "  " + painted("help:", green) + " " + clean(problem.hint()) + "\n";
  write(out);
}

void terminal::show_bug(std::string_view what) {
  erase_line();
  write(fmt::format("flowrun: {} {}\n  {} this is a bug in flowrun; please report it with the job and this message\n",
                    painted("internal error:", red), clean(what), painted("help:", green)));
}

void terminal::show_faults(const std::vector<fault>& faults, std::string_view text) {
  erase_line();
  const std::string rendered = clean(render(faults, text, verbose() ? of_alike::all : of_alike::few));
  std::string out;
  std::string_view rest = rendered;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end);
    constexpr std::string_view mark = "error:";
    constexpr std::string_view help = "help:";
    const bool excerpt = line.starts_with(' ');
    const size_t at = excerpt ? (line.starts_with("    help:") ? 4 : std::string_view::npos) : line.find(mark);
    if (at == std::string_view::npos) {
      out += line;
      continue;
    }
    const std::string_view word = excerpt ? help : mark;
    out += line.substr(0, at);
    out += painted(word, excerpt ? green : red);
    out += line.substr(at + word.size());
  }
  write(out);
}

void terminal::warn(std::string_view text) {
  if (quiet()) return;
  erase_line();
  write(fmt::format("flowrun: {} {}\n", painted("warning:", yellow), clean(text)));
}

void terminal::say(std::string_view text) {
  if (quiet()) return;
  erase_line();
  write(clean(text));
}

void terminal::report_line(std::string_view line) {
  erase_line();
  write(clean(line) + "\n");
}

void terminal::detail(std::string_view text) {
  if (!verbose()) return;
  erase_line();
  write(fmt::format("flowrun: {}\n", clean(text)));
}

void terminal::redraw(const std::string& line) {
  write("\r" + clean(line) + "\033[K");
  line_shown_ = true;
}

void terminal::erase_line() {
  if (!line_shown_) return;
  line_shown_ = false;
  write("\r\033[K");
}

}  // namespace flowrun::runner
