#include "runner/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/units.h"
#include "runner/exact_bytes.h"

namespace flowrun::runner {

namespace {

using json = nlohmann::ordered_json;
using pattern_field = io::bandwidth pattern_speeds::*;

struct pattern {
  io::probe_pattern what;
  pattern_field field;
};

constexpr pattern patterns[] = {{io::probe_pattern::read, &pattern_speeds::read},
                                {io::probe_pattern::write, &pattern_speeds::write},
                                {io::probe_pattern::mixed, &pattern_speeds::mixed}};

// 1 MB = 10^6 bytes, as fio and makers of disks count.
double megabytes(const io::bandwidth& speed) { return speed.total() * 1e-6; }

double sum_of(const std::vector<pattern_speeds>& alone, pattern_field field) {
  double sum = 0;
  for (const pattern_speeds& speeds : alone) sum += (speeds.*field).total();
  return sum;
}

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

double rounded(double value) { return std::round(value); }

std::string directory_text(const bench_findings& found, size_t index) {
  const benched_directory& d = found.directories[index];
  std::string out = fmt::format("{}: a file of {}, {}, {}\n  {:<7} {:>10} {:>5} {:>9}\n", d.path,
                                format_bytes(found.file_bytes[index]),
                                d.scratch->is_direct() ? "direct I/O" : "through the page cache", found.backend,
                                "pattern", "block size", "depth", "MB/s");
  for (const disk_measurement& m : found.result.measurements[index])
    out += fmt::format("  {:<7} {:>10} {:>5} {:>9.1f}\n", name_of(m.pattern), format_bytes(m.block_bytes), m.depth,
                       megabytes(m.speed));
  return out + "\n";
}

std::string together_text(const bench_findings& found) {
  const search_result& r = found.result;
  std::string out = fmt::format("all together, {} x {}\n  {:<7} {:>10} {:>12} {:>7}\n", format_bytes(r.block_bytes),
                                r.depth, "pattern", "sum MB/s", "together MB/s", "ratio");
  for (const pattern& p : patterns) {
    const double sum = sum_of(r.alone, p.field);
    const double all = (r.together.*p.field).total();
    out +=
        fmt::format("  {:<7} {:>10.1f} {:>13.1f} {:>7.2f}\n", name_of(p.what), sum * 1e-6, all * 1e-6, ratio(all, sum));
  }
  return out + "\n";
}

json speed_json(const io::bandwidth& speed) {
  return {{"bytes_per_second", rounded(speed.total())},
          {"read_bytes_per_second", rounded(speed.read)},
          {"write_bytes_per_second", rounded(speed.write)}};
}

json directory_json(const bench_findings& found, size_t index, double weight) {
  const benched_directory& d = found.directories[index];
  json measurements = json::array();
  for (const disk_measurement& m : found.result.measurements[index]) {
    json one = {{"pattern", name_of(m.pattern)}, {"block_bytes", m.block_bytes}, {"depth", m.depth}};
    one.update(speed_json(m.speed));
    measurements.push_back(std::move(one));
  }
  json shares = json::array();
  for (const size_t k : d.same_disk) shares.push_back(found.directories[k].path);
  json out = {{"path", d.path},
              {"direct", d.scratch->is_direct()},
              {"file_bytes", found.file_bytes[index]},
              {"shares_disk_with", shares},
              {"weight", weight},
              {"measurements", measurements}};
  for (const pattern& p : patterns) out[name_of(p.what)] = speed_json(found.result.alone[index].*p.field);
  return out;
}

}  // namespace

measured_disks suggestion_of(const bench_findings& found) {
  measured_disks out;
  out.block_bytes = found.result.block_bytes;
  out.depth = found.result.depth;
  for (size_t i = 0; i < found.directories.size(); ++i) {
    const benched_directory& d = found.directories[i];
    const double shared = megabytes(found.result.alone[i].mixed) / static_cast<double>(d.same_disk.size() + 1);
    out.scratch.push_back({d.absolute, shared});
  }
  return out;
}

overlapped_bound bound_of(const pattern_speeds& together) {
  constexpr auto gib = static_cast<double>(GiB);
  return {ratio(gib, together.write.total()) + ratio(gib, together.read.total()),
          ratio(2 * gib, together.mixed.total())};
}

std::string bench_text(const bench_findings& found) {
  std::string out;
  for (size_t i = 0; i < found.directories.size(); ++i) out += directory_text(found, i);
  if (found.directories.size() > 1) out += together_text(found);
  const measured_disks best = suggestion_of(found);
  out += fmt::format("suggested\n  block size  {:<10} the smallest within 5 % of the best mixed bandwidth\n",
                     exact_bytes(best.block_bytes));
  out += fmt::format("  depth       {:<10} the same\n", best.depth);
  for (const measured_disks::directory& d : best.scratch)
    out += fmt::format("  weight      {:<10.0f} {}\n", d.weight, d.path);
  const overlapped_bound bound = bound_of(found.result.together);
  const pattern_speeds& all = found.result.together;
  out += fmt::format(
      "\noverlapped bound, for each GiB sorted\n"
      "  {:>6.2f} s  runs written at {:.1f} MB/s, then read at {:.1f} MB/s: inputs and outputs are elsewhere\n"
      "  {:>6.2f} s  read and written at once at {:.1f} MB/s: a merge pass, or half of a sort with inputs and outputs "
      "here\n\n",
      bound.written_then_read, megabytes(all.write), megabytes(all.read), bound.read_and_written, megabytes(all.mixed));
  return out;
}

std::string bench_json(const bench_findings& found, const std::string& saved) {
  const measured_disks best = suggestion_of(found);
  json directories = json::array(), weights = json::array();
  for (size_t i = 0; i < found.directories.size(); ++i) {
    directories.push_back(directory_json(found, i, best.scratch[i].weight));
    weights.push_back({{"path", best.scratch[i].path}, {"weight", best.scratch[i].weight}});
  }
  json together = json::object();
  for (const pattern& p : patterns) {
    const double sum = sum_of(found.result.alone, p.field);
    const io::bandwidth& all = found.result.together.*p.field;
    json one = speed_json(all);
    one["sum_bytes_per_second"] = rounded(sum);
    one["ratio"] = ratio(all.total(), sum);
    together[name_of(p.what)] = one;
  }
  const overlapped_bound bound = bound_of(found.result.together);
  const json out = {{"backend", found.backend},
                    {"seconds", found.seconds},
                    {"directories", directories},
                    {"together", together},
                    {"suggestion", {{"block_bytes", best.block_bytes}, {"depth", best.depth}, {"weights", weights}}},
                    {"overlapped_bound",
                     {{"written_then_read_seconds_per_gib", bound.written_then_read},
                      {"read_and_written_seconds_per_gib", bound.read_and_written}}},
                    {"saved", saved.empty() ? json() : json(saved)}};
  return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace flowrun::runner
