// Messages that users meet most: what they mean, and what to do. `flowrun explain` finds them by a piece of their text.
#pragma once

#include <string_view>
#include <vector>

namespace flowrun::runner {

struct known_message {
  std::string_view phrase;  // of the message; "…" within it stands for what differs from job to job
  std::string_view cause;
  std::string_view remedy;
};

const std::vector<known_message>& known_messages();

// Those of which `text` has the phrase, the longest phrase first, and without a phrase that is a part of another one of
// them; behind these, those whose phrase has `text` in it. Large and small letters are one.
std::vector<known_message> messages_like(std::string_view text);

}  // namespace flowrun::runner
