// How the content of a file may be compressed, which its first bytes tell. A name tells nothing, unless there are too
// few of them (decoded_stream.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace flowrun::io {

enum class encoding : uint8_t { plain, gzip, zstd, bzip2, xz };

// "gzip", "zstd", "bzip2", "xz"; "plain".
const char* name_of(encoding content);

// As many first bytes as recognise() looks at.
constexpr size_t telling_bytes = 10;
// Of fewer bytes, which are then all that there are, only what is sure is said.
encoding recognise(std::span<const std::byte> beginning);

// As many first bytes as decoder_bytes() looks at.
constexpr size_t header_bytes = 4096;
// The memory that decoding takes, without input and output, as the first header says; more is wanted where a later
// member has a larger window. 0 for plain content. Bytes that are damaged have what a usual one wants.
uint64_t decoder_bytes(encoding content, std::span<const std::byte> beginning);

}  // namespace flowrun::io
