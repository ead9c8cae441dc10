#include "tests/support/seeded_world.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "engine/io/file.h"

namespace flowrun {

namespace {

// A job asks again and again while nothing can happen, since somebody may yet press Ctrl-C.
constexpr unsigned most_waits_for_nothing = 3;
// Then the caller looks around, as it does when time passes.
constexpr unsigned steps_of_a_wait = 64;

void end(io::request& transfer) {
  io::file& file = *transfer.target;
  const int64_t moved = transfer.way == io::direction::read
                            ? file.read_at(transfer.offset, transfer.data, transfer.num_bytes)
                            : file.write_at(transfer.offset, transfer.data, transfer.num_bytes);
  transfer.complete(moved, steady_time().now());
}

}  // namespace

class seeded_world::backend final : public io::backend {
 public:
  explicit backend(seeded_world& world) : world_(world) {}
  using io::backend::submit;
  void submit(std::span<io::request* const> requests) noexcept override {
    for (io::request* const one : requests) {
      one->start(time().now());
      world_.transfers_.push_back(one);
    }
  }
  std::string_view name() const override { return "seeded"; }

 private:
  seeded_world& world_;
};

class seeded_world::executor final : public exec::task_executor {
 public:
  explicit executor(seeded_world& world) : world_(world) {}
  void post(std::function<void()> task) override { world_.tasks_.push_back(std::move(task)); }
  bool wait(const std::function<bool()>& finished, std::chrono::milliseconds) override {
    for (unsigned steps = 0; steps < steps_of_a_wait; ++steps) {
      if (finished()) return true;
      if (!world_.step()) {
        if (++waits_for_nothing_ > most_waits_for_nothing)
          throw std::logic_error("nothing is left that could happen: a wake-up was lost");
        return false;
      }
      waits_for_nothing_ = 0;
    }
    return finished();
  }
  void notify() override {}
  // Transfers end, too: the job takes itself down, and would wait for them where nothing makes a step.
  void drain() override {
    while (world_.step()) {
    }
  }

 private:
  seeded_world& world_;
  unsigned waits_for_nothing_ = 0;
};

seeded_world::seeded_world(uint64_t seed)
    : random_(seed),
      task_share_(static_cast<unsigned>(random_() % 101)),
      habit_(static_cast<unsigned>(random_() % 4)) {}

std::unique_ptr<io::backend> seeded_world::make_backend() { return std::make_unique<backend>(*this); }
std::unique_ptr<exec::task_executor> seeded_world::make_executor() { return std::make_unique<executor>(*this); }

// Any of them; mostly the oldest; mostly the newest; one of these two.
size_t seeded_world::draw(size_t count) {
  switch (habit_) {
    case 0: return random_() % count;
    case 1: return random_() % 8 == 0 ? random_() % count : 0;
    case 2: return random_() % 8 == 0 ? random_() % count : count - 1;
    default: return random_() % 2 == 0 ? 0 : count - 1;
  }
}

bool seeded_world::step() {
  if (tasks_.empty() && transfers_.empty()) return false;
  ++num_steps_;
  const bool is_task = transfers_.empty() || (!tasks_.empty() && random_() % 100 < task_share_);
  const size_t at = draw(is_task ? tasks_.size() : transfers_.size());
  trace_ = (trace_ ^ (2 * at + (is_task ? 1 : 0))) * 0x9e3779b97f4a7c15U;
  if (is_task) {
    const std::function<void()> task = std::move(tasks_[at]);
    tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(at));
    task();
  } else {
    io::request* const transfer = transfers_[at];
    transfers_.erase(transfers_.begin() + static_cast<std::ptrdiff_t>(at));
    end(*transfer);
  }
  return true;
}

}  // namespace flowrun
