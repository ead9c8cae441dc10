// What this machine lets us have: cores after affinity and cgroup quota, memory after the cgroup limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace flowrun {

// Threads worth starting: min(CPU affinity, cgroup quota rounded up), at least 1. Reads cgroup v1 and v2.
unsigned usable_cores();

// Bytes of memory this process may use: min(RAM, cgroup limit), v1 and v2.
uint64_t usable_memory();

// Resident set and its peak of this process in bytes (/proc/self/status VmRSS, VmHWM); 0 when unreadable.
uint64_t resident_bytes();
uint64_t peak_resident_bytes();

// Whole pages that malloc keeps of what was freed go back to the system. For the ends of long works that leave many
// small pieces behind: what is allocated next may have to get its pages again.
void give_back_freed_memory() noexcept;

// CPU seconds (user + system) of this process so far.
double cpu_seconds();

// Bytes that the stack of this thread can still grow by; SIZE_MAX where that can't be told.
size_t stack_room();

// The machine's name; empty when it has none.
std::string host_name();

// True when `path` lies on a RAM-backed file system (tmpfs, ramfs): scratch there eats the memory it should save.
bool on_ram_disk(const std::string& path);

}  // namespace flowrun
