#include "engine/expr/chunk_writer.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/record/row_too_large.h"

namespace flowrun::expr {

namespace {

constexpr size_t usual_batch_bytes = size_t{1} << 20;
constexpr uint64_t max_heap = std::numeric_limits<uint32_t>::max();

// What a batch of computed rows refers to.
struct owners {
  std::shared_ptr<std::byte[]> rows, heap;
  std::shared_ptr<const void> input;
};

// The bytes of the input row that make up the column, if nothing has to be computed.
bool as_copy(const value_graph& graph, const record::row_type& input, record::value_type type, value_id id,
             output_copy& copy) {
  const value& v = graph[id];
  const value& source = v.op == opcode::cut ? graph[v.args[0]] : v;
  if (source.op != opcode::column) return false;
  const record::column& column = input[source.imm];
  copy.from = column.offset;
  copy.num_bytes = type.num_bytes;
  if (v.op == opcode::cut) {
    copy.from += static_cast<uint32_t>(v.imm >> 32);
    return type.is_bytes();
  }
  return type == column.type ||
         (type.is_integer() && column.type.is_integer() && type.num_bytes == column.type.num_bytes);
}

}  // namespace

output_layout plan_output(const value_graph& graph, const record::row_type& input, const record::row_type& output,
                          const std::vector<value_id>& columns, std::vector<value_id>& needed) {
  output_layout layout;
  layout.row_bytes = output.row_bytes();
  const record::batch_shape shape = record::shape_for(output);
  layout.max_rows = std::max(shape.max_rows, usual_batch_bytes / std::max<size_t>(layout.row_bytes, 1));
  layout.max_heap_bytes = output.has_strings() ? shape.target_heap_bytes : 0;
  layout.shares_heap = output.has_strings();
  for (size_t i = 0; i < columns.size(); ++i)
    if (output[i].type.is_string() && !graph[columns[i]].in_heap) layout.shares_heap = false;
  layout.copies_strings = output.has_strings() && !layout.shares_heap;

  for (size_t i = 0; i < columns.size(); ++i) {
    const record::column& column = output[i];
    output_copy copy;
    if (as_copy(graph, input, column.type, columns[i], copy) && !(column.type.is_string() && layout.copies_strings)) {
      copy.to = column.offset;
      if (!layout.copies.empty()) {
        output_copy& last = layout.copies.back();
        if (last.from + last.num_bytes == copy.from && last.to + last.num_bytes == copy.to) {
          last.num_bytes += copy.num_bytes;
          continue;
        }
      }
      layout.copies.push_back(copy);
      continue;
    }
    output_field field;
    field.type = column.type;
    field.offset = column.offset;
    field.store = column.type.is_text() ? nullptr : kernels().store[static_cast<size_t>(column.type.kind)];
    layout.fields.push_back(field);
    needed.push_back(columns[i]);
  }
  for (output_copy& copy : layout.copies) copy.copy = kernels().copy(copy.num_bytes);
  layout.is_input_row = layout.fields.empty() && layout.copies.size() == 1 && layout.copies[0].from == 0 &&
                        layout.copies[0].num_bytes == input.row_bytes() && input.row_bytes() == output.row_bytes();
  return layout;
}

chunk_writer::chunk_writer(const output_layout& layout, const record::batch* in, size_t num_rows,
                           const run_limits& limits, record::batch_pool& pool, std::vector<record::batch>& out)
    : layout_(layout), in_(in), rows_to_come_(num_rows), pool_(pool), out_(out), limits_(limits) {}

void chunk_writer::make_room(size_t count) {
  if (num_rows_ + count <= capacity_) return;
  finish();
  const size_t row_bytes = std::max<size_t>(layout_.row_bytes, 1);
  // Counts the chunk that fills the batch, too.
  const uint64_t enough = std::min<uint64_t>(limits_.num_bytes / row_bytes, layout_.max_rows) + count;
  capacity_ = std::max<size_t>(count, std::min<uint64_t>({rows_to_come_, layout_.max_rows, enough}));
  rows_ = pool_.take(capacity_ * row_bytes);
}

void chunk_writer::append_unchanged(size_t first, size_t count) {
  while (count > 0) {
    make_room(1);
    const size_t part = std::min(count, capacity_ - num_rows_);
    std::memcpy(rows_.get() + num_rows_ * layout_.row_bytes, in_->row(first), part * layout_.row_bytes);
    num_rows_ += part;
    first += part;
    count -= part;
  }
}

// The bytes that a row's strings take.
uint64_t chunk_writer::heap_bytes_of(const chunk_frame& frame, size_t row) const {
  uint64_t total = 0;
  for (const output_field& field : layout_.fields) {
    if (!field.type.is_string()) continue;
    const text_operand texts = frame.operand(field.place);
    total += static_cast<const std::string_view*>(texts.data)[row * texts.step].size();
  }
  if (total > max_heap)
    throw error(error_kind::bad_data, fmt::format("the strings of one row take {}", format_bytes(total)),
                "a row's strings are at most 4 GiB together; cut them with text[0:n]");
  return total;
}

// Output rows that are very wide come a few at a time.
size_t chunk_writer::rows_wanted(const chunk_frame& frame) const {
  return std::min(frame.rows_wanted(), std::max<size_t>(usual_batch_bytes / std::max<size_t>(layout_.row_bytes, 1), 1));
}

size_t chunk_writer::append(chunk_frame& frame, size_t first, size_t count) {
  if (count == 0) return frame.num_taken();
  if (!layout_.copies_strings) {
    make_room(count);
    append_range(frame, first, 0, count);
    return frame.num_taken();
  }
  const size_t num_written = append_with_strings(frame, first, count);
  if (num_written == count) return frame.num_taken();
  const size_t num_done = frame.position(num_written);
  frame.want_rows(num_done);
  return num_done;
}

size_t chunk_writer::append_with_strings(const chunk_frame& frame, size_t first, size_t count) {
  // Ranges of rows whose strings fit into the heap of one batch: usually the whole chunk.
  const uint64_t most_heap = 2 * layout_.max_heap_bytes;
  size_t from = 0;
  while (from < count && !full()) {
    if (heap_bytes_ >= layout_.max_heap_bytes) finish();
    uint64_t needed = 0;
    size_t to = from;
    for (; to < count; ++to) {
      const uint64_t of_row = heap_bytes_of(frame, to);
      if (to > from && heap_bytes_ + needed + of_row > most_heap) break;
      needed += of_row;
    }
    if (heap_bytes_ > 0 && heap_bytes_ + needed > most_heap) finish();  // a long row gets a batch of its own
    make_room(to - from);
    if (const uint64_t num_bytes = needed + layout_.row_bytes; to - from == 1 && num_bytes > limits_.row_bytes)
      throw record::row_too_large(num_bytes, limits_.row_bytes);
    reserve_heap(needed);
    append_range(frame, first, from, to - from);
    from = to;
  }
  return from;
}

void chunk_writer::reserve_heap(uint64_t num_bytes) {
  const uint64_t wanted = heap_bytes_ + num_bytes;
  if (wanted <= heap_capacity_) return;
  const uint64_t capacity = std::max<uint64_t>(wanted, 2 * heap_capacity_);
  std::shared_ptr<std::byte[]> larger = pool_.take(capacity);
  if (heap_bytes_ > 0) std::memcpy(larger.get(), heap_.get(), heap_bytes_);
  heap_ = std::move(larger);
  heap_capacity_ = capacity;
}

void chunk_writer::append_range(const chunk_frame& frame, size_t first, size_t from, size_t count) {
  std::byte* const to = rows_.get() + num_rows_ * layout_.row_bytes;
  const uint16_t* const selected = frame.selected();
  for (const output_copy& copy : layout_.copies) {
    const std::byte* const source = in_->row(first + (selected != nullptr ? 0 : from)) + copy.from;
    copy.copy(to + copy.to, layout_.row_bytes, source, in_->row_bytes, selected != nullptr ? selected + from : nullptr,
              copy.num_bytes, count);
  }
  for (const output_field& field : layout_.fields) {
    std::byte* const at = to + field.offset;
    if (field.store != nullptr) {
      field.store(at, layout_.row_bytes, frame.numbers(field.place) + from, count);
      continue;
    }
    const text_operand texts = frame.operand(field.place);
    if (field.type.is_string()) {
      put_strings(at, texts, from, count);
      continue;
    }
    const auto* const views = static_cast<const std::string_view*>(texts.data);
    for (size_t i = 0; i < count; ++i)
      std::memcpy(at + i * layout_.row_bytes, views[(from + i) * texts.step].data(), field.type.num_bytes);
  }
  num_rows_ += count;
}

void chunk_writer::put_strings(std::byte* field, const text_operand& texts, size_t from, size_t count) {
  const auto* const views = static_cast<const std::string_view*>(texts.data);
  const char* const shared = layout_.shares_heap ? reinterpret_cast<const char*>(in_->heap) : nullptr;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view text = views[(from + i) * texts.step];
    record::string_ref ref{0, static_cast<uint32_t>(text.size())};
    if (!text.empty()) {
      if (layout_.shares_heap) {
        ref.offset = static_cast<uint32_t>(text.data() - shared);
      } else {
        std::memcpy(heap_.get() + heap_bytes_, text.data(), text.size());
        ref.offset = static_cast<uint32_t>(heap_bytes_);
        heap_bytes_ += text.size();
      }
    }
    std::memcpy(field + i * layout_.row_bytes, &ref, sizeof ref);
  }
}

void chunk_writer::finish() {
  if (num_rows_ > 0) {
    const size_t num_bytes = num_rows_ * layout_.row_bytes;
    // A batch that a filter left nearly empty shouldn't hold a large buffer for long.
    if (num_rows_ < capacity_ / 4) {
      std::shared_ptr<std::byte[]> smaller = pool_.take(std::max<size_t>(num_bytes, 1));
      std::memcpy(smaller.get(), rows_.get(), num_bytes);
      rows_ = std::move(smaller);
    }
    record::batch done;
    done.rows = rows_.get();
    done.num_rows = num_rows_;
    done.row_bytes = static_cast<uint32_t>(layout_.row_bytes);
    auto held = std::make_shared<owners>();
    held->rows = std::move(rows_);
    if (layout_.shares_heap && in_ != nullptr) {
      done.heap = in_->heap;
      done.heap_bytes = in_->heap_bytes;
      held->input = in_->owner;
    } else if (heap_bytes_ > 0) {
      done.heap = heap_.get();
      done.heap_bytes = heap_bytes_;
      held->heap = std::move(heap_);
    }
    done.owner = std::move(held);
    num_bytes_ += num_bytes + (layout_.shares_heap ? 0 : heap_bytes_);
    rows_to_come_ -= std::min(rows_to_come_, num_rows_);
    out_.push_back(std::move(done));
  }
  rows_.reset();
  heap_.reset();
  num_rows_ = capacity_ = 0;
  heap_bytes_ = heap_capacity_ = 0;
}

}  // namespace flowrun::expr
