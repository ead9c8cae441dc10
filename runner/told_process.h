// Work in a child process that may end it, hang it or crash it: it tells lines while it lives.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace flowrun::runner {

// Tells the parent a line. It has no line end.
using teller = std::function<void(const std::string& line)>;

struct process_end {
  enum class how { returned, exited, killed, silent };
  how what = how::returned;
  int number = 0;  // what the work returned; the exit code; the signal
};

// Runs `work` in a child process and hands its lines to `heard`. A child that tells nothing for `most_seconds` is
// killed: silent. returned: `work` did, and nothing else has ended the process. The parent may have no other threads.
// Throws error(resources) when there can be no process.
process_end in_child(const std::function<int(const teller&)>& work, const std::function<void(std::string_view)>& heard,
                     unsigned most_seconds);

// "ended its process with exit(3)", for the ends that are the plugin's doing.
std::string to_string(const process_end& end);

}  // namespace flowrun::runner
