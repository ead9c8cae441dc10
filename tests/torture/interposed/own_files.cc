#include "tests/torture/interposed/own_files.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace interposed {

namespace {

constexpr int max_descriptors = 65536;
std::array<std::atomic<owner>, max_descriptors> owners;

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view(value);
}

bool lies_below(std::string_view path, std::string_view folder) {
  return !folder.empty() && path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

owner look_up(int descriptor) {
  std::array<char, 64> link{};
  std::array<char, 4096> path{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", descriptor);
  const long length = syscall(SYS_readlinkat, AT_FDCWD, link.data(), path.data(), path.size());
  if (length <= 0) return owner::foreign;
  const std::string_view found(path.data(), static_cast<size_t>(length));
  if (lies_below(found, variable("FAILING_SCRATCH"))) return owner::scratch;
  return lies_below(found, variable("FAILING_ROOT")) ? owner::job : owner::foreign;
}

}  // namespace

owner owner_of(int descriptor) {
  if (descriptor < 0 || descriptor >= max_descriptors) return owner::foreign;
  std::atomic<owner>& known = owners[static_cast<size_t>(descriptor)];
  if (known == owner::unknown) known = look_up(descriptor);
  return known;
}

void forget(int descriptor) {
  if (descriptor >= 0 && descriptor < max_descriptors) owners[static_cast<size_t>(descriptor)] = owner::unknown;
}

bool is_own(const char* path) {
  const std::string_view given(path);
  return !given.empty() && (given[0] != '/' || lies_below(given, variable("FAILING_ROOT")));
}

full_path path_in(int directory, const char* path) {
  full_path out{};
  if (directory == AT_FDCWD || path[0] == '/') {
    std::snprintf(out.data(), out.size(), "%s", path);
    return out;
  }
  std::array<char, 64> link{};
  std::array<char, 4096> found{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", directory);
  (void)syscall(SYS_readlinkat, AT_FDCWD, link.data(), found.data(), found.size() - 1);
  std::snprintf(out.data(), out.size(), "%s/%s", found.data(), path);
  return out;
}

}  // namespace interposed
