#include "operators/parts/messages/message_cutter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace flowrun::operators {

namespace {

constexpr size_t longest_length = 10;                         // a varint of 64 bits
constexpr uint64_t most_of_format = (uint64_t{1} << 31) - 1;  // no message of Protocol Buffers is longer

}  // namespace

std::optional<message_length> message_length_of(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < longest_length; ++i) {
    if (i == bytes.size()) return std::nullopt;
    const auto byte = static_cast<uint8_t>(bytes[i]);
    value |= static_cast<uint64_t>(byte & 0x7F) << 7 * i;
    if (byte < 0x80) return message_length{value, i + 1};
  }
  return message_length{};
}

message_cutter::message_cutter(message_cutter_options options, record::batch_pool& pool)
    : options_(std::move(options)), pool_(pool) {}

void message_cutter::begin_file(std::string path, uint64_t offset, uint64_t number) {
  path_ = std::move(path);
  offset_ = offset;
  number_ = number;
  carried_.clear();
}

bool message_cutter::may_have(const message_length& length) const {
  return length.num_bytes > 0 && length.value <= std::min<uint64_t>(options_.most_bytes, most_of_format);
}

std::string message_cutter::place() const {
  return fmt::format("{}: message {} (counted from 0), byte {}", path_, number_, offset_);
}

void message_cutter::refuse(const message_length& length) const {
  if (length.num_bytes == 0 || length.value > most_of_format)
    throw error(error_kind::bad_data, fmt::format("{}: there is no length of a message", place()),
                "each message must lie behind its length, a varint, as writeDelimitedTo writes it; is the file damaged "
                "there?");
  const bool memory = options_.more_memory_helps;
  const std::string advice =
      memory ? fmt::format("give the job more memory (-m, or memory: under resources:), so that '{}' has more",
                           options_.node)
             : "split it";
  throw error(
      memory ? error_kind::resources : error_kind::bad_data,
      fmt::format("{}: its length is {}, and the most that '{}' reads{} is {}", place(), format_bytes(length.value),
                  options_.node, memory ? " with the memory it has" : "", format_bytes(options_.most_bytes)),
      "is the file damaged there? If the message is right, " + advice);
}

void message_cutter::emit(const std::shared_ptr<const void>& owner, std::string_view bytes, size_t num_messages,
                          std::vector<message_piece>& out) {
  message_piece piece;
  piece.owner = owner;
  piece.bytes = bytes;
  piece.num_rows = num_messages;
  piece.first = number_;
  piece.offset = offset_;
  number_ += num_messages;
  offset_ += bytes.size();
  out.push_back(std::move(piece));
}

// Returns what is left of the chunk.
std::string_view message_cutter::complete_carried(std::string_view chunk, std::vector<message_piece>& out) {
  std::optional<message_length> length = message_length_of(carried_);
  while (!length && !chunk.empty()) {
    carried_ += chunk.front();
    chunk.remove_prefix(1);
    length = message_length_of(carried_);
  }
  if (!length) return chunk;
  if (!may_have(*length)) refuse(*length);
  const size_t whole = length->num_bytes + length->value;
  const size_t missing = std::min(whole - carried_.size(), chunk.size());
  if (carried_.size() + missing < whole) {
    carried_.reserve(whole);
    carried_ += chunk;
    return {};
  }
  const std::shared_ptr<std::byte[]> own = pool_.take(whole);
  std::memcpy(own.get(), carried_.data(), carried_.size());
  std::memcpy(own.get() + carried_.size(), chunk.data(), missing);
  emit(own, {reinterpret_cast<const char*>(own.get()), whole}, 1, out);
  carried_.clear();
  if (carried_.capacity() > 4 * options_.piece_bytes) carried_.shrink_to_fit();
  return chunk.substr(missing);
}

void message_cutter::feed(const std::shared_ptr<const void>& owner, std::string_view chunk,
                          std::vector<message_piece>& out) {
  if (!carried_.empty()) chunk = complete_carried(chunk, out);
  size_t end = 0, num_messages = 0;  // of the piece that is being cut, which is the front of `chunk`
  const auto cut = [&] {
    if (num_messages > 0) emit(owner, chunk.substr(0, end), num_messages, out);
    chunk.remove_prefix(end);
    end = num_messages = 0;
  };
  while (end < chunk.size()) {
    const std::optional<message_length> length = message_length_of(chunk.substr(end));
    if (!length) break;
    if (!may_have(*length)) {
      cut();  // those before come first
      refuse(*length);
    }
    const size_t whole = length->num_bytes + length->value;
    if (whole > chunk.size() - end) break;
    end += whole;
    ++num_messages;
    if (end >= options_.piece_bytes) cut();
  }
  cut();
  carried_ += chunk;
}

void message_cutter::finish() const {
  if (carried_.empty()) return;
  const std::optional<message_length> length = message_length_of(carried_);
  throw error(
      error_kind::bad_data,
      fmt::format("{}: the file ends at byte {}, {}", place(), offset_ + carried_.size(),
                  length ? fmt::format("and the message at byte {}", offset_ + length->num_bytes + length->value)
                         : "within the length of the message"),
      "was the file cut short?");
}

}  // namespace flowrun::operators
