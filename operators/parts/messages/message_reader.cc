#include "operators/parts/messages/message_reader.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/calendar.h"

namespace flowrun::operators {

namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr int nanos_per_us = 1000;
constexpr int32_t nanos_per_second = 1'000'000'000;

WireFormatLite::WireType wire_of(message_value value) {
  switch (value) {
    case message_value::fixed32: return WireFormatLite::WIRETYPE_FIXED32;
    case message_value::fixed64: return WireFormatLite::WIRETYPE_FIXED64;
    case message_value::text:
    case message_value::exact_text:
    case message_value::timestamp:
    case message_value::message: return WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    default: return WireFormatLite::WIRETYPE_VARINT;
  }
}

std::string_view name_of(WireFormatLite::WireType wire) {
  switch (wire) {
    case WireFormatLite::WIRETYPE_VARINT: return "a varint";
    case WireFormatLite::WIRETYPE_FIXED64: return "8 bytes";
    case WireFormatLite::WIRETYPE_FIXED32: return "4 bytes";
    case WireFormatLite::WIRETYPE_LENGTH_DELIMITED: return "bytes with a length";
    default: return "a group";
  }
}

}  // namespace

// Of one message. Each function returns false where the message can't go on, or its reader knows why.
class message_reader::decoding {
 public:
  decoding(message_reader& to, std::string_view message)
      : to_(to),
        begin_(reinterpret_cast<const uint8_t*>(message.data())),
        in_(begin_, static_cast<int>(message.size())) {
    in_.PushLimit(static_cast<int>(message.size()));
  }

  bool fields_of(size_t message) {
    for (;;) {
      const uint32_t tag = in_.ReadTag();
      if (tag == 0) return in_.ConsumedEntireMessage() || broken();
      const auto number = static_cast<uint32_t>(WireFormatLite::GetTagFieldNumber(tag));
      const message_layout::field* const f = to_.layout_.find(message, number);
      if (f == nullptr) {
        if (!WireFormatLite::SkipField(&in_, tag)) return broken();
        continue;
      }
      for (const size_t column : f->cleared) to_.clear(column);
      if (f->value == message_value::skipped) {
        if (!WireFormatLite::SkipField(&in_, tag)) return broken();
        continue;
      }
      const WireFormatLite::WireType wire = WireFormatLite::GetTagWireType(tag);
      if (wire != wire_of(f->value))
        return wrong(fmt::format("the field '{}' is {}, but lies there as {}: is it a message of another kind?",
                                 f->name, name_of(wire_of(f->value)), name_of(wire)));
      if (!value_of(*f)) return false;
      if (f->value != message_value::message)
        to_.found(f->target);
      else
        for (const size_t column : f->implied) to_.imply(column);
    }
  }

 private:
  bool wrong(std::string reason) {
    to_.reason_ = std::move(reason);
    to_.offset_ = static_cast<size_t>(in_.CurrentPosition());
    return false;
  }
  bool broken() { return to_.reason_.empty() ? wrong("the message is cut off or damaged") : false; }

  template <class number>
  bool put(const message_layout::field& f, number value) {
    const record::column& c = to_.layout_.type[f.target];
    std::memcpy(to_.row_.data() + c.offset, &value, c.type.num_bytes);
    return true;
  }

  bool value_of(const message_layout::field& f) {
    switch (f.value) {
      case message_value::fixed32: {
        uint32_t bits = 0;
        return in_.ReadLittleEndian32(&bits) ? put(f, bits) : broken();
      }
      case message_value::fixed64: {
        uint64_t bits = 0;
        return in_.ReadLittleEndian64(&bits) ? put(f, bits) : broken();
      }
      case message_value::text:
      case message_value::exact_text: return text(f);
      case message_value::timestamp:
        if (to_.there_[f.target] == 0) to_.times_[f.target] = {};  // of the default nothing is left
        return within([&] { return time(to_.times_[f.target]); });
      case message_value::message: return within([&] { return fields_of(f.target); });
      default: break;
    }
    uint64_t number = 0;
    if (!in_.ReadVarint64(&number)) return broken();
    switch (f.value) {
      case message_value::zigzag32: return put(f, WireFormatLite::ZigZagDecode32(static_cast<uint32_t>(number)));
      case message_value::zigzag64: return put(f, WireFormatLite::ZigZagDecode64(number));
      case message_value::truth: return put(f, static_cast<uint8_t>(number != 0));
      case message_value::enum_name: return enum_name(f.target, static_cast<int32_t>(number));
      default: return put(f, number);
    }
  }

  bool enum_name(size_t column, int32_t number) {
    const auto& names = to_.layout_.enum_names[column];
    const auto found = names.find(number);
    if (found == names.end()) to_.numbers_[column] = std::to_string(number);
    to_.texts_[column] = found == names.end() ? to_.numbers_[column] : found->second;
    return true;
  }

  // What has a length. `read` reads what lies within.
  template <class Read>
  bool within(const Read& read) {
    uint32_t num_bytes = 0;
    if (!in_.ReadVarint32(&num_bytes) || num_bytes > static_cast<uint32_t>(in_.BytesUntilLimit())) return broken();
    const CodedInputStream::Limit outer = in_.PushLimit(static_cast<int>(num_bytes));
    if (!read()) return false;
    in_.PopLimit(outer);
    return true;
  }

  bool text(const message_layout::field& f) {
    uint32_t num_bytes = 0;
    if (!in_.ReadVarint32(&num_bytes) || num_bytes > static_cast<uint32_t>(in_.BytesUntilLimit())) return broken();
    const auto* const at = reinterpret_cast<const char*>(begin_) + in_.CurrentPosition();
    if (f.value == message_value::text) {
      to_.texts_[f.target] = {at, num_bytes};
    } else {
      const record::column& c = to_.layout_.type[f.target];
      if (num_bytes != c.type.num_bytes)
        return wrong(fmt::format("the field '{}' has {} bytes, but its column is {}", f.name, num_bytes,
                                 record::to_string(c.type)));
      std::memcpy(to_.row_.data() + c.offset, at, num_bytes);
    }
    return in_.Skip(static_cast<int>(num_bytes));
  }

  // google.protobuf.Timestamp
  bool time(message_reader::time& to) {
    for (;;) {
      const uint32_t tag = in_.ReadTag();
      if (tag == 0) return in_.ConsumedEntireMessage() || broken();
      constexpr uint32_t seconds_tag = 1 << 3, nanos_tag = 2 << 3;
      uint64_t number = 0;
      if (tag == seconds_tag || tag == nanos_tag) {
        if (!in_.ReadVarint64(&number)) return broken();
        if (tag == seconds_tag)
          to.seconds = static_cast<int64_t>(number);
        else
          to.nanos = static_cast<int32_t>(number);
      } else if (!WireFormatLite::SkipField(&in_, tag)) {
        return broken();
      }
    }
  }

  message_reader& to_;
  const uint8_t* const begin_;
  CodedInputStream in_;
};

message_reader::message_reader(const message_layout& layout)
    : layout_(layout),
      default_times_(layout.type.num_columns()),
      row_(layout.defaults),
      texts_(layout.type.num_columns()),
      numbers_(layout.type.num_columns()),
      times_(layout.type.num_columns()),
      there_(layout.type.num_columns()) {
  for (size_t i = 0; i < layout.type.num_columns(); ++i) {
    if (layout.type[i].type.is_timestamp()) {
      time_columns_.push_back(i);
      int64_t us = 0;
      std::memcpy(&us, layout.defaults.data() + layout.type[i].offset, sizeof us);
      const int64_t within = (us % calendar::us_per_second + calendar::us_per_second) % calendar::us_per_second;
      default_times_[i] = {(us - within) / calendar::us_per_second, static_cast<int32_t>(within * nanos_per_us)};
    }
    if (layout.type[i].type.is_string()) text_columns_.push_back(i);
  }
}

bool message_reader::read(std::string_view message) {
  std::memcpy(row_.data(), layout_.defaults.data(), row_.size());
  for (const size_t i : text_columns_) texts_[i] = layout_.texts[i];
  for (const size_t i : time_columns_) times_[i] = default_times_[i];
  std::fill(there_.begin(), there_.end(), uint8_t{0});
  reason_.clear();
  return decoding(*this, message).fields_of(0) && set_times();
}

void message_reader::clear(size_t column) {
  const record::column& c = layout_.type[column];
  std::memcpy(row_.data() + c.offset, layout_.defaults.data() + c.offset, c.type.num_bytes);
  texts_[column] = layout_.texts[column];
  times_[column] = default_times_[column];
  if (layout_.told_by[column]) row_[*layout_.told_by[column]] = std::byte{1};
  there_[column] = 0;
}

void message_reader::found(size_t column) {
  if (layout_.told_by[column]) row_[*layout_.told_by[column]] = std::byte{0};
  there_[column] = 1;
}

// A column whose field has no presence is there with the message around it: zero or empty, unless it has been found.
void message_reader::imply(size_t column) {
  if (there_[column] != 0) return;
  const record::column& c = layout_.type[column];
  if (c.type.is_string())
    texts_[column] = layout_.implied_texts[column];
  else
    std::memset(row_.data() + c.offset, 0, c.type.num_bytes);
  found(column);
}

// Fractions of a microsecond are cut, as those of texts are.
bool message_reader::set_times() {
  for (const size_t i : time_columns_) {
    const time t = times_[i];
    constexpr int64_t first = calendar::first_us / calendar::us_per_second,
                      last = calendar::last_us / calendar::us_per_second;
    const bool is_second = t.nanos >= 0 && t.nanos < nanos_per_second;
    if (!is_second || t.seconds < first || t.seconds > last) {
      reason_ = fmt::format("the timestamp of the column '{}' has {} seconds and {} nanoseconds, {}",
                            layout_.type[i].name, t.seconds, t.nanos,
                            is_second ? "which is none of the years 1 to 9999" : "and nanoseconds are 0 to 999999999");
      offset_ = 0;
      return false;
    }
    const int64_t us = t.seconds * calendar::us_per_second + t.nanos / nanos_per_us;
    std::memcpy(row_.data() + layout_.type[i].offset, &us, sizeof us);
  }
  return true;
}

}  // namespace flowrun::operators
