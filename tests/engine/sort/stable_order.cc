#include "tests/engine/sort/stable_order.h"

#include <xxhash.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "tests/support/random_rows.h"

namespace flowrun::sort {
namespace {

using record::batch;

// Of the bytes and where batches end: strings are places in the heap of their batch.
XXH128_hash_t hash_of(const std::vector<batch>& input) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_128bits_reset(state.get());
  for (const batch& b : input) {
    const uint64_t sizes[] = {b.num_rows, b.heap_bytes};
    XXH3_128bits_update(state.get(), sizes, sizeof sizes);
    XXH3_128bits_update(state.get(), b.rows, b.num_rows * b.row_bytes);
    XXH3_128bits_update(state.get(), b.heap, b.heap_bytes);
  }
  return XXH3_128bits_digest(state.get());
}

// All rows in order, without `unique` and `limit`.
struct stable_order {
  std::vector<std::string> rows;
  std::vector<bool> repeats;  // this row has the key of the one before it
};

stable_order sort_stably(const sort_settings& settings, const std::vector<batch>& input, bool narrow) {
  struct place_of_row {
    const batch* in;
    size_t number;
    const std::byte* row() const { return in->row(number); }
  };
  std::vector<place_of_row> rows;
  for (const batch& b : input)
    for (size_t i = 0; i < b.num_rows; ++i) rows.push_back({&b, i});
  record::key by = settings.key;
  if (narrow)
    for (size_t i = 0; i < settings.type.num_columns(); ++i) by.push_back({i, false, 0, 0});
  const record::row_comparator order(settings.type, by);
  const record::row_comparator key_order(settings.type, settings.key);
  std::stable_sort(rows.begin(), rows.end(), [&](const place_of_row& a, const place_of_row& b) {
    return order.compare(a.row(), a.in->heap, b.row(), b.in->heap) < 0;
  });
  stable_order out;
  out.rows.reserve(rows.size());
  out.repeats.reserve(rows.size());
  const place_of_row* before = nullptr;
  for (const place_of_row& r : rows) {
    out.rows.push_back(record::content_of(settings.type, r.row(), r.in->heap));
    out.repeats.push_back(before != nullptr && key_order.equal(before->row(), before->in->heap, r.row(), r.in->heap));
    before = &r;
  }
  return out;
}

// Rows that are sorted whole, as numbers, have an order of their own where their keys tie.
struct kept_order {
  record::row_type type;
  record::key key;
  bool narrow;
  XXH128_hash_t input;
  std::shared_ptr<const stable_order> order;
};

constexpr size_t most_kept = 2;  // of rows that are sorted whole, and of the same rows by index

std::shared_ptr<const stable_order> stable_order_of(const sort_settings& settings, const std::vector<batch>& input) {
  static std::deque<kept_order> kept;
  const XXH128_hash_t hash = hash_of(input);
  const bool narrow = settings.narrow();
  const auto known = std::find_if(kept.begin(), kept.end(), [&](const kept_order& k) {
    return k.narrow == narrow && k.type == settings.type && k.key == settings.key && XXH128_isEqual(k.input, hash) != 0;
  });
  if (known != kept.end()) return known->order;
  if (kept.size() == most_kept) kept.pop_front();
  auto order = std::make_shared<const stable_order>(sort_stably(settings, input, narrow));
  kept.push_back({settings.type, settings.key, narrow, hash, order});
  return order;
}

}  // namespace

std::vector<std::string> expected_rows(const sort_settings& settings, const std::vector<batch>& input) {
  const std::shared_ptr<const stable_order> order = stable_order_of(settings, input);
  const size_t limit = settings.limit > 0 ? settings.limit : order->rows.size();
  std::vector<std::string> out;
  for (size_t i = 0; i < order->rows.size() && out.size() < limit; ++i)
    if (!settings.unique || !order->repeats[i]) out.push_back(order->rows[i]);
  return out;
}

}  // namespace flowrun::sort
