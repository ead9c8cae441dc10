#include "runner/page_address.h"

#include <cstddef>
#include <string_view>

namespace flowrun::runner {

namespace {

bool looks_like_address(const std::string& word) {
  const std::string_view host_and_port = word.starts_with("localhost:") ? std::string_view(word).substr(9) : word;
  return host_and_port.find_first_of("0123456789") != std::string_view::npos &&
         host_and_port.find_first_not_of("0123456789abcdefABCDEF.:[]") == std::string_view::npos &&
         (host_and_port.find_first_not_of("0123456789") == std::string_view::npos ||
          host_and_port.find(':') != std::string_view::npos);
}

}  // namespace

std::vector<std::string> with_page_address(std::vector<std::string> given) {
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] != "--ui") continue;
    const std::string next = i + 1 < given.size() ? given[i + 1] : "";
    const bool address = looks_like_address(next);
    given[i] = std::string("--ui=") + (address ? next : default_page_address);
    if (address) given.erase(given.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return given;
}

metrics::listen_range page_addresses(const std::string& text) {
  return metrics::listen_addresses(text, "the page", "9465");
}

}  // namespace flowrun::runner
