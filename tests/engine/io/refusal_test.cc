// What is told when the system refuses: why io_uring can't be used, and what a failed request knows of its cause.
#include <gmock/gmock.h>

#include <cerrno>

#include "engine/base/error.h"
#include "engine/io/backends.h"
#include "engine/io/faulty_backend.h"
#include "engine/io/file.h"

namespace flowrun::io {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(refusal, of_io_uring_names_the_sysctl_that_forbids_it) {
  const std::string failure = "io_uring_setup: Operation not permitted";
  EXPECT_EQ(explain_refusal(failure, 0), failure);   // seccomp, or a kernel without it
  EXPECT_EQ(explain_refusal(failure, -1), failure);  // older than the sysctl
  EXPECT_THAT(explain_refusal(failure, 1),
              AllOf(HasSubstr(failure), HasSubstr("kernel.io_uring_disabled=1"), HasSubstr("privileges")));
  EXPECT_THAT(explain_refusal(failure, 2), AllOf(HasSubstr(failure), HasSubstr("kernel.io_uring_disabled=2"),
                                                 HasSubstr("forbidden"), Not(HasSubstr("privileges"))));
}

TEST(refusal, keeps_its_cause_until_the_result_is_taken) {
  faulty_backend io(make_backend(backend_kind::memory), {{.way = direction::write, .nth = 2, .value = ENOMEM}});
  const auto memory = file::in_memory("m");
  std::byte data[4]{};
  for (const int cause : {0, ENOMEM}) {
    request r;
    r.target = memory.get();
    r.way = direction::write;
    r.data = data;
    r.num_bytes = sizeof data;
    io.submit(r);
    r.wait();
    EXPECT_EQ(r.cause(), cause);
    EXPECT_EQ(r.cause(), cause);
    if (cause == 0) {
      EXPECT_EQ(r.take_result(), sizeof data);
    } else {
      EXPECT_THROW(r.take_result(), error);
    }
  }
}

TEST(refusal, of_room_has_three_names) {
  for (const int cause : {ENOSPC, EDQUOT, EFBIG}) EXPECT_TRUE(means_no_room(cause));
  for (const int cause : {0, EIO, ENOMEM, ENODEV, EROFS}) EXPECT_FALSE(means_no_room(cause));
}

TEST(refusal, may_concern_one_file_only) {
  faulty_backend io(make_backend(backend_kind::memory),
                    {{.way = direction::write, .nth = 2, .num_requests = 9, .value = EIO, .path = "second"}});
  const auto first = file::in_memory("first disk");
  const auto second = file::in_memory("second disk");
  std::byte data[4]{};
  const auto cause_of_write_to = [&](file& target) {
    request r;
    r.target = &target;
    r.way = direction::write;
    r.data = data;
    r.num_bytes = sizeof data;
    io.submit(r);
    r.wait();
    return r.cause();
  };
  EXPECT_EQ(cause_of_write_to(*first), 0);
  EXPECT_EQ(cause_of_write_to(*second), 0);
  EXPECT_EQ(cause_of_write_to(*first), 0);
  EXPECT_EQ(cause_of_write_to(*second), EIO);
  EXPECT_EQ(cause_of_write_to(*first), 0);
  EXPECT_EQ(io.num_hit(), 1U);
}

}  // namespace
}  // namespace flowrun::io
