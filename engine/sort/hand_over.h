// What travels between the two halves of a step: from prepare() to push(), and from pull() to refine(). One half of a
// step needs the order of the stream, the other can run in parallel (run_creator.h, run_merger.h). The caller, who
// carries the parts from one half to the other, need not know what they hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "engine/kernels/row_slices.h"
#include "engine/kernels/slice_cut.h"
#include "engine/record/batch.h"
#include "engine/record/key.h"

namespace flowrun::sort {

// Narrow rows as words, in any order. The words never change.
template <class Word>
struct owned_words {
  std::span<const Word> words;
  std::shared_ptr<const void> owner;
};

// A slice of narrow rows (slice_merger.h): its words, and where the parts end that they came in, each of which ascends.
// The owner of the slice may put the words in order where they are.
template <class Word>
struct word_slice {
  std::shared_ptr<Word[]> words;
  std::vector<size_t> ends;  // ascending: no part is empty

  std::span<Word> all() const { return {words.get(), ends.empty() ? 0 : ends.back()}; }
  std::vector<kernels::word_span<Word>> parts() const {
    std::vector<kernels::word_span<Word>> out;
    size_t first = 0;
    for (const size_t end : ends) {
      out.push_back({words.get() + first, end - first});
      first = end;
    }
    return out;
  }
};

// What run_creator::prepare() makes of a batch and push() takes: words of narrow rows, else the rows as they are.
using prepared_rows = std::variant<record::batch, owned_words<uint64_t>, owned_words<record::word128>>;

// What run_merger::pull() gives and refine() takes: rows or words in order, or a slice to be put in order.
using merge_part = std::variant<record::batch, owned_words<uint64_t>, owned_words<record::word128>,
                                word_slice<uint64_t>, word_slice<record::word128>, kernels::row_slice>;

// Rows of a part, and the bytes of what it holds; of many rows that still lie in blocks without what they refer to.
struct part_size {
  size_t num_rows = 0;
  size_t num_bytes = 0;
};
inline part_size size_of(const record::batch& b) { return {b.num_rows, b.num_bytes()}; }
template <class Word>
part_size size_of(const owned_words<Word>& w) {
  return {w.words.size(), w.words.size_bytes()};
}
template <class Word>
part_size size_of(const word_slice<Word>& s) {
  return {s.all().size(), s.all().size_bytes()};
}
inline part_size size_of(const kernels::row_slice& s) {
  return {s.num_rows, s.parts.empty() ? 0 : s.num_rows * s.parts.front().row_bytes + s.text_bytes};
}
template <class... Kinds>
part_size size_of(const std::variant<Kinds...>& part) {
  return std::visit([](const auto& of_kind) { return size_of(of_kind); }, part);
}

}  // namespace flowrun::sort
