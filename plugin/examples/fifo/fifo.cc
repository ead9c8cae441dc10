// fifo.lines: the lines that other programs write into a FIFO, or that a server sends through a socket, as a source
// that waits without keeping a thread.
//
//   read what is there ─▶ lines ─▶ out
//        └ nothing is there: ask for a wake when there is something, and return
//
// It ends when the last writer has closed its end. A job that is cancelled meanwhile is never woken again: flowrun
// takes the node down, and with it the descriptor.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <flowrun/plugin.hpp>
#include <string>
#include <vector>

namespace {

constexpr size_t chunk_bytes = 64 * 1024;

struct settings {
  std::string path;
  uint64_t longest_line = 0;
  fr::row_type type;
};

settings check(fr::node& node) {
  settings s;
  s.path = node.text("path");
  s.longest_line = node.bytes("longest");
  s.type = fr::row_type({{node.text("as"), {FR_STRING, 8}}});
  node.set_memory({.minimum = chunk_bytes + 2 * s.longest_line, .maximum = 0});
  node.set_output(0, s.type);
  return s;
}

[[noreturn]] void fail(const std::string& path, int code) {
  throw fr::error("'" + path + "' can't be read: " + std::strerror(code), {}, code == ENOENT ? FR_MISSING : FR_IO);
}

// Never waits for the other end.
int open_end(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) fail(path, errno);
  if (!S_ISSOCK(status.st_mode)) {
    const int fifo = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fifo < 0) fail(path, errno);
    return fifo;
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) fail(path, ENAMETOOLONG);
  std::memcpy(address.sun_path, path.data(), path.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket >= 0 && connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int code = errno;
    close(socket);
    fail(path, code);
  }
  if (socket < 0) fail(path, errno);
  return socket;
}

class line_source {
 public:
  line_source(const settings& s, const fr::job& job)
      : s_(s), job_(job), waker_(job.waker()), descriptor_(open_end(s.path)) {}
  line_source(const line_source&) = delete;
  line_source& operator=(const line_source&) = delete;
  ~line_source() {
    fr::wakes().forget(waker_.raw(), descriptor_);
    close(descriptor_);
  }

  fr::outcome pull(fr::out& out) {
    fr::row_writer& rows = out.rows(s_.type);
    for (;;) {
      if (!give_lines(out, rows)) return fr::outcome::ready();  // the batch is full
      if (has_ended_) return end(rows);
      text_.erase(0, taken_);
      taken_ = 0;
      if (text_.size() > s_.longest_line)
        throw fr::error("'" + s_.path + "' has a line of more than " + std::to_string(s_.longest_line) + " bytes",
                        "raise `longest`");
      if (!read_some()) return wait();
    }
  }

 private:
  // False: there may be more lines.
  bool give_lines(fr::out& out, fr::row_writer& rows) {
    for (size_t end; (end = text_.find('\n', taken_)) != std::string::npos; taken_ = end + 1) {
      if (out.full()) return false;
      give(rows, std::string_view(text_).substr(taken_, end - taken_));
    }
    return true;
  }
  fr::outcome end(fr::row_writer& rows) {
    if (taken_ < text_.size()) give(rows, std::string_view(text_).substr(taken_));
    return fr::outcome::done();
  }
  void give(fr::row_writer& rows, std::string_view line) {
    unsigned char* const row = rows.append();
    rows.put_text(row, 0, line);
  }
  // False: nothing is there now.
  bool read_some() {
    const size_t before = text_.size();
    text_.resize(before + chunk_bytes);
    const ssize_t count = read(descriptor_, text_.data() + before, chunk_bytes);
    const int code = errno;
    text_.resize(before + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0 && code != EAGAIN && code != EINTR) fail(s_.path, code);
    if (count > 0) job_.count("file_read_bytes", static_cast<uint64_t>(count));
    if (count > 0) job_.count("reads", 1);
    // A FIFO without a writer looks like one that has ended, until the first wake.
    if (count == 0 && (was_woken_ || is_file_)) return has_ended_ = true;
    return count > 0 || (count < 0 && code == EINTR);
  }
  fr::outcome wait() {
    was_woken_ = true;
    const int code = fr::wakes().when_ready(waker_.raw(), descriptor_, FR_READABLE);
    is_file_ = code == EPERM;  // it is always ready
    if (is_file_) return fr::outcome::ready();
    if (code != 0) fail(s_.path, code);
    return fr::outcome::blocked();
  }

  const settings& s_;
  const fr::job job_;
  const fr::waker waker_;
  const int descriptor_;
  std::string text_;
  size_t taken_ = 0;  // of the text
  bool was_woken_ = false, is_file_ = false, has_ended_ = false;
};

}  // namespace

FLOWRUN_PLUGIN("fifo", "1.0.0") {
  plugin.add(fr::source<settings, line_source>("lines")
                 .summary("Reads lines from a FIFO or a socket, as they come.")
                 .order("gives: nothing")
                 .example("events: {op: fifo.lines, with: {path: /run/events}}\n")
                 .output("out", "a line in each row")
                 .parameter({.name = "path",
                             .kind = FR_PARAMETER_PATH,
                             .required = true,
                             .help = "The FIFO, or the Unix socket of a server that sends lines; a file is read, too."})
                 .parameter({.name = "as", .default_text = "line", .help = "The name of the column."})
                 .parameter({.name = "longest",
                             .kind = FR_PARAMETER_BYTES,
                             .default_text = "64KiB",
                             .help = "A longer line ends the job."})
                 .check(check)
                 .run([](const settings& s, const fr::job& job) { return line_source(s, job); },
                      [](line_source& s, fr::out& out) { return s.pull(out); }));
}
