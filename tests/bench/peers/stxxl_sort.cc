// The peer of the benchmarks of sorting rows: a file of rows sorted into a new file by STXXL 1.4's streaming layer.
//
// Runs are created and merged with I/O and computation overlapped, as in the STXXL papers: input and output are scanned
// by the vector's asynchronous prefetching streams, scratch is one file, all of it opened with O_DIRECT through Linux
// AIO. Everything STXXL lets a user tune is an argument, so that it can be shown at its best.
//
//   stxxl_sort SHAPE INPUT OUTPUT SCRATCH_DIRECTORY MEMORY_MIB [BLOCK_KIB [linuxaio|syscall]]
//
// SHAPE is u64, rows16 or rows32 (words, the first one is the key), or records (100 bytes, the first ten are the key).
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <stxxl/io>
#include <stxxl/mng>
#include <stxxl/stream>
#include <stxxl/vector>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <limits>
#include <numeric>
#include <string>

namespace {

struct settings {
  std::string shape;
  std::string input;
  std::string output;
  std::string scratch;
  uint64_t memory_bytes = 0;
  std::string file_type = "linuxaio";
};

// Rows of 64-bit words whose first one is the key.
template <unsigned NumWords>
struct row {
  uint64_t words[NumWords];
};

template <unsigned NumWords>
struct less_row {
  using row_type = row<NumWords>;
  bool operator()(const row_type& a, const row_type& b) const { return a.words[0] < b.words[0]; }
  row_type min_value() const { return {}; }
  row_type max_value() const {
    row_type out;
    std::memset(&out, 0xff, sizeof out);
    return out;
  }
};

struct less_u64 {
  using row_type = uint64_t;
  bool operator()(uint64_t a, uint64_t b) const { return a < b; }
  uint64_t min_value() const { return std::numeric_limits<uint64_t>::min(); }
  uint64_t max_value() const { return std::numeric_limits<uint64_t>::max(); }
};

// Records of the sort benchmark: a key of ten bytes. Its first eight are compared as one number.
struct record {
  unsigned char bytes[100];
};

struct less_record {
  using row_type = record;
  bool operator()(const record& a, const record& b) const {
    const uint64_t x = prefix(a);
    const uint64_t y = prefix(b);
    return x != y ? x < y : std::memcmp(a.bytes + 8, b.bytes + 8, 2) < 0;
  }
  record min_value() const { return {}; }
  record max_value() const {
    record out;
    std::memset(&out, 0xff, sizeof out);
    return out;
  }

 private:
  static uint64_t prefix(const record& r) {
    uint64_t word = 0;
    std::memcpy(&word, r.bytes, sizeof word);
    return __builtin_bswap64(word);
  }
};

// Blocks of a file that is nothing but rows must be whole rows, and whole pages for direct I/O.
constexpr unsigned file_block_bytes(unsigned block_bytes, unsigned row_bytes) {
  const unsigned unit = std::lcm(row_bytes, 4096U);
  return block_bytes / unit * unit;
}

template <class Less, unsigned BlockBytes>
void sort_file(const settings& s) {
  using row_type = typename Less::row_type;
  struct stat info {};
  if (stat(s.input.c_str(), &info) != 0) throw std::runtime_error("can't read " + s.input);
  const uint64_t num_rows = static_cast<uint64_t>(info.st_size) / sizeof(row_type);
  constexpr unsigned file_block = file_block_bytes(BlockBytes, sizeof(row_type));
  static_assert(file_block > 0);
  using vector_type = typename stxxl::VECTOR_GENERATOR<row_type, 2, 2, file_block>::result;
  using stxxl::file;

  stxxl::file* from = stxxl::create_file(s.file_type, s.input, file::RDONLY | file::DIRECT);
  stxxl::file* to = stxxl::create_file(s.file_type, s.output, file::RDWR | file::CREAT | file::TRUNC | file::DIRECT);
  {
    const vector_type input(from, num_rows);
    // The vectors' own buffers and those of the two scans come out of the budget: 2 pages of 2 blocks each for either
    // vector, and the buffers named below.
    constexpr unsigned num_scan_buffers = 4;
    const uint64_t aside = (2 * 4 + 2 * num_scan_buffers) * uint64_t{file_block};
    if (s.memory_bytes < 2 * aside) throw std::runtime_error("too little memory for this block size");
    const uint64_t for_sorting = s.memory_bytes - aside;

    auto rows = stxxl::stream::streamify(input.begin(), input.end(), num_scan_buffers);
    using rows_type = decltype(rows);
    using creator_type = stxxl::stream::runs_creator<rows_type, Less, BlockBytes>;
    creator_type creator(rows, Less(), for_sorting);
    stxxl::stream::runs_merger<typename creator_type::sorted_runs_type, Less> merger(creator.result(), Less(),
                                                                                     for_sorting);
    vector_type output(to, num_rows);
    stxxl::stream::materialize(merger, output.begin(), output.end(), num_scan_buffers);
    output.flush();
  }
  delete from;
  delete to;
  // Blocks are written whole; the file ends where the rows end.
  if (truncate(s.output.c_str(), static_cast<off_t>(num_rows * sizeof(row_type))) != 0)
    throw std::runtime_error("can't truncate " + s.output);
  const int fd = open(s.output.c_str(), O_RDONLY);
  if (fd < 0 || fsync(fd) != 0) throw std::runtime_error("can't flush " + s.output);
  close(fd);
}

template <class Less>
void sort_with_blocks(const settings& s, unsigned block_kib) {
  switch (block_kib) {
    case 256: return sort_file<Less, (256U << 10)>(s);
    case 512: return sort_file<Less, (512U << 10)>(s);
    case 1024: return sort_file<Less, (1U << 20)>(s);
    case 2048: return sort_file<Less, (2U << 20)>(s);
    case 4096: return sort_file<Less, (4U << 20)>(s);
    default: throw std::runtime_error("the block size is 256, 512, 1024, 2048 or 4096 KiB");
  }
}

int run(int argc, char** argv) {
  if (argc < 6 || argc > 8) {
    std::cerr << "usage: stxxl_sort u64|rows16|rows32|records INPUT OUTPUT SCRATCH_DIRECTORY MEMORY_MIB "
                 "[BLOCK_KIB [linuxaio|syscall]]\n";
    return 64;
  }
  settings s{
      argv[1], argv[2], argv[3], argv[4], std::strtoull(argv[5], nullptr, 10) << 20, argc > 7 ? argv[7] : "linuxaio"};
  const unsigned block_kib = argc > 6 ? static_cast<unsigned>(std::strtoul(argv[6], nullptr, 10)) : 2048;

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

  if (s.shape == "u64")
    sort_with_blocks<less_u64>(s, block_kib);
  else if (s.shape == "rows16")
    sort_with_blocks<less_row<2>>(s, block_kib);
  else if (s.shape == "rows32")
    sort_with_blocks<less_row<4>>(s, block_kib);
  else if (s.shape == "records")
    sort_with_blocks<less_record>(s, block_kib);
  else
    throw std::runtime_error("no rows of shape " + s.shape);
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
