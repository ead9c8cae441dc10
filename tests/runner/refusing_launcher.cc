// Runs a command for which the kernel refuses chosen system calls: what containers, old kernels and other file systems
// do, without a container, an old kernel or root.
//
//   refusing_launcher --refuse io_uring_setup=EPERM --refuse openat:O_DIRECT=EINVAL -- flowrun run job.yaml
//
// Each rule is CALL[:FLAG]=ERRNO; with a flag, only calls that have it set are refused. With KILL for the errno the
// process dies at the call, as by kill -9. The first rule that fits counts. Rules become one seccomp filter (a classic BPF program, see seccomp(2)), which children inherit; setting
// no_new_privs first lets any user do it. The filter can't follow pointers, so a rule can't tell one file from another.
// Exits with 125 when something is wrong with the rules or the command can't be run.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace {

struct named_number {
  const char* name;
  uint32_t number;
};

struct system_call {
  const char* name;
  uint32_t number;
  unsigned flags_argument;  // which argument has the flags, from 0
};

constexpr system_call system_calls[] = {
    {"fallocate", SYS_fallocate, 1},
    {"fsync", SYS_fsync, 0},
    {"io_uring_enter", SYS_io_uring_enter, 3},
    {"io_uring_setup", SYS_io_uring_setup, 0},
    {"mmap", SYS_mmap, 3},
    {"openat", SYS_openat, 2},
    {"pwrite64", SYS_pwrite64, 0},
    {"rename", SYS_renameat, 0},  // which renameat() makes
};

constexpr named_number flags[] = {
    {"O_DIRECT", O_DIRECT},
    {"O_TMPFILE", O_TMPFILE},
    {"MAP_SHARED", MAP_SHARED},
};

constexpr named_number errors[] = {
    {"EACCES", EACCES}, {"EDQUOT", EDQUOT},         {"EFBIG", EFBIG},   {"EINVAL", EINVAL},
    {"EIO", EIO},       {"ENODEV", ENODEV},         {"ENOMEM", ENOMEM}, {"ENOSPC", ENOSPC},
    {"ENOSYS", ENOSYS}, {"EOPNOTSUPP", EOPNOTSUPP}, {"EPERM", EPERM},   {"EROFS", EROFS},
};

struct rule {
  system_call call;
  uint32_t mask = 0;  // 0: every call
  uint32_t action = SECCOMP_RET_KILL_PROCESS;
};

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "refusing_launcher: %s\n", text.c_str());
  std::exit(125);
}

template <class Table>
auto find(const Table& table, const std::string& name, const char* what) {
  for (const auto& one : table)
    if (name == one.name) return one;
  fail(std::string("unknown ") + what + " '" + name + "'");
}

rule parse_rule(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) fail("'" + text + "' is not CALL[:FLAG]=ERRNO");
  const std::string left = text.substr(0, equals);
  const size_t colon = left.find(':');
  rule out{find(system_calls, left.substr(0, colon), "system call")};
  if (colon != std::string::npos) out.mask = find(flags, left.substr(colon + 1), "flag").number;
  const std::string outcome = text.substr(equals + 1);
  if (outcome != "KILL") out.action = SECCOMP_RET_ERRNO | find(errors, outcome, "errno").number;
  return out;
}

#if defined(__x86_64__)
constexpr uint32_t architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t architecture = AUDIT_ARCH_AARCH64;
#else
#error "the number of this architecture (linux/audit.h) is missing here"
#endif

constexpr uint32_t place_of(unsigned argument) {  // its low half: both architectures are little-endian
  return static_cast<uint32_t>(offsetof(seccomp_data, args) + argument * sizeof(uint64_t));
}

std::vector<sock_filter> program_of(const std::vector<rule>& rules) {
  std::vector<sock_filter> out;
  const auto load = [&out](uint32_t place) { out.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, place)); };
  const auto leave = [&out](uint32_t action) { out.push_back(BPF_STMT(BPF_RET | BPF_K, action)); };
  load(offsetof(seccomp_data, arch));
  out.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0));
  leave(SECCOMP_RET_ALLOW);  // another architecture numbers its calls differently
  for (const rule& one : rules) {
    load(offsetof(seccomp_data, nr));
    const uint8_t others = one.mask == 0 ? 1 : 4;  // instructions of this rule that come after the jump
    out.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one.call.number, 0, others));
    if (one.mask != 0) {
      load(place_of(one.call.flags_argument));
      out.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, one.mask));
      out.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one.mask, 0, 1));
    }
    leave(one.action);
  }
  leave(SECCOMP_RET_ALLOW);
  return out;
}

void install(std::vector<sock_filter> program) {
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail(std::string("no_new_privs: ") + std::strerror(errno));
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0)
    fail(std::string("seccomp: ") + std::strerror(errno));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<rule> rules;
  int at = 1;
  for (; at + 1 < argc && std::strcmp(argv[at], "--refuse") == 0; at += 2) rules.push_back(parse_rule(argv[at + 1]));
  if (at < argc && std::strcmp(argv[at], "--") == 0) ++at;
  if (at >= argc) fail("usage: refusing_launcher [--refuse CALL[:FLAG]=ERRNO]... -- COMMAND [ARGUMENT]...");
  install(program_of(rules));
  execvp(argv[at], argv + at);
  fail(std::string("can't run ") + argv[at] + ": " + std::strerror(errno));
}
