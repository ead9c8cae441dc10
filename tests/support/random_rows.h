// Rows of any type at random, and rows as text to compare them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/record/batch.h"

namespace flowrun::record {

// {{"k", "u64"}, {"name", "string"}, {"x", "bytes[10]"}} as a row type.
row_type type_of(std::initializer_list<std::pair<const char*, const char*>> columns);

// Few distinct values where asked for, so that keys tie.
struct random_rows {
  std::mt19937_64 random{1};
  uint64_t distinct = 0;  // values a column takes; 0: as many as there are
  size_t max_string_bytes = 24;
  std::string string_prefix;  // all strings begin with it

  uint64_t below(uint64_t bound) { return random() % bound; }
  std::string text();
  void fill(const row_type& type, std::byte* row, batch_builder& builder);
  std::vector<batch> batches(const row_type& type, batch_pool& pool, size_t num_rows, size_t target_bytes = 64 * 1024);
  // One batch of at most 16384 rows.
  batch one_batch(const row_type& type, batch_pool& pool, size_t num_rows);

 private:
  std::string make_text(uint64_t seed) const;
};

// A row's content in a form that doesn't depend on where its strings lie.
std::string content_of(const row_type& type, const std::byte* row, const std::byte* heap);
std::vector<std::string> contents_of(const row_type& type, const std::vector<batch>& batches);

}  // namespace flowrun::record
