// Keys of numbers sort as the numbers do: against orders written down here, and against arithmetic.
#include "engine/expr/number_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "engine/expr/version_key.h"
#include "tests/engine/expr/program_harness.h"

namespace flowrun::expr {
namespace {

std::string decimal(const std::string& text) {
  std::string out(decimal_key_bound(text), '\0');
  out.resize(write_decimal_key(text, out.data()));
  return out;
}
std::string size(const std::string& text) {
  std::string out(decimal_key_bound(text) + 1, '\0');
  out.resize(write_size_key(text, out.data()));
  return out;
}
std::string real(const std::string& text) {
  std::string out(real_key_bytes, '\0');
  write_real_key(text, out.data());
  return out;
}

std::string version(const std::string& text) {
  std::string out(version_key_bound(text), '\0');
  out.resize(write_version_key(text, out.data()));
  return out;
}

using key_of = std::string (*)(const std::string&);

// Texts in groups: within one, all keys are equal; each group's is greater than the one before.
void expect_ascending(key_of key, const std::vector<std::vector<std::string>>& groups) {
  for (size_t i = 0; i < groups.size(); ++i) {
    for (const std::string& text : groups[i])
      EXPECT_EQ(key(text), key(groups[i][0])) << text << " and " << groups[i][0];
    for (size_t k = 0; k < i; ++k)
      EXPECT_LT(key(groups[k][0]), key(groups[i][0])) << groups[k][0] << ", " << groups[i][0];
  }
}

TEST(decimal_key, sorts_as_the_numbers_do) {
  const std::string zeros(300, '0'), nines(300, '9');
  expect_ascending(decimal,
                   {{"-1" + zeros + ".5"},
                    {"-1" + zeros},
                    {"-" + nines, "-0" + nines + ".0"},
                    {"-" + nines.substr(1)},
                    {"-123456789012345678901234567890.5"},
                    {"-123456789012345678901234567890"},
                    {"-100", "-0100.00", " \t-100x"},
                    {"-99.5"},
                    {"-11"},
                    {"-10", "-10."},
                    {"-1.001"},
                    {"-1"},
                    {"-.5", "-0.50"},
                    {"-.05"},
                    {"-." + zeros + "2"},
                    {"-." + zeros + "1"},
                    {"0", "", "-", "-0", "00.000", ".", "-.", "+5", "x", "--1", ".e1", "nan", std::string("\0", 1)},
                    {"." + zeros + "1"},
                    {"." + zeros + "10000001"},
                    {"." + zeros + "2"},
                    {".0499"},
                    {".05"},
                    {".5", "0.5", "00.500"},
                    {".51"},
                    {"1", "1.0", "01", "\n1", "1e5", "1,5", "1-"},
                    {"1.001"},
                    {"1.01"},
                    {"9"},
                    {"10"},
                    {"10.01"},
                    {"11"},
                    {"99.5"},
                    {"100", "100.", "00100x7"},
                    {"18446744073709551615"},
                    {"18446744073709551616"},
                    {nines.substr(1)},
                    {nines},
                    {"1" + zeros, "1" + zeros + ".000"},
                    {"1" + zeros + "." + zeros + "1"}});
}

TEST(decimal_key, of_22_digits_fits_the_index_of_a_sort) {
  EXPECT_LE(decimal("1234567890123456789012").size(), 12u);
  EXPECT_EQ(decimal("7").size(), 2u);
}

TEST(decimal_key, random_fractions) {
  std::mt19937_64 random(5);
  const auto text = [&random](int64_t thousandths) {
    const uint64_t magnitude =
        thousandths < 0 ? 0 - static_cast<uint64_t>(thousandths) : static_cast<uint64_t>(thousandths);
    std::string fraction = std::to_string(1000 + magnitude % 1000).substr(1);
    while (random() % 2 == 0 && fraction.ends_with('0')) fraction.pop_back();
    const std::string whole = magnitude < 1000 && random() % 2 == 0 ? "" : std::to_string(magnitude / 1000);
    return std::string(random() % 3, ' ') + (thousandths < 0 ? "-" : "") + std::string(random() % 3, '0') + whole +
           (fraction.empty() ? "" : "." + fraction) + std::string(random() % 3, fraction.empty() ? 'x' : '0');
  };
  for (int round = 0; round < 20000; ++round) {
    const auto a = static_cast<int64_t>(random()) >> random() % 64;
    const auto b = random() % 4 == 0 ? a + static_cast<int64_t>(random() % 3) - 1
                                     : static_cast<int64_t>(random()) >> random() % 64;
    const std::string left = text(a), right = text(b);
    EXPECT_EQ(decimal(left) < decimal(right), a < b) << left << " and " << right;
    EXPECT_EQ(decimal(left) == decimal(right), a == b) << left << " and " << right;
  }
}

TEST(decimal_key, never_writes_beyond_its_bound) {
  std::mt19937_64 random(6);
  const std::string alphabet = " -.0123456789x";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (uint64_t left = random() % 40; left > 0; --left) text += alphabet[random() % alphabet.size()];
    std::string out(decimal_key_bound(text) + 1, '\x55');
    const size_t length = write_decimal_key(text, out.data());
    ASSERT_LT(length, out.size()) << text;
    for (size_t i = length; i < out.size(); ++i) ASSERT_EQ(out[i], '\x55') << text;
  }
}

TEST(size_key, sorts_by_sign_then_unit_then_number) {
  expect_ascending(size, {{"-1Y"},
                          {"-2K", "-2k"},
                          {"-1K"},
                          {"-3000"},
                          {"0", "0G", "", "K", "-", "0.0M"},
                          {"1", "1x"},
                          {"900"},
                          {"5000"},
                          {"1K", " 1k", "1KiB"},
                          {"1.5K"},
                          {"1000K"},
                          {"1M"},
                          {"2G"},
                          {"1T"},
                          {"1P"},
                          {"1E"},
                          {"1Z"},
                          {"1Y"}});
}

TEST(real_key, sorts_as_floating_point_numbers_do) {
  expect_ascending(real, {{"", "x", "-", "e5", "."},
                          {"nan", "NaN"},
                          {"-inf", "-infinity", "-1e99999"},
                          {"-1e4000"},
                          {"-1e308"},
                          {"-2"},
                          {"-1.5", " -1.5x", "-15e-1"},
                          {"-1e-4940"},
                          {"0", "-0", "0x0", "0e9"},
                          {"3.7e-4951"},
                          {"1e-4940"},
                          {"1e-300"},
                          {"1", "+1", "0x1p0", "1." + std::string(100, '0')},
                          {"1.0000000000000002"},
                          {"2"},
                          {"10", "1e1", "\t10"},
                          {"1e4000"},
                          {"inf", "1e99999"}});
}

TEST(version_key, sorts_as_filevercmp_does) {
  const std::string nines(400, '9');
  expect_ascending(version, {{""},
                             {"."},
                             {".."},
                             {".a"},
                             {".b"},
                             {"~"},
                             {"0", "00"},
                             {"0a"},
                             {"1.0~rc1"},
                             {"1.0", "01.0", "1.00"},
                             {"1.9"},
                             {"1.10"},
                             {"10"},
                             {nines.substr(1)},
                             {nines, "0" + nines},
                             {"1" + nines},
                             {"A1"},
                             {"a~"},
                             {"a", "a0"},
                             {"a.tar"},
                             {"a.tar.gz"},
                             {"a.zip"},
                             {"a1"},
                             {"a1.tar"},
                             {"a1b"},
                             {"ab"},
                             {"a+b"},
                             {"a\xff"},
                             {"b"},
                             {"+"}});
}

TEST(number_keys, are_functions_of_the_language) {
  const record::row_type type = testing::type_of({{"t", "string"}});
  const std::string long_text = std::string(5000, '7');
  std::vector<testing::row> rows;
  for (const std::string& text : std::vector<std::string>{"10", "-3.5K", "", "1e3", long_text}) rows.push_back({text});
  const record::batch in = testing::pack(type, rows);
  for (const auto& [name, key] : {std::pair<std::string, key_of>{"decimal_key", decimal},
                                  {"size_key", size},
                                  {"real_key", real},
                                  {"version_key", version}}) {
    const std::vector<testing::cell> keys = testing::evaluate_rows(name + "(t)", type, in);
    for (size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(std::get<std::string>(keys[i]), key(std::get<std::string>(rows[i][0]))) << name << " of row " << i;
    EXPECT_EQ(std::get<std::string>(testing::evaluate_constant(name + "('12')")), key("12"));
  }
}

}  // namespace
}  // namespace flowrun::expr
