// bloom.matching: rows whose key is most likely in a table, as an operator with an input that it takes in before it
// runs.
//
//   table ─▶ [a bit field of a share of the memory]
//   rows  ─▶ [are the bits of the key set?] ─▶ rows that have a match, and a few that have none
//
// A Bloom filter in front of a join leaves out most rows without a partner before they are sorted and written. With m
// bits and n keys, each key sets k = m/n ln 2 bits, and one of 2^k rows without a match passes by mistake.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <flowrun/plugin.hpp>
#include <memory>
#include <vector>

namespace {

struct settings {
  fr::column key, table_key;
  uint64_t table_rows = 0;  // expected; 0: not known
};

uint64_t hash_of(const fr::batch& in, size_t row, const fr::column& c) {
  uint64_t h = 0x9E3779B97F4A7C15;
  const auto mix = [&h](uint64_t word) {
    h = (h ^ word) * 0xBF58476D1CE4E5B9;
    h ^= h >> 29;
  };
  if (c.type.kind == FR_STRING) {
    const std::string_view text = in.text(row, c.offset);
    for (size_t i = 0; i < text.size(); i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, text.data() + i, std::min<size_t>(8, text.size() - i));
      mix(word);
    }
    mix(text.size());
  } else {
    uint64_t word = 0;
    std::memcpy(&word, in.row(row) + c.offset, fr::width_of(c.type));
    mix(word);
  }
  mix(h >> 32);
  return h;
}

// The field is as large as the node's share of the memory, a power of two.
class filter {
 public:
  filter(const settings& s, const fr::job& job) : key_(s.table_key) {
    const uint64_t wanted = s.table_rows > 0 ? s.table_rows * 2 : UINT64_MAX;  // 16 bits for each key
    const uint64_t bytes = std::bit_floor(std::clamp<uint64_t>(wanted, 4096, job.memory_bytes()));
    words_.resize(bytes / 8);
    job.reserve(bytes);
  }
  void add(const fr::batch& in) {
    for (size_t i = 0; i < in.size(); ++i)
      for_each_bit(hash_of(in, i, key_), [&](uint64_t& word, uint64_t bit) {
        word |= bit;
        return true;
      });
  }
  bool may_have(uint64_t hash) const {
    return const_cast<filter*>(this)->for_each_bit(hash,
                                                   [](uint64_t& word, uint64_t bit) { return (word & bit) != 0; });
  }

 private:
  template <class Step>
  bool for_each_bit(uint64_t hash, Step step) {
    const uint64_t second = (hash >> 32) | 1;
    for (int i = 0; i < 6; ++i, hash += second << 7)
      if (!step(words_[(hash >> 6) & (words_.size() - 1)], uint64_t{1} << (hash & 63))) return false;
    return true;
  }
  const fr::column key_;
  std::vector<uint64_t> words_;
};

settings check(fr::node& node) {
  settings s;
  const auto pairs = node.column_pairs("by");
  if (!node.good()) return s;
  if (pairs.size() != 1) {
    node.fault("by", std::to_string(pairs.size()) + " keys are given", "one key");
    return s;
  }
  s.key = node.input(0)[pairs[0].first];
  s.table_key = node.input(1)[pairs[0].second];
  if (s.key.type.kind != s.table_key.type.kind || fr::width_of(s.key.type) != fr::width_of(s.table_key.type) ||
      fr::width_of(s.key.type) > 8)
    node.fault("by", "'" + s.key.name + "' and '" + s.table_key.name + "' can't be compared",
               "two columns of the same type, of at most 8 bytes or strings");
  const fr::estimate table = node.input_estimate(1);
  if (table.known) s.table_rows = std::max<uint64_t>(table.rows, 1);
  // What the table is taken in to stays in memory until the rows have passed.
  node.set_memory(
      {.minimum = 64 << 10, .maximum = table.known ? std::max<uint64_t>(2 * table.rows, 64 << 10) : 64 << 20},
      FR_INTAKE);
  fr::estimate rows = node.input_estimate(0);
  rows.exact = false;
  node.set_output(0, node.input(0), node.input_order(0), rows);
  return s;
}

struct matcher {
  fr::column key;
  const filter* seen;
};

void match(const matcher& m, const fr::batch& in, fr::out& out) {
  // Neighbours that pass go on together, as they lie.
  for (size_t i = 0; i < in.size();) {
    size_t end = i;
    while (end < in.size() && m.seen->may_have(hash_of(in, end, m.key))) ++end;
    if (end > i) out.pass(in, i, end - i);
    i = end + 1;
  }
}

}  // namespace

FLOWRUN_PLUGIN("bloom", "1.0.0") {
  plugin.add(
      fr::stateless<settings>("matching")
          .summary("Leaves out rows whose key is not in a table.")
          .details("All rows with a match pass, and a few without one: put it in front of a join, whose other side "
                   "is the table, so that less is sorted.")
          .order("keeps: the stream's order")
          .example("likely: {op: bloom.matching, in: {stream: events, table: users}, with: {by: {user: id}}}\n")
          .input("stream", "the rows")
          .taken_in<filter>(
              "table", "rows with the keys",
              [](const settings& s, const fr::job& job) { return std::make_shared<filter>(s, job); },
              [](filter& f, const fr::batch& in) { f.add(in); })
          .output("out", "the rows that may have a match")
          .parameter({.name = "by",
                      .kind = FR_PARAMETER_COLUMN_PAIRS,
                      .required = true,
                      .help = "The key: a column that both have, or {column of the stream: column of the table}."})
          .check(check)
          .apply<matcher>(
              [](const settings& s, const fr::job& job) {
                return matcher{s.key, &job.left<filter>(1)};
              },
              match));
}
