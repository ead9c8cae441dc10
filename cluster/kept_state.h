// What a run that was stopped keeps for the same command: looked at before it is gone on with.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cluster/shared_directory.h"

namespace flowrun::cluster {

// Why it can't be gone on with: messages that are damaged, and parts of outputs that are gone or have changed. Empty:
// it can. Exchange files have checksums of their own, which are looked at as they are read.
std::vector<std::string> faults_of_kept(const shared_directory& directory);

// The hidden folders beside outputs that finished tasks have written into.
std::set<std::string> hidden_outputs_of(const shared_directory& directory);

}  // namespace flowrun::cluster
