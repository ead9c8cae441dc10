// Functions of texts that keep what they make of their constants, or have no need to be primitives.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/expr/byte_set.h"
#include "engine/expr/function_table.h"
#include "engine/expr/row_call.h"

namespace flowrun::expr {

namespace {

using record::type_kind;
using record::value_type;
using bound = std::variant<binding, binding_fault>;

const value_type string = value_type::of(type_kind::string);
const value_type i64 = value_type::of(type_kind::i64);
const value_type u64 = value_type::of(type_kind::u64);

constexpr std::string_view white_space = " \t-\r";

std::optional<binding_fault> texts_needed(const std::vector<given_argument>& args) {
  for (size_t i = 0; i < args.size(); ++i)
    if (auto fault = text_needed(args, i)) return fault;
  return {};
}

size_t position_of(std::string_view text, std::string_view part, size_t from) {
  if (part.empty()) return from;
  if (text.size() - from < part.size()) return std::string_view::npos;
  // memmem makes a table first, which pays for long texts, and where the first byte of the part is all over them.
  constexpr size_t short_text = 512;
  if (text.size() - from <= short_text) return text.find(part, from);
  const void* const found = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return found == nullptr ? std::string_view::npos : static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

bound bind_find(const std::vector<given_argument>& args) {
  if (auto fault = texts_needed(args)) return *fault;
  return binding{i64, {string, string}, call_of_rows([](const row_args& r) {
                   const size_t at = position_of(r.text(0), r.text(1), 0);
                   return at == std::string_view::npos ? ~uint64_t{0} : uint64_t{at};
                 })};
}

std::string_view replaced(const row_args& r) {
  const std::string_view text = r.text(0), part = r.text(1), by = r.text(2);
  std::array<size_t, 32> places;  // the first ones; they are not searched twice
  size_t count = 0;
  if (!part.empty())
    for (size_t at = 0; (at = position_of(text, part, at)) != std::string_view::npos; at += part.size()) {
      if (count < places.size()) places[count] = at;
      ++count;
    }
  if (count == 0) return text;
  const size_t length = text.size() - count * part.size() + count * by.size();
  if (length == 0) return {};
  char* const out = r.arena().take(length);
  char* to = out;
  size_t from = 0;
  const auto put = [&](std::string_view piece) {
    if (!piece.empty()) std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  };
  for (size_t k = 0; k < count; ++k) {
    const size_t at = k < places.size() ? places[k] : position_of(text, part, from);
    put(text.substr(from, at - from));
    put(by);
    from = at + part.size();
  }
  put(text.substr(from));
  return {out, length};
}
bound bind_replace(const std::vector<given_argument>& args) {
  if (auto fault = texts_needed(args)) return *fault;
  return binding{string, {string, string, string}, call_of_rows(replaced)};
}

// Part `n`, from 1, of the text between separators; -1 is the last. An empty separator is nowhere.
std::string_view part_of(std::string_view text, std::string_view separator, int64_t n) {
  if (separator.empty()) return n == 1 || n == -1 ? text : std::string_view{};
  if (n < 0) {
    int64_t parts = 1;
    for (size_t at = 0; (at = position_of(text, separator, at)) != std::string_view::npos; at += separator.size())
      ++parts;
    n += parts + 1;
  }
  if (n <= 0) return {};
  size_t from = 0;
  while (true) {
    const size_t end = position_of(text, separator, from);
    if (--n == 0) return text.substr(from, end == std::string_view::npos ? end : end - from);
    if (end == std::string_view::npos) return {};
    from = end + separator.size();
  }
}
bound bind_split_part(const std::vector<given_argument>& args) {
  for (size_t i = 0; i < 2; ++i)
    if (auto fault = text_needed(args, i)) return *fault;
  if (auto fault = integer_needed(args, 2)) return *fault;
  return binding{string, {string, string, i64}, call_of_parts([](const row_args& r) {
                   return part_of(r.text(0), r.text(1), static_cast<int64_t>(r.lane(2)));
                 })};
}

template <bool Front, bool Back>
bound bind_trim(const std::vector<given_argument>& args) {
  if (auto fault = texts_needed(args)) return *fault;
  std::string_view set = white_space;
  if (args.size() > 1) {
    if (!args[1].is_constant)
      return binding_fault{1, "this is not a constant", "a set of bytes such as ' ,' or '0-9'", ""};
    if (!args[1].is_known) return binding{string, {string, string}, call_without_value()};
    set = args[1].text;
    if (const auto wrong = byte_set_fault(set)) return binding_fault{1, *wrong, byte_set_expected, ""};
  }
  const std::vector<value_type> wanted(args.size(), string);
  return binding{string, wanted, call_of_parts([drop = byte_set(set)](const row_args& r) {
                   std::string_view text = r.text(0);
                   const auto is_dropped = [&](char c) { return drop[static_cast<unsigned char>(c)] != 0; };
                   if constexpr (Front)
                     while (!text.empty() && is_dropped(text.front())) text.remove_prefix(1);
                   if constexpr (Back)
                     while (!text.empty() && is_dropped(text.back())) text.remove_suffix(1);
                   return text;
                 })};
}

template <bool Front>
bound bind_pad(const std::vector<given_argument>& args) {
  if (auto fault = text_needed(args, 0)) return *fault;
  if (auto fault = integer_needed(args, 1)) return *fault;
  char fill = ' ';
  std::vector<value_type> wanted = {string, i64};
  if (args.size() > 2) {
    if (auto fault = text_needed(args, 2)) return *fault;
    wanted.push_back(string);
    if (!args[2].is_constant) return binding_fault{2, "this is not a constant", "one byte such as '0'", ""};
    if (!args[2].is_known) return binding{string, wanted, call_without_value()};
    if (args[2].text.size() != 1)
      return binding_fault{2, fmt::format("what fills has {} bytes", args[2].text.size()), "one byte such as '0'", ""};
    fill = args[2].text[0];
  }
  return binding{string, wanted, call_of_rows([fill](const row_args& r) -> std::string_view {
                   const std::string_view text = r.text(0);
                   const auto length = static_cast<int64_t>(r.lane(1));
                   if (length <= 0 || static_cast<uint64_t>(length) <= text.size()) return text;
                   const auto wide = static_cast<size_t>(length);
                   char* const out = r.arena().take(wide);
                   const size_t rest = wide - text.size();
                   std::memset(out + (Front ? 0 : text.size()), fill, rest);
                   if (!text.empty()) std::memcpy(out + (Front ? rest : 0), text.data(), text.size());
                   return {out, wide};
                 })};
}

constexpr std::string_view digits = "0123456789abcdef";

std::string_view hex_of_text(const row_args& r) {
  const std::string_view text = r.text(0);
  if (text.empty()) return {};
  char* const out = r.arena().take(2 * text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    out[2 * i] = digits[byte >> 4];
    out[2 * i + 1] = digits[byte & 15];
  }
  return {out, 2 * text.size()};
}
std::string_view hex_of_number(const row_args& r) {
  const uint64_t x = r.lane(0);
  const size_t length = x == 0 ? 1 : (67 - static_cast<size_t>(__builtin_clzll(x))) / 4;
  char* const out = r.arena().take(length);
  for (size_t i = 0; i < length; ++i) out[i] = digits[x >> (4 * (length - 1 - i)) & 15];
  return {out, length};
}
bound bind_hex(const std::vector<given_argument>& args) {
  if (args[0].type.is_text()) return binding{string, {string}, call_of_rows(hex_of_text)};
  if (!args[0].type.is_unsigned())
    return binding_fault{0, fmt::format("this is {}", to_string(args[0].type)), "a text or an unsigned integer",
                         "write hex(u64(x))"};
  return binding{string, {u64}, call_of_rows(hex_of_number)};
}

int hex_value(char c) {
  const size_t at = digits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}
std::string_view bytes_of_hex(const row_args& r) {
  const std::string_view text = r.text(0);
  if (text.empty() || text.size() % 2 != 0) return {};
  const size_t length = text.size() / 2;
  char* const out = r.arena().take(length);
  for (size_t i = 0; i < length; ++i) {
    const int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
    if (high < 0 || low < 0) {
      r.arena().give_back(length);
      return {};
    }
    out[i] = static_cast<char>(high * 16 + low);
  }
  return {out, length};
}
bound bind_unhex(const std::vector<given_argument>& args) {
  if (auto fault = text_needed(args, 0)) return *fault;
  return binding{string, {string}, call_of_rows(bytes_of_hex)};
}

// The text in so many bytes; bytes_function gives it the type.
bound bind_bytes() {
  return binding{string, {string, u64}, call_of_rows([](const row_args& r) -> std::string_view {
                   const std::string_view text = r.text(0);
                   const auto length = static_cast<size_t>(r.lane(1));
                   if (text.size() >= length) return text.substr(0, length);
                   char* const out = r.arena().take(length);
                   if (!text.empty()) std::memcpy(out, text.data(), text.size());
                   std::memset(out + text.size(), 0, length - text.size());
                   return {out, length};
                 })};
}
class fitted_text final : public outside_function {
 public:
  const function_help& help() const override { return help_; }
  size_t min_args() const override { return 2; }
  size_t max_args() const override { return 2; }
  bound bind(const std::vector<given_argument>&) const override { return bind_bytes(); }

 private:
  function_help help_{"bytes", "", ""};
};
node_ptr bytes_function(const call_site& s) {
  const node& length = *s.args[1];
  const bool is_known = s.require_integer(1) && length.is_number_constant() && length.known;
  if (!s.require_text(0) || !length.type.is_integer()) return nullptr;
  const auto most = uint64_t{record::max_fixed_bytes};
  if (!is_known || length.imm < 1 || length.imm > most)
    return s.fault(1, "this is no length of bytes[N]", fmt::format("a constant from 1 to {}", most),
                   "string(x) has any length");
  static const fitted_text fitted;
  const node_ptr text = bound_call_of(fitted, s);
  return text == nullptr ? nullptr : retype_node(text, value_type::fixed_bytes(static_cast<uint32_t>(length.imm)));
}

constexpr function table[] = {
    {"trim", "trim(text[, set]) → string",
     "Without white space at both ends, or without the bytes of a set as of keep.", 1, 2, nullptr,
     bind_trim<true, true>},
    {"trim_left", "trim_left(text[, set]) → string", "The same at the beginning.", 1, 2, nullptr,
     bind_trim<true, false>},
    {"trim_right", "trim_right(text[, set]) → string", "The same at the end.", 1, 2, nullptr, bind_trim<false, true>},
    {"find", "find(text, part) → i64", "The position of the part in the text, from 0; -1 if it is not there.", 2, 2,
     nullptr, bind_find},
    {"replace", "replace(text, part, by) → string", "The text with each occurrence of the part replaced.", 3, 3,
     nullptr, bind_replace},
    {"split_part", "split_part(text, separator, n) → string",
     "The n-th part of the text, from 1, between separators; below 0 from the end. Empty where there is none.", 3, 3,
     nullptr, bind_split_part},
    {"pad_left", "pad_left(text, n[, fill]) → string",
     "At least n bytes: blanks in front, or another byte such as '0'. A longer text stays as it is.", 2, 3, nullptr,
     bind_pad<true>},
    {"pad_right", "pad_right(text, n[, fill]) → string", "The same, with what fills behind.", 2, 3, nullptr,
     bind_pad<false>},
    {"hex", "hex(x) → string", "The bytes of a text as two digits 0-9a-f each; an unsigned integer in base 16.", 1, 1,
     nullptr, bind_hex},
    {"unhex", "unhex(text) → string", "The bytes that pairs of digits in base 16 stand for; empty for other texts.", 1,
     1, nullptr, bind_unhex},
    {"bytes", "bytes(text, n) → bytes[n]",
     "The text in exactly n bytes, a constant: cut, or with zero bytes behind. string(x) is the way back, and "
     "trim_right(string(x), '\\0') takes the zero bytes off.",
     2, 2, bytes_function},
};

}  // namespace

std::span<const function> text_functions() { return table; }

}  // namespace flowrun::expr
