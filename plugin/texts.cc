#include "plugin/texts.h"

#include "specs/source_text.h"

namespace flowrun::plugins {

std::string as_shown(fr_text text) {
  const std::string all = as_string(text);
  std::string out;
  for (size_t at = 0; at < all.size();) {
    const size_t size = specs::utf8_length(std::string_view(all).substr(at));
    const bool is_control =
        size == 1 && static_cast<unsigned char>(all[at]) < 0x20 && all[at] != '\n' && all[at] != '\t';
    if (size == 0 || is_control)
      out += '?';
    else
      out.append(all, at, size);
    at += std::max<size_t>(size, 1);
  }
  return out;
}

}  // namespace flowrun::plugins
