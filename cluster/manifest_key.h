// The key of a row, as the manifest of an output tells it (output_manifest::part).
#pragma once

#include <cstddef>
#include <string>

#include "engine/record/key.h"
#include "engine/record/row_type.h"

namespace flowrun::cluster {

// JSON: a list with the value of each of the key's columns. What JSON can't have as a text, or would fill the manifest,
// is {"hex": …, "bytes": N}: its front in hexadecimal digits, and how long it is. `heap`: where the row's strings lie.
std::string key_as_json(const record::row_type& type, const record::key& key, const std::byte* row,
                        const std::byte* heap);

}  // namespace flowrun::cluster
