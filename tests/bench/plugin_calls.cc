// Functions of the expression language once more, as a plugin: what does the border cost?
#include <bit>
#include <cmath>
#include <flowrun/plugin.hpp>

namespace {

void upper(std::string_view text, fr::text_out& out) {
  char* to = out.extend(text.size());
  for (const char c : text) *to++ = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
}

}  // namespace

FLOWRUN_PLUGIN("calls", "1") {
  const auto add = [&](const char* name, auto f) {
    plugin.add(fr::function(name).signature("as the built-in one").help("As the built-in one.").overload(f));
  };
  add("sqrt", [](double x) { return std::sqrt(x); });
  add("popcount", [](uint64_t x) { return static_cast<uint64_t>(std::popcount(x)); });
  add("min", [](uint64_t a, uint64_t b) { return a < b ? a : b; });
  add("starts_with", [](std::string_view text, std::string_view part) { return text.starts_with(part); });
  add("upper", upper);
  add("same", [](uint64_t x) { return x; });
}
