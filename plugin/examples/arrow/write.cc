#include "write.h"

#include <arrow/array/data.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "column_chunk.h"
#include "file_format.h"
#include "output_encoder.h"

namespace columnar {

namespace {

struct write_settings {
  file_format to = file_format::parquet;
  encoding how;
  bool text_is_utf8 = true;
  fr::row_type type;
};

// The buffers of an output file take a quarter of the node's memory, and no more than this.
constexpr uint64_t memory_of_a_file = 4 << 20;
// Two chunks, and what encoding them takes.
constexpr uint64_t memory_of_chunks = 12 << 20;

write_settings check_writing(fr::node& node, file_format to) {
  write_settings s;
  s.to = to;
  s.how.path = node.text("path");
  s.how.compression = node.text("compression");
  s.text_is_utf8 = node.text("text") == "utf8";
  fr::memory_wish memory{memory_of_chunks + memory_of_a_file, 0, 0.1};
  if (to == file_format::parquet) {
    s.how.rows_of_group = static_cast<int64_t>(node.integer("row_group"));
    s.how.bytes_of_group = static_cast<int64_t>(node.bytes("row_group_bytes"));
    if (s.how.rows_of_group < 1) node.fault("row_group", "a row group of 0 rows", "at least 1");
    if (s.how.bytes_of_group < 1) node.fault("row_group_bytes", "a row group of 0 bytes", "at least 1");
    memory.minimum += 2 * node.bytes("row_group_bytes");  // encoded, and the dictionaries meanwhile
  }
  memory.maximum = 2 * memory.minimum;  // for long texts
  node.set_memory(memory);
  s.type = node.input();
  return s;
}

// A run of a sink.
class rows_writer {
 public:
  rows_writer(const write_settings& s, const fr::job& job)
      : settings_(s),
        pool_(static_cast<int64_t>(job.memory_bytes() - std::min(job.memory_bytes() / 4, memory_of_a_file))),
        bytes_(std::make_shared<byte_collector>(pool_)),
        chunk_(s.type, s.text_is_utf8, s.to == file_format::parquet ? 8192 : 65536, pool_),
        encoder_(s.to == file_format::parquet ? encode_parquet(s.how, chunk_.schema(), bytes_, pool_)
                                              : encode_ipc(s.how, chunk_.schema(), bytes_, pool_)),
        file_(job, s.how.path) {
    job.reserve(static_cast<uint64_t>(pool_.most_bytes()));
  }

  // What was encoded goes out before more is taken: so there is one row group in memory, and not two.
  fr::outcome push(fr::batch& rows) {
    for (;;) {
      if (const fr::outcome o = hand_on(); !o.is_ready()) return o;
      if (rows.size() == 0) return fr::outcome::ready();
      rows.advance(static_cast<size_t>(chunk_.append(rows, 0, rows_left())));
      if (chunk_.is_full() || rows_left() == 0) encode();
    }
  }

  fr::outcome finish() {
    if (!std::exchange(is_closed_, true)) {
      if (chunk_.num_rows() > 0) encode();
      encoder_->close();
    }
    if (const fr::outcome o = hand_on(); !o.is_ready()) return o;
    return file_.finish();
  }

 private:
  // Of the row group, behind what the chunk has.
  int64_t rows_left() const {
    if (settings_.to != file_format::parquet) return INT64_MAX;
    return settings_.how.rows_of_group - rows_of_group_ - chunk_.num_rows();
  }

  void encode() {
    const std::shared_ptr<arrow::RecordBatch> rows = chunk_.take();
    encoder_->write(*rows);
    rows_of_group_ += rows->num_rows();
    bytes_of_group_ += bytes_of(*rows);
    if (settings_.to == file_format::parquet &&
        (rows_of_group_ >= settings_.how.rows_of_group || bytes_of_group_ >= settings_.how.bytes_of_group)) {
      encoder_->end_portion();
      rows_of_group_ = bytes_of_group_ = 0;
    }
  }

  int64_t bytes_of(const arrow::RecordBatch& rows) const {
    int64_t sum = rows.num_rows() * settings_.type.row_bytes();
    for (const std::shared_ptr<arrow::ArrayData>& column : rows.column_data())
      if (column->buffers.size() == 3) sum += column->buffers[2]->size();
    return sum;
  }

  fr::outcome hand_on() {
    for (std::string_view bytes = bytes_->front(); !bytes.empty(); bytes = bytes_->front()) {
      const size_t before = bytes.size();
      const fr::outcome o = file_.write(bytes);
      bytes_->done(before - bytes.size());
      if (!o.is_ready()) return o;
    }
    return fr::outcome::ready();
  }

  const write_settings& settings_;
  counting_pool pool_;  // outlives what lies in it
  const std::shared_ptr<byte_collector> bytes_;
  column_chunk chunk_;
  const std::unique_ptr<output_encoder> encoder_;
  fr::output_file file_;
  int64_t rows_of_group_ = 0, bytes_of_group_ = 0;
  bool is_closed_ = false;
};

}  // namespace

void declare_writers(fr::plugin& plugin) {
  using writer = std::unique_ptr<rows_writer>;
  const auto declare = [](file_format to, const char* word, const char* what, const char* ending) {
    return fr::ordered<write_settings, writer>(word)
        .summary(std::string("Writes its rows as ") + what + ".")
        .details(
            "Numbers, bool and bytes[N] become what they are (u24 becomes uint32, u40 and u48 uint64), strings "
            "become texts in UTF-8, or with text: binary any bytes. No column has nulls. The file is there when "
            "the whole job has succeeded. Its bytes depend on the rows alone.")
        .order("none")
        .example(std::string("write: {op: arrow.") + word + ", in: rows, with: {path: out" + ending + "}}\n")
        .input("in", "the rows")
        .parameter(
            {.name = "path", .kind = FR_PARAMETER_PATH, .required = true, .help = "The file; - is standard output."})
        .parameter({.name = "text",
                    .kind = FR_PARAMETER_CHOICE,
                    .default_text = "utf8",
                    .choices = "utf8 binary",
                    .help = "What strings become: texts, which must be UTF-8, or any bytes."})
        .check([to](fr::node& node) { return check_writing(node, to); })
        .run([](const write_settings& s, const fr::job& job) { return std::make_unique<rows_writer>(s, job); },
             [](writer& w, fr::batch& rows, fr::out&) { return w->push(rows); },
             [](writer& w, fr::out&) { return w->finish(); });
  };
  plugin.add(
      declare(file_format::parquet, "write_parquet", "a Parquet file", ".parquet")
          .parameter({.name = "compression",
                      .kind = FR_PARAMETER_CHOICE,
                      .default_text = "snappy",
                      .choices = "none snappy zstd lz4",
                      .help = "Of pages."})
          .parameter({.name = "row_group",
                      .kind = FR_PARAMETER_INTEGER,
                      .default_text = "1048576",
                      .help = "At most so many rows make a row group."})
          .parameter({.name = "row_group_bytes",
                      .kind = FR_PARAMETER_BYTES,
                      .default_text = "16MiB",
                      .help = "A row group ends when its rows have so many bytes. They are in memory until then: "
                              "the node asks for twice as much, and 16 MiB."}));
  plugin.add(declare(file_format::ipc, "write_ipc", "an Arrow IPC file (Feather, version 2)", ".arrow")
                 .parameter({.name = "compression",
                             .kind = FR_PARAMETER_CHOICE,
                             .default_text = "none",
                             .choices = "none zstd lz4",
                             .help = "Of buffers."}));
}

}  // namespace columnar
