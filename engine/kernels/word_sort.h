// Sorting whole narrow rows as integers: by their first different bits (leading_bits_sort.h), and few words, or those
// of 8 bytes that such bits hardly tell apart, with the SIMD sort of Highway (vqsort).
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/record/key.h"

namespace flowrun::kernels {

// Ascending, in place, one thread. Equal words are identical rows, so the result is a function of the input.
// `words` of word128 must be aligned to 16 bytes. The order of the result is verified (version 1.0.3 of the library,
// which Debian 12 has, predates reports of bad pivots with 128-bit keys); should it ever be wrong, std::sort repairs
// it.
void sort_words(uint32_t* words, size_t num_words);
void sort_words(uint64_t* words, size_t num_words);
void sort_words(record::word128* words, size_t num_words);

}  // namespace flowrun::kernels
