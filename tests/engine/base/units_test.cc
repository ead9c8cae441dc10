// Numbers as people write and read them: the accepted forms, the refused ones, and the roundings at the edges.
#include "engine/base/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace flowrun {
namespace {

TEST(units, parses_plain_numbers_exactly) {
  EXPECT_EQ(parse_bytes("0"), 0U);
  EXPECT_EQ(parse_bytes("512"), 512U);
  EXPECT_EQ(parse_bytes("512B"), 512U);
  EXPECT_EQ(parse_bytes("512 B"), 512U);
  EXPECT_EQ(parse_bytes("18446744073709551615"), std::numeric_limits<uint64_t>::max());
  // A double would round this one.
  EXPECT_EQ(parse_bytes("9007199254740993"), 9007199254740993U);
}

TEST(units, powers_of_1024_and_of_1000) {
  EXPECT_EQ(parse_bytes("64KiB"), 64 * KiB);
  EXPECT_EQ(parse_bytes("3 MiB"), 3 * MiB);
  EXPECT_EQ(parse_bytes("2GiB"), 2 * GiB);
  EXPECT_EQ(parse_bytes("1TiB"), 1024 * GiB);
  EXPECT_EQ(parse_bytes("10k"), 10 * KiB);
  EXPECT_EQ(parse_bytes("10K"), 10 * KiB);
  EXPECT_EQ(parse_bytes("4g"), 4 * GiB);
  EXPECT_EQ(parse_bytes("300m"), 300 * MiB);
  EXPECT_EQ(parse_bytes("2GB"), 2000000000U);
  EXPECT_EQ(parse_bytes("7kB"), 7000U);
}

TEST(units, fractions) {
  EXPECT_EQ(parse_bytes("1.5GiB"), GiB + GiB / 2);
  EXPECT_EQ(parse_bytes("0.5KiB"), 512U);
  EXPECT_EQ(parse_bytes("2.5MB"), 2500000U);
}

TEST(units, refuses_what_is_not_a_size) {
  for (const char* text : {"", " ", "B", "GiB", "-1", "+1", " 1", "1e3", "0x10", "1XB", "1GiBs", "1KiB2", "1.5.2", ".5",
                           "inf", "nan", "1,000", "1 G B", "1gb", "1mib"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << '"' << text << '"';
  }
}

TEST(units, refuses_what_exceeds_64_bits) {
  EXPECT_EQ(parse_bytes("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parse_bytes("16384PiB"), std::nullopt);
  EXPECT_EQ(parse_bytes("16383PiB"), 16383 * (1024 * 1024 * GiB));
  EXPECT_EQ(parse_bytes("99999.5PiB"), std::nullopt);
}

TEST(units, bytes_have_three_digits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(GiB + GiB / 2), "1.50 GiB");
  EXPECT_EQ(format_bytes(64 * MiB), "64.0 MiB");
  EXPECT_EQ(format_bytes(512 * MiB), "512 MiB");
  EXPECT_EQ(format_bytes(1023 * KiB), "1.00 MiB");
  EXPECT_EQ(format_bytes(std::numeric_limits<uint64_t>::max()), "16.0 EiB");
}

TEST(units, durations) {
  EXPECT_EQ(format_duration(0), "0 ms");
  EXPECT_EQ(format_duration(0.85), "850 ms");
  EXPECT_EQ(format_duration(0.9999), "1.0 s");
  EXPECT_EQ(format_duration(12.34), "12.3 s");
  EXPECT_EQ(format_duration(59.99), "1 min 00 s");
  EXPECT_EQ(format_duration(245), "4 min 05 s");
  EXPECT_EQ(format_duration(9240), "2 h 34 min");
  EXPECT_EQ(format_duration(-1), "?");
  EXPECT_EQ(format_duration(std::numeric_limits<double>::quiet_NaN()), "?");
}

TEST(units, counts) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(341948), "341,948");
  EXPECT_EQ(format_count(std::numeric_limits<uint64_t>::max()), "18,446,744,073,709,551,615");
}

}  // namespace
}  // namespace flowrun
