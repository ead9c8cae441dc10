#include "operators/parts/infer/text_front.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/decoded_stream.h"
#include "operators/parts/text/text_scan.h"

namespace flowrun::operators {

namespace {

constexpr size_t chunk_bytes = 1 * MiB;
constexpr uint64_t decoder_memory = 256 * MiB;

}  // namespace

std::string real_path(const std::string& path) { return path == "-" ? "/dev/stdin" : path; }

text_front::text_front(const std::string& path)
    : path_(path), from_(io::recognised_pipe(real_path(path), {chunk_bytes, 64 * KiB, decoder_memory})) {}

void text_front::read(size_t num_bytes) {
  const size_t before = text_.size();
  text_.resize(before + num_bytes);
  const int64_t got = from_->read(reinterpret_cast<std::byte*>(text_.data()) + before, num_bytes);
  text_.resize(before + static_cast<size_t>(std::max<int64_t>(got, 0)));
  if (got < 0)
    throw error(error_kind::io, fmt::format("reading {} failed: {}", path_, errno_text(static_cast<int>(-got))),
                "check the disk, or the program that writes into the pipe");
  ended_ = static_cast<size_t>(got) < num_bytes;
  if (offset_ == 0 && before == 0 && text_.starts_with(byte_order_mark)) drop(byte_order_mark.size());
}

void text_front::drop(size_t num_bytes) {
  text_.erase(0, num_bytes);
  offset_ += num_bytes;
}

uint64_t text_front::num_taken() const { return from_->num_taken(); }

}  // namespace flowrun::operators
