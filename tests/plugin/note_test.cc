// The note of a file that may be anything.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "plugin/note.h"

namespace flowrun::plugins {
namespace {

using ::testing::HasSubstr;

fr_note sample() {
  fr_note note{};
  note.abi_major = FR_ABI_MAJOR;
  std::strcpy(note.name, "geo");
  std::strcpy(note.version, "1.2");
  std::strcpy(note.compiler, "GCC 12");
  return note;
}

// A shared object of nothing but a section of notes: first somebody else's, then ours.
std::string shared_object(const fr_note& note) {
  const auto put = [](std::string& to, const auto& what) {
    to.append(reinterpret_cast<const char*>(&what), sizeof what);
  };
  std::string notes;
  put(notes, Elf64_Nhdr{4, 5, 3});
  notes += std::string("GNU\0abcde\0\0\0", 12);
  put(notes, Elf64_Nhdr{8, sizeof note, FR_NOTE_TYPE});
  notes += std::string("flowrun\0", 8);
  put(notes, note);
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_type = ET_DYN;
  head.e_machine = EM_X86_64;
  head.e_shoff = sizeof head;
  head.e_shentsize = sizeof(Elf64_Shdr);
  head.e_shnum = 1;
  Elf64_Shdr section{};
  section.sh_type = SHT_NOTE;
  section.sh_offset = sizeof head + sizeof section;
  section.sh_size = notes.size();
  std::string out;
  put(out, head);
  put(out, section);
  return out + notes;
}

TEST(note, is_found_behind_others) {
  std::string reason;
  const auto found = read_note(shared_object(sample()), reason);
  ASSERT_TRUE(found) << reason;
  EXPECT_EQ(name_of(*found), "geo");
  EXPECT_EQ(version_of(*found), "1.2");
  EXPECT_EQ(compiler_of(*found), "GCC 12");
}

TEST(note, of_a_name_that_fills_its_field_ends_there) {
  fr_note note = sample();
  std::memset(note.name, 'x', sizeof note.name);
  EXPECT_EQ(name_of(note), std::string(sizeof note.name, 'x'));
}

TEST(note, says_what_does_not_fit) {
  fr_note note = sample();
  note.abi_major = 2;
  EXPECT_THAT(refusal_of(note), HasSubstr("version 2 of the plugin interface"));
  note = sample();
  note.min_abi_minor = FR_ABI_MINOR + 1;
  EXPECT_THAT(refusal_of(note), HasSubstr("it needs version"));
  note = sample();
  note.name[0] = '.';
  EXPECT_THAT(refusal_of(note), HasSubstr("is no word"));
  note = sample();
  note.sanitizers = FR_SANITIZER_MEMORY;
  EXPECT_THAT(refusal_of(note), HasSubstr("the memory sanitizer"));
}

TEST(note, of_broken_files_is_none) {
  const std::string whole = shared_object(sample());
  std::string reason;
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(read_note(whole.substr(0, size), reason)) << size;
  std::mt19937_64 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string broken = whole;
    for (uint64_t changes = random() % 8 + 1; changes > 0; --changes)
      broken[random() % broken.size()] = static_cast<char>(random());
    read_note(broken, reason);  // whatever it finds, it reads nothing beyond the file
  }
}

TEST(words, are_lower_case) {
  for (const char* good : {"geo", "a", "x_1"}) EXPECT_TRUE(is_word(good)) << good;
  for (const char* bad : {"", "Geo", "1x", "_x", "a-b", "a.b", "ä"}) EXPECT_FALSE(is_word(bad)) << bad;
}

}  // namespace
}  // namespace flowrun::plugins
