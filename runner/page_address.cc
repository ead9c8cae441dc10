#include "runner/page_address.h"

#include <string_view>

namespace flowrun::runner {

bool looks_like_page_address(const std::string& word) {
  constexpr const char* digits = "0123456789";
  std::string_view rest = word;
  // A range of ports: 9465-9474.
  if (const size_t dash = rest.rfind('-'); dash != std::string_view::npos && dash + 1 < rest.size() &&
                                           rest.find_first_not_of(digits, dash + 1) == std::string_view::npos)
    rest = rest.substr(0, dash);
  if (rest.starts_with("localhost:")) rest.remove_prefix(10);
  return rest.find_first_of(digits) != std::string_view::npos &&
         rest.find_first_not_of("0123456789abcdefABCDEF.:[]") == std::string_view::npos &&
         (rest.find_first_not_of(digits) == std::string_view::npos || rest.find(':') != std::string_view::npos);
}

metrics::listen_range page_addresses(const std::string& text) {
  return metrics::listen_addresses(text, "the page", "9465");
}

}  // namespace flowrun::runner
