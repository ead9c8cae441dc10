// A table in memory that rows are looked up in by key: an array while its keys are dense numbers, else a hash table.
//
//   array   the values of key k at place k, and a bit that says whether k is there; no keys are kept. For one unsigned
//           key: as long as each key is less than twice the rows so far and some, or always when asked for.
//   hash    rows in the order they came, and slots of (32 bits of the hash, row), linear probing, at most 2/3 full.
//
// Memory comes in chunks, so that nothing is copied when a table grows. Lookups of a batch are prefetched together: a
// table far larger than the caches costs about one memory access each, several under way at once.
//
// One thread fills it; finding is thread-safe once it is filled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/growing_bytes.h"
#include "engine/record/batch.h"
#include "engine/record/key.h"

namespace flowrun::operators {

enum class lookup_kind { automatic, array, hash };

class lookup_table {
 public:
  static constexpr uint64_t none = ~uint64_t{0};

  // `node` and `input` name it in errors. The table has the columns of `type`; `keys` are columns of it. An array needs
  // exactly one unsigned key.
  lookup_table(std::string node, std::string input, const record::row_type& type, std::vector<size_t> keys,
               lookup_kind kind, uint64_t memory_bytes);

  // What an array of up to `num_rows` rows takes beside its rows: places and bits of keys that aren't there.
  static uint64_t gap_bytes(const record::row_type& type, uint64_t num_rows);

  // Throws error(bad_data) for a key that is there already, error(resources) when it gets too large.
  void add(const record::batch& rows);

  // What find() asks with: rows of another type, whose columns `keys` match the table's keys in number and type.
  struct question {
    const record::row_type* type;
    std::vector<size_t> keys;
    std::shared_ptr<const record::row_comparator> compare;  // question row against table row
  };
  question ask(const record::row_type& type, std::vector<size_t> keys) const;
  // places[i]: where the values for row i are, or none.
  void find(const record::batch& rows, const question& q, std::vector<uint64_t>& places) const;

  // The row type of what lies at a place: the table's own, or (an array) the table's without its key.
  const record::row_type& stored_type() const { return stored_; }
  const std::byte* at(uint64_t place) const {
    return chunks_[place >> chunk_shift_].get() + (place & (rows_per_chunk() - 1)) * stored_.row_bytes();
  }
  const std::byte* heap() const { return heap_.data(); }
  uint64_t num_rows() const { return num_rows_; }
  uint64_t memory_bytes() const;
  bool is_array() const { return is_array_; }

 private:
  struct slot {
    uint32_t tag = 0;
    uint32_t row = 0;  // 1 + the row's place; 0: free
  };
  uint64_t rows_per_chunk() const { return uint64_t{1} << chunk_shift_; }
  void add_to_array(const record::batch& rows);
  void add_to_hash(const record::batch& rows);
  bool is_dense(uint64_t key) const;
  bool has_place(uint64_t key) const;
  bool has_room(uint64_t key) const;
  void become_hash();
  void store(const std::byte* row, const std::byte* heap, std::byte* to, bool with_key);
  std::byte* place_for(uint64_t place);
  uint64_t bytes_per_chunk() const;
  void insert(uint64_t place);
  void grow_slots();
  uint64_t hash(const record::row_type& type, const std::vector<size_t>& keys, const std::byte* row,
                const std::byte* heap) const;
  void check_memory(uint64_t more) const;
  [[noreturn]] void fail_twice(const std::byte* row, const std::byte* heap) const;

  std::string node_, input_;
  record::row_type type_, stored_;
  std::vector<size_t> keys_;
  uint64_t most_bytes_;
  bool is_array_ = false, may_become_hash_ = false;
  std::shared_ptr<const record::row_comparator> compare_;  // of two stored rows (hash)
  uint64_t num_rows_ = 0;
  unsigned chunk_shift_ = 0;
  std::vector<std::shared_ptr<std::byte[]>> chunks_;  // null where an array has none yet
  std::vector<std::shared_ptr<std::byte[]>> spare_;   // chunks of an array whose rows have moved
  uint64_t bytes_of_spare_ = 0;                       // of each
  uint64_t moving_bytes_ = 0;                         // of these, and of the chunks whose rows haven't moved yet
  growing_bytes heap_;                                // of the stored strings
  std::vector<uint64_t> present_;                     // array: a bit per key
  std::vector<slot> slots_;                           // hash: a power of two
};

}  // namespace flowrun::operators
