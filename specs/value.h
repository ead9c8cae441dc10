// Reading a Value: its kind, its entries, its text as a number.
//
// Quotes don't matter to the number functions: inside {…} a parameter has to be written "${n}", with quotes, and is a
// number all the same. Nothing here throws or copies text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/fault.h"
#include "specs/job.pb.h"

namespace flowrun::specs {

inline bool is_null(const Value& v) { return v.kind_case() == Value::KIND_NOT_SET; }
inline bool is_scalar(const Value& v) { return v.has_scalar(); }
inline bool is_list(const Value& v) { return v.has_list(); }
inline bool is_map(const Value& v) { return v.has_map(); }
// True for text that still holds a parameter without a value. The fault is already reported; don't report a second one.
inline bool is_unresolved(const Value& v) { return v.has_scalar() && v.scalar().unresolved(); }

// "nothing", "text", "a list", "a map": for messages.
std::string_view kind_name(const Value& v);

// The entry or value of a key; null when `v` is no map or has no such key.
const Entry* find_entry(const Value& v, std::string_view key);
const Value* find(const Value& v, std::string_view key);

// The text of a scalar; empty for everything else.
const std::string& text(const Value& v);

// Decimal, 0x… or 0o…; no leading zeros (010 is 8 to some readers of YAML and 10 to others). nullopt when it isn't one
// or doesn't fit.
std::optional<uint64_t> to_uint(std::string_view text);
std::optional<int64_t> to_int(std::string_view text);
// Finite decimal numbers, with or without exponent.
std::optional<double> to_double(std::string_view text);
// true or false, nothing else.
std::optional<bool> to_bool(std::string_view text);

// The same for a Value; nullopt when it is not a scalar.
std::optional<uint64_t> to_uint(const Value& v);
std::optional<int64_t> to_int(const Value& v);
std::optional<double> to_double(const Value& v);
std::optional<bool> to_bool(const Value& v);
// 64MiB, 1.5GiB, 2GB, 512 (engine/base/units.h).
std::optional<uint64_t> to_bytes(const Value& v);

// A digits-only number with a leading zero: 010, -007.
bool looks_octal(std::string_view text);

// A letter or _, then letters, digits, _ and -: what nodes, ports, parameters and row types are called.
bool is_id(std::string_view text);
// The same without -: what columns are called, because expressions name them.
bool is_column_name(std::string_view text);

// Where a value stands, for a fault in `file`.
source_position where(const std::string& file, const Position& position);

// Values in the tree, itself included, and the levels below it (0 for text). Trees are shallow: recursion is bounded.
uint64_t count_values(const Value& v);
int height(const Value& v);

}  // namespace flowrun::specs
