// The manifest of a job that can be resumed, of any bytes. The last byte of an input chooses what is done with the
// rest.
//
// What holds: records are read up to the first that isn't whole, which is cut off, and what is appended comes behind
// them; and with records whose checksums are right, whatever they say, a process either goes on from where they say it
// is, with blocks that are there and first rows that are in them, or it names why it doesn't.
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/block/block_manager.h"
#include "engine/io/backends.h"
#include "engine/resume/manifest.h"
#include "engine/resume/record_file.h"
#include "engine/resume/resume_directory.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/target.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::fuzz {

namespace {

constexpr size_t header_bytes = 16;  // of a record: checksum and length
constexpr uint64_t kept_file_bytes = 64 * KiB;

// As a manifest has them, but lengths may say anything, and checksums are left alone.
std::vector<std::string> records_in(std::string_view bytes) {
  std::vector<std::string> out;
  while (bytes.size() > header_bytes && out.size() < 20) {
    uint64_t num_bytes = 0;
    std::memcpy(&num_bytes, bytes.data() + 8, sizeof num_bytes);
    bytes.remove_prefix(header_bytes);
    out.emplace_back(bytes.substr(0, num_bytes));
    bytes.remove_prefix(out.back().size());
  }
  return out;
}

void look_at_file(const temporary_directory& where, std::string_view bytes) {
  const std::string path = where.write("records", bytes);
  std::vector<std::string> found = resume::records_of(path).whole;
  resume::summary_of(path);
  {
    resume::record_file file(path);
    must_hold(file.read().whole == found, "{} records are others when they are to be added to", found.size());
    file.append("one more");
  }
  found.emplace_back("one more");
  must_hold(resume::records_of(path).whole == found, "{} records and one more are others", found.size() - 1);
}

// How many bytes of blocks they have.
uint64_t look_at_runs(const std::vector<runs::run>& runs) {
  uint64_t num_bytes = 0;
  for (const runs::run& r : runs) {
    uint64_t sum = 0;
    for (const runs::run_block& b : r.blocks) {
      sum += b.num_rows;
      must_hold(!r.knows_first_rows || b.first_row_at <= r.first_rows.size(), "a first row lies at {} of {} bytes",
                b.first_row_at, r.first_rows.size());
    }
    must_hold(sum == r.num_rows, "{} rows in blocks of {}", sum, r.num_rows);
    num_bytes += r.stored_bytes();
  }
  return num_bytes;
}

// The same, of all that is to be gone on with.
uint64_t look_at_progress(const resume::manifest_summary& found) {
  uint64_t num_bytes = 0;
  for (const auto& [node, sort] : found.sorts) {
    must_hold(sort.rows_to_skip <= sort.rows_taken, "{} of {} rows are left out", sort.rows_to_skip, sort.rows_taken);
    num_bytes += look_at_runs(sort.runs);
  }
  for (const auto& [node, loop] : found.loops) {
    for (const auto& [stream, rows] : loop.carried) num_bytes += look_at_runs(rows);
    for (const resume::stream_runs& rows : loop.collected) num_bytes += look_at_runs(rows);
  }
  return num_bytes;
}

void look_at_resuming(const temporary_directory& where, std::string_view bytes) {
  const resume::job_identity identity{"job.yaml", 1, {{"the job", "abc", true}}, {}};
  const std::vector<std::string> scratch = {where.path()};
  std::string kept;
  {
    resume::manifest first(scratch, identity);
    kept = first.kept_file(0);
  }
  where.write(std::filesystem::relative(kept, where.path()).string(), std::string(kept_file_bytes, 'x'));
  {
    resume::record_file file(resume::manifest_in(where.path(), identity.key));
    for (const std::string& record : records_in(bytes)) file.append(record);
  }
  static const std::unique_ptr<io::backend> backend = io::make_backend(io::backend_kind::memory);
  resume::manifest second(scratch, identity);
  const uint64_t num_bytes = look_at_progress(second.found());
  for (const std::string& reason : second.reasons_to_start_over()) must_hold(!reason.empty(), "a reason says nothing");
  must_hold(second.reasons_to_start_over().empty() || !second.found().has_progress(), "what doesn't fit is used");
  block::manager_options options;
  options.disks = {{.path = where.path(), .kept_file = kept}};
  options.backend = backend.get();
  options.reserve_step = 64 * KiB;
  block::block_manager blocks(std::move(options));
  blocks.open_all();
  second.attach(blocks, [](const std::string& text) { fail(text); });
  must_hold(blocks.used_bytes() == num_bytes, "{} bytes are kept, and {} told of", blocks.used_bytes(), num_bytes);
  second.end();
  second.remove();
}

}  // namespace

void try_input(std::string_view bytes) {
  static const temporary_directory where;
  input in(bytes);
  if (in.flag())
    look_at_resuming(where, in.rest());
  else
    look_at_file(where, in.rest());
}

}  // namespace flowrun::fuzz
