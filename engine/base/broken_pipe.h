// The reader of what is written has ended. The command then ends as if by SIGPIPE, not with a message.
#pragma once

#include "engine/base/error.h"

namespace flowrun {

class broken_pipe final : public error {
 public:
  explicit broken_pipe(std::string message)
      : error(error_kind::io, std::move(message), "whatever reads it has ended") {}
};

}  // namespace flowrun
