// Which fields of a Protocol Buffers message the columns of a row are written to, and when these are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/record/row_type.h"
#include "operators/parts/messages/message_type.h"

namespace flowrun::operators {

struct message_form {
  static constexpr size_t none = SIZE_MAX;

  struct field {
    std::string name;  // with those that it lies in: "address.city"
    std::string kind;  // for people: "int32", "shop.Kind"
    uint32_t tag = 0;
    message_value value = message_value::message;
    record::column from;     // of the row; of a message: none
    size_t parent = 0;       // the message that it lies in
    size_t end = 0;          // behind it and the fields in it
    size_t oneof = none;     // of which a message has but one field
    bool is_always = false;  // there, also where it has its default and holds nothing
    bool must_be_utf8 = false;
    bool has_all = true;  // integers of its column; else those from `least` to `most`
    int64_t least = 0;
    uint64_t most = 0;
    bool is_closed = false;   // an enum that has no numbers but those with names
    std::set<int32_t> named;  // numbers of an enum
    // What a message without it has: the bits as they are written, or the text.
    uint64_t default_bits = 0;
    std::string default_text;
    std::map<std::string, int32_t, std::less<>> numbers;  // of an enum, by name
  };

  std::string name;           // of the message
  std::vector<field> fields;  // the whole message, then each one in front of those in it, in the order of their numbers
  size_t num_oneofs = 0;
};

// The bits of an integer of this field as they are written.
uint64_t written_bits(message_value how, uint64_t value);

// What is wrong with a column, or with the message.
struct form_problem {
  std::optional<size_t> column;
  std::string message, hint;
};

// `columns`: of the rows, of which the field at the path of the same place is written. With problems it is of no use.
message_form message_form_of(const message_type& message, const std::vector<record::column>& columns,
                             const std::vector<std::string>& paths, std::vector<form_problem>& problems);

}  // namespace flowrun::operators
