#include "cluster/exchange_rows.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cluster/exchange_file.h"
#include "engine/base/error.h"
#include "engine/base/units.h"

namespace flowrun::cluster {

void unread_files::remove() {
  for (const std::string& path : paths_) {
    ::unlink(path.c_str());
    ::rmdir(std::filesystem::path(path).parent_path().c_str());  // of the attempt, where this was its last file
  }
  paths_.clear();
}

void exchange_rows::add(const Done::Written& file) { files_.push_back(std::make_shared<held_file>(file, unread_)); }

void exchange_rows::add(const exchange_rows& other) {
  files_.insert(files_.end(), other.files_.begin(), other.files_.end());
}

uint64_t exchange_rows::num_rows() const {
  uint64_t out = 0;
  for (const auto& f : files_) out += f->file.rows();
  return out;
}

uint64_t exchange_rows::num_bytes() const {
  uint64_t out = 0;
  for (const auto& f : files_) out += f->file.bytes();
  return out;
}

std::vector<std::string> exchange_rows::paths() const {
  std::vector<std::string> out;
  for (const auto& f : files_) out.push_back(f->file.path());
  return out;
}

std::vector<std::byte> exchange_rows::only_row() const {
  FLOWRUN_CHECK(num_rows() == 1);
  for (const auto& f : files_) {
    if (f->file.rows() == 0) continue;
    const auto* const row = reinterpret_cast<const std::byte*>(f->file.row().data());
    return {row, row + f->file.row().size()};
  }
  return {};
}

Done::Written written_file(const std::string& path, const record::row_type& type) {
  const exchange_index index = exchange_index::load(path, type);
  Done::Written out;
  out.set_path(path);
  out.set_rows(index.num_rows());
  out.set_bytes(index.num_row_bytes());
  if (index.num_rows() != 1) return out;
  const record::batch rows = read_frame(path, index.frames().front(), type.row_bytes());
  out.set_row(rows.row(0), type.row_bytes());
  return out;
}

Done::Written write_rows(const std::string& path, const record::row_type& type, const record::batch& rows) {
  exchange_encoder encoder(type, 256 * KiB);
  if (rows.num_rows > 0) encoder.add(rows);
  encoder.finish(path);
  std::ofstream out(path, std::ios::binary);
  const std::span<const std::byte> bytes = encoder.pending();
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw error(error_kind::output, fmt::format("can't write {}", path), "look at the disk: is it full?");
  return written_file(path, type);
}

}  // namespace flowrun::cluster
