#include "tests/torture/interposed/rules.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace interposed {

namespace {

constexpr std::array<std::string_view, num_calls> names = {
    "read",       "write",  "open",       "open_unnamed", "fallocate", "ftruncate",   "fsync",
    "sync_range", "rename", "link",       "unlink",       "mkdir",     "map",         "populate",
    "descriptor", "thread", "allocation", "ring",         "submit",    "scratch_read"};

struct rule {
  call kind{};
  uint64_t number = 0;
  fault found;
  bool ever = false;
};

constexpr size_t max_rules = 8;
std::array<rule, max_rules> rules;
size_t num_rules = 0;
std::array<std::atomic<uint64_t>, num_calls> counts;
std::atomic<bool> running{false};

[[noreturn]] void refuse(std::string_view text) {
  std::fprintf(stderr, "FAILING_CALLS: can't read the rule '%.*s'\n", static_cast<int>(text.size()), text.data());
  std::_Exit(125);
}

std::string_view take(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view piece = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return piece;
}

uint64_t number_in(std::string_view text) {
  uint64_t value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') refuse(text);
    value = value * 10 + static_cast<uint64_t>(digit - '0');
  }
  return value;
}

effect effect_named(std::string_view name) {
  if (name == "short") return effect::shorten;
  if (name == "kill") return effect::kill;
  if (name == "killed") return effect::killed;
  if (name == "flip") return effect::flip;
  if (name == "other") return effect::other;
  if (name == "stale") return effect::stale;
  return effect::fail;
}

rule read_rule(std::string_view text) {
  const std::string_view whole = text;
  rule made;
  const std::string_view name = take(text, ':');
  size_t kind = 0;
  while (kind < num_calls && names[kind] != name) ++kind;
  if (kind == num_calls) refuse(whole);
  made.kind = static_cast<call>(kind);
  made.number = number_in(take(text, ':'));
  const std::string_view what = take(text, ':');
  if (what.empty() || made.number == 0) refuse(whole);
  made.found.what = effect_named(what);
  if (made.found.what == effect::fail) made.found.cause = static_cast<int>(number_in(what));
  made.ever = text == "ever";
  if (!text.empty() && !made.ever) refuse(whole);
  return made;
}

void write_counts() {
  const char* const path = std::getenv("FAILING_COUNTS");
  if (path == nullptr) return;
  std::array<char, 2048> text{};
  size_t length = 0;
  for (size_t i = 0; i < num_calls; ++i)
    length += static_cast<size_t>(std::snprintf(text.data() + length, text.size() - length, "%s %llu\n",
                                                names[i].data(), static_cast<unsigned long long>(counts[i].load())));
  const long descriptor = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (descriptor < 0) return;
  (void)syscall(SYS_write, descriptor, text.data(), length);
  (void)syscall(SYS_close, descriptor);
}

__attribute__((constructor)) void read_rules() {
  const char* const given = std::getenv("FAILING_CALLS");
  std::string_view text = given == nullptr ? "" : given;
  while (!text.empty()) {
    if (num_rules == max_rules) refuse(text);
    rules[num_rules++] = read_rule(take(text, ','));
  }
}

}  // namespace

bool is_running() { return running.load(std::memory_order_relaxed); }

void set_running(bool now) {
  running = now;
  if (!now) write_counts();
}

void die() {
  for (;;) syscall(SYS_kill, getpid(), SIGKILL);
}

fault next(call kind) {
  if (!is_running()) return {};
  const auto index = static_cast<size_t>(kind);
  const uint64_t number = counts[index].fetch_add(1, std::memory_order_relaxed) + 1;
  for (size_t i = 0; i < num_rules; ++i) {
    const rule& one = rules[i];
    if (one.kind != kind || (one.ever ? number < one.number : number != one.number)) continue;
    if (one.found.what == effect::kill) die();
    fault found = one.found;
    found.number = number;
    return found;
  }
  return {};
}

bool fails(const fault& found) {
  if (found.what != effect::fail) return false;
  errno = found.cause;
  return true;
}

}  // namespace interposed
