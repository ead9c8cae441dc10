#include "operators/parts/infer/source_format.h"

namespace flowrun::operators {

namespace {

// The tried order matters: a format whose first bytes are a mark of its own comes before those of text, and what takes
// any text comes last.
constexpr source_format formats[] = {
    {"protobuf", false, recognise_protobuf},    {"npy", false, recognise_npy},
    {"json_lines", true, recognise_json_lines}, {"csv", true, recognise_csv},
    {"lines", true, recognise_lines},
};

}  // namespace

std::span<const source_format> source_formats() { return formats; }

}  // namespace flowrun::operators
