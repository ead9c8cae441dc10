#include "runner/benched_directories.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/base/machine.h"
#include "engine/base/units.h"
#include "specs/source_text.h"

namespace flowrun::runner {

namespace {

// A smaller file would fit into the caches of disks, and large blocks would not fit into the file.
constexpr uint64_t least_by_default = 64 * MiB;
constexpr uint64_t most_by_default = 1 * GiB;
constexpr uint64_t most_when_quick = 256 * MiB;
constexpr uint64_t least_of_all = 1 * MiB;

struct place {
  dev_t device = 0;
  ino_t inode = 0;
  std::optional<uint64_t> free_bytes;  // empty: the file system doesn't say
};

place look_at(const std::string& path) {
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0)
    throw error(error_kind::missing_input, fmt::format("can't measure {}: {}", path, errno_text(errno)),
                "name a directory that is there, on the disk to measure");
  if (!S_ISDIR(there.st_mode))
    throw error(error_kind::missing_input, fmt::format("can't measure {}: it is no directory", path),
                "name a directory on the disk to measure");
  if (::access(path.c_str(), W_OK | X_OK) != 0)
    throw error(error_kind::output, fmt::format("can't write in {}: {}", path, errno_text(errno)),
                "name a directory of yours on that disk");
  struct statvfs space {};
  if (::statvfs(path.c_str(), &space) != 0)
    throw error(error_kind::output, fmt::format("can't tell the room in {}: {}", path, errno_text(errno)));
  place out = {there.st_dev, there.st_ino, {}};
  if (space.f_blocks > 0) out.free_bytes = uint64_t{space.f_bavail} * space.f_frsize;
  return out;
}

// What each of `sharers` files on a file system may take.
uint64_t file_bytes_for(const std::string& path, const place& there, size_t sharers,
                        const bench_disk_arguments& arguments) {
  const uint64_t free_bytes = there.free_bytes.value_or(4 * sharers * least_by_default);
  const std::string files = sharers > 1 ? fmt::format("{} files of ", sharers) : "a file of ";
  if (arguments.file_bytes > 0) {
    const uint64_t wanted = round_down(arguments.file_bytes, io_alignment);
    if (wanted < least_of_all)
      throw error(error_kind::usage, "--file-size " + format_bytes(arguments.file_bytes) + " is too little to measure",
                  "1MiB at least; 1GiB tells more");
    if (there.free_bytes && wanted > free_bytes / sharers)
      throw error(error_kind::resources,
                  fmt::format("too little room in {}: {}{}, but {} free", path, files, format_bytes(wanted),
                              format_bytes(free_bytes)),
                  "free space there, or give a smaller --file-size");
    return wanted;
  }
  const uint64_t share = round_down(free_bytes / 4 / sharers, MiB);
  if (share < least_by_default)
    throw error(error_kind::resources,
                fmt::format("too little room in {}: {} free, and {}{} should take no more than a quarter of it", path,
                            format_bytes(free_bytes), files, format_bytes(least_by_default)),
                "free space there, or say with --file-size how much may be taken");
  return std::min(share, arguments.quick ? most_when_quick : most_by_default);
}

std::string absolute_path(const std::string& path) {
  std::string out = std::filesystem::absolute(path).lexically_normal().string();
  while (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

}  // namespace

std::vector<benched_directory> open_directories(const bench_disk_arguments& arguments, terminal& screen) {
  const std::vector<std::string>& paths = arguments.directories;
  std::vector<place> places;
  for (const std::string& path : paths) places.push_back(look_at(path));
  std::vector<benched_directory> out(paths.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    benched_directory& d = out[i];
    d.path = paths[i];
    d.absolute = absolute_path(paths[i]);
    if (arguments.save && !specs::is_utf8(d.absolute))
      throw error(error_kind::usage, "the path " + d.absolute + " is no UTF-8: no configuration can hold it",
                  "leave out --save, or rename the directory");
    for (size_t k = 0; k < paths.size(); ++k) {
      if (k == i || places[k].device != places[i].device) continue;
      if (places[k].inode == places[i].inode)
        throw error(error_kind::usage,
                    fmt::format("{} and {} are the same directory", paths[std::min(i, k)], paths[std::max(i, k)]),
                    "name each directory once");
      d.same_disk.push_back(k);
    }
    d.file_bytes = file_bytes_for(d.path, places[i], d.same_disk.size() + 1, arguments);
  }
  for (benched_directory& d : out) {
    d.scratch = io::file::open(d.path, io::open_mode::scratch, {.direct = true});
    if (!d.scratch->is_direct())
      screen.warn("the file system of " + d.path +
                  " refuses direct I/O (O_DIRECT): what is measured there is the page cache as well");
    if (on_ram_disk(d.path)) screen.warn(d.path + " lies on a RAM disk: scratch there takes memory");
  }
  std::vector<bool> told(out.size(), false);
  for (size_t i = 0; i < out.size(); ++i) {
    if (told[i] || out[i].same_disk.empty()) continue;
    std::string names = out[i].path;
    for (const size_t k : out[i].same_disk) {
      names += (k == out[i].same_disk.back() ? " and " : ", ") + out[k].path;
      told[k] = true;
    }
    screen.warn(names + " share a disk: their bandwidths won't add up, and its weight is shared among them");
  }
  return out;
}

}  // namespace flowrun::runner
