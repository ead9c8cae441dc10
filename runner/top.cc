// flowrun top: a running job in the terminal, from what its page server says.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <random>

#include "engine/base/error.h"
#include "runner/commands.h"
#include "runner/document.h"
#include "runner/full_screen.h"
#include "runner/page_client.h"
#include "runner/top_screen.h"

namespace flowrun::runner {

namespace {

using std::chrono::milliseconds;
using clock = std::chrono::steady_clock;

constexpr milliseconds period{1000};
constexpr milliseconds look{50};  // at the keys, while an answer is awaited
// A job that ends waits for its viewers. So one that can't be reached so often, and has not said that it ends, was
// killed.
constexpr int most_refusals = 3;

std::string text_of(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

page_answer answer_or_silence(const page_exchange& asked) {
  if (asked.wait(page_patience)) return asked.answer();
  page_answer out;
  out.problem = fmt::format("nothing for {} seconds", page_patience / std::chrono::seconds(1));
  return out;
}

int show_once(const page_address& at, const screen_style& style) {
  recent_states states;
  states.add(state_in(at, answer_or_silence(page_exchange(at, "/state.json"))));
  print(text_of(top_screen(states, {}, style)));
  return 0;
}

// Follows the job on the whole screen until it ends or the user leaves.
class follower {
 public:
  follower(const page_address& at, exec::RunReport first, std::string path, screen_style style)
      : at_(at), path_(std::move(path)), style_(style) {
    states_.add(std::move(first));
  }

  // The exit code.
  int follow() {
    int code = 0;
    {
      full_screen screen;
      while (states_.now().has_live() && !lost_) {
        draw(screen);
        const screen_event event = next(screen);
        if (event == screen_event::leave) return 0;
        if (event == screen_event::ended_by_signal) code = 128 + screen.signal();
        if (code != 0) return code;
      }
    }
    // On the screen as it was before, to stay there.
    screen_style plain = style_;
    plain.height = 0;
    print(text_of(top_screen(states_, {}, plain)));
    if (lost_)
      throw error(error_kind::io, fmt::format("the job at {} can't be reached any more: {}", at_.text(), problem_),
                  "it was killed, or the way there is broken; above is the last that it said");
    return 0;
  }

 private:
  void draw(const full_screen& screen) {
    style_.width = screen.width();
    style_.height = screen.height();
    screen.draw(top_screen(states_, notice_, style_));
  }

  // Until there is something to draw.
  screen_event next(full_screen& screen) {
    while (true) {
      const clock::time_point now = clock::now();
      if (!asked_ && now >= due_) {
        asked_.emplace(at_, path_);
        asked_at_ = now;
        due_ = now + period;
      }
      if (asked_ && asked_->wait(milliseconds{0})) {
        take(asked_->answer());
        asked_.reset();
        return screen_event::resized;
      }
      if (asked_ && now - asked_at_ > page_patience) {
        asked_.reset();
        const std::string before = notice_;
        notice_ = "the job doesn't answer; this is the last that it said";
        if (notice_ != before) return screen_event::resized;
      }
      const auto until_due = std::chrono::duration_cast<milliseconds>(due_ - now) + milliseconds{1};
      const screen_event event = screen.wait(asked_ ? look : std::max(until_due, milliseconds{0}));
      if (event != screen_event::none) return event;
    }
  }

  void take(const page_answer& got) {
    if (got.status != 0) {
      states_.add(state_in(at_, got));
      notice_.clear();
      refusals_ = 0;
      return;
    }
    problem_ = got.problem;
    notice_ = "the job doesn't answer (" + problem_ + "); this is the last that it said";
    refusals_ = got.was_refused ? refusals_ + 1 : 0;
    lost_ = refusals_ >= most_refusals;
  }

  const page_address at_;
  const std::string path_;
  screen_style style_;
  recent_states states_;
  std::string notice_;
  std::string problem_;
  int refusals_ = 0;
  bool lost_ = false;
  std::optional<page_exchange> asked_;
  clock::time_point asked_at_;
  clock::time_point due_ = clock::now() + period;
};

}  // namespace

int top(const top_arguments& arguments, terminal& screen) {
  const page_address at = parse_page_address(arguments.address);
  screen_style style;
  style.unicode = screen.unicode();
  style.colors = screen.colors_at(STDOUT_FILENO);
  if (arguments.once || !terminal::can_draw(STDOUT_FILENO)) return show_once(at, style);
  // By its name the job knows who looks, and waits for a moment at its end until it has been seen.
  const std::string path = fmt::format("/state.json?viewer=top{}", std::random_device{}());
  // What is wrong with the address is said before the screen is taken.
  exec::RunReport first = state_in(at, answer_or_silence(page_exchange(at, path)));
  return follower(at, std::move(first), path, style).follow();
}

}  // namespace flowrun::runner
