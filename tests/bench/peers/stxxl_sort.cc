// The peer of benchmark sort_u64: a file of u64 sorted into a new file by STXXL 1.4's streaming layer.
//
// Runs are created and merged with I/O and computation overlapped, as in the STXXL papers: input and output are scanned
// by the vector's asynchronous prefetching streams, scratch is one file, all of it opened with O_DIRECT through Linux
// AIO. Everything STXXL lets a user tune is an argument, so that it can be shown at its best.
//
//   stxxl_sort INPUT OUTPUT SCRATCH_DIRECTORY MEMORY_MIB [BLOCK_MIB [linuxaio|syscall]]
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <stxxl/io>
#include <stxxl/mng>
#include <stxxl/stream>
#include <stxxl/vector>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <limits>
#include <string>

namespace {

struct settings {
  std::string input;
  std::string output;
  std::string scratch;
  uint64_t memory_bytes = 0;
  std::string file_type = "linuxaio";
};

struct less_u64 {
  bool operator()(uint64_t a, uint64_t b) const { return a < b; }
  uint64_t min_value() const { return std::numeric_limits<uint64_t>::min(); }
  uint64_t max_value() const { return std::numeric_limits<uint64_t>::max(); }
};

template <unsigned BlockBytes>
void sort_file(const settings& s) {
  struct stat info {};
  if (stat(s.input.c_str(), &info) != 0) throw std::runtime_error("can't read " + s.input);
  const uint64_t num_rows = static_cast<uint64_t>(info.st_size) / sizeof(uint64_t);
  using vector_type = typename stxxl::VECTOR_GENERATOR<uint64_t, 2, 2, BlockBytes>::result;
  using stxxl::file;

  stxxl::file* from = stxxl::create_file(s.file_type, s.input, file::RDONLY | file::DIRECT);
  stxxl::file* to = stxxl::create_file(s.file_type, s.output, file::RDWR | file::CREAT | file::TRUNC | file::DIRECT);
  {
    const vector_type input(from, num_rows);
    // The vectors' own buffers and those of the two scans come out of the budget: 2 pages of 2 blocks each for either
    // vector, and the buffers named below.
    constexpr unsigned num_scan_buffers = 4;
    const uint64_t aside = (2 * 4 + 2 * num_scan_buffers) * uint64_t{BlockBytes};
    if (s.memory_bytes < 2 * aside) throw std::runtime_error("too little memory for this block size");
    const uint64_t for_sorting = s.memory_bytes - aside;

    auto rows = stxxl::stream::streamify(input.begin(), input.end(), num_scan_buffers);
    using rows_type = decltype(rows);
    using creator_type = stxxl::stream::runs_creator<rows_type, less_u64, BlockBytes>;
    creator_type creator(rows, less_u64(), for_sorting);
    stxxl::stream::runs_merger<typename creator_type::sorted_runs_type, less_u64> merger(creator.result(), less_u64(),
                                                                                         for_sorting);
    vector_type output(to, num_rows);
    stxxl::stream::materialize(merger, output.begin(), output.end(), num_scan_buffers);
    output.flush();
  }
  delete from;
  delete to;
  // Blocks are written whole; the file ends where the rows end.
  if (truncate(s.output.c_str(), static_cast<off_t>(num_rows * sizeof(uint64_t))) != 0)
    throw std::runtime_error("can't truncate " + s.output);
  const int fd = open(s.output.c_str(), O_RDONLY);
  if (fd < 0 || fsync(fd) != 0) throw std::runtime_error("can't flush " + s.output);
  close(fd);
}

int run(int argc, char** argv) {
  if (argc < 5 || argc > 7) {
    std::cerr << "usage: stxxl_sort INPUT OUTPUT SCRATCH_DIRECTORY MEMORY_MIB [BLOCK_MIB [linuxaio|syscall]]\n";
    return 64;
  }
  settings s{argv[1], argv[2], argv[3], std::strtoull(argv[4], nullptr, 10) << 20, argc > 6 ? argv[6] : "linuxaio"};
  const unsigned block_mib = argc > 5 ? static_cast<unsigned>(std::strtoul(argv[5], nullptr, 10)) : 2;

  // Otherwise the library leaves two log files in the working directory.
  setenv("STXXLLOGFILE", "/dev/null", 0);
  setenv("STXXLERRLOGFILE", "/dev/null", 0);
  stxxl::disk_config disk(s.scratch + "/stxxl_sort.scratch", 0, s.file_type);
  disk.autogrow = true;
  disk.unlink_on_open = true;
  disk.direct = stxxl::disk_config::DIRECT_ON;
  stxxl::config::get_instance()->add_disk(disk);
  // Opened before the other files, so that its blocks are on device 0: the merge's schedule knows the disks only.
  stxxl::block_manager::get_instance();

  switch (block_mib) {
    case 1: sort_file<(1U << 20)>(s); break;
    case 2: sort_file<(2U << 20)>(s); break;
    case 4: sort_file<(4U << 20)>(s); break;
    case 8: sort_file<(8U << 20)>(s); break;
    default: throw std::runtime_error("the block size is 1, 2, 4 or 8 MiB");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "stxxl_sort: " << e.what() << '\n';
    return 1;
  }
}
