#include "engine/base/machine.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>

namespace flowrun {

namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The cgroup of this process for `controller` (v1), or of the unified tree (v2, controller ""), without leading slash.
std::string cgroup_path(std::string_view controller) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::stringstream names(line.substr(first + 1, second - first - 1));
    std::string name;
    bool match = controller.empty() && second == first + 1;
    while (std::getline(names, name, ',')) match = match || (!controller.empty() && name == controller);
    if (match) return line.substr(second + 1);
  }
  return "/";
}

// Calls `visit` with the limit file of the process's cgroup and of each of its ancestors.
template <class Visit>
void for_each_ancestor(const std::string& mount, std::string path, const std::string& file, Visit visit) {
  for (;;) {
    visit(first_line(mount + (path == "/" ? "" : path) + "/" + file));
    if (path.empty() || path == "/") break;
    path.erase(path.rfind('/'));
    if (path.empty()) path = "/";
  }
}

bool parse(std::string_view text, double& value) {
  return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
}

uint64_t status_bytes(std::string_view key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    uint64_t kib = 0;
    std::stringstream(line.substr(key.size())) >> kib;
    return kib * 1024;
  }
  return 0;
}

}  // namespace

unsigned usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  double cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  for_each_ancestor("/sys/fs/cgroup", cgroup_path(""), "cpu.max", [&](const std::string& line) {
    const size_t space = line.find(' ');
    double quota = 0;
    double period = 0;
    if (space != std::string::npos && parse(line.substr(0, space), quota) && parse(line.substr(space + 1), period) &&
        period > 0)
      cores = std::min(cores, std::ceil(quota / period));
  });
  const std::string v1 = cgroup_path("cpu");
  double period = 100000;
  for_each_ancestor("/sys/fs/cgroup/cpu", v1, "cpu.cfs_period_us",
                    [&](const std::string& line) { parse(line, period); });
  for_each_ancestor("/sys/fs/cgroup/cpu", v1, "cpu.cfs_quota_us", [&](const std::string& line) {
    double quota = 0;
    if (parse(line, quota) && quota > 0 && period > 0) cores = std::min(cores, std::ceil(quota / period));
  });
  return std::max(1U, static_cast<unsigned>(cores));
}

uint64_t usable_memory() {
  double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  auto lower = [&](const std::string& line) {
    double limit = 0;
    if (parse(line, limit) && limit > 0) memory = std::min(memory, limit);
  };
  for_each_ancestor("/sys/fs/cgroup", cgroup_path(""), "memory.max", lower);
  for_each_ancestor("/sys/fs/cgroup/memory", cgroup_path("memory"), "memory.limit_in_bytes", lower);
  return static_cast<uint64_t>(memory);
}

size_t stack_room() {
  // Asked once for each thread: for the first one of the process, the system reads a file.
  thread_local const uintptr_t lowest = [] {
    pthread_attr_t about;
    if (pthread_getattr_np(pthread_self(), &about) != 0) return uintptr_t{0};
    void* low = nullptr;
    size_t num_bytes = 0, guard = 0;
    const bool known =
        pthread_attr_getstack(&about, &low, &num_bytes) == 0 && pthread_attr_getguardsize(&about, &guard) == 0;
    pthread_attr_destroy(&about);
    return known ? reinterpret_cast<uintptr_t>(low) + guard : uintptr_t{0};
  }();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return lowest == 0 || here < lowest ? SIZE_MAX : here - lowest;
}

uint64_t resident_bytes() { return status_bytes("VmRSS:"); }
uint64_t peak_resident_bytes() { return status_bytes("VmHWM:"); }

void give_back_freed_memory() noexcept {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

bool on_ram_disk(const std::string& path) {
  struct statfs info {};
  if (statfs(path.c_str(), &info) != 0) return false;
  constexpr long tmpfs_magic = 0x01021994;
  constexpr long ramfs_magic = 0x858458f6;
  return info.f_type == tmpfs_magic || info.f_type == ramfs_magic;
}

}  // namespace flowrun
