// Where the page of a running job is served: what stands behind --ui.
#pragma once

#include <string>

#include "engine/metrics/listening.h"

namespace flowrun::runner {

// Where it listens if nothing is said: a port that can be kept as a bookmark.
inline constexpr const char* default_page_address = "127.0.0.1:9465";

// Whether a word behind --ui is its address. --ui may stand alone, so that the job may follow.
bool looks_like_page_address(const std::string& word);

// Throws error(usage) for what is no address.
metrics::listen_range page_addresses(const std::string& text);

}  // namespace flowrun::runner
