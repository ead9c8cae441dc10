// The smallest item comes first, for any items, memory and interleaving.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/container/pq_rig.h"
#include "tests/support/held_backend.h"
#include "tests/support/wakers.h"

namespace flowrun::container {
namespace {

template <class Item>
class priority_queue_of : public ::testing::Test {};
using item_types = ::testing::Types<uint32_t, uint64_t, word128, item256, item512>;
TYPED_TEST_SUITE(priority_queue_of, item_types);

struct shape {
  uint64_t memory_bytes;
  bool force_spill;
  bool on_disk;
};
const shape shapes[] = {{0, false, false},
                        {200 * KiB, true, true},
                        {300 * KiB, false, false},
                        {1 * MiB, true, false},
                        {32 * MiB, false, false}};

// The same number of items, however long an item is.
template <class Item>
priority_queue_settings settings_of(const shape& s) {
  priority_queue_settings out;
  out.memory_bytes = s.memory_bytes * sizeof(Item) / sizeof(uint64_t);
  out.force_spill = s.force_spill;
  return out;
}

// Random pushes and pops; the mix changes, so that the queue grows and shrinks.
TYPED_TEST(priority_queue_of, keeps_the_order_under_random_interleavings) {
  std::mt19937_64 random(1);
  for (const shape& s : shapes) {
    for (const uint64_t distinct : {uint64_t{5}, uint64_t{3000}, uint64_t{1} << 60}) {
      pq_rig<TypeParam> rig(settings_of<TypeParam>(s), {.on_disk = s.on_disk});
      for (int phase = 0; phase < 8; ++phase) {
        const uint64_t push_share = 1 + random() % 9;
        for (int i = 0; i < 3000; ++i) {
          if (rig.right().empty() || random() % 10 < push_share)
            rig.push(item_of<TypeParam>(random() % distinct));
          else
            ASSERT_TRUE(rig.pop());
        }
      }
      ASSERT_TRUE(rig.drain());
    }
  }
}

// As in time-forward processing: what is pushed is later than what was popped last, some of it much later.
TYPED_TEST(priority_queue_of, serves_time_forward_processing) {
  std::mt19937_64 random(2);
  for (const shape& s : shapes) {
    pq_rig<TypeParam> rig(settings_of<TypeParam>(s), {.on_disk = s.on_disk});
    uint64_t now = 0;
    for (int i = 0; i < 40'000; ++i) {
      const uint64_t reach = random() % 3 == 0 ? 3 : 100'000;
      for (uint64_t n = random() % (i < 25'000 ? 3 : 2); n > 0; --n)
        rig.push(item_of<TypeParam>(now + 1 + random() % reach));
      now += 2;
      while (!rig.right().empty() && !(item_of<TypeParam>(now) < rig.right().top())) ASSERT_TRUE(rig.pop());
    }
    ASSERT_TRUE(rig.drain());
  }
}

// More of them than a slice has room for, below all that is there already.
TYPED_TEST(priority_queue_of, takes_very_many_equal_items) {
  for (const uint64_t memory_bytes : {300 * KiB, 1 * MiB, 4 * MiB}) {
    pq_rig<TypeParam> rig(settings_of<TypeParam>({memory_bytes, false, false}), {.on_disk = false});
    const uint64_t num_items = memory_bytes / sizeof(uint64_t);
    for (uint64_t i = 0; i < num_items; ++i) rig.push(item_of<TypeParam>(1000 + i));
    for (uint64_t i = 0; i < num_items; ++i) rig.push(item_of<TypeParam>(7));
    ASSERT_TRUE(rig.drain());
  }
}

TYPED_TEST(priority_queue_of, grows_and_drains) {
  std::mt19937_64 random(3);
  for (const shape& s : shapes) {
    pq_rig<TypeParam> rig(settings_of<TypeParam>(s), {.on_disk = s.on_disk});
    for (int i = 0; i < 40'000; ++i) rig.push(item_of<TypeParam>(random() >> 4));
    ASSERT_TRUE(rig.drain());
    EXPECT_EQ(rig.counters().spilled_bytes > 0, s.memory_bytes < 8 * MiB);
    EXPECT_EQ(rig.blocks().peak_used_bytes() > 0, s.memory_bytes < 8 * MiB);
  }
}

TYPED_TEST(priority_queue_of, takes_ascending_and_descending_items) {
  for (const shape& s : shapes) {
    pq_rig<TypeParam> rig(settings_of<TypeParam>(s), {.on_disk = s.on_disk});
    for (uint64_t i = 0; i < 20'000; ++i) rig.push(item_of<TypeParam>(i));
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(rig.pop());
    for (uint64_t i = 20'000; i-- > 0;) rig.push(item_of<TypeParam>(i));  // nearer and nearer: through the near heap
    for (int i = 0; i < 20'000; ++i) {
      ASSERT_TRUE(rig.pop());
      if (i % 3 == 0) rig.push(item_of<TypeParam>(0));  // before everything
    }
    ASSERT_TRUE(rig.drain());
  }
}

TYPED_TEST(priority_queue_of, moves_items_in_bulk) {
  std::mt19937_64 random(4);
  for (const shape& s : shapes) {
    pq_rig<TypeParam> rig(settings_of<TypeParam>(s), {.on_disk = s.on_disk});
    std::vector<TypeParam> items, popped;
    for (int round = 0; round < 60; ++round) {
      items.clear();
      for (uint64_t n = random() % 2000; n > 0; --n) items.push_back(item_of<TypeParam>(random() % 1'000'000));
      rig.queue().push_bulk(items);
      for (const TypeParam& item : items) rig.right().push(item);
      popped.resize(random() % 1500);
      const TypeParam limit = item_of<TypeParam>(random() % 1'000'000);
      const bool limited = random() % 2 == 0;
      const size_t count = rig.queue().pop_bulk(popped, limited ? &limit : nullptr);
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(popped[i] == rig.right().top(), true);
        rig.right().pop();
      }
      if (count < popped.size() && !rig.right().empty()) {
        ASSERT_TRUE(limited);
        ASSERT_FALSE(rig.right().top() < limit);
      }
      if (limited && count > 0) {
        ASSERT_TRUE(popped[count - 1] < limit);
      }
    }
    ASSERT_TRUE(rig.drain());
  }
}

// Slices of thousands of items are cut ahead and sorted beside; what comes meanwhile belongs before, between and behind
// them, or makes new sequences and runs.
TYPED_TEST(priority_queue_of, merges_newer_items_into_slices_cut_ahead) {
  std::mt19937_64 random(9);
  for (const bool force_spill : {false, true}) {
    pq_rig<TypeParam> rig({.memory_bytes = 2 * MiB * sizeof(TypeParam), .force_spill = force_spill});
    constexpr uint64_t space = 1 << 24;
    for (int i = 0; i < 150'000; ++i) rig.push(item_of<TypeParam>(random() % space));
    uint64_t now = 0;
    for (int i = 0; i < 120'000; ++i) {
      if (i % 1000 == 0) now += space / 200;
      const uint64_t reach = i % 40'000 < 20'000 ? space : space / 100;
      if (i % 3 != 0) rig.push(item_of<TypeParam>(now + random() % reach));
      ASSERT_TRUE(rig.pop());
    }
    ASSERT_TRUE(rig.drain());
  }
}

// As a scan does: what is equal leaves at once, what is later comes a few at a time.
TYPED_TEST(priority_queue_of, moves_a_few_items_at_once) {
  std::mt19937_64 random(10);
  for (const shape& s : shapes) {
    pq_rig<TypeParam> rig(settings_of<TypeParam>(s), {.on_disk = s.on_disk});
    const uint64_t reach = s.memory_bytes == 0 ? 500 : 30'000;
    std::vector<TypeParam> items(16);
    for (uint64_t now = 0; now < 20'000; ++now) {
      const size_t count = random() % (items.size() - 3);
      for (TypeParam& item : items) item = item_of<TypeParam>(random() % 4 == 0 ? 0 : now + 1 + random() % reach);
      for (size_t i = 0; i < count; ++i) {
        items[i] = item_of<TypeParam>(now + 1 + random() % (random() % 3 == 0 ? 2 : reach));
        rig.right().push(items[i]);
      }
      rig.queue().push_few(items.data(), count);
      size_t num_equal = 0;
      for (; !rig.right().empty() && rig.right().top() == item_of<TypeParam>(now); ++num_equal) rig.right().pop();
      ASSERT_EQ(rig.queue().pop_while([&](const TypeParam& item) { return item == item_of<TypeParam>(now); }),
                num_equal)
          << now;
    }
    ASSERT_TRUE(rig.drain());
  }
}

TEST(priority_queue, merges_runs_when_there_are_too_many) {
  std::mt19937_64 random(5);
  for (const bool force_spill : {false, true}) {
    pq_rig<uint64_t> rig({.memory_bytes = 256 * KiB, .force_spill = force_spill}, {.on_disk = true});
    for (int i = 0; i < 100'000; ++i) rig.push(random());
    for (int i = 0; i < 30'000; ++i) ASSERT_TRUE(rig.pop());
    for (int i = 0; i < 50'000; ++i) rig.push(random());
    ASSERT_TRUE(rig.drain());
    EXPECT_GE(rig.counters().merges, 5U);
    EXPECT_LT(rig.counters().spilled_bytes, 12U * 150'000 * 8);
  }
}

TEST(priority_queue, packs_what_it_writes) {
  std::mt19937_64 random(6);
  uint64_t spilled[2];
  for (const uint32_t item_bytes : {0U, 4U}) {
    pq_rig<uint64_t> rig({.memory_bytes = 1 * MiB, .item_bytes = item_bytes});
    for (int i = 0; i < 500'000; ++i) rig.push(static_cast<uint32_t>(random()));
    ASSERT_TRUE(rig.drain());
    spilled[item_bytes / 4] = rig.counters().spilled_bytes;
  }
  EXPECT_LT(spilled[1], spilled[0] * 6 / 10);
}

TEST(priority_queue, is_never_asleep_without_a_wake) {
  auto held = std::make_unique<held_backend>();
  held_backend& backend = *held;
  task_queue tasks(0);
  scratch_rig rig({.num_disks = 1}, std::move(held));
  {
    priority_queue<uint64_t> queue(
        {.blocks = &rig.blocks(), .post = tasks.poster(), .memory_bytes = 0, .force_spill = true});
    counting_waker w;
    std::mt19937_64 random(7);
    std::vector<uint64_t> right;
    // A blocked call is woken by the tasks and transfers that are under way.
    const auto until_ready = [&](auto&& act) {
      for (int tries = 0; tries < 1000; ++tries) {
        const int before = w.num_wakes();
        const outcome s = act();
        if (!s.is_blocked()) return s;
        while (w.num_wakes() == before) {
          const size_t waiting = backend.num_waiting();
          tasks.drain();
          if (w.num_wakes() > before) break;
          if (waiting == 0 && backend.num_waiting() == 0) break;
          backend.finish(1);
        }
        EXPECT_GT(w.num_wakes(), before) << "blocked, and nothing to wait for";
        if (w.num_wakes() == before) break;
      }
      ADD_FAILURE() << "blocked for ever";
      return outcome::blocked();
    };
    for (int i = 0; i < 5000; ++i) {
      ASSERT_EQ(until_ready([&] { return queue.make_room(1, w); }), outcome::ready());
      right.push_back(random());
      queue.push(right.back());
    }
    std::sort(right.begin(), right.end());
    for (uint64_t wanted : right) {
      ASSERT_EQ(until_ready([&] { return queue.refill(w); }), outcome::ready());
      ASSERT_EQ(queue.top(), wanted);
      queue.pop();
    }
    EXPECT_EQ(queue.refill(w), outcome::done());
    backend.hold = false;
  }
}

// A caller that finds no free buffer is woken even if the tasks that use the buffers have ended just before.
TEST(queue_input, wakes_whoever_comes_too_late) {
  task_queue tasks(0);
  scratch_rig rig({.num_disks = 1});
  const item_packer<uint64_t> packer(8);
  queue_input<uint64_t> input(
      {.blocks = &rig.blocks(), .post = tasks.poster(), .num_buffers = 2, .buffer_items = 100, .block_bytes = 4096},
      packer);
  counting_waker w;
  for (uint64_t i = 0; i < 100; ++i) input.filling()[i] = 100 - i;
  ASSERT_EQ(input.hand_over(100, 1, false, w), outcome::ready());
  EXPECT_EQ(input.least_away(), 1U);
  tasks.drain();
  EXPECT_EQ(input.hand_over(100, 1, false, w), outcome::blocked());
  EXPECT_EQ(w.num_wakes(), 1);
  queue_input<uint64_t>::finished f;
  ASSERT_TRUE(input.take_finished(f));
  EXPECT_TRUE(std::is_sorted(f.sorted.begin(), f.sorted.end()));
  EXPECT_EQ(f.sorted.size(), 100U);
  EXPECT_FALSE(input.take_finished(f));
}

TEST(priority_queue, stays_within_its_memory) {
  for (const uint64_t memory : {1 * MiB, 3 * MiB, 20 * MiB, 512 * MiB, 16 * GiB}) {
    for (const size_t item : {4, 8, 16, 32, 64}) {
      const queue_memory m = divide_queue_memory({.memory_bytes = memory}, item, 2, 8);
      const uint64_t items = 4 * m.insertion_items() + m.deletion_items() + 4 * m.slice_items + m.near_items +
                             m.num_store_blocks * m.store_block_items;
      const uint64_t blocks = m.read_buffers + 2 * m.write_buffers;
      EXPECT_LE(items * item + blocks * m.block_bytes, memory + memory / 50) << memory << " " << item;
      EXPECT_GE(m.num_store_blocks * m.store_block_items * item, memory / 3) << memory << " " << item;
      EXPECT_GE(m.fan_in(), 4U);
      EXPECT_LE(m.fan_in() + m.most_sequences(), m.slice_items) << memory << " " << item;
    }
  }
}

TEST(queue_item, puts_and_gets_bits) {
  std::mt19937_64 random(8);
  const auto check = [&]<class Item>(Item) {
    for (int round = 0; round < 2000; ++round) {
      // Fields side by side, as columns are.
      Item item{};
      std::vector<std::pair<unsigned, uint64_t>> fields;
      unsigned left = 8 * sizeof(Item);
      while (left >= 8) {
        const unsigned bits = std::min<unsigned>(left, 8 * (1 + static_cast<unsigned>(random() % 8)));
        left -= bits;
        const uint64_t value = random() & (~uint64_t{0} >> (64 - bits));
        put_bits(item, value, left, bits);
        fields.emplace_back(bits, value);
      }
      unsigned shift = 8 * sizeof(Item);
      for (const auto& [bits, value] : fields) {
        shift -= bits;
        ASSERT_EQ(get_bits(item, shift, bits), value);
      }
    }
  };
  check(uint32_t{});
  check(uint64_t{});
  check(word128{});
  check(item256{});
  check(item512{});
}

}  // namespace
}  // namespace flowrun::container
