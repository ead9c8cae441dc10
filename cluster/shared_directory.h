// The directory that the driver of a job and its workers share (cluster.proto): names, and messages as files.
//
// A file there is whole or absent: it is written under another name and renamed, or linked where only the first may
// have the name. So what is read was finished by whoever wrote it, and a worker that dies leaves nothing that counts. A
// checksum stands in front.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <google/protobuf/message_lite.h>

namespace flowrun::cluster {

class shared_directory {
 public:
  explicit shared_directory(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string plan() const { return path_ + "/plan"; }
  std::string stage(size_t stage) const;
  std::string given(size_t file) const;
  std::string done(size_t stage, size_t task) const;
  std::string failed(size_t stage, size_t task) const;
  std::string said(size_t stage, size_t task) const;
  std::string alive(size_t stage, size_t task, int process) const;
  // Those that there are: task and path. None where the directory can't be read.
  std::vector<std::pair<size_t, std::string>> all_alive(size_t stage) const;
  // What tasks of a stage that is done have left beside its results goes, so that a stage that runs again and again, in
  // a loop, leaves a few files each time. What can't be removed stays.
  void tidy(size_t stage) const;
  // Made anew, for this process alone.
  std::string make_attempt(size_t stage, size_t task) const;

 private:
  std::string path_;
};

// Throws error(output).
void write_message(const std::string& path, const google::protobuf::MessageLite& message);
// False: the name is taken, and `message` is not written.
bool write_first_message(const std::string& path, const google::protobuf::MessageLite& message);
// By one process alone, and nobody minds if a power cut takes it.
void write_unsynced_message(const std::string& path, const google::protobuf::MessageLite& message);
// False: there is no such file. Throws damaged_file.
bool read_message(const std::string& path, google::protobuf::MessageLite& message);

}  // namespace flowrun::cluster
