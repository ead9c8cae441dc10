#include "runner/page_address.h"

#include <string_view>

namespace flowrun::runner {

bool looks_like_page_address(const std::string& word) {
  const std::string_view host_and_port = word.starts_with("localhost:") ? std::string_view(word).substr(9) : word;
  return host_and_port.find_first_of("0123456789") != std::string_view::npos &&
         host_and_port.find_first_not_of("0123456789abcdefABCDEF.:[]") == std::string_view::npos &&
         (host_and_port.find_first_not_of("0123456789") == std::string_view::npos ||
          host_and_port.find(':') != std::string_view::npos);
}

metrics::listen_range page_addresses(const std::string& text) {
  return metrics::listen_addresses(text, "the page", "9465");
}

}  // namespace flowrun::runner
