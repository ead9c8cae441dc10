// Every kernel of the sort against std::stable_sort: all row widths and key lengths, every type in both directions,
// inputs with an order of their own, and keys that are made to tie where a kernel stops looking; in memory, spilled
// with tiny blocks, on one thread and on three.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <compare>
#include <limits>

#include "tests/engine/sort/sort_rig.h"
#include "tests/support/sanitized.h"

namespace flowrun::sort {
namespace {

// In the least memory, so that a few thousand rows are merged; in memory; and with threads.
std::vector<sort_place> places() {
  sort_place tiny;
  sort_place in_memory = keeping_place(4 * MiB);
  sort_place threads;
  threads.num_threads = 3;
  return {tiny, in_memory, threads};
}

// Rows whose bytes `fill` makes.
std::vector<batch> make_rows(const record::row_type& type, record::batch_pool& pool, size_t num_rows,
                             const std::function<void(size_t i, std::byte* row, record::batch_builder&)>& fill) {
  std::vector<batch> out;
  record::batch_builder builder(type, pool, record::rows_of_any_length(8 * 1024));
  for (size_t i = 0; i < num_rows; ++i) {
    fill(i, builder.append(), builder);
    if (builder.full()) out.push_back(builder.take());
  }
  if (!builder.empty()) out.push_back(builder.take());
  return out;
}

// A key of bytes with others around it: `before` bytes, the key, and what is left of the width.
record::row_type bytes_row(uint32_t width, uint32_t key_bytes, uint32_t before) {
  std::vector<record::column> columns;
  auto add = [&](const char* name, uint32_t num_bytes) {
    if (num_bytes > 0)
      columns.push_back({name, record::parse_value_type("bytes[" + std::to_string(num_bytes) + "]").value()});
  };
  add("a", before);
  add("k", key_bytes);
  add("b", width - key_bytes - before);
  return record::row_type(std::move(columns));
}

size_t key_column(const record::row_type& type) { return *type.index_of("k"); }

// How the bytes of a key are made.
enum class key_bytes { random, few, last_byte_only, equal_in_12, equal_in_16, equal };

void fill_key(key_bytes how, std::mt19937_64& random, std::byte* key, size_t num_bytes) {
  for (size_t i = 0; i < num_bytes; ++i) key[i] = static_cast<std::byte>(how == key_bytes::random ? random() : 'p');
  if (how == key_bytes::few) key[random() % num_bytes] = static_cast<std::byte>(random() % 2 * 255);
  if (how == key_bytes::last_byte_only) key[num_bytes - 1] = static_cast<std::byte>(random());
  const size_t equal = how == key_bytes::equal_in_12 ? 12 : 16;
  if (how == key_bytes::equal_in_12 || how == key_bytes::equal_in_16)
    for (size_t i = equal; i < num_bytes; ++i) key[i] = static_cast<std::byte>(random() % 3);
}

constexpr key_bytes all_kinds[] = {key_bytes::random,      key_bytes::few,         key_bytes::last_byte_only,
                                   key_bytes::equal_in_12, key_bytes::equal_in_16, key_bytes::equal};

std::vector<batch> bytes_rows(const record::row_type& type, record::batch_pool& pool, size_t num_rows, key_bytes how,
                              uint64_t seed) {
  std::mt19937_64 random(seed);
  const record::column& key = type[key_column(type)];
  return make_rows(type, pool, num_rows, [&](size_t, std::byte* row, record::batch_builder&) {
    for (size_t i = 0; i < type.row_bytes(); ++i) row[i] = static_cast<std::byte>(random());
    fill_key(how, random, row + key.offset, key.type.num_bytes);
  });
}

// stable, unique and limit by the bits of `options`.
sort_settings with_options(sort_settings settings, unsigned options) {
  settings.stable = (options & 1) != 0;
  settings.unique = (options & 2) != 0;
  settings.limit = (options & 4) != 0 ? 333 : 0;
  return settings;
}

class each_place : public testing::TestWithParam<size_t> {
 protected:
  const sort_place place_ = places()[GetParam()];
  record::batch_pool pool_;
};

TEST_P(each_place, all_row_widths) {
  // What is drawn goes by the width modulo 2, 3, 5 and 6, so a step must have none of their factors.
  for (uint32_t width = 1; width <= 200; width += sanitized ? 7 : 1) {
    const uint32_t length = 1 + width * 7 % std::min(width, 64U);
    const record::row_type type = bytes_row(width, length, (width - length) * (width % 3) / 2);
    const key_bytes how = all_kinds[width % std::size(all_kinds)];
    const std::vector<batch> input = bytes_rows(type, pool_, 150'000 / (width + 16), how, width);
    sort_settings settings = with_options(sort_by(type, {{key_column(type), width % 2 == 1, 0, 0}}), width / 2 % 8);
    settings.force_spill = width % 5 == 0;
    expect_sorted(settings, place_, input);
    ASSERT_FALSE(HasFailure()) << width << " bytes, key of " << length;
  }
}

TEST_P(each_place, all_key_lengths) {
  for (uint32_t length = 1; length <= 64; length += sanitized ? 5 : 1) {
    for (const key_bytes how : all_kinds) {
      const unsigned options = (length + static_cast<unsigned>(how)) % 8;
      const record::row_type type = bytes_row(length + length % 4 * 9, length, length % 2 * (length % 4 * 9));
      const std::vector<batch> input = bytes_rows(type, pool_, 1200, how, length);
      const bool descending = length % 3 == 0;
      expect_sorted(with_options(sort_by(type, {{key_column(type), descending, 0, 0}}), options), place_, input);
      // A part of it, and then the rest.
      expect_sorted(sort_by(type, {{key_column(type), false, length / 2, length - length / 2},
                                   {key_column(type), descending, 0, 0}}),
                    place_, input);
      ASSERT_FALSE(HasFailure()) << "key of " << length << ", kind " << static_cast<int>(how);
    }
  }
}

// What is special about a type: its extremes, and for floats NaNs of both signs, zeros, infinities and denormals.
uint64_t special_number(const record::value_type& type, std::mt19937_64& random) {
  const uint64_t all = type.num_bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * type.num_bytes)) - 1;
  if (type.is_boolean()) return random() % 2;
  if (type.is_float()) {
    const bool wide = type.num_bytes == 8;
    const uint64_t sign = all ^ (all >> 1);
    const uint64_t infinity = wide ? std::bit_cast<uint64_t>(std::numeric_limits<double>::infinity())
                                   : std::bit_cast<uint32_t>(std::numeric_limits<float>::infinity());
    const uint64_t values[] = {0, 1, infinity, infinity - 1, infinity + 1, all >> 1, random() & (all >> 1)};
    return values[random() % std::size(values)] | (random() % 2 == 0 ? sign : 0);
  }
  const uint64_t values[] = {0, 1, all, all - 1, all >> 1, (all >> 1) + 1, random() & all};
  return values[random() % std::size(values)];
}

constexpr const char* all_types[] = {"bool", "u8",  "u16", "u24", "u32", "u40",      "u48",       "u64",   "i8",
                                     "i16",  "i32", "i64", "f32", "f64", "bytes[5]", "bytes[30]", "string"};

TEST_P(each_place, every_type_in_both_directions) {
  for (const char* const name : all_types) {
    for (const char* const other : {"", "u16", "u64", "bytes[30]"}) {
      std::vector<record::column> columns = {{"k", record::parse_value_type(name).value()}};
      if (*other != '\0') columns.insert(columns.begin(), {"other", record::parse_value_type(other).value()});
      const record::row_type type{std::move(columns)};
      const record::column& key = type[key_column(type)];
      random_rows source;
      source.distinct = 50;
      source.string_prefix = *other == 'u' ? "twelve bytes and more" : "";
      const std::vector<batch> input =
          make_rows(type, pool_, 2000, [&](size_t i, std::byte* row, record::batch_builder& builder) {
            source.fill(type, row, builder);
            if (key.type.is_text()) return;
            if (i % 2 == 0) return;
            const uint64_t bits = special_number(key.type, source.random);
            std::memcpy(row + key.offset, &bits, key.type.num_bytes);
          });
      for (const bool descending : {false, true})
        for (unsigned options = 0; options < 8; options += sanitized || descending ? 3 : 2)
          expect_sorted(with_options(sort_by(type, {{key_column(type), descending, 0, 0}}), options), place_, input);
      ASSERT_FALSE(HasFailure()) << name << " with " << other;
    }
  }
}

// Number i of n in inputs that have an order of their own.
struct pattern {
  const char* name;
  uint64_t (*at)(uint64_t i, uint64_t n);
};
constexpr pattern patterns[] = {
    {"sorted", [](uint64_t i, uint64_t) { return i; }},
    {"sorted, each twice", [](uint64_t i, uint64_t) { return i / 2; }},
    {"reversed", [](uint64_t i, uint64_t n) { return n - i; }},
    {"organ pipe", [](uint64_t i, uint64_t n) { return std::min(i, n - i); }},
    {"sawtooth", [](uint64_t i, uint64_t) { return i % 1000; }},
    {"falling sawtooth", [](uint64_t i, uint64_t n) { return (n - i) % 700; }},
    {"all equal", [](uint64_t, uint64_t) { return uint64_t{7}; }},
    {"few distinct", [](uint64_t i, uint64_t) { return i * 2654435761U % 5; }},
    {"one exchanged", [](uint64_t i, uint64_t n) { return i == n / 5   ? n / 2
                                                          : i == n / 2 ? n / 5
                                                                       : i; }},
    {"random", [](uint64_t i, uint64_t) { return i * 0x9E3779B97F4A7C15U; }},
};

// A row shape, and how number `value` is written as its key.
struct numbered_shape {
  const char* name;
  record::row_type type;
  record::key key;
};

std::vector<numbered_shape> numbered_shapes() {
  return {{"u64", type_of({{"k", "u64"}}), columns({0})},
          {"u64 and u64", type_of({{"k", "u64"}, {"row", "u64"}}), columns({0})},
          {"24 bytes", type_of({{"row", "u64"}, {"k", "u64"}, {"v", "u64"}}), columns({1})},
          {"descending", type_of({{"row", "u64"}, {"k", "u64"}, {"v", "u64"}}), {{1, true, 0, 0}}},
          {"100 bytes", type_of({{"k", "bytes[20]"}, {"row", "u64"}, {"v", "bytes[72]"}}), columns({0})},
          {"text", type_of({{"k", "string"}, {"row", "u64"}}), columns({0})}};
}

TEST_P(each_place, inputs_with_an_order_of_their_own) {
  for (const numbered_shape& shape : numbered_shapes()) {
    const record::column& key = shape.type[key_column(shape.type)];
    const auto row_number = shape.type.index_of("row");
    for (const pattern& p : patterns) {
      const uint64_t n = 120'000 / (shape.type.row_bytes() + 16);
      const std::vector<batch> input =
          make_rows(shape.type, pool_, n, [&](size_t i, std::byte* row, record::batch_builder& builder) {
            std::memset(row, 0, shape.type.row_bytes());
            const uint64_t value = p.at(i, n);
            if (row_number) std::memcpy(row + shape.type[*row_number].offset, &i, sizeof i);
            const std::string text = fmt::format("{:020}", value);
            if (key.type.is_string())
              builder.put_string(row + key.offset, text);
            else if (key.type.is_bytes())
              std::memcpy(row + key.offset, text.data(), text.size());
            else
              std::memcpy(row + key.offset, &value, sizeof value);
          });
      for (unsigned options = 0; options < 8; options += sanitized ? 3 : 1)
        expect_sorted(with_options(sort_by(shape.type, shape.key), options), place_, input);
      ASSERT_FALSE(HasFailure()) << shape.name << ", " << p.name;
    }
  }
}

std::string place_name(const testing::TestParamInfo<size_t>& place) {
  constexpr const char* names[] = {"spilled", "in_memory", "spilled_with_threads"};
  return names[place.param];
}

INSTANTIATE_TEST_SUITE_P(sorts, each_place, testing::Range(size_t{0}, places().size()), place_name);

// Without the comparison that the sort itself uses: IEEE totalOrder, as C++ has it in strong_order.
template <class Float>
void expect_total_order(const char* type_name) {
  const record::row_type type = type_of({{"k", type_name}, {"v", "bytes[20]"}});
  record::batch_pool pool;
  std::mt19937_64 random(3);
  std::vector<Float> numbers;
  const std::vector<batch> input = make_rows(type, pool, 3000, [&](size_t, std::byte* row, record::batch_builder&) {
    const uint64_t bits = special_number(type[0].type, random);
    std::memset(row, 0, type.row_bytes());
    std::memcpy(row, &bits, sizeof(Float));
    Float number;
    std::memcpy(&number, &bits, sizeof number);
    numbers.push_back(number);
  });
  const auto less = [](Float a, Float b) { return std::strong_order(a, b) < 0; };
  std::stable_sort(numbers.begin(), numbers.end(), less);
  for (const bool descending : {false, true}) {
    const sort_result result = sort_rows(sort_by(type, {{0, descending, 0, 0}}), {}, input);
    ASSERT_EQ(result.rows.size(), numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      Float number;
      std::memcpy(&number, result.rows[i].data(), sizeof number);
      const Float expected = numbers[descending ? numbers.size() - 1 - i : i];
      ASSERT_TRUE(std::strong_order(number, expected) == 0) << i << ": " << number << ", not " << expected;
    }
  }
}

TEST(every_shape, floats_sort_by_ieee_total_order) {
  expect_total_order<double>("f64");
  expect_total_order<float>("f32");
}

}  // namespace
}  // namespace flowrun::sort
