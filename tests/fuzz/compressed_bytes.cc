// Any bytes as compressed content, of the format that the first of them chooses, in pieces that the second one chooses.
//
// What holds: the content is refused, or its text is the same in whatever pieces it comes and goes; decoding ends; and
// what looking at the beginning says is the beginning of that text.
#include <algorithm>
#include <span>
#include <string>

#include "engine/io/decoder.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/target.h"

namespace flowrun::fuzz {

namespace {

constexpr uint64_t memory_bytes = 16 << 20;
constexpr size_t most_text = 1 << 20;  // little content may stand for very much

struct outcome {
  std::string text;
  bool refused = false;
};

outcome decoded(io::encoding how, std::string_view content, size_t step, size_t room) {
  outcome out;
  try {
    io::decoder decoder(how, memory_bytes);
    std::string piece(room, '\0');
    for (;;) {
      std::string_view given = content.substr(0, step);
      content.remove_prefix(given.size());
      io::decoder::step made;
      do {
        made = decoder.decode(std::as_bytes(std::span(given)), std::as_writable_bytes(std::span(piece)));
        must_hold(made.taken <= given.size() && made.made <= room, "more than there is");
        given.remove_prefix(made.taken);
        out.text.append(piece, 0, made.made);
        if (out.text.size() >= most_text) return out;
      } while (made.taken > 0 || made.made > 0);
      must_hold(given.empty(), "{} bytes are neither taken nor refused", given.size());
      if (content.empty()) break;
    }
    decoder.finish();
  } catch (const io::decoding_error&) {
    out.refused = true;
  }
  return out;
}

}  // namespace

void try_input(std::string_view bytes) {
  constexpr io::encoding all[] = {io::encoding::gzip, io::encoding::zstd, io::encoding::bzip2, io::encoding::xz};
  input in(bytes);
  const io::encoding how = all[in.byte() % std::size(all)];
  const size_t step = in.byte() % 64 + 1;
  const std::string content(in.rest());
  const outcome whole = decoded(how, content, content.size() + 1, 1 << 16);
  const outcome pieces = decoded(how, content, step, 4096);
  const bool all_decoded = std::max(whole.text.size(), pieces.text.size()) < most_text;
  must_hold(!all_decoded || whole.refused == pieces.refused, "refused as a whole: {}, in pieces of {}: {}",
            whole.refused, step, pieces.refused);
  const size_t both = std::min(whole.text.size(), pieces.text.size());
  if (!whole.refused) must_hold(whole.text.substr(0, both) == pieces.text.substr(0, both), "two texts");
  io::recognise(std::as_bytes(std::span(content)));
  io::decoder_bytes(how, std::as_bytes(std::span(content)));
  const io::decoded_text first = io::decoded_beginning(how, std::as_bytes(std::span(content)), 1000);
  must_hold(first.text.size() <= 1000 && first.num_taken <= content.size(), "{} bytes of text", first.text.size());
  if (!whole.refused) must_hold(whole.text.starts_with(first.text), "another beginning");
}

}  // namespace flowrun::fuzz
