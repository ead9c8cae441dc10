#include "plugin/note.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace flowrun::plugins {

namespace {

// Bytes of a file that may be anything: nothing is read beyond their end.
class bytes {
 public:
  explicit bytes(std::string_view all) : all_(all) {}
  template <class T>
  bool read(uint64_t at, T& out) const {
    if (at > all_.size() || all_.size() - at < sizeof out) return false;
    std::memcpy(&out, all_.data() + at, sizeof out);
    return true;
  }
  std::string_view part(uint64_t at, uint64_t size) const {
    if (at > all_.size()) return {};
    return all_.substr(at, size);
  }

 private:
  std::string_view all_;
};

constexpr uint64_t padded(uint64_t size) { return (size + 3) / 4 * 4; }

// Among the notes of one section, the one of flowrun.
std::optional<fr_note> find_in(std::string_view notes) {
  const bytes all(notes);
  uint64_t at = 0;
  Elf64_Nhdr head;
  while (all.read(at, head)) {
    const uint64_t name_at = at + sizeof head;
    const uint64_t descriptor_at = name_at + padded(head.n_namesz);
    // With the zero byte at its end.
    const bool is_ours = all.part(name_at, head.n_namesz) == std::string_view(FR_NOTE_NAME, sizeof FR_NOTE_NAME);
    fr_note note;
    if (is_ours && head.n_type == FR_NOTE_TYPE && head.n_descsz >= sizeof note && all.read(descriptor_at, note))
      return note;
    at = descriptor_at + padded(head.n_descsz);
  }
  return std::nullopt;
}

// A terminal gets no control characters.
std::string text_of(const char* from, size_t size) {
  std::string out(from, strnlen(from, size));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return out;
}

// GCC says it with a macro, clang with a feature.
uint32_t own_sanitizers() {
#if defined(__SANITIZE_ADDRESS__)
  return FR_SANITIZER_ADDRESS;
#elif defined(__SANITIZE_THREAD__)
  return FR_SANITIZER_THREAD;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  return FR_SANITIZER_ADDRESS;
#elif __has_feature(thread_sanitizer)
  return FR_SANITIZER_THREAD;
#else
  return 0;
#endif
#else
  return 0;
#endif
}

std::string sanitizers_text(uint32_t flags) {
  if (flags == 0) return "no sanitizer";
  std::string out;
  for (const auto& [flag, name] :
       {std::pair{FR_SANITIZER_ADDRESS, "address"}, {FR_SANITIZER_THREAD, "thread"}, {FR_SANITIZER_MEMORY, "memory"}})
    if (flags & static_cast<uint32_t>(flag)) out += out.empty() ? name : std::string(" and ") + name;
  return "the " + out + " sanitizer";
}

}  // namespace

std::optional<fr_note> read_note(std::string_view file, std::string& reason) {
  const bytes all(file);
  Elf64_Ehdr head;
  if (!all.read(0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) {
    reason = "it is no shared object";
    return std::nullopt;
  }
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != EM_X86_64 || head.e_type != ET_DYN) {
    reason = "it is no shared object for this machine (x86-64)";
    return std::nullopt;
  }
  for (uint64_t i = 0; i < head.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!all.read(head.e_shoff + i * head.e_shentsize, section)) break;
    if (section.sh_type == SHT_NOBITS || section.sh_size < sizeof(fr_note)) continue;
    // Whatever the type of the section is: compilers and linkers differ in what they make of one that is named .note.
    if (section.sh_type != SHT_NOTE && section.sh_type != SHT_PROGBITS) continue;
    if (section.sh_size > 4096) continue;
    if (const auto found = find_in(all.part(section.sh_offset, section.sh_size))) return found;
  }
  reason = "it has no note of flowrun: it is no plugin, or its sections were stripped";
  return std::nullopt;
}

std::string name_of(const fr_note& note) { return text_of(note.name, sizeof note.name); }
std::string version_of(const fr_note& note) { return text_of(note.version, sizeof note.version); }
std::string compiler_of(const fr_note& note) { return text_of(note.compiler, sizeof note.compiler); }

bool is_word(std::string_view text) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string refusal_of(const fr_note& note) {
  if (note.abi_major != FR_ABI_MAJOR)
    return fmt::format("it was built for version {} of the plugin interface, and this flowrun has version {}",
                       note.abi_major, FR_ABI_MAJOR);
  if (note.min_abi_minor > FR_ABI_MINOR)
    return fmt::format("it needs version {}.{} of the plugin interface, and this flowrun has {}.{}", note.abi_major,
                       note.min_abi_minor, FR_ABI_MAJOR, FR_ABI_MINOR);
  if (!is_word(name_of(note)))
    return fmt::format("its name '{}' is no word of lower case letters, digits and _", name_of(note));
  if (note.sanitizers != own_sanitizers())
    return fmt::format("it was built with {}, and this flowrun with {}", sanitizers_text(note.sanitizers),
                       sanitizers_text(own_sanitizers()));
  return {};
}

}  // namespace flowrun::plugins
