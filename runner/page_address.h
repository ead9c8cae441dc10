// Where the page of a running job is served: what stands behind --ui.
#pragma once

#include <string>
#include <vector>

#include "engine/metrics/listening.h"

namespace flowrun::runner {

// Where it listens if nothing is said: a port that can be kept as a bookmark.
inline constexpr const char* default_page_address = "127.0.0.1:9465";

// The words of a command line, with --ui as one word that has its address. --ui may stand alone; what stands behind it
// is an address only where it looks like one, so that the job may follow.
std::vector<std::string> with_page_address(std::vector<std::string> given);

// Throws error(usage) for what is no address.
metrics::listen_range page_addresses(const std::string& text);

}  // namespace flowrun::runner
