// A file of the directory that driver and workers share isn't what was written. A run that keeps what is finished keeps
// nothing then: the same command would meet it again.
#pragma once

#include <string>
#include <utility>

#include "engine/base/error.h"

namespace flowrun::cluster {

class damaged_file : public error {
 public:
  explicit damaged_file(std::string message, std::string hint = "run the job again, and look at the disk")
      : error(error_kind::bad_data, std::move(message), std::move(hint)) {}
};

}  // namespace flowrun::cluster
