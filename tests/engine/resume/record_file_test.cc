// Records are whole or not there, wherever the file was cut off or changed.
#include "engine/resume/record_file.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace flowrun::resume {
namespace {

using records = std::vector<std::string>;

TEST(record_file, gives_back_what_was_appended) {
  const temporary_directory where;
  const std::string path = where.path() + "/manifest";
  {
    record_file file(path);
    EXPECT_EQ(file.read().whole, records());
    file.append("one");
    file.append("");
    file.append(std::string(100'000, 'x'));
  }
  EXPECT_EQ(records_of(path).whole, (records{"one", "", std::string(100'000, 'x')}));
  record_file file(path);
  EXPECT_EQ(file.read().whole.size(), 3u);
  file.append("more");
  EXPECT_EQ(file.read().whole.back(), "more");
  file.clear();
  EXPECT_EQ(file.read().whole, records());
}

TEST(record_file, cut_off_anywhere_it_has_the_records_that_are_whole) {
  const temporary_directory where;
  const std::string path = where.path() + "/manifest";
  record_file(path).append("first");
  const size_t whole = where.read("manifest").size();
  record_file(path).append("second");
  const std::string all = where.read("manifest");
  for (size_t length = 0; length < all.size(); ++length) {
    where.write("manifest", all.substr(0, length));
    const found_records found = records_of(path);
    EXPECT_EQ(found.whole, length < whole ? records() : records{"first"}) << length;
    EXPECT_EQ(found.cut_bytes, length < whole ? length : length - whole);
    EXPECT_FALSE(found.are_damaged);
    EXPECT_EQ(where.read("manifest").size(), length) << "looking changes nothing";
    record_file file(path);
    file.read();
    file.append("third");
    EXPECT_EQ(file.read().whole.back(), "third") << length;
  }
}

TEST(record_file, a_changed_bit_ends_what_is_read) {
  const temporary_directory where;
  const std::string path = where.path() + "/manifest";
  record_file(path).append("first");
  const size_t whole = where.read("manifest").size();
  record_file(path).append("second");
  const std::string all = where.read("manifest");
  for (size_t bit = 0; bit < 8 * all.size(); ++bit) {
    std::string changed = all;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    where.write("manifest", changed);
    const found_records found = records_of(path);
    ASSERT_LT(found.whole.size(), 2u) << bit;
    EXPECT_EQ(found.cut_bytes, found.whole.empty() ? all.size() : all.size() - whole) << bit;
    EXPECT_EQ(found.are_damaged, found.whole.empty()) << bit << ": the other record is whole";
    if (!found.whole.empty()) {
      EXPECT_EQ(found.whole.front(), "first");
    }
  }
}

}  // namespace
}  // namespace flowrun::resume
