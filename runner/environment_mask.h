// Values from the environment (${env:NAME} in a job) are shown as they are written: passwords and keys come that way.
//
// They may turn up wherever a job's texts do: in paths, messages of the system, names, plans. So every text that leaves
// the program goes through the mask, which puts ${env:NAME} where it finds the value, or the beginning of the value
// that a message has cut off. A value of fewer than four bytes ("1", "/") is part of too many words: it is masked only
// where it stands in quotes, as messages put what a job says. Ids of nodes, names of operators and such words can't
// come from there: they stay, also where a value is a part of them. A default (${env:NAME:-default}) stands in the job
// and is no secret.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <vector>

#include "specs/yaml_reader.h"

namespace flowrun::runner {

class environment_mask {
 public:
  void add(const std::vector<specs::environment_value>& values);
  bool empty() const { return hidden_.empty(); }
  std::string masked(std::string_view text) const;
  // A text that is such a value and nothing else, however short. Others stay as they are.
  std::string masked_whole(std::string_view text) const;
  // In all texts of a message but such words.
  void mask(google::protobuf::Message& message) const;

 private:
  struct hidden {
    std::string value;
    std::string shown;
  };
  std::vector<hidden> hidden_;  // longer values first, which may contain others
};

}  // namespace flowrun::runner
