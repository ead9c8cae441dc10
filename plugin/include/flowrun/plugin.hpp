// Plugins in C++20: this header is compiled into the plugin, and turns lambdas into the tables of flowrun/plugin.h.
//
//   #include <flowrun/plugin.hpp>
//
//   FLOWRUN_PLUGIN("geo", "1.0.0") {
//     plugin.add(fr::function("distance")
//                    .signature("distance(latitude, longitude, latitude, longitude) → f64")
//                    .help("The distance of two places on the earth, in metres.")
//                    .overload([](double lat1, double lon1, double lat2, double lon2) { return …; }));
//   }
//
// In jobs the function is geo.distance(a, b, c, d). Exceptions never leave the plugin: one that a function throws ends
// the job with what it says (fr::error with a hint of its own).
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "flowrun/aggregate.hpp"
#include "flowrun/error.hpp"
#include "flowrun/function.hpp"
#include "flowrun/operator.hpp"
#include "flowrun/plugin.h"

namespace fr {

// What a plugin declares itself to.
class plugin {
 public:
  explicit plugin(const fr_registrar& registrar) : registrar_(registrar) {}

  void add(function& f) { add(std::move(f)); }
  void add(function&& f) {
    // Never freed: flowrun keeps using it, and plugins are never unloaded.
    const auto* const kept = new function(std::move(f));
    const fr_function table = kept->table();
    registrar_.add_function(registrar_.self, &table);
  }
  void add(aggregate& a) { add(std::move(a)); }
  void add(aggregate&& a) {
    const auto* const kept = new aggregate(std::move(a));
    const fr_aggregate table = kept->table();
    registrar_.add_aggregate(registrar_.self, &table);
  }
  template <class Operator>
  requires std::derived_from<std::remove_cvref_t<Operator>, detail::operator_declaration>
  void add(Operator&& o) {
    auto* const kept = new std::remove_cvref_t<Operator>(std::forward<Operator>(o));
    const fr_operator table = kept->table();
    registrar_.add_operator(registrar_.self, &table);
  }

 private:
  const fr_registrar& registrar_;
};

namespace detail {

constexpr uint32_t sanitizers() {
  uint32_t out = 0;
#if defined(__SANITIZE_ADDRESS__)
  out |= FR_SANITIZER_ADDRESS;
#endif
#if defined(__SANITIZE_THREAD__)
  out |= FR_SANITIZER_THREAD;
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  out |= FR_SANITIZER_ADDRESS;
#endif
#if __has_feature(thread_sanitizer)
  out |= FR_SANITIZER_THREAD;
#endif
#if __has_feature(memory_sanitizer)
  out |= FR_SANITIZER_MEMORY;
#endif
#endif
  return out;
}

template <size_t to_size, size_t from_size>
constexpr void copy_text(char (&to)[to_size], const char (&from)[from_size]) {
  for (size_t i = 0; i < from_size && i + 1 < to_size; ++i) to[i] = from[i];
}

struct note_record {
  uint32_t name_bytes = sizeof(FR_NOTE_NAME);
  uint32_t descriptor_bytes = sizeof(fr_note);
  uint32_t type = FR_NOTE_TYPE;
  char name[8] = FR_NOTE_NAME;
  fr_note note{};
};
static_assert(sizeof(note_record) == 12 + 8 + sizeof(fr_note));

template <size_t name_size, size_t version_size>
consteval note_record make_note(const char (&name)[name_size], const char (&version)[version_size]) {
  static_assert(name_size <= sizeof(fr_note::name), "the name of a plugin has at most 31 letters");
  static_assert(version_size <= sizeof(fr_note::version), "the version of a plugin has at most 31 letters");
  note_record out;
  out.note.abi_major = FR_ABI_MAJOR;
  out.note.min_abi_minor = FR_ABI_MINOR;
  out.note.sanitizers = sanitizers();
  copy_text(out.note.name, name);
  copy_text(out.note.version, version);
#if defined(__clang__)
  copy_text(out.note.compiler, "Clang " __clang_version__);
#else
  copy_text(out.note.compiler, "GCC " __VERSION__);
#endif
  return out;
}

inline int enter(const fr_host* the_host, const fr_registrar* registrar, void (*declare)(plugin&)) noexcept {
  host() = the_host;
  try {
    plugin p(*registrar);
    declare(p);
    return FR_OK;
  } catch (...) {
    report(registrar->problem);
    return FR_FAILED;
  }
}

}  // namespace detail
}  // namespace fr

// Once in each plugin, followed by a block that declares its words to `plugin`.
#define FLOWRUN_PLUGIN(name, version)                                                                      \
  __attribute__((section(".note.flowrun"), used,                                                           \
                 aligned(4))) static const ::fr::detail::note_record flowrun_plugin_note =                 \
      ::fr::detail::make_note(name, version);                                                              \
  static void flowrun_plugin_declare(::fr::plugin& plugin);                                                \
  extern "C" __attribute__((visibility("default"))) int flowrun_plugin_v1(const fr_host* host,             \
                                                                          const fr_registrar* registrar) { \
    return ::fr::detail::enter(host, registrar, &flowrun_plugin_declare);                                  \
  }                                                                                                        \
  static void flowrun_plugin_declare([[maybe_unused]] ::fr::plugin& plugin)
