// Files of Protocol Buffers messages, where their descriptors are given: bytes alone don't tell what they are.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/fault.h"
#include "engine/base/units.h"
#include "operators/parts/infer/column_names.h"
#include "operators/parts/infer/source_format.h"
#include "operators/parts/messages/described_message.h"
#include "operators/parts/messages/message_cutter.h"
#include "operators/parts/messages/message_layout.h"
#include "operators/parts/messages/message_reader.h"

namespace flowrun::operators {

namespace {

namespace pb = google::protobuf;

constexpr size_t most_columns = 2'000;
constexpr size_t most_fields = 5'000;    // messages within messages may have very many
constexpr uint64_t most_malformed = 10;  // one message in so many

class protobuf_inference final : public source_inference {
 public:
  protobuf_inference(const infer_options& options, const message_type& message) : options_(options) {
    look_at(message.descriptor(), "");
    if (paths_.empty())
      throw error(error_kind::bad_data,
                  fmt::format("the message {} has no field that can be a column", message.name()));
    const std::vector<std::string> names = column_names(paths_);
    message_columns columns;
    std::vector<record::column> all;
    for (size_t i = 0; i < names.size(); ++i) all.push_back({names[i], types_[i]});
    columns.type = record::row_type(std::move(all));
    columns.paths = paths_;
    tell_missing(columns);
    layout_ = message_layout_of(message, columns);
    reader_ = std::make_unique<message_reader>(layout_);
  }

  void begin_file(const std::string& path) override { path_ = path; }

  size_t add(const text_stretch& stretch, uint64_t most_rows) override {
    if (!stretch.begins) return 0;  // no byte says that a message begins
    size_t at = 0;
    for (const uint64_t before = num_rows(); at < stretch.text.size() && num_rows() - before < most_rows;) {
      const std::string_view left = stretch.text.substr(at);
      const std::optional<message_length> length = message_length_of(left);
      const bool is_none = length && length->num_bytes == 0;
      const bool is_cut = !length || length->value > left.size() - length->num_bytes;
      if (is_cut && !is_none && !stretch.ends) break;
      if (is_none || is_cut) refuse(stretch.offset + at);
      take(left.substr(length->num_bytes, length->value), stretch.offset + at + length->num_bytes);
      at += length->num_bytes + length->value;
    }
    return at;
  }

  uint64_t num_rows() const override { return num_good_ + num_malformed_; }

  inferred_source finish() override {
    if (num_malformed_ * most_malformed > num_rows())
      throw error(error_kind::bad_data,
                  fmt::format("{}; {} of {} messages are none", first_malformed_, format_count(num_malformed_),
                              format_count(num_rows())),
                  "is --message another one?");
    inferred_source out;
    out.format = "protobuf";
    out.op = "file.read_protobuf";
    out.sink_op = "file.write_csv";
    out.notes.push_back(fmt::format("messages {}, each behind its length", options_.message));
    out.settings.push_back({"descriptors", options_.descriptors, {}, {}});
    out.settings.push_back({"message", options_.message, {}, {}});
    std::vector<std::pair<std::string, std::string>> fields, told;
    for (size_t i = 0; i < paths_.size(); ++i) {
      inferred_column& column = out.columns.emplace_back();
      column.name = layout_.type[i].name;
      column.type = types_[i];
      column.header = paths_[i];
      column.num_missing = num_missing_[i];
      if (column.num_missing > 0) {
        column.missing_texts = {"absent"};
        column.told_by = layout_.type[*told_column_[i]].name;
        told.emplace_back(column.name, column.told_by);
      }
      if (column.name != paths_[i]) fields.emplace_back(column.name, paths_[i]);
    }
    if (!fields.empty()) out.settings.push_back({"fields", {}, {}, std::move(fields)});
    if (!told.empty()) out.settings.push_back({"missing", {}, {}, std::move(told)});
    if (!left_out_.empty())
      out.questions.push_back("left out, since a column has one value: " + joined(left_out_, ", "));
    if (num_malformed_ > 0) {
      out.skips_malformed = true;
      out.questions.push_back(fmt::format("{} of {} messages are malformed, and on_error leaves them out: {}",
                                          format_count(num_malformed_), format_count(num_rows()), first_malformed_));
    }
    return out;
  }

 private:
  // Fields with presence of their own, as `optional` ones have it, get a column that tells where they are absent.
  void tell_missing(message_columns& columns) {
    csv_missing& missing = columns.missing;
    missing.columns.resize(paths_.size());
    missing.values.resize(columns.type.row_bytes());
    num_missing_.resize(paths_.size());
    told_column_.resize(paths_.size());
    free_names names;
    for (const std::string& name : columns.type.names()) names.take(name);
    for (size_t i = 0; i < paths_.size(); ++i) {
      if (!has_presence_[i]) continue;
      told_column_[i] = paths_.size() + missing.told_by.size();
      missing.columns[i].allowed = true;
      missing.columns[i].told_by = columns.type.row_bytes() + missing.told_by.size();
      missing.told_by.push_back(names.take(columns.type[i].name + "_missing"));
    }
  }

  // All fields, also those of messages within, but for messages that lie in one of their own kind.
  void look_at(const pb::Descriptor& message, const std::string& outer) {
    if (std::find(around_.begin(), around_.end(), &message) != around_.end()) {
      left_out_.push_back(outer + " (which is within itself)");
      return;
    }
    if (around_.size() == message_type::most_nested) {
      left_out_.push_back(outer + " (which is too deep)");
      return;
    }
    around_.push_back(&message);
    for (int i = 0; i < message.field_count(); ++i) {
      if (++num_fields_ > most_fields) refuse_more_than(most_fields);
      const pb::FieldDescriptor& f = *message.field(i);
      const std::string path = (outer.empty() ? "" : outer + ".") + f.name();
      if (f.is_repeated() || f.type() == pb::FieldDescriptor::TYPE_GROUP) {
        left_out_.push_back(path);
      } else if (const auto type = usual_type(f)) {
        if (paths_.size() == most_columns) refuse_more_than(most_columns);
        paths_.push_back(path);
        has_presence_.push_back(f.has_presence());
        types_.push_back(f.enum_type() != nullptr ? record::value_type::of(record::type_kind::string) : *type);
      } else {
        look_at(*f.message_type(), path);
      }
    }
    around_.pop_back();
  }

  [[noreturn]] static void refuse_more_than(size_t most) {
    throw error(error_kind::bad_data, fmt::format("there are more than {} fields", format_count(most)),
                "write the `type` by hand, with those that the job needs");
  }

  [[noreturn]] void refuse(uint64_t offset) const {
    throw error(
        error_kind::bad_data,
        fmt::format("{}: at byte {} is no length of a message, or the file ends within one", path_,
                    format_count(offset)),
        "each message must lie behind its length, as writeDelimitedTo and SerializeDelimitedToOstream write it");
  }

  void take(std::string_view message, uint64_t offset) {
    if (reader_->read(message)) {
      ++num_good_;
      for (size_t i = 0; i < paths_.size(); ++i)
        if (layout_.told_by[i]) num_missing_[i] += reader_->row()[*layout_.told_by[i]] != std::byte{0};
      return;
    }
    if (num_malformed_++ == 0)
      first_malformed_ =
          fmt::format("{}, byte {}: {}", path_, format_count(offset + reader_->offset()), reader_->reason());
  }

  const infer_options& options_;
  std::vector<std::string> paths_;
  std::vector<record::value_type> types_;
  std::vector<bool> has_presence_;
  std::vector<uint64_t> num_missing_;
  std::vector<std::optional<size_t>> told_column_;
  std::vector<std::string> left_out_;
  std::vector<const pb::Descriptor*> around_;
  size_t num_fields_ = 0;  // looked at
  message_layout layout_;
  std::unique_ptr<message_reader> reader_;
  std::string path_, first_malformed_;
  uint64_t num_good_ = 0, num_malformed_ = 0;
};

}  // namespace

std::unique_ptr<source_inference> recognise_protobuf(const file_beginning& beginning, const infer_options& options,
                                                     bool asked) {
  if (options.descriptors.empty() && asked)
    throw error(error_kind::usage, fmt::format("{}: messages don't say what they are", beginning.path),
                "--descriptors FILE --message NAME");
  if (options.descriptors.empty()) return nullptr;
  return std::make_unique<protobuf_inference>(options, message_in_file({options.descriptors, options.message}));
}

}  // namespace flowrun::operators
