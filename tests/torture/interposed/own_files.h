// Which files belong to the job under test: those below FAILING_ROOT. Programs and libraries read others, too.
#pragma once

#include <array>
#include <cstdint>

namespace interposed {

enum class owner : uint8_t { unknown, foreign, job, scratch };

// By what /proc says of the descriptor; looked up once until it is closed.
owner owner_of(int descriptor);
void forget(int descriptor);

// A path that a call is given: relative ones start in the job's directory.
bool is_own(const char* path);

// The path of `path` in the directory that is open as `directory` (or AT_FDCWD: as it is).
using full_path = std::array<char, 8192>;
full_path path_in(int directory, const char* path);

}  // namespace interposed
