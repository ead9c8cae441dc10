// What tells one input from another.
#include "engine/resume/input_contents.h"

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::resume {
namespace {

TEST(input_contents, of_equal_bytes_are_equal_and_others_differ) {
  const temporary_directory where;
  const std::string path = where.path() + "/in";
  for (const size_t length :
       {size_t{0}, size_t{1}, size_t{100'000}, size_t{131'072}, size_t{131'073}, size_t{5'000'000}}) {
    std::string bytes(length, 'a');
    where.write("in", bytes);
    const input_contents before = look_at_input(path);
    EXPECT_EQ(before.num_bytes, length);
    where.write("in", bytes);
    EXPECT_EQ(look_at_input(path).content, before.content);
    if (length == 0) continue;
    for (const size_t at : {size_t{0}, length - 1}) {
      bytes[at] = 'b';
      where.write("in", bytes);
      EXPECT_NE(look_at_input(path).content, before.content) << length << " " << at;
      bytes[at] = 'a';
    }
  }
}

TEST(input_contents, what_is_missing_is_said) {
  EXPECT_THROW(look_at_input("/nowhere/in"), error);
  EXPECT_THROW(look_at_input("/dev/null"), error);  // it can't be read again
}

}  // namespace
}  // namespace flowrun::resume
