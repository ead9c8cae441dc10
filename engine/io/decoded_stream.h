// The text of compressed content as a stream of bytes, so that a thread of its own decodes it ahead of whoever takes it
// (stream_chunks.h). Files are read ahead in turn; of a pipe the first bytes tell, on that thread, whether it is
// compressed at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/io/byte_stream.h"
#include "engine/io/encoding.h"
#include "engine/io/file_reader.h"

namespace flowrun::io {

// How the memory of a reader that decodes is divided.
struct decoding_memory {
  size_t chunk_bytes = 0;      // of text, of which there are as many as the reader has buffers
  size_t input_bytes = 0;      // of a buffer of compressed bytes; a file has `input_buffers` of them, a pipe one
  uint64_t decoder_bytes = 0;  // what is left for the decoder's state
  static constexpr unsigned input_ahead = 2;
  static constexpr unsigned input_buffers = input_ahead + 1;
};
// The chunks become smaller (to 16 KiB) until the decoder has what it needs: `decoder_bytes`, or half of all for a
// pipe, where nothing is known before.
decoding_memory divide_for_file(uint64_t memory_bytes, size_t chunk_bytes, size_t num_buffers, uint64_t decoder_bytes);
decoding_memory divide_for_pipe(uint64_t memory_bytes, size_t chunk_bytes, size_t num_buffers);

// What a reader needs at least to decode, beside its buffers of text.
uint64_t least_decoding_bytes(uint64_t decoder_bytes);

// Throws error(bad_data) where a file's first bytes are too few to tell how it is compressed, and its name says that it
// is: what was cut off there would be taken for a short text, or for none.
void refuse_cut_header(const std::string& path, std::span<const std::byte> beginning);

// The file's content from the byte `origin` on, which is compressed. read() throws error(bad_data) where it is damaged,
// error(resources) where decoding takes more memory than there is, and what file_reader::next() throws. `hint`: what
// else to do about damage.
std::unique_ptr<byte_stream> decoded_file(backend& io, const std::string& path, encoding content, uint64_t origin,
                                          caching cache, const decoding_memory& memory, disk_statistics* statistics,
                                          const std::string& hint = {});

// What comes out of a pipe or device, decoded if it is compressed, else as it is. Throws as descriptor_stream::open().
std::unique_ptr<byte_stream> recognised_pipe(const std::string& path, const decoding_memory& memory,
                                             const std::string& hint = {});

}  // namespace flowrun::io
