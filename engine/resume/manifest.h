// What a job that can be resumed has finished, so that the next process goes on from there (promise R2).
//
// The manifest is a file of records (resume.proto, record_file.h). A record is appended once what it tells of is on the
// disks for good: the scratch files are synced first, then the record. That is the work of a thread of its own; nobody
// waits for it. Blocks that records tell of are kept: their space is not used again as long as a later process may need
// them (block_manager::keep).
//
// The units: a part of a sort's runs, about half of the sort's memory; an intermediate merge; so many bytes of an
// output that a sort or a source is written to; the state of a loop between two iterations. All else is done again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/units.h"
#include "engine/block/block_manager.h"
#include "engine/resume/input_contents.h"
#include "engine/resume/kept_loop.h"
#include "engine/resume/kept_output.h"
#include "engine/resume/kept_sort.h"

namespace flowrun::resume {

// What must be as it was for anything to be reused.
struct job_identity {
  std::string job;   // path of its file
  uint64_t key = 0;  // of its directories: the same for the same command
  struct fact {
    std::string name;   // "the memory budget"
    std::string value;  // "512 MiB"
    bool is_hash = false;
  };
  std::vector<fact> facts;
  std::vector<input_contents> inputs;
  std::vector<std::string> scratch = {};   // the directories by their whole names, in their order
  uint64_t bytes_between_marks = 1 * GiB;  // of an output
};

// What a manifest says, for people who ask.
struct manifest_summary {
  std::string job;  // path of its file; empty: there is no manifest, or it says nothing
  std::map<std::string, sort_progress> sorts;
  std::map<std::string, output_progress> outputs;
  std::map<std::string, loop_progress> loops;
  std::vector<std::string> reasons_to_start_over;
  // At the manifest's end, of no whole record: what they told of is done again. A kill leaves that seldom.
  uint64_t cut_bytes = 0;
  bool has_progress() const { return !sorts.empty() || !outputs.empty() || !loops.empty(); }
};

class manifest {
 public:
  // Makes and locks the job's directories in these scratch directories, reads what is there, and throws away what
  // doesn't fit any more. Throws error(resources).
  manifest(const std::vector<std::string>& scratch, const job_identity& identity);
  ~manifest();
  manifest(const manifest&) = delete;
  manifest& operator=(const manifest&) = delete;

  // Why what was there is not used; empty: it is, or there was nothing.
  const std::vector<std::string>& reasons_to_start_over() const { return reasons_; }
  // What can be gone on with. Before attach().
  manifest_summary found() const;
  // Of one scratch directory (disk_config::kept_file).
  std::string kept_file(size_t disk) const;

  // Takes the blocks of earlier processes over; from here on records are written. `warn` is told when that fails, which
  // ends no job. The manager outlives this, or end() is called before.
  void attach(block::block_manager& blocks, std::function<void(const std::string&)> warn);
  // Of the job's own graph. Never null after attach().
  kept_sort& sort(const std::string& node);
  kept_output& output(const std::string& node);
  kept_loop& loop(const std::string& node);
  // What is there must not be used again.
  void spoil(const std::string& why);
  // Waits until all records are written.
  void end() noexcept;
  // The job has succeeded: removes the directories.
  void remove() noexcept;

  // For kept_sort.
  // `written`: with the runs since the call before only.
  void save_written(kept_sort& sort, const sort_progress& written);
  void save_merged(kept_sort& sort, const std::vector<uint64_t>& streams, const runs::run& made,
                   std::vector<block::block_id> merged);
  void save_complete(kept_sort& sort, const std::optional<record::row_tally>& all);
  void save_released(kept_sort& sort, std::vector<block::block_id> blocks);
  // For kept_output.
  void save_begun(kept_output& output, const std::string& path);
  void save_output(kept_output& output, std::shared_ptr<io::file> content, const output_progress& written);
  uint64_t bytes_between_marks() const;
  std::string output_suffix() const;
  // For kept_loop.
  void save_loop(kept_loop& loop, const loop_step& step, std::vector<block::block_id> replaced);

 private:
  class core;
  std::vector<std::string> reasons_;
  std::unique_ptr<core> core_;
};

// Nothing is changed.
manifest_summary summary_of(const std::string& path);
manifest_summary summary_for(const std::vector<std::string>& scratch, const job_identity& identity);

// The parts of outputs that this manifest tells of, which lie beside the outputs; those that are there, in any order.
std::vector<std::string> outputs_of(const std::string& path) noexcept;

// For facts whose text is long or secret, and for keys.
uint64_t hash_of(std::string_view text);

}  // namespace flowrun::resume
