#include "specs/fault_sink.h"

#include <algorithm>
#include <tuple>

#include "specs/source_text.h"

namespace flowrun::specs {

void fault_sink::add(const Position& position, std::string message, std::string expected, std::string hint) {
  add(specs::where(file_, position), std::move(message), std::move(expected), std::move(hint));
}

void fault_sink::add(source_position where, std::string message, std::string expected, std::string hint) {
  if (full()) {
    dropped_ = true;
    return;
  }
  faults_.push_back({std::move(where), std::move(message), std::move(expected), std::move(hint)});
}

void fault_sink::add_unknown(const Position& position, std::string message, std::string_view word,
                             const std::vector<std::string>& candidates) {
  add_unknown(specs::where(file_, position), std::move(message), word, candidates);
}

void fault_sink::add_unknown(source_position where, std::string message, std::string_view word,
                             const std::vector<std::string>& candidates) {
  constexpr size_t most_compared = 2000;  // edit distances are cheap, not free
  constexpr size_t most_listed = 20;
  std::string hint = !full() && candidates.size() <= most_compared ? did_you_mean(word, candidates) : "";
  std::string expected;
  if (!candidates.empty() && candidates.size() <= most_listed) expected = one_of(candidates);
  add(std::move(where), std::move(message), std::move(expected), std::move(hint));
}

std::vector<fault> fault_sink::take() {
  auto key = [](const fault& f) { return std::tie(f.where.file, f.where.line, f.where.column); };
  std::stable_sort(faults_.begin(), faults_.end(), [&](const fault& a, const fault& b) { return key(a) < key(b); });
  if (dropped_) faults_.push_back({{file_, 0, 0}, "more faults follow; only the first are shown", "", ""});
  dropped_ = false;
  return std::exchange(faults_, {});
}

std::string quotable(std::string_view text) {
  constexpr size_t most = 60;
  std::string out(front_of(text, most));
  const bool is_cut = out.size() < text.size();
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  if (is_cut) out += "…";
  return out;
}

}  // namespace flowrun::specs
