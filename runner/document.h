// The documents that a command is asked for: on standard output, or in a file that appears whole or not at all.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace flowrun::io {
class output_target;
enum class what_is_there;
}  // namespace flowrun::io

namespace flowrun::runner {

// Writes all of it to a descriptor. Throws error(io), or error(output) when there is no room, naming `name`.
void write_fully(int descriptor, std::string_view bytes, const std::string& name);

// To standard output.
void print(std::string_view text);
// The same for lines that people read: without_controls().
void print_lines(std::string_view text);

// Throws error(usage) where what is to be written to -o `to` would replace what is read, `from` ("-": standard input):
// "-o job.yaml is the job itself".
void refuse_to_replace(const std::string& to, const std::string& from, const std::string& what,
                       const std::string& example);

// A file that is written at the end of a long run. Its place is tried when the run begins, so that the user needn't
// wait hours to learn that a report can't be written.
class pending_document {
 public:
  // `path` -: standard output; a device or a pipe: written to as it is. Throws error(output).
  explicit pending_document(std::string path);
  // `refused`: for a job that somebody works on later. Throws error(output) where anything has the name, a link to
  // nothing included, now or at the end. -, devices and pipes may be written to.
  pending_document(std::string path, io::what_is_there there);
  ~pending_document();  // without commit(): leaves nothing behind
  pending_document(const pending_document&) = delete;
  pending_document& operator=(const pending_document&) = delete;

  void append(std::string_view bytes);
  // Gives the file its name. `durable`: once its content is on the disk.
  void commit(bool durable = false);
  void write(std::string_view text) {
    append(text);
    commit();
  }

 private:
  const std::string path_;
  std::unique_ptr<io::output_target> target_;  // null: written to directly
  int descriptor_ = -1;                        // of what is
};

}  // namespace flowrun::runner
