#include "engine/metrics/collection.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <optional>
#include <thread>

#include "tests/support/scarce_memory.h"

namespace flowrun::metrics {
namespace {

class recorder final : public sink {
 public:
  void value(metric m, label_values, double value) override { seen.emplace_back(m, value); }
  void histogram(metric, label_values, const histogram_value&) override {}
  std::vector<std::pair<metric, double>> seen;
};

collector giving(double value) {
  return [value](sink& into) { into.value(metric::flowrun_job_phase, {}, value); };
}

std::vector<double> values_of(collection& c) {
  recorder into;
  c.collect(into);
  std::vector<double> out;
  for (const auto& [m, value] : into.seen) out.push_back(value);
  return out;
}

TEST(collection, asks_every_collector_in_the_order_of_attachment) {
  collection c;
  const auto one = c.attach(giving(1));
  const auto two = c.attach(giving(2));
  EXPECT_EQ(values_of(c), (std::vector<double>{1, 2}));
}

TEST(collection, asks_no_more_once_detached) {
  collection c;
  std::optional<collection::attachment> one(c.attach(giving(1)));
  const auto two = c.attach(giving(2));
  one.reset();
  EXPECT_EQ(values_of(c), (std::vector<double>{2}));
}

TEST(collection, without_memory_nothing_is_attached) {
  collection c;
  collector one = giving(1);
  bool refused = false;
  {
    const memory_runs_out now(0);
    try {
      const auto attached = c.attach(std::move(one));
    } catch (const std::bad_alloc&) {
      refused = true;
    }
  }
  EXPECT_TRUE(refused);
  EXPECT_EQ(values_of(c), std::vector<double>());
}

TEST(collection, an_attachment_can_be_moved) {
  collection c;
  collection::attachment kept;
  {
    collection::attachment first = c.attach(giving(1));
    kept = std::move(first);
  }
  EXPECT_EQ(values_of(c), (std::vector<double>{1}));
  kept = collection::attachment();
  EXPECT_TRUE(values_of(c).empty());
}

TEST(collection, detaching_waits_for_a_scrape_that_is_under_way) {
  collection c;
  std::atomic<bool> inside{false};
  std::atomic<bool> may_go{false};
  std::atomic<bool> alive{true};
  std::atomic<bool> touched_the_dead{false};
  std::optional<collection::attachment> job(c.attach([&](sink&) {
    inside = true;
    while (!may_go) std::this_thread::yield();
    if (!alive) touched_the_dead = true;
  }));
  std::thread scraper([&] {
    recorder into;
    c.collect(into);
  });
  while (!inside) std::this_thread::yield();
  std::thread owner([&] {
    job.reset();  // must not return while the collector runs
    alive = false;
  });
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_TRUE(alive);
  may_go = true;
  owner.join();
  scraper.join();
  EXPECT_FALSE(touched_the_dead);
  EXPECT_FALSE(alive);
}

}  // namespace
}  // namespace flowrun::metrics
