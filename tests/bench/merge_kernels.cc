// Which merge wins where: rows a second and core of each way to merge sorted runs, by row shape and number of runs, in
// memory. Prints a Markdown table.
//
//   tree           heads by number (rows of 8 and 16 bytes), or by 16-byte key prefix and then by whole key
//   coded tree     the same tree with offset-value codes (engine/kernels/offset_value_code.h)
//   slices sorted  what lies below a common splitter, concatenated and sorted by SIMD: the rows themselves (8 and 16
//                  bytes), or (12-byte key prefix, row number), ties broken by tie_breaker.h, then the rows gathered
//   slices merged  the same slices, each merged by a tree: rows of 8 and 16 bytes concatenated first (as slice_merger.h
//                  does); all others where they lie, by row_slices.h: coded where keys are long, else sorted, too,
//                  as words that hold the whole key
//
// Only slices can be worked on by several threads; of the two ways the last column names the one that the engine takes.
// All write the same rows to the same output, which is compared. Seconds are CPU time of the one thread, the median of
// several rounds in which the kernels take turns.
//
//   merge_kernels [megabytes of rows per shape, 64] [rounds, 5] [only shapes with this in their name]

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "engine/base/buffer.h"
#include "engine/kernels/loser_tree.h"
#include "engine/kernels/offset_value_code.h"
#include "engine/kernels/row_slices.h"
#include "engine/kernels/slice_cut.h"
#include "engine/kernels/tie_breaker.h"
#include "engine/kernels/wide_rows.h"
#include "engine/kernels/word_sort.h"
#include "engine/record/batch.h"
#include "tests/bench/word_merge.h"

namespace flowrun::kernels {
namespace {

using record::row_place;
using record::word128;

constexpr size_t slice_bytes = 512 * 1024;  // about half of an L2 cache: rows and entries

record::row_type type_of(std::initializer_list<const char*> types) {
  std::vector<record::column> columns;
  for (const char* type : types)
    columns.push_back({std::string(1, static_cast<char>('a' + columns.size())), *record::parse_value_type(type)});
  return record::row_type(std::move(columns));
}

struct shape {
  const char* name;
  record::row_type type;
  record::key key;
  // Sets a row's bytes; returns its string, if it has one, whose ref is in column 0.
  std::function<std::string(std::mt19937_64&, std::byte*)> fill;
};

// Rows of one type in memory, strings behind them; refs are relative to `bytes`.
struct row_store {
  aligned_buffer bytes;
  size_t num_rows = 0;
  uint32_t row_bytes = 0;
  const std::byte* row(size_t i) const { return bytes.data() + i * row_bytes; }
};

struct runs_of_rows {
  row_store rows;            // run after run
  std::vector<size_t> ends;  // of the runs, in rows
  size_t begin(size_t run) const { return run == 0 ? 0 : ends[run - 1]; }
};

// Where merged rows go: from the front, strings from the back.
class row_output {
 public:
  row_output(const wide_rows& rows, const row_store& like) : rows_(rows), bytes_(like.bytes.num_bytes()) { clear(); }
  void clear() {
    front_ = 0;
    back_ = bytes_.num_bytes();
  }
  void put(const std::byte* row, const std::byte* heap) {
    back_ = rows_.place(row, heap, bytes_.data(), bytes_.data() + front_, back_);
    front_ += rows_.row_bytes();
  }
  std::byte* data() { return bytes_.data(); }
  bool operator==(const row_output& other) const {
    return std::memcmp(bytes_.data(), other.bytes_.data(), bytes_.num_bytes()) == 0;
  }

 private:
  const wide_rows& rows_;
  aligned_buffer bytes_;
  size_t front_ = 0;
  size_t back_ = 0;
};

row_store make_rows(const shape& s, size_t num_bytes) {
  std::mt19937_64 random(1);
  row_store out;
  out.row_bytes = s.type.row_bytes();
  out.bytes = aligned_buffer(num_bytes);
  size_t front = 0, back = out.bytes.num_bytes();
  std::vector<std::byte> row(out.row_bytes);
  for (;; ++out.num_rows) {
    const std::string text = s.fill(random, row.data());
    if (front + out.row_bytes + text.size() > back) return out;
    if (s.type.has_strings()) {
      back -= text.size();
      std::memcpy(out.bytes.data() + back, text.data(), text.size());
      const record::string_ref ref{static_cast<uint32_t>(back), static_cast<uint32_t>(text.size())};
      std::memcpy(row.data(), &ref, sizeof ref);
    }
    std::memcpy(out.bytes.data() + front, row.data(), out.row_bytes);
    front += out.row_bytes;
  }
}

// What a shape's kernels need to know.
struct kernel_input {
  kernel_input(const shape& s, const row_store& unsorted, size_t num_runs)
      : type(s.type),
        rows(s.type, s.key),
        prefix(s.type, s.key),
        words(s.type, s.key),
        comparator(s.type, s.key),
        slices(s.type, s.key) {
    runs.rows.bytes = aligned_buffer(unsorted.bytes.num_bytes());
    runs.rows.num_rows = unsorted.num_rows;
    runs.rows.row_bytes = unsorted.row_bytes;
    std::vector<word128> entries(unsorted.num_rows);
    for (size_t i = 0; i < entries.size(); ++i)
      entries[i] = (prefix(unsorted.row(i), unsorted.bytes.data()) >> 32 << 32) | i;
    auto row = [&](uint32_t i) { return row_place{unsorted.row(i), unsorted.bytes.data()}; };
    size_t front = 0, back = unsorted.bytes.num_bytes();
    // Runs of equal lengths would begin, and go on, at addresses that the caches map to the same places.
    std::mt19937_64 random(num_runs);
    for (size_t r = 0; r < num_runs; ++r) {
      const size_t first = runs.begin(r), left = (unsorted.num_rows - first) / (num_runs - r);
      const size_t last = r + 1 == num_runs ? unsorted.num_rows : first + left / 2 + random() % (left + 1);
      sort_words(entries.data() + first, last - first);
      tie_breaker(words, row)(entries.data() + first, last - first);
      runs.ends.push_back(last);
      for (size_t i = first; i < last; ++i) {
        const row_place from = row(static_cast<uint32_t>(entries[i]));
        back = rows.place(from.row, from.heap, runs.rows.bytes.data(), runs.rows.bytes.data() + front, back);
        front += unsorted.row_bytes;
      }
    }
  }
  row_place row(size_t i) const { return {runs.rows.row(i), runs.rows.bytes.data()}; }

  const record::row_type type;
  const wide_rows rows;
  const record::key_prefix prefix;
  const record::key_words words;
  const record::row_comparator comparator;
  const row_slices slices;
  runs_of_rows runs;
};

// Merges with a loser tree: `first(row)` and `next(row, row before)` are heads' keys, `tie` is the tree's.
template <class First, class Next, class Tie>
void merge_by_tree(const kernel_input& in, row_output& out, std::vector<size_t>& at, First first, Next next, Tie tie) {
  loser_tree<word128, Tie> tree(in.runs.ends.size(), tie);
  for (uint32_t r = 0; r < in.runs.ends.size(); ++r) {
    at[r] = in.runs.begin(r);
    if (at[r] < in.runs.ends[r]) tree.set(r, first(in.row(at[r])));
  }
  tree.start();
  while (tree.winner() != tree.none) {
    const uint32_t r = tree.winner();
    const row_place row = in.row(at[r]);
    out.put(row.row, row.heap);
    if (++at[r] == in.runs.ends[r]) {
      tree.replay_exhausted();
    } else {
      in.rows.prefetch_next(in.row(at[r]).row, row.heap, in.runs.ends[r] - at[r] - 1);
      tree.replay(next(in.row(at[r]), row));
    }
  }
}

void merge_by_prefixes(const kernel_input& in, row_output& out) {
  std::vector<size_t> at(in.runs.ends.size());
  auto prefix = [&](const row_place& row) { return in.prefix(row.row, row.heap); };
  auto next = [&](const row_place& row, const row_place&) { return prefix(row); };
  auto tie = [&](uint32_t a, uint32_t b, word128&) {
    if (!in.prefix.whole()) {
      const row_place left = in.row(at[a]), right = in.row(at[b]);
      const int order = in.comparator.compare(left.row, left.heap, right.row, right.heap);
      if (order != 0) return order < 0;
    }
    return a < b;
  };
  merge_by_tree(in, out, at, prefix, next, tie);
}

void merge_by_codes(const kernel_input& in, row_output& out) {
  std::vector<size_t> at(in.runs.ends.size());
  const offset_value_coder<record::key_words> coder(in.words);
  auto first = [&](const row_place& row) { return coder.first(row); };
  auto next = [&](const row_place& row, const row_place& before) { return coder.relative(row, before); };
  auto tie = [&](uint32_t a, uint32_t b, word128& code) {
    const int order = coder.compare(in.row(at[a]), in.row(at[b]), code);
    return order != 0 ? order < 0 : a < b;
  };
  merge_by_tree(in, out, at, first, next, tie);
}

// Rows of any width, by entries.
void merge_by_slices(const kernel_input& in, row_output& out) {
  const size_t num_runs = in.runs.ends.size();
  const size_t average = in.runs.rows.bytes.num_bytes() / std::max<size_t>(in.runs.rows.num_rows, 1);
  const size_t stride = std::max<size_t>(slice_bytes / (average + sizeof(word128)) / num_runs, 16);
  std::vector<size_t> at(num_runs), end(num_runs);
  for (size_t r = 0; r < num_runs; ++r) at[r] = in.runs.begin(r);
  aligned_buffer buffer(num_runs * stride * sizeof(word128));
  auto* entries = reinterpret_cast<word128*>(buffer.data());
  auto row = [&](uint32_t i) { return in.row(i); };
  tie_breaker break_ties(in.words, row);
  // Equal keys by row number, which is by run: then a slice never takes a row before one that it leaves.
  auto comes_before = [&](size_t a, size_t b) {
    const row_place left = in.row(a), right = in.row(b);
    const word128 x = in.prefix(left.row, left.heap), y = in.prefix(right.row, right.heap);
    if (x != y) return x < y;
    const int order = in.prefix.whole() ? 0 : in.words.compare(left, right);
    return order != 0 ? order < 0 : a < b;
  };
  for (;;) {
    size_t splitter = in.runs.rows.num_rows;  // none
    for (size_t r = 0; r < num_runs; ++r) {
      end[r] = std::min(at[r] + stride, in.runs.ends[r]);
      if (end[r] == in.runs.ends[r]) continue;
      if (splitter == in.runs.rows.num_rows || comes_before(end[r] - 1, splitter)) splitter = end[r] - 1;
    }
    size_t num_entries = 0;
    for (size_t r = 0; r < num_runs; ++r) {
      size_t low = at[r];
      for (size_t high = end[r]; low < high;) {
        const size_t middle = low + (high - low) / 2;
        if (splitter != in.runs.rows.num_rows && comes_before(splitter, middle)) {
          high = middle;
        } else {
          low = middle + 1;
        }
      }
      for (; at[r] < low; ++at[r]) {
        const row_place from = in.row(at[r]);
        entries[num_entries++] = (in.prefix(from.row, from.heap) >> 32 << 32) | at[r];
      }
    }
    if (num_entries == 0) return;
    sort_words(entries, num_entries);
    if (!in.prefix.whole_in_12()) break_ties(entries, num_entries);
    for (size_t i = 0; i < num_entries; ++i) {
      const row_place from = in.row(static_cast<uint32_t>(entries[i]));
      out.put(from.row, from.heap);
    }
  }
}

// Rows that are numbers.
template <class Word>
std::vector<word_span<Word>> spans(const kernel_input& in) {
  std::vector<word_span<Word>> out;
  const auto* words = reinterpret_cast<const Word*>(in.runs.rows.bytes.data());
  for (size_t r = 0; r < in.runs.ends.size(); ++r)
    out.push_back({words + in.runs.begin(r), in.runs.ends[r] - in.runs.begin(r)});
  return out;
}

template <class Word>
void merge_words_by_tree(const kernel_input& in, row_output& out) {
  word_merge<Word>(spans<Word>(in)).take(reinterpret_cast<Word*>(out.data()), in.runs.rows.num_rows);
}

template <class Word>
void sort_slices_of_words(const kernel_input& in, row_output& out) {
  auto sequences = spans<Word>(in);
  auto* to = reinterpret_cast<Word*>(out.data());
  while (const size_t count = cut_slice(sequences, slice_bytes / sizeof(Word), to)) {
    sort_words(to, count);
    to += count;
  }
}

template <class Word>
void merge_slices_of_words(const kernel_input& in, row_output& out) {
  auto sequences = spans<Word>(in);
  auto* to = reinterpret_cast<Word*>(out.data());
  std::vector<Word> slice(slice_bytes / sizeof(Word));
  std::vector<size_t> counts;
  while (const size_t count = measure_slice(sequences, slice.size(), counts)) {
    std::vector<word_span<Word>> parts;
    Word* end = slice.data();
    for (size_t i = 0; i < sequences.size(); ++i) {
      if (counts[i] == 0) continue;
      parts.push_back({end, counts[i]});
      sequences[i].take(counts[i], end);
      end += counts[i];
    }
    word_merge<Word>(std::move(parts)).take(to, count);
    to += count;
  }
}

// Rows of any width, as row_slice_merger.h does.
void merge_slices_of_rows(const kernel_input& in, row_output& out) {
  const size_t num_runs = in.runs.ends.size();
  std::vector<row_span> spans, parts;
  for (uint32_t r = 0; r < num_runs; ++r)
    if (in.runs.begin(r) < in.runs.ends[r])
      spans.push_back(
          {in.row(in.runs.begin(r)), nullptr, in.runs.ends[r] - in.runs.begin(r), in.runs.rows.row_bytes, r});
  std::vector<size_t> counts;
  std::vector<row_place> places;
  while (!spans.empty()) {
    in.slices.cut(spans, std::vector<bool>(spans.size(), true), std::nullopt, slice_bytes / spans.size(), counts);
    parts.clear();
    for (size_t i = 0; i < spans.size(); ++i) {
      if (counts[i] == 0) continue;
      parts.push_back(spans[i].first(counts[i]));
      spans[i].drop(counts[i]);
    }
    std::erase_if(spans, [](const row_span& s) { return s.num_rows == 0; });
    in.slices.merge(parts, false, places);
    for (const row_place& row : places) out.put(row.row, row.heap);
  }
}

std::vector<shape> all_shapes() {
  const auto random_bytes = [](size_t num_bytes) {
    return [num_bytes](std::mt19937_64& random, std::byte* row) {
      for (size_t i = 0; i < num_bytes; ++i) row[i] = static_cast<std::byte>(random());
      return std::string();
    };
  };
  const auto text = [](std::string front, size_t min_bytes, size_t max_bytes) {
    return [=](std::mt19937_64& random, std::byte*) {
      std::string out = front;
      const size_t num_bytes = min_bytes + random() % (max_bytes - min_bytes + 1);
      while (out.size() < num_bytes) out += static_cast<char>('a' + random() % 26);
      return out;
    };
  };
  const auto path = [](std::mt19937_64& random, std::byte*) {
    std::string out = "/usr/share";
    for (uint64_t depth = 1 + random() % 5; depth > 0; --depth) out += "/directory" + std::to_string(random() % 10);
    return out + "/file" + std::to_string(random() % 100'000);
  };
  const auto few_values = [](std::mt19937_64& random, std::byte* row) {
    const uint32_t a = random() % 4, b = random() % 8;
    const uint64_t c = random() % 16, d = random();
    std::memcpy(row, &a, 4);
    std::memcpy(row + 4, &b, 4);
    std::memcpy(row + 8, &c, 8);
    std::memcpy(row + 16, &d, 8);
    return std::string();
  };
  const record::key first = {{0, false, 0, 0}};
  const record::row_type line = type_of({"string"});
  return {
      {"8 bytes, key u64", type_of({"u64"}), first, random_bytes(8)},
      {"16 bytes, key u64", type_of({"u64", "u64"}), {{1, false, 0, 0}, {0, false, 0, 0}}, random_bytes(16)},
      {"32 bytes, key u64", type_of({"u64", "bytes[24]"}), first, random_bytes(32)},
      {"64 bytes, key u64", type_of({"u64", "bytes[56]"}), first, random_bytes(64)},
      {"100 bytes, key bytes[10]", type_of({"bytes[10]", "bytes[90]"}), first, random_bytes(100)},
      {"200 bytes, key u64", type_of({"u64", "bytes[192]"}), first, random_bytes(200)},
      {"strings of 20-100 bytes, random", line, first, text("", 20, 100)},
      {"strings of 60-100 bytes, 40 in common", line, first, text(std::string(40, 'c'), 60, 100)},
      {"paths of 25-80 bytes", line, first, path},
      {"64 bytes, key u32 u32 u64 u64, few values",
       type_of({"u32", "u32", "u64", "u64", "bytes[40]"}),
       {{0, false, 0, 0}, {1, false, 0, 0}, {2, true, 0, 0}, {3, false, 0, 0}},
       few_values},
  };
}

using kernel = std::function<void(const kernel_input&, row_output&)>;

// In the order of the columns; null where there is none.
std::array<kernel, 4> kernels_for(const kernel_input& in) {
  if (in.type.row_bytes() == 8 && !in.type.has_strings())
    return {merge_words_by_tree<uint64_t>, nullptr, sort_slices_of_words<uint64_t>, merge_slices_of_words<uint64_t>};
  if (in.type.row_bytes() == 16 && !in.type.has_strings())
    return {merge_words_by_tree<word128>, nullptr, sort_slices_of_words<word128>, merge_slices_of_words<word128>};
  return {merge_by_prefixes, merge_by_codes, merge_by_slices, merge_slices_of_rows};
}

const char* used_by_engine(const kernel_input& in) {
  const bool sorts = in.type.row_bytes() <= 16 && !in.type.has_strings();
  return sorts ? "slices sorted" : "slices merged";
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// False when the kernels disagree.
bool print_row(const shape& s, const row_store& unsorted, size_t num_runs, unsigned num_rounds) {
  const kernel_input in(s, unsorted, num_runs);
  row_output expected(in.rows, unsorted), out(in.rows, unsorted);
  const std::array<kernel, 4> kernels = kernels_for(in);
  std::array<std::vector<double>, 4> seconds;
  bool agree = true;
  for (unsigned round = 0; round < num_rounds; ++round) {
    for (size_t k = 0; k < kernels.size(); ++k) {
      if (!kernels[k]) continue;
      row_output& to = k == 0 ? expected : out;
      to.clear();
      const double start = cpu_seconds();
      kernels[k](in, to);
      seconds[k].push_back(cpu_seconds() - start);
      if (k > 0 && round == 0 && !(out == expected)) agree = false;
    }
  }
  std::string line = fmt::format("| {} | {} |", s.name, num_runs);
  for (std::vector<double>& times : seconds) {
    std::sort(times.begin(), times.end());
    line += times.empty()
                ? " |"
                : fmt::format(" {:.1f} |", static_cast<double>(unsorted.num_rows) / times[times.size() / 2] / 1e6);
  }
  fmt::print("{} {} |\n", line, used_by_engine(in));
  std::fflush(stdout);
  if (!agree) fmt::print(stderr, "merge_kernels: the merges of {} runs of '{}' differ\n", num_runs, s.name);
  return agree;
}

}  // namespace
}  // namespace flowrun::kernels

int main(int argc, char** argv) {
  using namespace flowrun::kernels;
  const size_t megabytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 64;
  const unsigned num_rounds = argc > 2 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)) : 5;
  if (megabytes == 0 || megabytes > 2048 || num_rounds == 0) {
    fmt::print(stderr,
               "usage: merge_kernels [megabytes of rows per shape, 1-2048] [rounds] [part of a shape's name]\n");
    return 2;
  }
  fmt::print("| rows | fan-in | tree | coded tree | slices sorted | slices merged | the engine takes |\n");
  fmt::print("|---|---:|---:|---:|---:|---:|---|\n");
  bool agree = true;
  for (const shape& s : all_shapes()) {
    if (argc > 3 && std::string_view(s.name).find(argv[3]) == std::string_view::npos) continue;
    const row_store unsorted = make_rows(s, megabytes << 20);
    for (const size_t num_runs : {2, 4, 8, 16, 32, 64, 256})
      agree = print_row(s, unsorted, num_runs, num_rounds) && agree;
  }
  return agree ? 0 : 1;
}
