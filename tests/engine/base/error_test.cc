// Kinds of errors carry exit codes; our own bugs say that they are ours.
#include "engine/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace flowrun {
namespace {

TEST(error, kinds_are_exit_codes_of_sysexits) {
  EXPECT_EQ(error(error_kind::usage, "").exit_code(), 64);
  EXPECT_EQ(error(error_kind::bad_data, "").exit_code(), 65);
  EXPECT_EQ(error(error_kind::missing_input, "").exit_code(), 66);
  EXPECT_EQ(error(error_kind::internal, "").exit_code(), 70);
  EXPECT_EQ(error(error_kind::output, "").exit_code(), 73);
  EXPECT_EQ(error(error_kind::io, "").exit_code(), 74);
  EXPECT_EQ(error(error_kind::resources, "").exit_code(), 75);
  EXPECT_EQ(error(error_kind::bad_spec, "").exit_code(), 78);
  EXPECT_EQ(error(error_kind::cancelled, "").exit_code(), 130);
}

TEST(error, carries_message_and_hint) {
  const error e(error_kind::io, "disk on fire", "leave the building");
  EXPECT_STREQ(e.what(), "disk on fire");
  EXPECT_EQ(e.hint(), "leave the building");
  EXPECT_EQ(errno_text(ENOENT), "No such file or directory");
}

TEST(error, a_failed_check_names_the_place_and_the_condition) {
  const int two = 2;
  try {
    FLOWRUN_CHECK(two + two == 5);
    FAIL() << "the check passed";
  } catch (const error& e) {
    EXPECT_EQ(e.kind(), error_kind::internal);
    EXPECT_THAT(e.what(), testing::HasSubstr("error_test.cc:"));
    EXPECT_THAT(e.what(), testing::HasSubstr("two + two == 5"));
  }
  EXPECT_NO_THROW(FLOWRUN_CHECK(two + two == 4));
}

}  // namespace
}  // namespace flowrun
