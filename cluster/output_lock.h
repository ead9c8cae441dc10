// The lock on the hidden directory that a driver has for an output while its job runs. In it stands whose it is, for
// other drivers that would write the same output.
#pragma once

#include <string>

namespace flowrun::cluster {

// Makes the hidden directory, unless it is there, and those above it. A descriptor that holds the lock until it is
// closed. `path`: the output. Throws error(output): another driver has it, or it can't be made or locked.
int lock_output(const std::string& hidden, const std::string& path);

// Throws error(output): another driver has the lock.
[[noreturn]] void refuse_beside(const std::string& hidden, const std::string& path);

}  // namespace flowrun::cluster
