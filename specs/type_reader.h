// The types: section: NAME: {column: type, …}.
#pragma once

#include <string>
#include <string_view>

#include "specs/fault_sink.h"
#include "specs/job.pb.h"
#include "specs/value.h"

namespace flowrun::specs {

constexpr uint64_t max_bytes_type = 65536;  // N of bytes[N], as in engine/record/value_type.h
constexpr uint64_t max_decimal_scale = 18;  // S of decimal[S]

// Appends the sound columns of every type to job.types.
void read_types(const Entry& section, JobSpec& job, fault_sink& faults);

// True for u8 u16 u24 u32 u40 u48 u64 i8 i16 i32 i64 f32 f64 bool string date timestamp, bytes[1] to bytes[65536] and
// decimal[0] to decimal[18].
bool is_value_type(std::string_view text);

// What is meant by a word that is no value type: "here it is called 'i64'" for a name from another system (int,
// uint32_t, Text), "did you mean 'u64'?" for a slip, empty otherwise.
std::string value_type_hint(std::string_view word);

}  // namespace flowrun::specs
