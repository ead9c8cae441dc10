// The 100-byte records of the sort benchmark (sortbenchmark.org), record for record as gensort 1.5 makes them, and the
// checksum of valsort. Shared by the generate operator and the commands `flowrun gen` and `flowrun verify`.
//
// The generator is linear congruential modulo 2^128 with L'Ecuyer's multiplier ("Tables of linear congruential
// generators of different sizes and good lattice structure", Mathematics of Computation 68, 1999). Its n-th power is
// again such a map, found in 128 squarings at most, so any range of records can be made on its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace flowrun::operators {

constexpr uint32_t benchmark_record_bytes = 100;
constexpr uint32_t benchmark_key_bytes = 10;

enum class record_style : uint8_t {
  binary,  // 100 random bytes; the key is the first ten
  ascii,   // printable key, record number, filler, \r\n (gensort -a)
};

struct number128 {
  uint64_t high = 0;
  uint64_t low = 0;
  bool operator==(const number128&) const = default;
};

// The random number of record `index`: the (index + 1)-th of the generator started at 0.
number128 benchmark_random(uint64_t index);

// Records [first, first + count) to `to`, which has room for count * benchmark_record_bytes bytes.
void generate_records(uint64_t first, size_t count, record_style style, std::byte* to);

// Makes the keys of records [first, first + count) as skewed as those of gensort -s are: a key's first six bytes are
// one of about log2(n) for record n, so that early ones come again most often. (The six bytes are not those of gensort
// -s, which come from a table of its own.)
void skew_records(uint64_t first, size_t count, record_style style, std::byte* records);

// CRC-32 as in zlib and valsort.
uint32_t crc32(const std::byte* data, size_t num_bytes);

// The sum, modulo 2^128, of the records' CRC-32: the same for any order of the records.
class record_checksum {
 public:
  void add(const std::byte* records, size_t count);
  void add(const record_checksum& other);
  number128 sum() const { return sum_; }
  uint64_t num_records() const { return num_records_; }
  // Hexadecimal without leading zeros, as valsort prints it.
  std::string text() const;

 private:
  void add(number128 n);
  number128 sum_;
  uint64_t num_records_ = 0;
};

}  // namespace flowrun::operators
