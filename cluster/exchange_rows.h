// Rows that lie in exchange files, as the driver of a job has them in its hands: it knows how many there are, and reads
// none of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster.pb.h"
#include "engine/exec/control_context.h"
#include "engine/record/row_type.h"

namespace flowrun::cluster {

// Files that nobody will read any more. They are removed when the driver says so, and not as soon as it lets go of
// them: where it fails, what is finished may stay for the process that goes on.
class unread_files {
 public:
  void add(std::string path) { paths_.push_back(std::move(path)); }
  void remove();

 private:
  std::vector<std::string> paths_;
};

class exchange_rows final : public exec::held_rows {
 public:
  // Outlived by `unread`, which gets files when the last rows that lie there are gone.
  exchange_rows(unread_files& unread, record::row_type type) : unread_(unread), type_(std::move(type)) {}

  // Behind those that are there.
  void add(const Done::Written& file);
  void add(const exchange_rows& other);

  uint64_t num_rows() const override;
  uint64_t num_bytes() const;  // of the rows, with their strings
  std::vector<std::string> paths() const;
  bool has_files() const { return !files_.empty(); }
  const record::row_type& type() const { return type_; }
  // Of the only row, as it is packed.
  std::vector<std::byte> only_row() const;

 private:
  struct held_file {
    held_file(const Done::Written& f, unread_files& u) : file(f), unread(u) {}
    ~held_file() { unread.add(file.path()); }
    held_file(const held_file&) = delete;
    held_file& operator=(const held_file&) = delete;
    const Done::Written file;
    unread_files& unread;
  };
  unread_files& unread_;
  const record::row_type type_;
  std::vector<std::shared_ptr<const held_file>> files_;
};

// What there is to know of a file, for those who read it later. Throws as exchange_index::load().
Done::Written written_file(const std::string& path, const record::row_type& type);

// Writes rows that are in memory into a file, with which they can be read as those of a task. Throws error(output).
Done::Written write_rows(const std::string& path, const record::row_type& type, const record::batch& rows);

}  // namespace flowrun::cluster
