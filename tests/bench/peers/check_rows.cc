// Is a sorted file what it should be? One scan, with nothing of Flowrun in it: in order (unless --any-order), how many
// rows, and a hash that doesn't depend on their order, to be compared with that of the input.
//
//   check_rows SHAPE FILE [--any-order]       prints "COUNT HASH"; exit 1 when it is out of order; - is standard input
//
//   u64, rows16, rows32   packed rows; the key is their first eight bytes, a little-endian number
//   records               rows of 100 bytes; the key is the first ten, byte by byte
//   lines                 lines of text, byte by byte (locale C)
//
// The hash is the sum modulo 2^64 of XXH3 of each row: equal multisets have equal sums, and unequal ones differ but for
// one in 2^64. Lines in order with the right hash are the right file, byte for byte.
#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct shape {
  size_t row_bytes = 0;  // 0: lines
  bool numbers = false;
};

bool find_shape(std::string_view name, shape& out) {
  if (name == "u64") out = {8, true};
  if (name == "rows16") out = {16, true};
  if (name == "rows32") out = {32, true};
  if (name == "records") out = {100, false};
  return out.row_bytes > 0 || name == "lines";
}

// Rows of a stream one after the other. A view is valid until the next call.
class row_reader {
 public:
  row_reader(int fd, shape s) : fd_(fd), shape_(s), buffer_(4U << 20) {}

  // False at the end, or when reading failed or the last row is cut short (then error() says why).
  bool next(std::string_view& row) {
    for (;;) {
      const size_t have = end_ - begin_;
      if (shape_.row_bytes > 0 && have >= shape_.row_bytes) return take(row, shape_.row_bytes, 0);
      if (shape_.row_bytes == 0 && have > 0) {
        const void* at = std::memchr(&buffer_[begin_], '\n', have);
        if (at != nullptr) return take(row, static_cast<size_t>(static_cast<const char*>(at) - &buffer_[begin_]), 1);
      }
      if (fill()) continue;
      if (error_.empty() && end_ > begin_) error_ = "the last row is cut short";
      return false;
    }
  }
  const std::string& error() const { return error_; }

 private:
  bool take(std::string_view& row, size_t num_bytes, size_t delimiter) {
    row = {&buffer_[begin_], num_bytes};
    begin_ += num_bytes + delimiter;
    return true;
  }

  bool fill() {
    std::memmove(buffer_.data(), &buffer_[begin_], end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
    const ssize_t got = read(fd_, &buffer_[end_], buffer_.size() - end_);
    if (got < 0) error_ = std::strerror(errno);
    if (got <= 0) return false;
    end_ += static_cast<size_t>(got);
    return true;
  }

  const int fd_;
  const shape shape_;
  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  std::string error_;
};

uint64_t number(std::string_view row) {
  uint64_t value = 0;
  std::memcpy(&value, row.data(), sizeof value);
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  shape s;
  const bool any_order = argc == 4 && std::string_view(argv[3]) == "--any-order";
  if (argc != (any_order ? 4 : 3) || !find_shape(argv[1], s)) {
    std::cerr << "usage: check_rows u64|rows16|rows32|records|lines FILE|- [--any-order]\n";
    return 64;
  }
  const std::string_view path = argv[2];
  const int fd = path == "-" ? STDIN_FILENO : open(argv[2], O_RDONLY);
  if (fd < 0) {
    std::perror(argv[2]);
    return 66;
  }
  row_reader rows(fd, s);
  uint64_t count = 0;
  uint64_t hash = 0;
  uint64_t last_number = 0;
  std::string last_key;
  std::string_view row;
  for (; rows.next(row); ++count) {
    hash += XXH3_64bits(row.data(), row.size());
    if (any_order) continue;
    bool in_order = true;
    if (s.numbers) {
      in_order = number(row) >= last_number;
      last_number = number(row);
    } else {
      const std::string_view key = s.row_bytes > 0 ? row.substr(0, 10) : row;
      in_order = key >= last_key;
      last_key = key;
    }
    if (!in_order) {
      std::cerr << path << ": row " << count << " (from 0) is less than the one before it\n";
      return 1;
    }
  }
  if (!rows.error().empty()) {
    std::cerr << path << ": " << rows.error() << '\n';
    return 1;
  }
  std::printf("%llu %016llx\n", static_cast<unsigned long long>(count), static_cast<unsigned long long>(hash));
  return 0;
}
