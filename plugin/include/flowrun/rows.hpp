// Rows in C++20: types, batches, and what a step makes; included by flowrun/plugin.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "flowrun/error.hpp"
#include "flowrun/plugin.h"

namespace fr {

// A column of rows.
struct column {
  std::string name;
  fr_type type{FR_U64, 8};
  uint32_t offset = 0;  // from the start of the row; row_type sets it
};

// Of decimal[S] S, and nothing of every other type.
inline std::optional<uint32_t> decimal_scale(fr_type type) {
  constexpr uint32_t most = 18;
  if (type.kind < FR_DECIMAL || type.kind > FR_DECIMAL + most) return std::nullopt;
  return type.kind - FR_DECIMAL;
}

inline uint32_t width_of(fr_type type) {
  constexpr uint32_t widths[] = {1, 1, 2, 3, 4, 5, 6, 8, 1, 2, 4, 8, 4, 8, 0, 8, 4, 8};
  if (decimal_scale(type)) return 8;
  return type.kind == FR_BYTES ? type.num_bytes : widths[type.kind];
}

// Named, typed columns, packed in their order.
class row_type {
 public:
  row_type() = default;
  explicit row_type(std::vector<column> columns) : columns_(std::move(columns)) {
    for (column& c : columns_) {
      c.offset = row_bytes_;
      row_bytes_ += width_of(c.type);
      has_strings_ = has_strings_ || c.type.kind == FR_STRING;
    }
  }
  const std::vector<column>& columns() const { return columns_; }
  const column& operator[](size_t i) const { return columns_[i]; }
  uint32_t row_bytes() const { return row_bytes_; }
  bool has_strings() const { return has_strings_; }
  // Its place; nullopt: there is no such column.
  std::optional<size_t> find(std::string_view name) const {
    for (size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i].name == name) return i;
    return std::nullopt;
  }

 private:
  std::vector<column> columns_;
  uint32_t row_bytes_ = 0;
  bool has_strings_ = false;
};

// A key by which rows are sorted.
struct order_term {
  std::string column;
  bool descending = false;
  uint32_t from = 0, length = 0;  // of a bytes[N] column; 0: all of it
};
using order = std::vector<order_term>;

// How many rows a stream has.
struct estimate {
  uint64_t rows = 0, num_bytes = 0;
  bool known = false, exact = false;
  uint64_t most_rows = std::numeric_limits<uint64_t>::max(), most_bytes = std::numeric_limits<uint64_t>::max();
};

namespace detail {

inline std::vector<fr_column> as_columns(const row_type& type) {
  std::vector<fr_column> out;
  for (const column& c : type.columns()) out.push_back({as_text(c.name), c.type, c.offset, 0});
  return out;
}
inline row_type as_row_type(const fr_row_type& type) {
  std::vector<column> out;
  for (size_t i = 0; i < type.num_columns; ++i)
    out.push_back({std::string(as_view(type.columns[i].name)), type.columns[i].type});
  return row_type(std::move(out));
}
inline order as_order(const fr_order_term* terms, size_t count) {
  order out;
  for (size_t i = 0; i < count; ++i)
    out.push_back({std::string(as_view(terms[i].column)), terms[i].is_descending != 0, terms[i].from, terms[i].length});
  return out;
}

}  // namespace detail

namespace detail {

inline std::vector<fr_order_term> as_terms(const order& terms) {
  std::vector<fr_order_term> out;
  for (const order_term& t : terms) out.push_back({as_text(t.column), t.descending, t.from, t.length, 0});
  return out;
}

}  // namespace detail

// Rows on their way.
class batch {
 public:
  batch() = default;
  explicit batch(const fr_batch& raw) : raw_(raw) {}
  size_t size() const { return raw_.num_rows; }
  bool empty() const { return raw_.num_rows == 0; }
  uint64_t first_row() const { return raw_.first_row; }
  const unsigned char* row(size_t i) const { return raw_.rows + i * raw_.row_bytes; }
  // The number of a column with this offset, of a type as wide as T.
  template <class T>
  T get(size_t i, uint32_t offset) const {
    T out;
    std::memcpy(&out, row(i) + offset, sizeof out);
    return out;
  }
  // The string of a column with this offset.
  std::string_view text(size_t i, uint32_t offset) const {
    const auto at = get<fr_string>(i, offset);
    return {reinterpret_cast<const char*>(raw_.heap) + at.offset, at.length};
  }
  // Leaves the first rows out: what a push that blocks has taken.
  void advance(size_t count) {
    raw_.rows += count * raw_.row_bytes;
    raw_.num_rows -= count;
    raw_.first_row += count;
  }
  const fr_batch& raw() const { return raw_; }
  fr_batch& raw() { return raw_; }

 private:
  fr_batch raw_{};
};

// What a step comes to. A bool is one, too: whether there is more.
class outcome {
 public:
  outcome(bool more) : code_(more ? FR_OK : FR_DONE) {}  // NOLINT: as a bool
  explicit outcome(int code) : code_(code) {}
  static outcome ready() { return outcome(FR_OK); }
  static outcome done() { return outcome(FR_DONE); }
  // Not now. Who woke the node's waker makes flowrun call the step again.
  static outcome blocked(int on = FR_BLOCKED_IO) { return outcome(on); }
  bool is_ready() const { return code_ == FR_OK; }
  bool is_done() const { return code_ == FR_DONE; }
  bool is_blocked() const { return code_ >= FR_BLOCKED_IO; }
  int code() const { return code_; }

 private:
  int code_;
};

// Flowrun has noted already why there is no memory, or what is wrong with a batch.
struct noted_failure {};

// What the step may still make, as of the last batch that went out.
class step_room {
 public:
  explicit step_room(const fr_out& raw) : raw_(raw), left_(raw.room(raw.self)) {}
  uint64_t left() const { return left_; }
  // Hands on a batch.
  void emit(uint32_t port, const fr_batch& b) {
    if (raw_.emit(raw_.self, port, &b) != FR_OK) throw noted_failure();
    left_ = raw_.room(raw_.self);
  }

 private:
  const fr_out& raw_;
  uint64_t left_;
};

// Rows for one output, one after the other; they go out by themselves.
class row_writer {
 public:
  // With `texts`, all texts are parts of this batch's: they are referred to, not copied.
  row_writer(const fr_out& raw, step_room& room, const row_type& type, uint32_t port, const batch* texts = nullptr)
      : raw_(raw),
        room_(room),
        type_(type),
        port_(port),
        shared_heap_(texts == nullptr ? nullptr : texts->raw().heap),
        shared_bytes_(texts == nullptr ? 0 : texts->raw().heap_bytes),
        row_bytes_(type.row_bytes()),
        heap_target_(std::max<size_t>(raw.batch_bytes / 2, 1)),
        batch_rows_(std::max<size_t>(
            (type.has_strings() && texts == nullptr ? heap_target_ : raw.batch_bytes) / std::max<size_t>(row_bytes_, 1),
            1)) {}

  // A row whose bytes the caller sets, before the next one: numbers with put(), strings with put_text(). The bytes of a
  // row of the input may be copied, but then its strings are to be put once more: they lie in another heap.
  unsigned char* append() {
    if (num_rows_ == most_rows_ || heap_bytes_ >= heap_target_) flush();
    if (num_rows_ == 0) start();
    return rows_ + num_rows_++ * row_bytes_;
  }
  // For tight loops: where the next rows go, and how many of them have room there, at least one. added() says how many
  // were written. A step that fills it has made a batch: it leaves the rest.
  struct space {
    unsigned char* at;
    size_t rows;
  };
  space next_rows() {
    if (num_rows_ == most_rows_ || heap_bytes_ >= heap_target_) flush();
    if (num_rows_ == 0) start();
    return {rows_ + num_rows_ * row_bytes_, most_rows_ - num_rows_};
  }
  void added(size_t count) { num_rows_ += count; }
  // For packed rows without strings: f(const In& row, Out& to) says whether `to` is kept, for rows of `in` from `from`
  // on until the batch is complete. Returns how many of them are done. The loop has no branch on what f says.
  template <class In, class Out, class F>
  size_t put_some(const batch& in, size_t from, F f) {
    static_assert(std::is_trivially_copyable_v<In> && std::is_trivially_copyable_v<Out>);
    if (sizeof(In) > in.raw().row_bytes || sizeof(Out) != row_bytes_)
      throw error("the structs of put_each() are not as large as the rows", "tell the author of the plugin",
                  FR_INTERNAL);
    if (num_rows_ == most_rows_) flush();
    if (num_rows_ == 0) start();
    const size_t count = std::min(in.size() - from, most_rows_ - num_rows_), step = in.raw().row_bytes;
    const unsigned char* row = in.row(from);
    unsigned char* to = rows_ + num_rows_ * sizeof(Out);
    for (size_t i = 0; i < count; ++i, row += step) {
      In given;
      std::memcpy(&given, row, sizeof given);
      Out made;
      const bool is_kept = f(const_cast<const In&>(given), made);
      std::memcpy(to, &made, sizeof made);
      to += is_kept ? sizeof made : 0;
    }
    num_rows_ = static_cast<size_t>(to - rows_) / sizeof(Out);
    return count;
  }
  template <class T>
  static void put(unsigned char* row, uint32_t offset, T value) {
    std::memcpy(row + offset, &value, sizeof value);
  }
  // Into the row that was appended last.
  void put_text(unsigned char* row, uint32_t offset, std::string_view text) {
    if (shared_heap_ != nullptr) {
      const auto at = static_cast<uint32_t>(reinterpret_cast<const unsigned char*>(text.data()) - shared_heap_);
      return put(row, offset, fr_string{at, static_cast<uint32_t>(text.size())});
    }
    if (heap_bytes_ + text.size() > heap_capacity_) {
      // Twice as much where there is so much: a batch, and one row more.
      const auto most = static_cast<size_t>(raw_.longest_row + raw_.batch_bytes);
      const size_t capacity =
          std::max(heap_bytes_ + text.size(), heap_bytes_ == 0 ? heap_target_ : std::min(2 * heap_bytes_, most));
      auto* const larger = static_cast<unsigned char*>(take(capacity));
      if (heap_bytes_ > 0) std::memcpy(larger, heap_, heap_bytes_);
      heap_ = larger;
      heap_capacity_ = capacity;
    }
    if (!text.empty()) std::memcpy(heap_ + heap_bytes_, text.data(), text.size());
    put(row, offset, fr_string{static_cast<uint32_t>(heap_bytes_), static_cast<uint32_t>(text.size())});
    heap_bytes_ += text.size();
  }
  void flush() {
    if (num_rows_ > 0) {
      const bool shares = shared_heap_ != nullptr;
      const fr_batch b{
          rows_, num_rows_, type_.row_bytes(), 0, shares ? shared_heap_ : heap_, shares ? shared_bytes_ : heap_bytes_,
          0};
      room_.emit(port_, b);
    }
    // The rest is for the next batch: where rows that are passed on stand in between, batches may be short.
    rows_ = num_rows_ == most_rows_ ? nullptr : rows_ + num_rows_ * row_bytes_;
    most_rows_ = num_rows_ == most_rows_ ? batch_rows_ : most_rows_ - num_rows_;
    heap_ += heap_bytes_;
    heap_capacity_ -= heap_bytes_;
    num_rows_ = heap_bytes_ = 0;
  }
  uint32_t port() const { return port_; }
  // What was written since the last batch went out.
  uint64_t num_bytes() const { return num_rows_ * row_bytes_ + heap_bytes_; }

 private:
  // Room for a batch, unless there is some left. A string that is not put is empty.
  void start() {
    if (rows_ != nullptr) return;
    rows_ = static_cast<unsigned char*>(take(batch_rows_ * row_bytes_));
    if (type_.has_strings()) std::memset(rows_, 0, batch_rows_ * row_bytes_);
  }
  void* take(size_t num_bytes) {
    void* const out = raw_.take(raw_.self, num_bytes);
    if (out == nullptr) throw noted_failure();
    return out;
  }

  const fr_out& raw_;
  step_room& room_;
  const row_type& type_;
  const uint32_t port_;
  const unsigned char* const shared_heap_;
  const size_t shared_bytes_, row_bytes_, heap_target_, batch_rows_;
  unsigned char *rows_ = nullptr, *heap_ = nullptr;
  size_t most_rows_ = batch_rows_;  // in the memory at hand
  size_t num_rows_ = 0, heap_bytes_ = 0, heap_capacity_ = 0;
};

// Where a step leaves what it makes.
class out {
 public:
  explicit out(const fr_out& raw) : raw_(raw), room_(raw) {}
  out(const out&) = delete;
  out& operator=(const out&) = delete;

  // Writes rows of `type`, which outlives the step, to an output. What was written goes out at the end of the step.
  row_writer& rows(const row_type& type, uint32_t port = 0) {
    for (row_writer& w : writers_)
      if (w.port() == port) return w;
    return writers_.emplace_back(raw_, room_, type, port);
  }
  // A loop over packed rows without strings, for operators that compute numbers: f(const In& row, Out& to) says whether
  // `to` goes on. In and Out are packed structs of the rows' columns; In may be shorter than the row. Where the step
  // has made enough, the rest comes again.
  template <class In, class Out, class F>
  void put_each(const batch& in, const row_type& type, F f, uint32_t port = 0) {
    row_writer& writer = rows(type, port);
    for (size_t i = 0; i < in.size();) {
      if (i > 0 && full()) return leave(i);
      i += writer.put_some<In, Out>(in, i, f);
    }
  }
  // The same for rows whose texts are parts of the texts of `in`.
  row_writer& rows_with_texts_of(const batch& in, const row_type& type, uint32_t port = 0) {
    for (row_writer& w : writers_)
      if (w.port() == port) return w;
    return writers_.emplace_back(raw_, room_, type, port, &in);
  }
  // Hands on rows of the input, [from, from + count), as they are, behind what was written.
  void pass(const batch& in, size_t from, size_t count, uint32_t port = 0) {
    for (row_writer& w : writers_)
      if (w.port() == port) w.flush();
    fr_batch part = in.raw();
    part.rows = in.row(from);
    part.num_rows = count;
    part.first_row += from;
    room_.emit(port, part);
  }
  // Whole batches of an operator that lays out rows by itself: memory for rows or strings (see fr_out.take), and a
  // batch that lies there, which goes out behind what was written. About batch_bytes() is right for both together.
  unsigned char* take(size_t num_bytes) {
    auto* const taken = static_cast<unsigned char*>(raw_.take(raw_.self, num_bytes));
    if (taken == nullptr) throw noted_failure();
    return taken;
  }
  void emit(const fr_batch& whole, uint32_t port = 0) {
    for (row_writer& w : writers_)
      if (w.port() == port) w.flush();
    room_.emit(port, whole);
  }
  size_t batch_bytes() const { return raw_.batch_bytes; }
  // No more should be made in this step: leave() the rows that aren't done, and return.
  bool full() const {
    if (writers_.size() == 1) return writers_.front().num_bytes() >= room_.left();
    uint64_t written = 0;
    for (const row_writer& w : writers_) written += w.num_bytes();
    return written >= room_.left();
  }
  void leave(size_t row, uint64_t within = 0) { raw_.leave(raw_.self, row, within); }
  uint64_t within() const { return raw_.within; }

  // --- for the loop ---
  void finish() {
    for (row_writer& w : writers_) w.flush();
  }

 private:
  const fr_out& raw_;
  step_room room_;
  std::deque<row_writer> writers_;
};

}  // namespace fr
