#include "operators/parts/messages/message_formatter.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <climits>
#include <cstring>
#include <utility>

#include "engine/base/calendar.h"
#include "engine/base/error.h"
#include "engine/base/excerpt.h"
#include "engine/base/fault.h"
#include "engine/record/value_text.h"
#include "operators/parts/text/csv_value.h"
#include "operators/parts/text/growing_text.h"
#include "operators/parts/text/json_text.h"

namespace flowrun::operators {

namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;
using record::type_kind;

constexpr int64_t nanos_per_us = 1000;
constexpr uint64_t most_message_bytes = INT_MAX;  // of the library

uint64_t load_unsigned(const std::byte* at, uint32_t num_bytes) {
  uint64_t value = 0;
  std::memcpy(&value, at, num_bytes);
  return value;
}

struct time {
  int64_t seconds = 0;
  int32_t nanos = 0;
};
time time_of(uint64_t bits) {
  const auto us = static_cast<int64_t>(bits);
  int64_t seconds = us / calendar::us_per_second, rest = us % calendar::us_per_second;
  if (rest < 0) {
    --seconds;
    rest += calendar::us_per_second;
  }
  return {seconds, static_cast<int32_t>(rest * nanos_per_us)};
}
size_t bytes_of(time t) {
  return (t.seconds == 0 ? 0 : 1 + WireFormatLite::Int64Size(t.seconds)) +
         (t.nanos == 0 ? 0 : 1 + WireFormatLite::Int32Size(t.nanos));
}
uint8_t* put(time t, uint8_t* to) {
  if (t.seconds != 0) to = WireFormatLite::WriteInt64ToArray(1, t.seconds, to);
  if (t.nanos != 0) to = WireFormatLite::WriteInt32ToArray(2, t.nanos, to);
  return to;
}

}  // namespace

// Of one row after another. A message lies behind its length, so all lengths are found before it is written: from the
// last field to the first one, since the fields within a message come behind it.
class message_formatter::encoding {
 public:
  encoding(const message_formatter& of, const record::batch& in)
      : of_(of), fields_(of.form_.fields), in_(in), values_(fields_.size()), chosen_(of.form_.num_oneofs) {}

  // How many bytes the row takes with the length in front of it.
  size_t measure(size_t row) {
    row_ = row;
    std::fill(chosen_.begin(), chosen_.end(), message_form::none);
    for (size_t i = fields_.size(); --i > 0;) {
      const message_form::field& f = fields_[i];
      value& v = values_[i];
      const bool is_choice = f.oneof != message_form::none;  // or not
      if (f.value != message_value::message) take(f, v);
      if (f.value == message_value::message && !is_choice)
        v.is_there = f.is_always || v.num_bytes > 0;
      else
        v.is_there = f.is_always || v.differs;
      if (v.is_there) {
        if (is_choice) choose(i);
        values_[f.parent].num_bytes += CodedOutputStream::VarintSize32(f.tag) + bytes_with_length(f, v);
      }
      values_[f.parent].differs |= v.differs;
    }
    const uint64_t num_bytes = values_[0].num_bytes;
    if (num_bytes > most_message_bytes)
      throw error(error_kind::bad_data,
                  fmt::format("node '{}': a message would have {} bytes, and the most is {}", of_.node_, num_bytes,
                              most_message_bytes),
                  "leave such rows out with a filter, or write shorter texts");
    return CodedOutputStream::VarintSize64(num_bytes) + num_bytes;
  }

  // The same row.
  char* write(char* begin) {
    auto* to = CodedOutputStream::WriteVarint64ToArray(values_[0].num_bytes, reinterpret_cast<uint8_t*>(begin));
    for (size_t i = 1; i < fields_.size();) {
      const message_form::field& f = fields_[i];
      const value& v = values_[i];
      if (v.is_there) to = write(f, v, CodedOutputStream::WriteTagToArray(f.tag, to));
      i = v.is_there ? i + 1 : f.end;
    }
    for (value& v : values_) v = {};
    return reinterpret_cast<char*>(to);
  }

 private:
  struct value {
    uint64_t bits = 0;       // as they are written; of a timestamp its microseconds
    uint64_t num_bytes = 0;  // without tag and length; of messages those that are there
    std::string_view text;
    bool differs = false;  // from what a message without it has; of a message, one in it does
    bool is_there = false;
  };

  static bool has_length(message_value value) {
    return value == message_value::text || value == message_value::exact_text || value == message_value::timestamp ||
           value == message_value::message;
  }
  static uint64_t bytes_with_length(const message_form::field& f, const value& v) {
    return v.num_bytes + (has_length(f.value) ? CodedOutputStream::VarintSize64(v.num_bytes) : 0);
  }

  void take(const message_form::field& f, value& v) const {
    const std::byte* const at = in_.row(row_) + f.from.offset;
    switch (f.value) {
      case message_value::text:
      case message_value::exact_text:
        v.text = text_at(f, at);
        if (f.must_be_utf8 && !is_utf8(v.text)) refuse_text(f, v.text);
        v.num_bytes = v.text.size();
        v.differs = v.text != f.default_text;
        return;
      case message_value::timestamp:
        v.bits = load_unsigned(at, sizeof v.bits);
        v.num_bytes = bytes_of(time_of(v.bits));
        v.differs = v.bits != 0;
        return;
      case message_value::enum_name: v.bits = written_bits(f.value, static_cast<uint64_t>(number_of(f, at))); break;
      default: v.bits = bits_at(f, at);
    }
    v.num_bytes = f.value == message_value::fixed32   ? sizeof(uint32_t)
                  : f.value == message_value::fixed64 ? sizeof(uint64_t)
                                                      : CodedOutputStream::VarintSize64(v.bits);
    v.differs = v.bits != f.default_bits;
  }

  std::string_view text_at(const message_form::field& f, const std::byte* at) const {
    if (f.from.type.is_string()) return record::load_string(at, in_.heap);
    return {reinterpret_cast<const char*>(at), f.from.type.num_bytes};
  }

  uint64_t bits_at(const message_form::field& f, const std::byte* at) const {
    const record::value_type type = f.from.type;
    if (type.kind == type_kind::f32 && f.value == message_value::fixed64) {
      float narrow = 0;
      std::memcpy(&narrow, at, sizeof narrow);
      return std::bit_cast<uint64_t>(static_cast<double>(narrow));
    }
    if (!type.is_signed()) {
      const uint64_t number = load_unsigned(at, type.num_bytes);
      if (!f.has_all && (number > f.most || !has_number(f, static_cast<int64_t>(number)))) refuse_number(f);
      return written_bits(f.value, number);
    }
    const int64_t number = load_signed(at, type.num_bytes);
    if (!f.has_all &&
        (number < f.least || (number > 0 && static_cast<uint64_t>(number) > f.most) || !has_number(f, number)))
      refuse_number(f);
    return written_bits(f.value, static_cast<uint64_t>(number));
  }
  static bool has_number(const message_form::field& f, int64_t number) {
    return !f.is_closed || f.named.contains(static_cast<int32_t>(number));
  }

  // Of its name, or in digits, as a number without a name is read.
  int32_t number_of(const message_form::field& f, const std::byte* at) const {
    const std::string_view name = text_at(f, at);
    if (const auto found = f.numbers.find(name); found != f.numbers.end()) return found->second;
    int32_t number = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (problem != std::errc() || end != name.data() + name.size() || !has_number(f, number)) {
      std::vector<std::string> names;
      for (const auto& known : f.numbers) names.push_back(known.first);
      const std::string meant = did_you_mean(std::string(name), names);
      refuse(f, fmt::format("{} is no name of {}, and no number of it", quoted_excerpt(name), f.kind),
             meant.empty() ? "its names are " + joined(names, ", ") : meant);
    }
    return number;
  }

  [[noreturn]] void refuse_text(const message_form::field& f, std::string_view text) const {
    refuse(f, fmt::format("{} is no UTF-8, as a string of proto3 is", quoted_excerpt(text)),
           fmt::format("write a text of the bytes, such as hex({}), in a map, or make the field `bytes`", f.from.name));
  }
  [[noreturn]] void refuse_number(const message_form::field& f) const {
    const std::string number = record::value_text(f.from.type, in_.row(row_) + f.from.offset, in_.heap);
    if (f.is_closed)
      refuse(f, fmt::format("{} is no number of {}, whose syntax is proto2", number, f.kind),
             "leave such rows out with a filter, or write another number with a map");
    refuse(f, fmt::format("{} is none of the numbers of {}, {} to {}", number, f.kind, f.least, f.most),
           "leave such rows out with a filter, or give the message a wider field");
  }
  [[noreturn]] void refuse(const message_form::field& f, const std::string& what, const std::string& hint) const {
    throw error(error_kind::bad_data,
                fmt::format("node '{}': column '{}', field '{}' of {}: {}; the row is {}", of_.node_, f.from.name,
                            f.name, of_.form_.name, what, record::row_text(of_.type_, in_.row(row_), in_.heap)),
                hint);
  }

  void choose(size_t i) {
    const size_t other = std::exchange(chosen_[fields_[i].oneof], i);
    if (other == message_form::none) return;
    throw error(error_kind::bad_data,
                fmt::format("node '{}': a message {} has one of the fields '{}' and '{}' (they are a oneof), and the "
                            "row has both: {}",
                            of_.node_, of_.form_.name, fields_[i].name, fields_[other].name,
                            record::row_text(of_.type_, in_.row(row_), in_.heap)),
                "a map gives all but one of their columns 0, '' or false");
  }

  static uint8_t* write(const message_form::field& f, const value& v, uint8_t* to) {
    switch (f.value) {
      case message_value::fixed32:
        return CodedOutputStream::WriteLittleEndian32ToArray(static_cast<uint32_t>(v.bits), to);
      case message_value::fixed64: return CodedOutputStream::WriteLittleEndian64ToArray(v.bits, to);
      case message_value::text:
      case message_value::exact_text:
        to = CodedOutputStream::WriteVarint64ToArray(v.num_bytes, to);
        return CodedOutputStream::WriteRawToArray(v.text.data(), static_cast<int>(v.text.size()), to);
      case message_value::timestamp:
        return put(time_of(v.bits), CodedOutputStream::WriteVarint64ToArray(v.num_bytes, to));
      case message_value::message: return CodedOutputStream::WriteVarint64ToArray(v.num_bytes, to);
      default: return CodedOutputStream::WriteVarint64ToArray(v.bits, to);
    }
  }

  const message_formatter& of_;
  const std::vector<message_form::field>& fields_;
  const record::batch& in_;
  size_t row_ = 0;
  std::vector<value> values_;   // of the fields
  std::vector<size_t> chosen_;  // by oneof
};

text_block message_formatter::format(const record::batch& in, record::batch_pool& pool, uint64_t most_bytes,
                                     std::vector<size_t>* ends) const {
  constexpr size_t usual_field_bytes = 6;
  growing_text out(pool);
  char* to = nullptr;
  size_t num_rows = 0;
  const size_t usual = std::max<size_t>(in.num_rows * form_.fields.size() * usual_field_bytes + in.heap_bytes, 64);
  out.reserve(to, std::min<uint64_t>(usual, std::max<uint64_t>(most_bytes, 64)));
  encoding row(*this, in);
  for (; num_rows < in.num_rows && out.size(to) < most_bytes; ++num_rows) {
    out.reserve(to, row.measure(num_rows));
    to = row.write(to);
    if (ends != nullptr) ends->push_back(out.size(to));
  }
  return out.take(to, num_rows);
}

}  // namespace flowrun::operators
