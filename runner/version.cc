// flowrun version: what this program is made of, and what it finds on this machine.
#include <sys/utsname.h>

#include <nlohmann/json.hpp>

#include "engine/base/machine.h"
#include "engine/io/request.h"
#include "engine/kernels/instruction_set.h"
#include "runner/commands.h"
#include "runner/document.h"
#include "runner/libraries.h"
#include "runner/version.h"

namespace flowrun::runner {

namespace {

std::string kernel() {
  struct utsname name {};
  if (::uname(&name) != 0) return "unknown";
  return fmt::format("{} {} {}", name.sysname, name.release, name.machine);
}

std::string compiler() {
#ifdef __clang__
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

}  // namespace

int show_version(const version_arguments& arguments) {
  if (arguments.only_number) {
    print(fmt::format("flowrun {}\n", version));
    return 0;
  }
  const std::string refusal = io::io_uring_refusal();
  if (arguments.as_json) {
    nlohmann::ordered_json built = nlohmann::ordered_json::object();
    for (const library& l : libraries()) built[l.name] = l.version;
    nlohmann::ordered_json out = {{"version", version},
                                  {"io_uring", refusal.empty()},
                                  {"io_backend", refusal.empty() ? "io_uring" : "threads"},
                                  {"vector_instructions", kernels::instruction_set()},
                                  {"threads", usable_cores()},
                                  {"kernel", kernel()},
                                  {"compiler", compiler()},
                                  {"libraries", std::move(built)}};
    if (!refusal.empty()) out["io_uring_refusal"] = refusal;
    print(out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
    return 0;
  }
  std::string out = fmt::format("flowrun {}\nio_uring: {}\n", version,
                                refusal.empty() ? "yes" : "no (" + refusal + "); threads instead");
  out += fmt::format("vector instructions: {}\nthreads: {}\nkernel: {}\ncompiler: {}\nbuilt with:\n",
                     kernels::instruction_set(), usable_cores(), kernel(), compiler());
  for (const library& l : libraries()) out += fmt::format("  {:<15} {}\n", l.name, l.version);
  print(out);
  return 0;
}

}  // namespace flowrun::runner
