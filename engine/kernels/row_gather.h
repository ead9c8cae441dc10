// Copies rows that lie scattered in memory into batches: the one time that a wide row moves in a merge (Asynchronous
// sorting: moving records took up to 45 % of run formation). Rows and their strings are fetched ahead.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/kernels/wide_rows.h"
#include "engine/record/batch.h"
#include "engine/record/key_words.h"

namespace flowrun::kernels {

// Thread-safe.
class row_gather {
 public:
  // The pool outlives this. `batch_bytes`: about the size of the batches.
  row_gather(const record::row_type& type, record::batch_pool& pool, size_t batch_bytes)
      : rows_(type, {}), pool_(pool), shape_(record::shape_for(type, batch_bytes)) {}

  size_t batch_rows() const { return shape_.max_rows; }

  void operator()(std::span<const record::row_place> places, std::vector<record::batch>& out) const {
    while (!places.empty()) {
      size_t heap_bytes = 0;
      const size_t count = rows_that_fit(places, heap_bytes);
      out.push_back(copy(places.first(count), heap_bytes));
      places = places.subspan(count);
    }
  }

 private:
  static constexpr size_t row_distance = 16;
  static constexpr size_t heap_distance = 8;

  // The last row's strings may go beyond the bytes that a batch should have, so that at least one row always fits.
  size_t rows_that_fit(std::span<const record::row_place> places, size_t& heap_bytes) const {
    const size_t most = std::min(places.size(), shape_.max_rows);
    if (!rows_.has_strings()) return most;
    size_t count = 0;
    while (count < most && heap_bytes < shape_.target_heap_bytes) {
      if (count + row_distance < places.size()) __builtin_prefetch(places[count + row_distance].row);
      const size_t more = rows_.heap_bytes(places[count].row);
      if (count > 0 && heap_bytes + more > UINT32_MAX) break;
      heap_bytes += more;
      ++count;
    }
    return count;
  }

  record::batch copy(std::span<const record::row_place> places, size_t heap_bytes) const {
    const uint32_t row_bytes = rows_.row_bytes();
    std::shared_ptr<std::byte[]> rows = pool_.take(std::max<size_t>(places.size() * row_bytes, 1));
    record::batch out;
    out.rows = rows.get();
    out.num_rows = places.size();
    out.row_bytes = row_bytes;
    std::byte* to = rows.get();
    if (!rows_.has_strings()) {
      for (size_t i = 0; i < places.size(); ++i, to += row_bytes) {
        if (i + row_distance < places.size()) fetch(places[i + row_distance].row, row_bytes);
        copy_row(to, places[i].row, row_bytes);
      }
      out.owner = std::move(rows);
      return out;
    }
    std::shared_ptr<std::byte[]> heap = pool_.take(std::max<size_t>(heap_bytes, 1));
    uint32_t end = 0;
    for (size_t i = 0; i < places.size(); ++i, to += row_bytes) {
      if (i + heap_distance < places.size()) fetch_strings(places[i + heap_distance]);
      std::memcpy(to, places[i].row, row_bytes);
      for (const uint32_t offset : rows_.strings()) {
        const std::string_view text = record::load_string(places[i].row + offset, places[i].heap);
        if (!text.empty()) std::memcpy(heap.get() + end, text.data(), text.size());
        const record::string_ref ref{end, static_cast<uint32_t>(text.size())};
        std::memcpy(to + offset, &ref, sizeof ref);
        end += ref.length;
      }
    }
    out.heap = heap.get();
    out.heap_bytes = heap_bytes;
    out.owner = std::make_shared<std::pair<std::shared_ptr<std::byte[]>, std::shared_ptr<std::byte[]>>>(
        std::move(rows), std::move(heap));
    return out;
  }

  static void fetch(const std::byte* row, uint32_t row_bytes) {
    __builtin_prefetch(row);
    if (row_bytes > 64) __builtin_prefetch(row + 64);
  }
  void fetch_strings(const record::row_place& place) const {
    for (const uint32_t offset : rows_.strings())
      __builtin_prefetch(place.heap + record::load_ref(place.row + offset).offset);
  }

  const wide_rows rows_;
  record::batch_pool& pool_;
  const record::batch_shape shape_;
};

}  // namespace flowrun::kernels
