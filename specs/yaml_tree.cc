#include "specs/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <deque>
#include <new>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "engine/base/units.h"
#include "specs/yaml_advice.h"

namespace flowrun::specs {

namespace {

// Leaves yaml-cpp once a fault was reported that makes going on pointless.
struct stop_reading {};

// One list or map that is being read.
struct open_collection {
  Value* value = nullptr;
  bool is_map = false;
  bool is_key = false;     // a collection in the place of a key; already reported
  Value* next = nullptr;   // map: where the value of the key just read goes; null while a key is due
  Position next_position;  // map: the position of that key
  YAML::anchor_t anchor = YAML::NullAnchor;
  std::unordered_map<std::string, int> key_lines;
};

// In "…", yaml-cpp makes the escapes \_ and \N single bytes: U+00A0 and U+0085 in Latin-1. All else is UTF-8.
std::string with_whole_characters(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) out += '\xC2';
    out += text.substr(0, std::max<size_t>(length, 1));
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

class tree_builder final : public YAML::EventHandler {
 public:
  tree_builder(const source_text& source, fault_sink& faults, std::string_view origin)
      : source_(source), faults_(faults), origin_(origin) {}

  // The whole tree, once the text has ended well.
  Value take() {
    for (const Position& position : complex_keys_)
      faults_.add(position, "a key that is a list or a map", "key: value",
                  "put text that holds any of [ ] { } , ? in quotes");
    return std::move(root_);
  }
  // Where the last key or value began.
  const Position& last_position() const { return last_position_; }
  // The innermost bracket that is open.
  std::optional<Position> open_bracket() const {
    for (auto it = open_.rbegin(); it != open_.rend(); ++it) {
      const Position& position = it->value->position();
      const auto offset = source_.offset_of(position.line(), position.column());
      if (offset && *offset < source_.text().size() &&
          (source_.text()[*offset] == '{' || source_.text()[*offset] == '['))
        return position;
    }
    return std::nullopt;
  }
  Position position_of(const YAML::Mark& mark) const {
    Position position;
    position.set_line(mark.line + 1);
    position.set_column(mark.column + 1);
    if (!origin_.empty()) position.set_origin(origin_);
    return position;
  }

  // From here on called by yaml-cpp, in the order of the text; all may throw stop_reading.

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++num_documents_ == 1) return;
    const auto offset = source_.offset_of(mark.line + 1, mark.column + 1);
    const bool marked = offset && source_.text().substr(*offset).starts_with("---");
    faults_.add(position_of(mark), marked ? "a second document" : "text after the end of the job", "one job a file",
                marked ? "remove the '---', or move what follows into a file of its own"
                       : "check the indentation and brackets");
    throw stop_reading{};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (key_is_due()) return refuse_key(mark);
    const Position* key = open_.empty() || !open_.back().is_map ? nullptr : &open_.back().next_position;
    const Position position = key ? *key : position_of(mark);  // yaml-cpp marks the token that follows an empty value
    Value* value = place(mark);
    *value->mutable_position() = position;
    finish(*value, anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& as_read) override {
    const std::string& text = is_utf8(as_read) ? as_read : repaired_ = with_whole_characters(as_read);
    charge(1, text.size(), mark);
    check_tag(tag, mark);
    const bool quoted = tag != "?";
    if (key_is_due()) return read_key(mark, text, quoted);
    if (!quoted && looks_octal(text)) {
      const size_t digits = text.find_first_of("0123456789");
      const size_t nonzero = std::min(text.find_first_not_of('0', digits), text.size() - 1);
      faults_.add(position_of(mark),
                  "'" + quotable(text) + "' looks octal: to some readers of YAML 010 is 8, to others 10",
                  "a number without leading zeros",
                  fmt::format("write {}{}, or \"{}\" in quotes if it is text", digits > 0 && text[0] == '-' ? "-" : "",
                              quotable(text.substr(nonzero)), quotable(text)));
    }
    Value* value = place(mark);
    value->mutable_scalar()->set_text(text);
    value->mutable_scalar()->set_quoted(quoted);
    finish(*value, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (key_is_due()) return refuse_key(mark);
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      faults_.add(position_of(mark), "an alias inside its own anchor: the value would hold itself",
                  "an anchor that ends above", "write the value out");
      place(mark);
      return finish_value();
    }
    const anchored& target = found->second;
    charge(target.num_values, target.text_bytes, mark);
    check_depth(static_cast<int>(open_.size()) + target.levels, mark);
    *place(mark) = target.value;
    finish_value();
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    start(mark, tag, anchor, false);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    start(mark, tag, anchor, true);
  }
  void OnMapEnd() override { end(); }

 private:
  struct anchored {
    Value value;
    uint64_t num_values = 0;
    uint64_t text_bytes = 0;
    int levels = 0;
  };

  bool key_is_due() const { return !open_.empty() && open_.back().is_map && !open_.back().next; }

  // A value that is read and thrown away, because what holds it was refused.
  Value* discarded() { return &discarded_.emplace_back(); }

  // Where the next value goes.
  Value* place(const YAML::Mark& mark) {
    Value* value = &root_;
    if (!open_.empty())
      value = open_.back().is_map ? open_.back().next : open_.back().value->mutable_list()->add_items();
    *value->mutable_position() = position_of(mark);
    return value;
  }

  // A value is complete: a map goes on with a key.
  void finish_value() {
    if (!open_.empty()) open_.back().next = nullptr;
  }
  void finish(const Value& value, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      anchored copy{value, count_values(value), value.ByteSizeLong(), height(value)};
      charge(copy.num_values, copy.text_bytes, YAML::Mark::null_mark());
      anchors_.insert_or_assign(anchor, std::move(copy));
    }
    finish_value();
  }

  void read_key(const YAML::Mark& mark, const std::string& key, bool quoted) {
    open_collection& map = open_.back();
    map.next_position = position_of(mark);
    if (key == "<<" && !quoted) {
      faults_.add(position_of(mark), "merge keys (<<) are not part of the job language", "keys written out",
                  "use params: for values that are used more than once");
      map.next = discarded();
      return;
    }
    if (key.find("${") != std::string::npos)
      faults_.add(position_of(mark), "a parameter in a key", "keys as plain text",
                  "parameters are replaced in values only");
    const auto [first, is_new] = map.key_lines.emplace(key, mark.line + 1);
    if (!is_new) {
      faults_.add(position_of(mark),
                  fmt::format("the key '{}' stands here twice; the first is in line {}", quotable(key), first->second),
                  "each key once");
      map.next = discarded();
      return;
    }
    Entry* entry = map.value->mutable_map()->add_entries();
    entry->set_key(key);
    *entry->mutable_key_position() = position_of(mark);
    map.next = entry->mutable_value();
  }

  void refuse_key(const YAML::Mark& mark) {
    charge(1, 0, mark);
    faults_.add(position_of(mark), "a key that is not text", "key: value", "put the key in quotes");
    open_.back().next_position = position_of(mark);
    open_.back().next = discarded();
  }

  void start(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, bool is_map) {
    charge(1, 0, mark);
    check_depth(static_cast<int>(open_.size()) + 1, mark);
    check_tag(tag, mark);
    open_collection next;
    next.is_key = key_is_due();
    if (next.is_key) {
      complex_keys_.push_back(position_of(mark));
      next.value = discarded();
      *next.value->mutable_position() = position_of(mark);
    } else {
      next.value = place(mark);
    }
    next.is_map = is_map;
    next.anchor = anchor;
    if (is_map)
      next.value->mutable_map();
    else
      next.value->mutable_list();
    open_.push_back(std::move(next));
  }

  void end() {
    const open_collection done = std::move(open_.back());
    open_.pop_back();
    if (!done.is_key) return finish(*done.value, done.anchor);
    open_.back().next_position = done.value->position();
    open_.back().next = discarded();
  }

  void check_tag(const std::string& tag, const YAML::Mark& mark) {
    if (tag == "?" || tag == "!" || tag.empty()) return;
    faults_.add(position_of(mark), "a tag (" + quotable(tag) + "): tags are not part of the job language",
                "a plain value", "remove it, or put text that begins with '!' in quotes");
  }

  void check_depth(int depth, const YAML::Mark& mark) {
    if (depth <= max_depth) return;
    faults_.add(position_of(mark), fmt::format("nested more than {} levels deep", max_depth), "a flatter job");
    throw stop_reading{};
  }

  void charge(uint64_t num_values, uint64_t text_bytes, const YAML::Mark& mark) {
    if (!mark.is_null()) last_position_ = position_of(mark);
    num_values_ += num_values;
    text_bytes_ += text_bytes;
    if (num_values_ <= max_values && text_bytes_ <= max_tree_bytes) return;
    const std::string most =
        num_values_ > max_values ? fmt::format("{} values", format_count(max_values)) : "16 MiB of text";
    faults_.add(mark.is_null() ? open_position() : position_of(mark),
                fmt::format("more than {}{}", most, anchors_.empty() ? "" : " once every alias is copied out"),
                "a smaller job", "data belongs into files that a node reads");
    throw stop_reading{};
  }
  Position open_position() const { return open_.empty() ? root_.position() : open_.back().value->position(); }

  const source_text& source_;
  fault_sink& faults_;
  std::string origin_;
  int num_documents_ = 0;
  Value root_;
  std::deque<Value> discarded_;
  std::vector<open_collection> open_;
  std::unordered_map<YAML::anchor_t, anchored> anchors_;
  uint64_t num_values_ = 0;
  uint64_t text_bytes_ = 0;
  Position last_position_;
  std::string repaired_;                // of the scalar that is being read
  std::vector<Position> complex_keys_;  // reported at the end: yaml-cpp takes a bracket that is never closed for a key
};

// With a comment as its last line. Otherwise yaml-cpp doesn't notice that quotes stay open when the text ends with a
// newline; and the mark of an error at the end then stands behind the last line in every case.
std::string with_last_line(std::string_view text) {
  std::string out(text);
  if (!out.empty() && out.back() != '\n') out += '\n';
  return out + '#';
}

}  // namespace

std::optional<Value> read_yaml(const source_text& source, fault_sink& faults, std::string_view origin) {
  tree_builder builder(source, faults, origin);
  try {
    std::istringstream in(with_last_line(source.text()));
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take();
  } catch (const stop_reading&) {
  } catch (const YAML::Exception& e) {
    std::optional<Position> at;
    if (!e.mark.is_null()) at = builder.position_of(e.mark);
    report_yaml_error(e.msg, {at, builder.open_bracket(), builder.last_position()}, source, faults);
  } catch (const std::bad_alloc&) {
    throw;                             // says nothing about the text
  } catch (const std::exception& e) {  // nothing else is known to come out of yaml-cpp, but it is not our code
    report_yaml_error(e.what(), {std::nullopt, std::nullopt, builder.last_position()}, source, faults);
  }
  return std::nullopt;
}

}  // namespace flowrun::specs
