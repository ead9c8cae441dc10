// The message of a plan, of any bytes: what can be read is sent on as the same message, and its JSON is whole.
#include <google/protobuf/util/message_differencer.h>

#include <nlohmann/json.hpp>
#include <string>

#include "engine/plan/plan_message.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/target.h"

namespace flowrun::fuzz {

void try_input(std::string_view bytes) {
  plan::PhysicalPlan message, copy;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  must_hold(copy.ParseFromString(message.SerializeAsString()), "the message can't be read again");
  must_hold(google::protobuf::util::MessageDifferencer::Equals(copy, message), "the message has changed");
  const std::string json = plan::explain_json(message);
  must_hold(nlohmann::json::accept(json), "this is no JSON:\n{}", json);
}

}  // namespace flowrun::fuzz
