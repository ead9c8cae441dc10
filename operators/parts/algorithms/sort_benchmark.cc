#include "operators/parts/algorithms/sort_benchmark.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <bit>
#include <cstring>

namespace flowrun::operators {

namespace {

__extension__ typedef unsigned __int128 word128;

constexpr word128 make128(uint64_t high, uint64_t low) { return (static_cast<word128>(high) << 64) | low; }

// x -> multiplier * x + increment modulo 2^128
struct affine_map {
  word128 multiplier = 1;
  word128 increment = 0;
  constexpr word128 operator()(word128 x) const { return multiplier * x + increment; }
  // First `before`, then this.
  constexpr affine_map after(const affine_map& before) const {
    return {multiplier * before.multiplier, multiplier * before.increment + increment};
  }
};

constexpr affine_map next_random{make128(0x2360ed051fc65da4, 0x4385df649fccf645),
                                 make128(0x4a696d4772617952, 0x4950202020202001)};

// The generator's state after `steps` steps from 0.
word128 random_after(word128 steps) {
  affine_map whole;
  affine_map power = next_random;
  for (; steps != 0; steps >>= 1) {
    if ((steps & 1) != 0) whole = power.after(whole);
    power = power.after(power);
  }
  return whole(0);
}

// Group g of a record is the upper ten bytes of the g-th number from the record's own, exclusive-or this.
constexpr std::array<word128, 10> group_masks = {
    make128(0x0000000000000000, 0x0000000000000000), make128(0xF0E8E4E2E1D8D4D2, 0xD1CC000000000000),
    make128(0xCAC9C6C5C3B8B4B2, 0xB1AC000000000000), make128(0xAAA9A6A5A39C9A99, 0x9695000000000000),
    make128(0x938E8D8B87787472, 0x716C000000000000), make128(0x6A696665635C5A59, 0x5655000000000000),
    make128(0x534E4D4B473C3A39, 0x3635000000000000), make128(0x332E2D2B271E1D1B, 0x170F000000000000),
    make128(0xC8C4C2C198949291, 0x8CE0000000000000), make128(0x170F332E2D2B271E, 0x1D1B000000000000)};

void put_group(word128 number, std::byte* to) {
  const uint64_t high = __builtin_bswap64(static_cast<uint64_t>(number >> 64));
  const uint16_t low = __builtin_bswap16(static_cast<uint16_t>(number >> 48));
  std::memcpy(to, &high, 8);
  std::memcpy(to + 8, &low, 2);
}

void generate_binary(uint64_t first, size_t count, std::byte* to) {
  // Each record looks at ten consecutive numbers, nine of which the record before has seen.
  std::array<word128, 10> numbers;
  numbers[0] = random_after(static_cast<word128>(first) + 1);
  for (size_t g = 1; g < numbers.size(); ++g) numbers[g] = next_random(numbers[g - 1]);
  size_t oldest = 0;
  for (size_t r = 0; r < count; ++r) {
    size_t at = oldest;
    for (size_t g = 0; g < numbers.size(); ++g) {
      put_group(numbers[at] ^ group_masks[g], to);
      to += benchmark_key_bytes;
      if (++at == numbers.size()) at = 0;
    }
    const size_t newest = oldest == 0 ? numbers.size() - 1 : oldest - 1;
    numbers[oldest] = next_random(numbers[newest]);
    if (++oldest == numbers.size()) oldest = 0;
  }
}

void generate_ascii(uint64_t first, size_t count, std::byte* to) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  word128 number = random_after(static_cast<word128>(first) + 1);
  for (size_t r = 0; r < count; ++r) {
    auto high = static_cast<uint64_t>(number >> 64);
    auto low = static_cast<uint64_t>(number);
    auto* p = reinterpret_cast<char*>(to) + r * benchmark_record_bytes;
    for (int i = 0; i < 8; ++i, high /= 95) *p++ = static_cast<char>(' ' + high % 95);
    uint64_t rest = low;
    for (int i = 0; i < 2; ++i, rest /= 95) *p++ = static_cast<char>(' ' + rest % 95);
    for (int i = 0; i < 2 + 16; ++i) *p++ = i < 2 ? ' ' : '0';  // the upper half of the record's number is 0
    for (int shift = 60; shift >= 0; shift -= 4) *p++ = digits[((first + r) >> shift) & 15];
    *p++ = ' ';
    *p++ = ' ';
    for (int shift = 48; shift >= 0; shift -= 4, p += 4) std::memset(p, digits[(low >> shift) & 15], 4);
    *p++ = '\r';
    *p++ = '\n';
    number = next_random(number);
  }
}

}  // namespace

number128 benchmark_random(uint64_t index) {
  const word128 number = random_after(static_cast<word128>(index) + 1);
  return {static_cast<uint64_t>(number >> 64), static_cast<uint64_t>(number)};
}

void generate_records(uint64_t first, size_t count, record_style style, std::byte* to) {
  if (style == record_style::ascii) {
    generate_ascii(first, count, to);
  } else {
    generate_binary(first, count, to);
  }
}

void skew_records(uint64_t first, size_t count, record_style style, std::byte* records) {
  constexpr size_t skewed_bytes = 6;
  for (size_t r = 0; r < count; ++r) {
    std::byte* const record = records + r * benchmark_record_bytes;
    // The rest of the key stays, so equal beginnings don't make equal keys. It draws the beginning, too.
    const uint32_t draw = crc32(record, benchmark_key_bytes);
    const auto num_choices = static_cast<uint32_t>(std::bit_width(first + r)) + 1;
    uint64_t bytes = benchmark_random(draw % num_choices).high;
    for (size_t i = 0; i < skewed_bytes; ++i) {
      const uint64_t choices = style == record_style::ascii ? 95 : 256;
      record[i] = static_cast<std::byte>((style == record_style::ascii ? ' ' : 0) + bytes % choices);
      bytes /= choices;
    }
  }
}

uint32_t crc32(const std::byte* data, size_t num_bytes) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const unsigned char*>(data), num_bytes));
}

void record_checksum::add(number128 n) {
  const word128 sum = make128(sum_.high, sum_.low) + make128(n.high, n.low);
  sum_ = {static_cast<uint64_t>(sum >> 64), static_cast<uint64_t>(sum)};
}

void record_checksum::add(const std::byte* records, size_t count) {
  uint64_t low = 0;  // of fewer than 2^32 records
  for (size_t r = 0; r < count; ++r) low += crc32(records + r * benchmark_record_bytes, benchmark_record_bytes);
  add({0, low});
  num_records_ += count;
}

void record_checksum::add(const record_checksum& other) {
  add(other.sum_);
  num_records_ += other.num_records_;
}

std::string record_checksum::text() const {
  return sum_.high == 0 ? fmt::format("{:x}", sum_.low) : fmt::format("{:x}{:016x}", sum_.high, sum_.low);
}

}  // namespace flowrun::operators
