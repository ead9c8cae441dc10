#include "engine/block/fetch_check.h"

#include <fmt/format.h>

#include "engine/base/error.h"

namespace flowrun::block {

block_header check_fetched(const block_manager& manager, const fetch& wanted, io::request& read,
                           const std::byte* data) {
  const size_t num_read = read.take_result();
  const block_id& id = wanted.id;
  const std::string& path = manager.disk_path(id.disk);
  if (num_read != id.num_bytes)
    throw error(error_kind::io,
                fmt::format("scratch block damaged: {} at offset {}: block {} of run {} has {} bytes but {} were read",
                            path, id.offset, wanted.index, wanted.stream, id.num_bytes, num_read),
                "the scratch file was cut off: run the job again");
  return verify(data, id.num_bytes, {wanted.stream, wanted.index, wanted.generation, path, id.offset});
}

}  // namespace flowrun::block
