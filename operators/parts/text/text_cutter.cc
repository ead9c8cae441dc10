#include "operators/parts/text/text_cutter.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace flowrun::operators {

namespace {

constexpr size_t least_long_record = MiB;

}  // namespace

// The piece that is being cut is [piece, end); [piece, records) are whole records.
struct text_cutter::cut {
  const std::shared_ptr<const void>& owner;
  const char* begin;
  const char* end;
  std::vector<text_piece>& out;
  const char* piece;
  const char* records;
};

void refuse_length(const cutter_options& options, const std::string& path, uint64_t line) {
  const bool memory = options.more_memory_helps;
  std::string advice = "split it";
  if (memory)
    advice =
        fmt::format("give the job more memory (-m, or memory: under resources:), so that '{}' has more", options.node);
  throw error(
      memory ? error_kind::resources : error_kind::bad_data,
      fmt::format("{}:{}: a line is longer than {}, the most that '{}' reads{}", path, line,
                  format_bytes(options.max_record_bytes), options.node, memory ? " with the memory it has" : ""),
      options.format.quote ? "is a quoted field never closed? If the line is right, " + advice : advice);
}

text_cutter::text_cutter(cutter_options options, record::batch_pool& pool)
    : options_(std::move(options)), pool_(&pool) {
  options_.piece_bytes = std::max<size_t>(options_.piece_bytes, 1);
}

void text_cutter::begin_file(std::string path, size_t file) {
  path_ = std::move(path);
  file_ = file;
  line_ = 0;
  offset_ = 0;
  start_.clear();
  at_start_ = true;
  header_due_ = options_.skip_header;
  carried_.clear();
  long_record_.reset();
  in_quotes_ = quote_pending_ = false;
  at_field_start_ = true;
}

void text_cutter::begin_within(std::string path, uint64_t offset, uint64_t num_lines, size_t file) {
  begin_file(std::move(path), file);
  offset_ = offset;
  line_ = num_lines;
  at_start_ = offset == 0;
  header_due_ = header_due_ && num_lines == 0;  // behind a byte order mark, say
}

void text_cutter::feed(const std::shared_ptr<const void>& owner, std::string_view chunk, std::vector<text_piece>& out) {
  if (at_start_) {
    if (options_.skip_byte_order_mark) {
      if (start_.size() + chunk.size() < byte_order_mark.size()) {
        start_ += chunk;
        return;
      }
      if (start_.empty()) {
        if (chunk.starts_with(byte_order_mark)) skip_mark(chunk);
      } else {  // a pipe may bring the mark in parts
        start_ += chunk;
        auto copy = std::make_shared<const std::string>(std::exchange(start_, {}));
        at_start_ = false;
        std::string_view text = *copy;
        if (text.starts_with(byte_order_mark)) skip_mark(text);
        return feed(copy, text, out);
      }
    }
    at_start_ = false;
  }
  if (chunk.empty()) return;
  const char* const begin = chunk.data();
  cut c{owner, begin, begin + chunk.size(), out, begin, begin};
  scan(c);
  at_field_start_ = !in_quotes_ && (c.end[-1] == options_.format.delimiter || c.end[-1] == options_.line_end);
  if (c.records > c.piece) emit(owner, {c.piece, c.records}, out);
  carry({c.records, c.end});
}

void text_cutter::skip_mark(std::string_view& text) {
  text.remove_prefix(byte_order_mark.size());
  offset_ += byte_order_mark.size();
}

void text_cutter::scan(cut& c) {
  if (!options_.format.quote) return segment(c, c.begin, c.end);
  const char quote = *options_.format.quote;
  const char* p = c.begin;
  if (quote_pending_) {
    quote_pending_ = false;
    if (*p == quote) {
      ++p;
    } else {
      in_quotes_ = false;
    }
  }
  while (true) {
    if (in_quotes_) {
      bool escaped = false;
      const char* closing = find_closing_quote(p, c.end, quote, escaped);
      if (closing == c.end) return;
      if (closing + 1 == c.end) {
        quote_pending_ = true;
        return;
      }
      in_quotes_ = false;
      p = closing + 1;
    }
    const char* const from = p;
    while (true) {
      p = find_byte(p, c.end, quote);
      if (p == c.end) return segment(c, from, c.end);
      const bool opens =
          p == c.begin ? at_field_start_ : p[-1] == options_.format.delimiter || p[-1] == options_.line_end;
      if (opens) break;
      ++p;
    }
    segment(c, from, p);
    in_quotes_ = true;
    ++p;
  }
}

// [from, to) lies outside quotes: records may end there.
void text_cutter::segment(cut& c, const char* from, const char* to) {
  const char line_end = options_.line_end;
  if (carried_bytes() > 0) {  // the record that began in an earlier chunk comes first
    const char* found = find_byte(from, to, line_end);
    if (found == to) return;
    emit_carried({c.begin, found + 1}, c.out);
    c.piece = c.records = from = found + 1;
  }
  while (from != to) {
    // Whole records as long as they fit the piece, but at least one.
    const auto room = static_cast<size_t>(c.end - c.piece);
    const char* const target = room <= options_.piece_bytes ? c.end : c.piece + options_.piece_bytes;
    if (from < target) {
      if (const char* last = find_last_byte(from, std::min(to, target), line_end)) c.records = last + 1;
    }
    if (to <= target) return;
    if (c.records == c.piece) {  // one record alone is longer
      const char* found = find_byte(std::max(from, target), to, line_end);
      if (found == to) return;
      c.records = found + 1;
      check_length(static_cast<size_t>(found - c.piece));
    }
    emit(c.owner, {c.piece, c.records}, c.out);
    c.piece = c.records;
    from = std::max(from, c.records);
  }
}

void text_cutter::emit(const std::shared_ptr<const void>& owner, std::string_view text, std::vector<text_piece>& out,
                       bool is_copy) {
  const uint64_t first_line = line_;
  line_ += count_byte(text, options_.line_end);
  if (text.back() != options_.line_end) ++line_;  // the last line of a file
  text_piece piece{owner, text, first_line, std::exchange(offset_, offset_ + text.size()), is_copy};
  if (header_due_) {
    header_due_ = false;
    const char* const begin = text.data();
    const char* const behind = record_end(begin, begin + text.size(), options_.format);
    if (options_.on_header) options_.on_header(file_, path_, {begin, behind});
    piece.first_line += count_byte({begin, behind}, options_.line_end);
    piece.text = {behind, begin + text.size()};
    piece.offset += static_cast<uint64_t>(behind - begin);
  }
  if (!piece.text.empty()) out.push_back(std::move(piece));
}

// Of the next record, without its line end.
void text_cutter::check_length(size_t num_bytes) const {
  if (num_bytes > options_.max_record_bytes)
    refuse_length(options_, path_, count_of(options_.lines_in_front) + line_ + 1);
}

void text_cutter::carry(std::string_view text) {
  check_length(carried_bytes() + text.size());
  if (!long_record_) {
    carried_ += text;
    if (carried_.size() < least_long_record) return;
    long_record_ = std::make_shared<aligned_buffer>(options_.max_record_bytes + 1 + options_.padding_bytes);
    long_bytes_ = 0;
    text = carried_;
  }
  std::memcpy(long_record_->data() + long_bytes_, text.data(), text.size());
  long_bytes_ += text.size();
  if (!carried_.empty()) std::string().swap(carried_);
}

void text_cutter::emit_carried(std::string_view rest, std::vector<text_piece>& out) {
  const size_t num_bytes = carried_bytes() + rest.size();
  check_length(num_bytes - (rest.empty() ? 0 : 1));
  std::shared_ptr<void> owner;
  char* text = nullptr;
  if (long_record_) {
    text = reinterpret_cast<char*>(long_record_->data());
    owner = std::move(long_record_);
  } else {
    const std::shared_ptr<std::byte[]> whole = pool_->take(num_bytes + options_.padding_bytes);
    text = reinterpret_cast<char*>(whole.get());
    std::memcpy(text, carried_.data(), carried_.size());
    owner = whole;
  }
  if (!rest.empty()) std::memcpy(text + num_bytes - rest.size(), rest.data(), rest.size());
  if (options_.padding_bytes > 0) std::memset(text + num_bytes, 0, options_.padding_bytes);
  carried_.clear();
  if (carried_.capacity() > 4 * options_.piece_bytes) carried_.shrink_to_fit();
  emit(owner, {text, num_bytes}, out, true);
}

void text_cutter::finish(std::vector<text_piece>& out) {
  if (!start_.empty()) {  // a file shorter than a byte order mark
    auto copy = std::make_shared<const std::string>(std::exchange(start_, {}));
    at_start_ = false;
    feed(copy, *copy, out);
  }
  if (carried_bytes() > 0) emit_carried({}, out);
}

}  // namespace flowrun::operators
