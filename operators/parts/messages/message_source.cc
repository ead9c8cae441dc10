#include "operators/parts/messages/message_source.h"

#include <exception>
#include <utility>

#include "operators/parts/files/settling_source.h"

namespace flowrun::operators {

namespace {

class message_source final : public settling_source<message_piece> {
 public:
  message_source(exec::build_context& context, const std::vector<std::string>& paths, message_cutter_options options,
                 std::shared_ptr<rejection_tally> tally)
      : settling_source(context, paths, reading_options(context.job, context.memory_bytes, 1, true), std::move(tally)),
        cutter_(std::move(options), context.job.pool()) {
    if (context.begin_at == nullptr) return;
    const resume::source_position& at = *context.begin_at;
    file_ = at.at(0);
    cutter_.begin_file(input().path(), at.at(1), at.at(2));
    rows_before_ = at.at(3);
  }

  // File, byte in it, messages of it before, messages in the files before.
  resume::source_position position() const override {
    if (!may_begin_anywhere()) return {};
    if (const message_piece* const p = next()) return {p->file, p->offset, p->first, p->first_row - p->first};
    if (file_ == SIZE_MAX) return {input().file(), 0, 0, 0};
    return {file_, cutter_.offset(), cutter_.num_messages(), rows_before_};
  }

 private:
  // What is known of the file before stays until then, so that position() can say that it was read.
  void begin_file() {
    if (file_ == input().file()) return;
    file_ = input().file();
    rows_before_ += cutter_.num_messages();
    cutter_.begin_file(input().path());
  }

  void take(io::chunk chunk) override {
    begin_file();
    std::vector<message_piece> pieces;
    std::exception_ptr failure;
    try {
      cutter_.feed(chunk.owner, {reinterpret_cast<const char*>(chunk.data), chunk.num_bytes}, pieces);
    } catch (...) {
      failure = std::current_exception();  // comes behind the pieces
    }
    for (message_piece& p : pieces) {
      p.file = input().file();
      p.first_row = rows_before_ + p.first;
      queue(std::move(p));
    }
    if (failure != nullptr) std::rethrow_exception(failure);
  }

  void end_file() override {
    begin_file();  // it may be empty
    cutter_.finish();
  }

  message_cutter cutter_;
  size_t file_ = SIZE_MAX;    // of the cutter, its index; SIZE_MAX: none has begun
  uint64_t rows_before_ = 0;  // in the files before
};

}  // namespace

std::unique_ptr<exec::source> make_message_source(exec::build_context& context, const std::vector<std::string>& paths,
                                                  message_cutter_options options,
                                                  std::shared_ptr<rejection_tally> tally) {
  return std::make_unique<message_source>(context, paths, std::move(options), std::move(tally));
}

}  // namespace flowrun::operators
