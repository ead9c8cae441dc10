// What the records of a manifest say, all together (resume.proto).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/resume/kept_loop.h"
#include "engine/resume/kept_output.h"
#include "engine/resume/kept_sort.h"
#include "engine/resume/manifest.h"
#include "engine/resume/record_file.h"
#include "engine/resume/resume.pb.h"

namespace flowrun::resume {

// Of records that are whole and say what can't be.
inline constexpr const char* damaged = "its manifest is damaged";

struct manifest_content {
  std::optional<Identity> identity;
  std::map<std::string, sort_progress> sorts;
  std::map<std::string, output_progress> outputs;
  std::map<std::string, loop_progress> loops;
  std::string spoiled;     // why nothing of it is to be used; empty: it may be
  uint64_t cut_bytes = 0;  // at its end, which are no whole record

  void add(const Record& record);
  void spoil(const std::string& why);  // the first reason stays

 private:
  void add(const SortWritten& written);
  void add(const SortMerged& merged);
  void add(const LoopIteration& loop);
};

// Up to the first record that is none.
manifest_content content_of(const found_records& records);
// Why what they tell can't be used for this job; empty: it can, or they tell nothing.
std::vector<std::string> reasons_against(const manifest_content& all, const Identity& identity);

Identity message_of(const job_identity& identity);
Position message_of(const pipeline_position& from);
Tally message_of(const record::row_tally& from);
RunPart message_of(const runs::run& run);
LoopIteration message_of(const std::string& node, const loop_step& step);

}  // namespace flowrun::resume
