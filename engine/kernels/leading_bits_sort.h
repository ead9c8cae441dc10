// Sorting words by their first different bits.
//
// What fits the L2 cache is sorted by two digits of up to 11 bits each, the first bits that are not the same in all
// words. The lower digit comes first: words are counted, and moved to their places in a second buffer and back. That
// leaves hardly any words out of order where digits are spread; words with both digits in common are sorted among
// themselves. Where many have, the digits are taken from the words' distances to the lowest one, if these are shorter:
// a slice of a merge may lie on both sides of a power of two. Else there is a third digit.
//
//   words      …7a31…│…7c04…│…7a30…        the first different bits: 7a31, 7c04, 7a30
//   by …31, 04, 30   7c04│7a30│7a31  ──▶  by 7a, 7c   7a30│7a31│7c04
//
// No step waits for a comparison, so a word of any size costs 3-5 ns. Sorting by SIMD goes over the words once for
// every level of a quicksort, and moves those of 4 bytes by instructions that some processors are slow at (compressing
// stores). Words of 8 bytes whose digits are not spread are left to it, nevertheless.
//
// More words than that are first distributed in place by their first different bits (an American flag sort: McIlroy,
// Bostic, McIlroy, "Engineering radix sort", 1993).
//
// Cost, measured in ns a word on one core (random words), and that of the SIMD sort (a busy machine):
//
//   words                    256        1 Ki       4 Ki      32 Ki     128 Ki     512 Ki       4 Mi
//    4 bytes           5.2   4.2   3.4   7.1  2.9  12.8  3.0  20.9  3.1  26.4  5.1  32.0  5.8  40.0
//    8 bytes           5.7   6.0   4.0   4.5  3.5   5.1  3.4   6.1  3.6   6.8  5.8   7.5  6.8   8.8
//   16 bytes           5.9  12.6   4.2  13.6  3.9  16.3  4.3  19.1  7.9  21.5  7.8  22.8 11.1  25.8
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/record/key.h"

namespace flowrun::kernels {

// Sorts ascending, in place, one thread, beside room for as many words, up to 2 MiB, which is kept for the next time,
// whatever thread that is on. False: the words, now in some other order, are such that it doesn't pay (nearly all in
// one place, again and again).
bool sort_by_leading_bits(uint32_t* words, size_t num_words);
bool sort_by_leading_bits(uint64_t* words, size_t num_words);
bool sort_by_leading_bits(record::word128* words, size_t num_words);

}  // namespace flowrun::kernels
