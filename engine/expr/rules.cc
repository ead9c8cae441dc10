#include "engine/expr/rules.h"

namespace flowrun::expr {

const std::vector<example_column>& example_columns() {
  static const std::vector<example_column> columns = {{"u", "u64", "9223372036854775810"},
                                                      {"n", "u64", "1"},
                                                      {"small", "u8", "200"},
                                                      {"i", "i64", "-5"},
                                                      {"x", "f64", "2.5"},
                                                      {"ok", "bool", "true"},
                                                      {"price", "decimal[2]", "12.50"},
                                                      {"text", "string", "12"}};
  return columns;
}

const std::vector<value_rule>& value_rules() {
  static const std::vector<value_rule> rules = {
      {"Integers",
       "Integers compute in 64 bits, u64 or i64, and numbers of columns wrap around modulo 2^64. A column and a cast "
       "keep their narrow type; whatever is computed with them is wide. With a float on either side everything is f64. "
       "To ask whether a difference of unsigned numbers is above or below 0, or for its abs or sign, or for the larger "
       "of it and 0, is a fault; elsewhere (a - b >= 10, f64(a - b)) it is a large number where b is larger: i64(a) - "
       "i64(b) has a sign.",
       {{"small", "u8", "200"},
        {"small + small", "u64", "400"},
        {"n - 2", "u64", "18446744073709551615"},
        {"n - 2 < 0", "", "a difference of unsigned numbers is never below 0: it wraps around"},
        {"u16(small)", "u16", "200"},
        {"n + x", "f64", "3.5"}}},
      {"Literals and other constants",
       "An integer literal is a number without a type. What + - * / % & | ^ << >>, a sign, min, max and abs make of "
       "literals is the number that it is on paper, and a literal again; where nothing else decides it is u64, and "
       "below 0 i64. A cast gives a constant a type, in which it stays. A constant that its type does not hold is a "
       "fault and never another number. Scalars of loops and graphs are no constants in this sense: they wrap around "
       "as columns do.",
       {{"10 - 47", "i64", "-37"},
        {"min(10, 11) - 47", "i64", "-37"},
        {"10 - 7", "u64", "3"},
        {"i64(10) - 47", "i64", "-37"},
        {"u64(10) - 47", "", "10 - 47 is -37, which u64 does not hold"},
        {"u8(200) + u8(100)", "u64", "300"},
        {"18446744073709551615 + 1", "", "18446744073709551615 + 1 does not fit in 64 bits"}}},
      {"Mixed signs",
       "Unsigned types of up to 48 bits, and constants that fit, meet signed ones as i64; a constant that is not "
       "negative meets u64 as u64. u64 and a signed type have no type that holds both: comparisons are by value, and "
       "so are min, which is i64, and max, which is u64. Everything else is a fault, until i64(…) or u64(…) says which "
       "is meant. So is minus u64.",
       {{"small + i", "i64", "195"},
        {"i + 7", "i64", "2"},
        {"u > i", "bool", "true"},
        {"max(u, i)", "u64", "9223372036854775810"},
        {"min(u, i)", "i64", "-5"},
        {"max(9223372036854775810, 5)", "u64", "9223372036854775810"},
        {"u / 2", "u64", "4611686018427387905"},
        {"u / i", "", "'/' of u64 and i64: no integer type holds both"},
        {"i64(n) - i", "i64", "6"},
        {"if(ok, u, i)", "", "if: u64 and i64 have no common type"},
        {"-n", "", "'-' of u64: no integer type holds all of its values"},
        {"-i64(n)", "i64", "-1"}}},
      {"Conversions",
       "T(x) makes a value of type T: of an integer it keeps the low bits, a float it rounds toward 0 and saturates, "
       "NaN gives 0, and true is 1. Of a constant it keeps the number, or it is a fault. Where a type is declared "
       "(state variables, messages, defaults, rows), integers become that integer type and numbers that float type "
       "without a word, by the same rule. Texts are read with to_u64, to_i64 and to_f64, which give 0 for what is no "
       "number, and numbers are written with string.",
       {{"u8(n + 299)", "u8", "44"},
        {"u8(300)", "", "u8: 300 does not fit in u8"},
        {"u8(x * 1000)", "u8", "255"},
        {"i8(-x)", "i8", "-2"},
        {"to_u64(text) + 1", "u64", "13"},
        {"to_i64('twelve')", "i64", "0"},
        {"text + 1", "", "'+' needs numbers, this is string"}}},
      {"Division and shifts",
       "Integer division rounds toward 0, and % has the sign of its left side; x / 0 and x % 0 are 0. Of floats they "
       "are those of IEEE 754. A shift by 64 or more, or by a negative number, gives 0; >> of a signed integer keeps "
       "the sign.",
       {{"-7 / 2", "i64", "-3"},
        {"-7 % 3", "i64", "-1"},
        {"n / 0", "u64", "0"},
        {"x / 0", "f64", "inf"},
        {"n << 64", "u64", "0"},
        {"3 << 63", "", "3 << 63 does not fit in 64 bits"},
        {"i >> 1", "i64", "-3"}}},
      {"Floats",
       "The text of a float is the shortest that reads back as the same number, with inf, -inf, -0 and one nan; CSV "
       "files, string() and messages agree in it. == and < compare numbers: -0.0 equals 0.0, and NaN equals nothing. "
       "Keys are another matter: in sort, group, join, reset, unique and ranks equal means equal bits, -0.0 comes "
       "before 0.0, and NaN has its place behind inf (before -inf with its sign set). The processor gives a NaN that "
       "is computed its sign, and on x86 sets it: if(x == x, x, to_f64('nan')) makes it the one that texts have.",
       {{"0.1", "f64", "0.1"},
        {"string(f32(0.1))", "string", "0.1"},
        {"string(0.0 / 0)", "string", "nan"},
        {"1e300 * 1e300", "f64", "inf"},
        {"0.0 - 0.0 == -0.0", "bool", "true"},
        {"0.0 / 0 == 0.0 / 0", "bool", "false"}}},
      {"Decimals",
       "A decimal[S] is an integer of 64 bits that counts units of 10^-S: decimal[2] has -92233720368547758.08 to "
       "92233720368547758.07. A literal or a constant text beside a decimal is the decimal that its digits spell, and "
       "integers are decimals without digits behind the point. + - % and whatever brings values to one type give the "
       "larger scale, * the sum of both, of at most 18; x % 0 is 0. All of it is exact, and so are comparisons, of any "
       "scales. / and whatever has a float on a side are f64, of the nearest f64 of each. A result that is beyond 64 "
       "bits ends the job: decimals never wrap around. (Both values of an if are computed, also the one that is not "
       "taken.) Where a type is declared, integers, literals, texts and decimals of a smaller scale become that "
       "decimal without a word; to_decimal and round give fewer digits. i64(x) and the other integers round toward 0. "
       "A literal that no decimal stands beside is an f64, and so is one with an exponent (1e2) everywhere.",
       {{"price", "decimal[2]", "12.50"},
        {"price * 1.19", "decimal[4]", "14.8750"},
        {"round(price * 1.19, 2)", "decimal[2]", "14.88"},
        {"price + 1", "decimal[2]", "13.50"},
        {"price - '0.005'", "decimal[3]", "12.495"},
        {"price * (1 - 0.1)", "decimal[3]", "11.250"},
        {"price / 4", "f64", "3.125"},
        {"price % 5", "decimal[2]", "2.50"},
        {"price == 12.5", "bool", "true"},
        {"price < 12.501", "bool", "true"},
        {"price * x", "f64", "31.25"},
        {"-price", "decimal[2]", "-12.50"},
        {"i64(price)", "i64", "12"},
        {"to_decimal('7.345', 2)", "decimal[2]", "7.35"},
        {"to_decimal(0.1, 18)", "decimal[18]", "0.100000000000000000"},
        {"max(price, 20)", "decimal[2]", "20.00"},
        {"price == 'x'", "", "'x' is no decimal: a decimal has digits, a point and a sign, as in -12.50"},
        {"price & 1", "", "'&' needs integers, this is decimal[2]"},
        {"price * to_decimal(n, 17)", "", "'*' of decimal[2] and decimal[17] has 19 digits behind the point"}}},
      {"Random numbers",
       "rand(seed, i) is number i of a sequence that the seed alone decides, on every machine and with any number of "
       "threads: m(m(seed) + i * 0x9E3779B97F4A7C15) modulo 2^64, where m adds 0x9E3779B97F4A7C15 and mixes the bits "
       "as splitmix64 does. Seeds are mixed first, so that 0, 1, 2 give unrelated sequences. rand_f64 takes the upper "
       "53 bits, as a fraction of 2^53.",
       {{"rand(42, 7)", "u64", "13553200262973777806"}, {"rand(42, n + 6)", "u64", "13553200262973777806"}}},
  };
  return rules;
}

}  // namespace flowrun::expr
