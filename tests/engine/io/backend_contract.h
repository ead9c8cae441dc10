// The one contract that all backends keep, run with each of them: io_uring, threads, mmap, memory, simulated, and
// faulty without faults. Files with a suite of the contract say: INSTANTIATE_TEST_SUITE_P(each, suite,
// contract_backends, contract_label);
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "engine/io/backends.h"
#include "engine/io/event_clock.h"
#include "engine/io/faulty_backend.h"
#include "engine/io/simulated_backend.h"
#include "tests/engine/io/requests.h"
#include "tests/support/byte_files.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::io {

// A backend, and the clock it may need. Declared in this order: the clock outlives the backend.
struct backend_rig {
  std::unique_ptr<event_clock> clock;
  std::unique_ptr<backend> io;
};

struct contract_case {
  const char* label;
  const char* name;  // what backend::name() says
  backend_rig (*make)();
};

inline const auto contract_backends = testing::Values(
    contract_case{"io_uring", "io_uring",
                  [] {
                    return backend_rig{nullptr, io_uring_refusal().empty() ? make_uring_backend(8) : nullptr};
                  }},
    contract_case{"threads", "threads",
                  [] {
                    return backend_rig{nullptr, make_thread_backend(8)};
                  }},
    contract_case{"mmap", "mmap",
                  [] {
                    return backend_rig{nullptr, make_mmap_backend(8)};
                  }},
    contract_case{"memory", "memory",
                  [] {
                    return backend_rig{nullptr, make_memory_backend()};
                  }},
    contract_case{"simulated", "simulated",
                  [] {
                    backend_rig rig{std::make_unique<event_clock>(), nullptr};
                    rig.io = std::make_unique<simulated_backend>(*rig.clock, ibm_120gxp());
                    return rig;
                  }},
    contract_case{"faulty", "threads", [] {
                    return backend_rig{nullptr, std::make_unique<faulty_backend>(make_thread_backend(8),
                                                                                 std::vector<injected_fault>{})};
                  }});

inline std::string contract_label(const testing::TestParamInfo<contract_case>& info) { return info.param.label; }

class backend_contract : public testing::TestWithParam<contract_case> {
 protected:
  void SetUp() override {
    rig_ = GetParam().make();
    if (rig_.io == nullptr) GTEST_SKIP() << io_uring_refusal();
  }
  backend& io() { return *rig_.io; }
  // The backend's threads, if any, are gone when this returns.
  void take_down() { rig_.io.reset(); }
  // Where time doesn't pass by itself: until nothing is under way. Before every wait.
  void let_time_pass() {
    if (rig_.clock) rig_.clock->run_until_idle();
  }
  // Submits, waits, and gives the result.
  size_t transfer(file& target, direction way, uint64_t offset, std::byte* data, size_t num_bytes) {
    request r;
    prepare(r, target, way, offset, data, num_bytes);
    return transfer(r);
  }
  size_t transfer(request& r) {
    io().submit(r);
    let_time_pass();
    r.wait();
    return r.take_result();
  }

  temporary_directory home;

 private:
  backend_rig rig_;
};

}  // namespace flowrun::io
