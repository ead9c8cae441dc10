#include "failures.h"

#include <arrow/util/io_util.h>

#include <cerrno>

namespace columnar {

void fail(const arrow::Status& status, const std::string& doing) {
  if (status.IsOutOfMemory())
    throw fr::error(doing + ": the memory of this node doesn't suffice (" + status.message() + ")",
                    "give the job more memory, or have the file written with smaller row groups, batches or pages",
                    FR_RESOURCES);
  // An errno is there when the system refused; without one the bytes of the file are not as they must be.
  switch (arrow::internal::ErrnoFromStatus(status)) {
    case 0: throw fr::error(doing + ": " + status.message(), "it is damaged, cut off, or no such file", FR_BAD_DATA);
    case ENOENT: throw fr::error(doing + ": no such file", {}, FR_MISSING);
    case EACCES:
    case EISDIR:
    case ENOTDIR: throw fr::error(doing + ": " + status.message(), {}, FR_MISSING);
    default: throw fr::error(doing + ": " + status.message(), {}, FR_IO);
  }
}

}  // namespace columnar
