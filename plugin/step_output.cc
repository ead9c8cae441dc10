#include "plugin/step_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "engine/base/units.h"
#include "engine/record/row_too_large.h"
#include "plugin/codes.h"
#include "plugin/row_reader.h"
#include "plugin/texts.h"

namespace flowrun::plugins {

namespace {

bool lies_in(const void* from, size_t num_bytes, const void* begin, size_t size) {
  const auto at = reinterpret_cast<uintptr_t>(from), start = reinterpret_cast<uintptr_t>(begin);
  return at >= start && num_bytes <= size && at - start <= size - num_bytes;
}

bool holds(const record::batch& b, const void* from, size_t num_bytes) {
  return lies_in(from, num_bytes, b.rows, b.num_rows * b.row_bytes) || lies_in(from, num_bytes, b.heap, b.heap_bytes);
}

// Else a later node would read anything, or crash.
bool strings_lie_in_heap(const fr_batch& b, uint32_t offset) {
  uint64_t furthest = 0;
  const unsigned char* field = b.rows + offset;
  for (size_t i = 0; i < b.num_rows; ++i, field += b.row_bytes) {
    fr_string s;
    std::memcpy(&s, field, sizeof s);
    furthest = std::max(furthest, uint64_t{s.offset} + s.length);
  }
  return furthest <= b.heap_bytes;
}

// A bool is compared as the byte that it is, and another one would be a third value.
bool booleans_are_0_or_1(const fr_batch& b, uint32_t offset) {
  unsigned char all = 0;
  const unsigned char* field = b.rows + offset;
  for (size_t i = 0; i < b.num_rows; ++i, field += b.row_bytes) all |= *field;
  return all <= 1;
}

}  // namespace

fr_batch as_batch(const record::batch& b) {
  return {reinterpret_cast<const unsigned char*>(b.rows), b.num_rows,   b.row_bytes, 0,
          reinterpret_cast<const unsigned char*>(b.heap), b.heap_bytes, b.first_row};
}

fr_out step_output::begin() {
  fr_out table{};
  table.size = sizeof table;
  table.self = this;
  table.batch_bytes = node_.batches.target_bytes;
  table.longest_row = node_.batches.row_bytes;
  table.within = out_.within();
  table.problem = &problem_;
  table.take = [](void* self, size_t num_bytes) { return static_cast<step_output*>(self)->take(num_bytes); };
  table.emit = [](void* self, uint32_t port, const fr_batch* b) {
    return static_cast<step_output*>(self)->emit(port, *b);
  };
  table.room = [](void* self) { return static_cast<step_output*>(self)->room(); };
  table.leave = [](void* self, size_t row, uint64_t within) {
    step_output& s = *static_cast<step_output*>(self);
    if (s.in_ != nullptr && row < s.in_->num_rows)
      s.left_ = {row, within};
    else if (s.in_ == nullptr || row > s.in_->num_rows)
      note_failure(&s.problem_, FR_INTERNAL, as_text("it leaves rows that it was not handed"),
                   as_text("tell the author of the plugin"));
  };
  if (waker_ != nullptr) {
    node_.step = this;
    node_.waker->point_to(waker_);
  }
  return table;
}

int step_output::end(int done) {
  if (waker_ != nullptr) node_.step = nullptr;
  // Also where the plugin went on after something had failed: rows are missing.
  const std::optional<outcome> o = outcome_of(done);
  if (problem_.raised || problem_.kind != 0 || !o) raise(problem_, node_.who);
  give_gathered();
  if (o->is_blocked() && waker_ == nullptr) node_.refuse("a stateless step is blocked, and nobody would wake it");
  if (left_ && !o->is_blocked()) out_.leave(left_->first, left_->second);
  return done;
}

void* step_output::take(size_t num_bytes) {
  try {
    // A batch, and one row more.
    const uint64_t target = node_.batches.target_bytes;
    if (num_bytes > node_.batches.row_bytes + 2 * target)
      throw record::row_too_large(num_bytes, node_.batches.row_bytes);
    // What a step makes lies in memory until it ends.
    taken_ += num_bytes;
    if (taken_ > 4 * node_.batches.row_bytes + 16 * target)
      throw error(error_kind::internal,
                  fmt::format("{}: one step took {} of memory, where a batch takes {}", node_.who, format_bytes(taken_),
                              format_bytes(target)),
                  "tell the author of the plugin: a step asks full(), calls leave() and returns");
    pieces_.push_back({node_.services.pool().take(num_bytes), num_bytes});
    return pieces_.back().data.get();
  } catch (...) {
    problem_.raised = std::current_exception();
    return nullptr;
  }
}

// Who keeps these bytes alive; null: nobody that is known.
std::shared_ptr<const void> step_output::owner_of(const void* from, size_t num_bytes) const {
  for (const piece& p : pieces_)
    if (lies_in(from, num_bytes, p.data.get(), p.num_bytes)) return p.data;
  if (in_ != nullptr && holds(*in_, from, num_bytes)) return in_->owner;
  if (waker_ == nullptr) return nullptr;
  for (const row_reader* reader : node_.readers)
    if (reader->at_front() != nullptr && holds(*reader->at_front(), from, num_bytes)) return reader->at_front()->owner;
  return nullptr;
}

void step_output::check_shape(const fr_batch& b, const record::row_type& type) const {
  if (b.num_rows > (uint64_t{1} << 32)) node_.refuse("it gives more rows at once than there is memory for");
  if (b.row_bytes != type.row_bytes())
    node_.refuse(fmt::format("it gives rows of {} bytes where rows have {}", b.row_bytes, type.row_bytes()));
  if (b.rows == nullptr) node_.refuse("it gives rows that lie nowhere");
}

void step_output::check_values(const fr_batch& b, const record::row_type& type) const {
  for (const record::column& c : type.columns()) {
    if (c.type.is_string() && !strings_lie_in_heap(b, c.offset))
      node_.refuse(fmt::format("it gives rows whose column '{}' has a string outside of their heap", c.name));
    if (c.type.is_boolean() && !booleans_are_0_or_1(b, c.offset))
      node_.refuse(fmt::format("it gives rows whose column '{}' has a bool that is neither 0 nor 1", c.name));
  }
}

// Only memory that is known to be there is looked at.
record::batch step_output::owned(const fr_batch& b, const record::row_type& type) const {
  check_shape(b, type);
  record::batch out;
  const std::shared_ptr<const void> rows = owner_of(b.rows, b.num_rows * b.row_bytes);
  if (rows == nullptr) node_.refuse("it gives rows that lie neither in what it was handed nor in memory that it took");
  std::shared_ptr<const void> heap;
  if (type.has_strings() && b.heap_bytes > 0) {
    heap = owner_of(b.heap, b.heap_bytes);
    if (heap == nullptr)
      node_.refuse("it gives strings that lie neither in what it was handed nor in memory that it took");
    out.heap = reinterpret_cast<const std::byte*>(b.heap);
    out.heap_bytes = b.heap_bytes;
  }
  check_values(b, type);
  out.rows = reinterpret_cast<const std::byte*>(b.rows);
  out.num_rows = b.num_rows;
  out.row_bytes = b.row_bytes;
  out.first_row = b.first_row;
  using both = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
  out.owner = heap == nullptr || heap == rows ? rows : std::make_shared<const both>(rows, heap);
  return out;
}

// A whole batch that was handed to the step: keeping it keeps no more than its rows.
bool step_output::is_whole_batch(const fr_batch& b) const {
  const auto is = [&](const record::batch* known) {
    return known != nullptr && reinterpret_cast<const std::byte*>(b.rows) == known->rows &&
           b.num_rows == known->num_rows && reinterpret_cast<const std::byte*>(b.heap) == known->heap;
  };
  return is(in_) || std::any_of(node_.readers.begin(), node_.readers.end(),
                                [&](const row_reader* reader) { return is(reader->at_front()); });
}

record::batch step_output::kept(const fr_batch& b, const record::row_type& type) const {
  if (is_whole_batch(b)) return owned(b, type);
  check_shape(b, type);
  if (b.heap == nullptr && b.heap_bytes > 0) node_.refuse("it gives strings that lie nowhere");
  check_values(b, type);
  size_t text_bytes = 0;
  for (const record::column& c : type.columns())
    for (size_t i = 0; c.type.is_string() && i < b.num_rows; ++i)
      text_bytes += record::load_ref(reinterpret_cast<const std::byte*>(b.rows) + i * b.row_bytes + c.offset).length;
  const size_t row_bytes = b.num_rows * b.row_bytes;
  const std::shared_ptr<std::byte[]> copy = node_.services.pool().take(row_bytes + text_bytes);
  std::memcpy(copy.get(), b.rows, row_bytes);
  size_t at = 0;
  for (const record::column& c : type.columns())
    for (size_t i = 0; c.type.is_string() && i < b.num_rows; ++i) {
      std::byte* const field = copy.get() + i * b.row_bytes + c.offset;
      record::string_ref text = record::load_ref(field);
      if (text.length > 0) std::memcpy(copy.get() + row_bytes + at, b.heap + text.offset, text.length);
      text.offset = static_cast<uint32_t>(at);
      std::memcpy(field, &text, sizeof text);
      at += text.length;
    }
  record::batch out;
  out.rows = copy.get();
  out.num_rows = b.num_rows;
  out.row_bytes = b.row_bytes;
  out.heap = copy.get() + row_bytes;
  out.heap_bytes = text_bytes;
  out.first_row = b.first_row;
  out.owner = copy;
  return out;
}

int step_output::emit(uint32_t port, const fr_batch& b) {
  try {
    if (port >= node_.outputs.size())
      node_.refuse(fmt::format("it gives rows to output {}, which it doesn't have", port));
    if (b.num_rows == 0) return FR_OK;
    if (port == 0) node_.given += b.num_rows;
    give(owned(b, *node_.outputs[port]), port);
    return FR_OK;
  } catch (...) {
    if (!problem_.raised) problem_.raised = std::current_exception();
    return FR_FAILED;
  }
}

uint64_t step_output::room() const {
  const uint64_t room = out_.room();
  return room - std::min(room, few_bytes_);
}

void step_output::give(record::batch b, unsigned port) {
  constexpr size_t few_bytes = 4 * KiB;
  const uint64_t num_bytes = b.num_rows * b.row_bytes;
  if (few_.empty()) few_.resize(node_.outputs.size());
  few_rows& few = few_[port];
  const uint64_t text_bytes = b.heap == out_.input_heap() ? 0 : b.heap_bytes;
  const bool is_one_of_few = num_bytes + text_bytes <= few_bytes;
  const bool goes_on = few.rows.num_rows > 0 && is_one_of_few && b.heap == few.rows.heap &&
                       few_bytes_ + num_bytes <= node_.batches.target_bytes;
  if (goes_on) {
    few.append(b, node_.services.pool());
  } else {
    few_bytes_ -= few.rows.num_rows * few.rows.row_bytes;
    if (few.rows.num_rows > 0) out_.emit(std::move(few.rows), port);
    few = {};
    if (!is_one_of_few) return out_.emit(std::move(b), port);
    few.rows = std::move(b);
  }
  few_bytes_ += num_bytes;
}

void step_output::few_rows::append(const record::batch& more, record::batch_pool& pool) {
  const size_t before = rows.num_rows * rows.row_bytes, added = more.num_rows * more.row_bytes;
  if (memory == nullptr || before + added > capacity) {
    capacity = 2 * (before + added);
    std::shared_ptr<std::byte[]> larger = pool.take(capacity);
    std::memcpy(larger.get(), rows.rows, before);
    using both = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
    const std::shared_ptr<const void> heap = rows.heap_bytes > 0 ? more.owner : nullptr;
    rows.rows = larger.get();
    rows.owner = std::make_shared<const both>(larger, heap);
    memory = std::move(larger);
  }
  std::memcpy(memory.get() + before, more.rows, added);
  rows.num_rows += more.num_rows;
  rows.heap_bytes = std::max(rows.heap_bytes, more.heap_bytes);
}

void step_output::give_gathered() {
  for (size_t port = 0; port < few_.size(); ++port)
    if (few_[port].rows.num_rows > 0) out_.emit(std::move(few_[port].rows), static_cast<unsigned>(port));
  few_.clear();
  few_bytes_ = 0;
}

}  // namespace flowrun::plugins
