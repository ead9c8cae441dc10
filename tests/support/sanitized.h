// Whether a sanitizer watches. It makes everything up to ten times as slow and takes memory of its own, and finds its
// errors on less data as well.
#pragma once

namespace flowrun {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
constexpr bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool sanitized = false;
#endif

}  // namespace flowrun
