// Bit matrices over GF(2): y = A x xor c on numbers of n bits, the permutations of ViC*, section 4.2 (BMMC).
//
// With A nonsingular this is a permutation of 0 … 2^n - 1: reversal of the bits, Gray codes, transposition of matrices
// whose sides are powers of two, and so on. Going from x to x + 1 turns over the bits up to the lowest one that is 0,
// so y changes by the sum of the first columns: one lookup and one xor for each next number.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flowrun::operators {

class bit_matrix {
 public:
  static constexpr unsigned most_bits = 63;

  // Bit i of x contributes columns[i]. 1 <= num_bits <= most_bits.
  explicit bit_matrix(unsigned num_bits) : num_bits_(num_bits) {}

  static bit_matrix identity(unsigned num_bits);
  // Bit i goes to bit n - 1 - i.
  static bit_matrix reversal(unsigned num_bits);
  // Rows of 0 and 1, separated by blanks; the first row gives the highest bit of y, the first digit of a row stands for
  // the highest bit of x: "100 010 001" is the identity. nullopt with a reason in `problem` for anything else.
  static std::optional<bit_matrix> parse(std::string_view text, std::string& problem);

  unsigned num_bits() const { return num_bits_; }
  uint64_t column(unsigned i) const { return columns_[i]; }
  void set_column(unsigned i, uint64_t bits) { columns_[i] = bits; }
  uint64_t complement() const { return complement_; }
  void set_complement(uint64_t bits) { complement_ = bits; }

  // A x xor c.
  uint64_t apply(uint64_t x) const;
  unsigned rank() const { return rank_of(0, num_bits_); }
  bool is_permutation() const { return rank() == num_bits_; }
  // Of the rows from `lowest_row` on (bits of y) and the first `num_columns` columns (bits of x).
  unsigned rank_of(unsigned lowest_row, unsigned num_columns) const;
  // x = A^-1 (y xor c). Only of a permutation.
  bit_matrix inverse() const;

 private:
  unsigned num_bits_;
  std::array<uint64_t, most_bits> columns_{};
  uint64_t complement_ = 0;
};

// y for x = first, first + 1, …
class bit_matrix_walk {
 public:
  bit_matrix_walk(const bit_matrix& a, uint64_t first) : next_(first), value_(a.apply(first)) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < a.num_bits(); ++i) steps_[i] = sum ^= a.column(i);
  }
  // Of the current x; then goes on to the next.
  uint64_t take() {
    const uint64_t out = value_;
    ++next_;
    value_ ^= steps_[static_cast<unsigned>(std::countr_zero(next_))];
    return out;
  }

 private:
  uint64_t next_;
  uint64_t value_;
  std::array<uint64_t, 65> steps_{};
};

}  // namespace flowrun::operators
