// A file that Arrow reads in the threads of the job.
//
// Arrow would read some things in threads of its own, which may be at work still when the process ends, or when the
// memory that they fill is gone. Here whoever asks also reads.
#pragma once

#include <arrow/io/interfaces.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "counting_pool.h"

namespace columnar {

// Learns how many bytes were read.
using count_bytes = std::function<void(uint64_t)>;

// Any thread. Throws an fr::error when the file can't be opened.
std::shared_ptr<arrow::io::RandomAccessFile> open_job_file(const std::string& path, counting_pool& pool,
                                                           count_bytes count);

}  // namespace columnar
