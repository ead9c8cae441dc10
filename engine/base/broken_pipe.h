// Nobody reads any more what is written. The command ends then as one that was ended by SIGPIPE, not with a message.
#pragma once

#include "engine/base/error.h"

namespace flowrun {

class broken_pipe final : public error {
 public:
  explicit broken_pipe(std::string message)
      : error(error_kind::io, std::move(message), "whatever reads it has ended") {}
};

}  // namespace flowrun
