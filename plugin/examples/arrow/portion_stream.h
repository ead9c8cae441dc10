// The portions of several files, one after the other, as one stream of record batches.
//
//   front     decoded by whoever asks for the next batch
//   ahead     decoded by work on the job's threads, a batch at a time, until it is the front; as long as what lies
//             there and what all that have begun may come to take fits into the memory
//
// Where decoding the front fails for want of memory, what is ahead is given up, and decoded once more later: whether a
// file can be read depends on the file and the memory, and not on how far ahead the threads were.
//
// So the threads of a job decode several portions at once, and the batches come in the order of the files all the same.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <flowrun/plugin.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "input_file.h"

namespace columnar {

struct source_file {
  std::string path;
  std::unique_ptr<input_file> file;
  reading how;
};

// Where a record batch comes from.
struct origin {
  size_t file = 0;
  int portion = 0;
  int64_t first_row = 0;  // in the portion
};

class portion_stream {
 public:
  // `pool` is that of the files.
  portion_stream(const fr::job& job, std::vector<source_file> files, counting_pool& pool);

  // ready: `rows` is the next record batch that has rows, and comes from `from`. done: there is no more. [one thread]
  fr::outcome next(std::shared_ptr<arrow::RecordBatch>& rows, origin& from);
  const source_file& file(size_t i) const { return files_[i]; }

 private:
  struct place {
    size_t file;
    int number;
  };
  // A portion that is being decoded, by one thread at a time.
  struct decoding {
    place from;
    int64_t memory = 0;             // that decoding takes
    std::unique_ptr<portion> open;  // of whoever decodes: work that is_running, else the stream's reader
    uint64_t num_decoded = 0;       // batches; of whoever decodes
    int64_t next_row = 0;           // of the stream's reader
    // Guarded by mutex_:
    std::deque<std::shared_ptr<arrow::RecordBatch>> decoded;
    bool is_running = false, is_done = false;
    bool stops_ahead = false;  // it is the front, or memory is short: no more work is spawned for it
    std::exception_ptr failed;
  };

  std::shared_ptr<arrow::RecordBatch> decode(decoding& d);
  void work(const std::shared_ptr<decoding>& d);
  void spawn(const std::shared_ptr<decoding>& d);
  bool has_room_for(int64_t more) const;
  enum class freed { nothing, some, soon };
  freed give_up_what_is_ahead();
  void look_ahead();

  const fr::job job_;
  const fr::waker waker_;
  const std::vector<source_file> files_;
  counting_pool& pool_;
  std::vector<place> places_;
  size_t next_place_ = 0;
  std::atomic<int64_t> begun_{0};  // what those in the window that aren't done may take

  std::mutex mutex_;
  std::deque<std::shared_ptr<decoding>> window_;  // the front first; changed by the stream's reader alone
  bool is_waiting_ = false;                       // guarded by mutex_
};

}  // namespace columnar
