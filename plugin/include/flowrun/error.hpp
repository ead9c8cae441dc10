// Errors of plugins, and texts on both sides of the border; included by flowrun/plugin.hpp.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "flowrun/plugin.h"

namespace fr {

class plugin;

// Ends the job (or, while a call is bound, is a fault at its place) with a message, and what to do about it.
class error : public std::exception {
 public:
  explicit error(std::string message, std::string hint = {}, uint32_t kind = FR_BAD_DATA)
      : message_(std::move(message)), hint_(std::move(hint)), kind_(kind) {}
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& hint() const { return hint_; }
  uint32_t kind() const { return kind_; }

 private:
  std::string message_, hint_;
  uint32_t kind_;
};

namespace detail {

inline fr_text as_text(std::string_view text) { return {text.size(), text.data()}; }
inline std::string_view as_view(fr_text text) { return {text.data, text.size}; }

inline const fr_host*& host() {
  static const fr_host* the_host = nullptr;
  return the_host;
}

// Says what the exception that is being handled says, to say(kind, message, hint).
template <class Say>
void describe_exception(const Say& say) noexcept {
  try {
    throw;
  } catch (const error& e) {
    say(e.kind(), as_text(e.what()), as_text(e.hint()));
  } catch (const std::bad_alloc&) {
    say(FR_RESOURCES, as_text("no memory is left"), as_text(""));
  } catch (const std::exception& e) {
    say(FR_INTERNAL, as_text(e.what()), as_text(""));
  } catch (...) {
    say(FR_INTERNAL, as_text("an exception of an unknown type"), as_text(""));
  }
}
inline void report(fr_problem* problem) noexcept {
  describe_exception(
      [problem](uint32_t kind, fr_text message, fr_text hint) { host()->fail(problem, kind, message, hint); });
}

}  // namespace detail

}  // namespace fr
