// The rules of a pq_scan as programs (engine/expr/event_program.h), one for each kind of event: for each input, for
// messages, and for the end of a group.
//
// Items of the queue (engine/container/queue_item.h) hold a message's columns one behind the other, the order columns
// first, as numbers whose order is the columns' order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/expr/event_program.h"
#include "engine/record/row_type.h"
#include "operators/parts/rules/pq_scan_settings.h"

namespace flowrun::operators {

// A column in an item or key: order-preserving bits, `shift` above the lowest bit.
class ordered_field {
 public:
  ordered_field(record::value_type of, bool is_descending, uint32_t at)
      : type(of),
        descending(is_descending),
        shift(at),
        plain_((of.is_unsigned() || of.is_boolean()) && !is_descending),
        zero_(plain_ ? 0 : encode_slowly(0)) {}

  unsigned num_bits() const { return 8 * type.num_bytes; }
  uint64_t mask() const { return ~uint64_t{0} >> (64 - num_bits()); }
  // The bits are the number itself.
  bool plain() const { return plain_; }
  // From a lane (engine/expr/coerce.h) to its bits, and back.
  uint64_t encode(uint64_t lane) const { return plain_ ? lane & mask() : encode_slowly(lane); }
  uint64_t decode(uint64_t bits) const { return plain_ ? bits : decode_slowly(bits); }
  uint64_t zero() const { return zero_; }  // encode(0)

  record::value_type type;
  bool descending;
  uint32_t shift;

 private:
  uint64_t encode_slowly(uint64_t lane) const;
  uint64_t decode_slowly(uint64_t bits) const;
  bool plain_;
  uint64_t zero_;
};

// The columns of `type` with the given order first, packed from the top of 8 * num_bytes bits down.
std::vector<ordered_field> item_fields(const record::row_type& type, const plan::order& order);

struct emitted_field {
  record::value_type type;
  uint32_t offset;
};

// What the values of a rule go to, in the rule's order.
struct rule_targets {
  std::vector<ordered_field> pushed;  // the other fields of a message are at their zero
  unsigned port = 0;
  std::vector<emitted_field> emitted;
};

class rule_program {
 public:
  enum class kind { input, messages, end };
  // `row` is the type of an input's rows, of messages, or of the group columns; `input_name` is for inputs only.
  // `state` outlives the program.
  rule_program(const pq_scan_settings& s, kind what, const std::string& input_name, const record::row_type& row,
               expr::event_state& state, record::batch_pool& pool);

  expr::event_program& code() { return code_; }
  const expr::event_program& code() const { return code_; }
  const rule_targets& targets(const expr::compiled_rule& rule) const { return targets_[rule.place]; }

 private:
  std::vector<rule_targets> targets_;  // of all rules of these events
  expr::event_program code_;
};

}  // namespace flowrun::operators
