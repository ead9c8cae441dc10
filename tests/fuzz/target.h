// What a fuzzer tries: one input, of any bytes. Each target defines this function in a file of its own, and says there
// which properties must hold; the driver is libFuzzer (entry.cc), or, where that is not there, what replays the corpus
// (replay.cc). An error that leaves the function is a finding, like a crash or a property that doesn't hold.
#pragma once

#include <string_view>

namespace flowrun::fuzz {

void try_input(std::string_view bytes);

}  // namespace flowrun::fuzz
