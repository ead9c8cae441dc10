// A file of columns as a sequence of portions, each of which can be decoded by itself, on any thread: the row groups
// of Parquet, the record batches of Arrow IPC.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "counting_pool.h"
#include "job_file.h"

namespace columnar {

// One thread at a time.
class portion {
 public:
  virtual ~portion() = default;
  // The next rows; null behind the last ones. Some columns may come in another order than they were asked for.
  virtual std::shared_ptr<arrow::RecordBatch> next() = 0;
};

// How portions are read.
struct reading {
  std::vector<int> fields;      // of the schema
  int64_t rows_at_once = 8192;  // where the format leaves a choice
};

struct row_count {
  int64_t rows;
  bool is_exact;  // or a guess
};

// Any thread. What fails throws an fr::error that names the file. Memory comes from a pool, which outlives it all.
class input_file {
 public:
  virtual ~input_file() = default;
  virtual const arrow::Schema& schema() const = 0;
  virtual const char* portion_name() const = 0;  // "row group"
  virtual int num_portions() const = 0;
  virtual row_count num_rows() const = 0;
  // Of these columns in all rows, as far as the file tells.
  virtual int64_t bytes_of(const std::vector<int>& fields) const = 0;
  // Bytes of the file that the portion has for these columns.
  virtual int64_t stored_bytes(int number, const std::vector<int>& fields) const = 0;
  // Asks the system to have the bytes ready soon.
  virtual void announce(int number, const std::vector<int>& fields) const = 0;
  // Memory that reading a portion of these columns takes at most as long as no page or batch is unusually large; with
  // `whole`, all of its rows decoded beside it.
  virtual int64_t memory_of(int number, const std::vector<int>& fields, bool whole) const = 0;
  virtual std::unique_ptr<portion> open(int number, const reading& how) const = 0;
};

std::unique_ptr<input_file> open_parquet(const std::string& path, counting_pool& pool, count_bytes count);
std::unique_ptr<input_file> open_ipc(const std::string& path, counting_pool& pool, count_bytes count);

}  // namespace columnar
