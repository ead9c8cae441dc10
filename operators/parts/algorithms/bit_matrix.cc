#include "operators/parts/algorithms/bit_matrix.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "engine/base/error.h"

namespace flowrun::operators {

bit_matrix bit_matrix::identity(unsigned num_bits) {
  bit_matrix out(num_bits);
  for (unsigned i = 0; i < num_bits; ++i) out.columns_[i] = uint64_t{1} << i;
  return out;
}

bit_matrix bit_matrix::reversal(unsigned num_bits) {
  bit_matrix out(num_bits);
  for (unsigned i = 0; i < num_bits; ++i) out.columns_[i] = uint64_t{1} << (num_bits - 1 - i);
  return out;
}

std::optional<bit_matrix> bit_matrix::parse(std::string_view text, std::string& problem) {
  std::vector<std::string_view> rows;
  for (size_t from = 0; (from = text.find_first_not_of(" \t\n", from)) != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(" \t\n", from), text.size());
    rows.push_back(text.substr(from, end - from));
    from = end;
  }
  if (rows.empty() || rows.size() > most_bits) {
    problem = fmt::format("a bit matrix has 1 to {} rows, this one has {}", most_bits, rows.size());
    return std::nullopt;
  }
  const auto n = static_cast<unsigned>(rows.size());
  bit_matrix out(n);
  for (unsigned r = 0; r < n; ++r) {
    if (rows[r].size() != n) {
      problem = fmt::format("row {} of the matrix has {} digits, but there are {} rows", r + 1, rows[r].size(), n);
      return std::nullopt;
    }
    for (unsigned k = 0; k < n; ++k) {
      if (rows[r][k] != '0' && rows[r][k] != '1') {
        problem = fmt::format("row {} of the matrix, '{}', is not all 0 and 1", r + 1, rows[r]);
        return std::nullopt;
      }
      if (rows[r][k] == '1') out.columns_[n - 1 - k] |= uint64_t{1} << (n - 1 - r);
    }
  }
  return out;
}

uint64_t bit_matrix::apply(uint64_t x) const {
  uint64_t y = complement_;
  for (unsigned i = 0; i < num_bits_; ++i)
    if ((x >> i & 1) != 0) y ^= columns_[i];
  return y;
}

unsigned bit_matrix::rank_of(unsigned lowest_row, unsigned num_columns) const {
  std::array<uint64_t, 64> with_top{};  // by highest bit
  unsigned rank = 0;
  for (unsigned i = 0; i < num_columns; ++i) {
    uint64_t v = columns_[i] >> lowest_row;
    while (v != 0) {
      const auto top = static_cast<unsigned>(std::bit_width(v) - 1);
      if (with_top[top] == 0) {
        with_top[top] = v;
        ++rank;
        break;
      }
      v ^= with_top[top];
    }
  }
  return rank;
}

// Gauss and Jordan by columns: what makes the unit vectors of A makes the columns of its inverse of the identity.
bit_matrix bit_matrix::inverse() const {
  std::array<uint64_t, most_bits> from = columns_;
  bit_matrix out = identity(num_bits_);
  for (unsigned i = 0; i < num_bits_; ++i) {
    unsigned pivot = i;
    while (pivot < num_bits_ && (from[pivot] >> i & 1) == 0) ++pivot;
    FLOWRUN_CHECK(pivot < num_bits_);
    std::swap(from[i], from[pivot]);
    std::swap(out.columns_[i], out.columns_[pivot]);
    for (unsigned k = 0; k < num_bits_; ++k) {
      if (k == i || (from[k] >> i & 1) == 0) continue;
      from[k] ^= from[i];
      out.columns_[k] ^= out.columns_[i];
    }
  }
  const uint64_t moved = complement_;
  out.complement_ = 0;
  out.complement_ = out.apply(moved);
  return out;
}

}  // namespace flowrun::operators
