// Numbers of a few digits, eight of them at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace flowrun::operators {

// The number that the first `num_digits` bytes of a word spell, from 1 to 8. False where one is no digit.
inline __attribute__((always_inline)) bool number_of_digits(uint64_t word, uint32_t num_digits, uint64_t& value) {
  constexpr uint64_t zeros = 0x3030303030303030;
  // The digits go to the upper end, with zeros in front of them.
  if (num_digits < 8) word = (word << (64 - 8 * num_digits)) | (zeros >> (8 * num_digits));
  if ((((word + 0x4646464646464646) | (word - zeros)) & 0x8080808080808080) != 0) return false;
  word -= zeros;
  word = word * 10 + (word >> 8);  // pairs of digits
  const uint64_t number =
      ((word & 0x000000FF000000FF) * 0x000F424000000064 + (word >> 16 & 0x000000FF000000FF) * 0x0000271000000001) >> 32;
  value = number & 0xFFFFFFFF;
  return true;
}

// False where `value` doesn't fit an unsigned type of that width.
inline __attribute__((always_inline)) bool store_unsigned(uint64_t value, uint32_t num_bytes, std::byte* to) {
  if (num_bytes < 8 && value >> (8 * num_bytes) != 0) return false;
  switch (num_bytes) {  // a copy whose length is known is one instruction
    case 1: std::memcpy(to, &value, 1); break;
    case 2: std::memcpy(to, &value, 2); break;
    case 4: std::memcpy(to, &value, 4); break;
    case 8: std::memcpy(to, &value, 8); break;
    default: std::memcpy(to, &value, num_bytes);
  }
  return true;
}

}  // namespace flowrun::operators
