#include "engine/exec/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "engine/base/units.h"

namespace flowrun::exec {

namespace {

// From this share of the time on something counts as what bounded the run. The rest is start, end, and phases that
// something else bounds.
constexpr double bounds_from = 0.6;
constexpr double all_threads_from = 0.8;
// A run that is shorter is bound by its start as much as by anything else.
constexpr double least_seconds = 0.1;

double part(double seconds, double of) { return of <= 0 ? 0 : std::clamp(seconds / of, 0.0, 1.0); }

RunReport::Limit made(const char* kind, const std::string& name, double share) {
  RunReport::Limit out;
  out.set_kind(kind);
  out.set_name(name);
  out.set_share(share);
  return out;
}

class judgement {
 public:
  judgement(const RunReport& report, const surroundings& around)
      : report_(report), around_(around), wall_(report.wall_seconds()) {}

  RunReport::Limit limit() const {
    if (wall_ < least_seconds) return made("nothing", "", 0);
    // The strongest of them. Where two are close, the one that is named first can be changed more easily.
    RunReport::Limit found = made("nothing", "", 0);
    RunReport::Limit most = found;
    for (const RunReport::Limit& l : {scratch(), file(false), file(true), threads(), one_node()}) {
      const bool bounds = l.share() >= (l.kind() == "processor" ? all_threads_from : bounds_from);
      if (bounds && l.share() > found.share() + (found.kind() == "nothing" ? 0 : 0.03)) found = l;
      if (l.share() > most.share()) most = l;
    }
    return found.kind() == "nothing" ? made("nothing", most.name(), most.share()) : found;
  }

 private:
  // The disk that worked longest. Memory, where it could spare the disks a merge pass.
  RunReport::Limit scratch() const {
    const RunReport::Disk* busiest = nullptr;
    for (const auto& d : report_.disks())
      if (busiest == nullptr || d.busy_seconds() > busiest->busy_seconds()) busiest = &d;
    if (busiest == nullptr) return made("disk", "", 0);
    const double share = part(busiest->busy_seconds(), wall_);
    uint64_t passes = 0;
    const RunReport::Sort* sort = nullptr;
    for (const auto& s : report_.sorts())
      if (s.merge_passes() > passes) passes = s.merge_passes(), sort = &s;
    const auto& more = around_.other_memory;
    const double saved =
        more && more->scratch_before > more->scratch_after
            ? share * (1 - static_cast<double>(more->scratch_after) / static_cast<double>(more->scratch_before))
            : 0;
    // What is left if the disks took no time.
    double others = part(report_.cpu_seconds(), wall_ * report_.threads());
    for (const auto& n : report_.nodes())
      if (n.role() == "source" || n.role() == "sink") others = std::max(others, part(n.blocked_seconds().io(), wall_));
    const double most_saved = std::max(0.0, share - others);
    const std::string setting = more ? memory_setting(more->memory_bytes) : "";
    if (passes > 1) {
      RunReport::Limit out = made("memory", sort->id(), share);
      out.set_detail(
          fmt::format("the sort '{}' needed {} merge passes, and the scratch disk {} was busy {:.0f} % of the "
                      "time",
                      sort->id(), passes, busiest->path(), 100 * share));
      out.set_setting(more ? fmt::format("{} ({} merge pass{} at most)", setting, more->passes_after,
                                         more->passes_after == 1 ? "" : "es")
                           : "raise the memory budget (-m)");
      out.set_gain(std::min(saved, most_saved));
      return out;
    }
    RunReport::Limit out = made("disk", busiest->path(), share);
    // Twice the bandwidth halves what the disks take; so does half of the bytes.
    const double with_a_disk = share / (report_.disks_size() + 1);
    if (saved > with_a_disk && more->passes_after == 0) {
      out.set_setting(setting + ", so that all rows stay in memory");
      out.set_gain(std::min(saved, most_saved));
    } else {
      out.set_setting("-T a directory on another disk, beside this one");
      out.set_gain(std::min(with_a_disk, most_saved));
    }
    return out;
  }

  std::string memory_setting(uint64_t num_bytes) const {
    return fmt::format("-m {}MiB instead of {}", (num_bytes + MiB - 1) / MiB,
                       format_bytes(report_.memory_budget_bytes()));
  }

  // The node that waited longest for the file that it reads or writes.
  RunReport::Limit file(bool is_output) const {
    const RunReport::Node* longest = nullptr;
    for (const auto& n : report_.nodes())
      if (n.role() == (is_output ? "sink" : "source") &&
          (longest == nullptr || n.blocked_seconds().io() > longest->blocked_seconds().io()))
        longest = &n;
    const char* const kind = is_output ? "output" : "input";
    if (longest == nullptr) return made(kind, "", 0);
    const auto path = around_.paths.find(longest->id());
    const bool is_stream = path != around_.paths.end() && path->second == "-";
    const std::string name = path == around_.paths.end() ? longest->id()
                             : is_stream                 ? is_output ? "standard output" : "standard input"
                                                         : path->second;
    RunReport::Limit out = made(kind, name, part(longest->blocked_seconds().io(), wall_));
    out.set_detail(fmt::format("the node '{}' waited for it", longest->id()));
    std::error_code ignored;
    const bool is_pipe = is_stream || std::filesystem::is_fifo(name, ignored);
    out.set_setting(is_pipe     ? (is_output ? "what reads from it faster" : "what writes to it faster")
                    : is_output ? "a faster disk for it, or a compressed file (.zst behind its name)"
                                : "a faster disk for it, or a compressed copy (zstd)");
    out.set_gain(std::max(0.0, out.share() - next_share(*longest)));
    return out;
  }

  // All threads at work. On a machine that other programs use too, a thread that works waits for its core: that counts
  // as work of its node, and not as time of the processor.
  RunReport::Limit threads() const {
    double total = 0;
    for (const auto& n : report_.nodes())
      if (n.role() != "control") total += n.busy_seconds();
    const double share = part(std::max(total, report_.cpu_seconds()), wall_ * report_.threads());
    const RunReport::Node* busiest = busiest_node(false);
    RunReport::Limit out = made("processor", busiest == nullptr ? "" : busiest->id(), share);
    if (busiest != nullptr && total > 0)
      out.set_detail(fmt::format("{:.0f} % of that by the node '{}' ({})", 100 * busiest->busy_seconds() / total,
                                 busiest->id(), busiest->op()));
    if (around_.usable_cores > report_.threads()) {
      out.set_setting(fmt::format("-j {} instead of {}", around_.usable_cores, report_.threads()));
      out.set_gain(out.share() * (1 - static_cast<double>(report_.threads()) / around_.usable_cores));
    }
    return out;
  }

  // One node that one thread at a time carries: its work can't be shared.
  RunReport::Limit one_node() const {
    const RunReport::Node* busiest = busiest_node(true);
    if (busiest == nullptr || report_.threads() < 2) return made("node", "", 0);
    RunReport::Limit out = made("node", busiest->id(), part(busiest->busy_seconds(), wall_));
    out.set_detail(fmt::format("{} is worked off by one thread at a time", busiest->op()));
    out.set_setting("put what needs no order into a map before it, which all threads share");
    out.set_gain(
        std::max(0.0, out.share() - part(report_.cpu_seconds() - busiest->busy_seconds(), wall_ * report_.threads())));
    return out;
  }

  const RunReport::Node* busiest_node(bool serial) const {
    const RunReport::Node* out = nullptr;
    for (const auto& n : report_.nodes()) {
      const bool divides =
          n.role() == "stateless" || n.role() == "breaker" || n.role() == "control" || n.role() == "source";
      if ((serial && divides) || n.role() == "control") continue;
      if (out == nullptr || n.busy_seconds() > out->busy_seconds()) out = &n;
    }
    return out;
  }

  // What is left if this one no longer waits: the next limit.
  double next_share(const RunReport::Node& without) const {
    double most = part(report_.cpu_seconds(), wall_ * report_.threads());
    for (const auto& d : report_.disks()) most = std::max(most, part(d.busy_seconds(), wall_));
    for (const auto& n : report_.nodes())
      if (n.id() != without.id()) most = std::max(most, part(n.blocked_seconds().io(), wall_));
    return most;
  }

  const RunReport& report_;
  const surroundings& around_;
  const double wall_;
};

}  // namespace

RunReport::Limit limit_of(const RunReport& report, const surroundings& around) {
  return judgement(report, around).limit();
}

std::string sentence_of(const RunReport::Limit& limit) {
  const double percent = 100 * limit.share();
  std::string out;
  if (limit.kind() == "disk")
    out = fmt::format("the scratch disk {}: it was busy {:.0f} % of the time", limit.name(), percent);
  else if (limit.kind() == "memory")
    out = fmt::format("memory: {}", limit.detail());
  else if (limit.kind() == "input" || limit.kind() == "output")
    out = fmt::format("the {} {}: {} {:.0f} % of the time", limit.kind(), limit.name(), limit.detail(), percent);
  else if (limit.kind() == "processor")
    out = fmt::format("the processor: all threads worked {:.0f} % of the time{}{}", percent,
                      limit.detail().empty() ? "" : ", ", limit.detail());
  else if (limit.kind() == "node")
    out = fmt::format("the node '{}': it worked {:.0f} % of the time, and {}", limit.name(), percent, limit.detail());
  else if (limit.share() > 0)
    return fmt::format("nothing in particular: nothing worked, or was waited for, more than {:.0f} % of the time",
                       percent);
  else
    return "nothing in particular: it was over too soon";
  if (limit.setting().empty()) return out;
  out += fmt::format("; what would help: {}", limit.setting());
  if (limit.gain() >= 0.05) out += fmt::format(", up to {:.0f} % less time", 100 * limit.gain());
  return out;
}

}  // namespace flowrun::exec
