#include "runner/test_update.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "engine/base/excerpt.h"
#include "operators/parts/text/csv_value.h"
#include "runner/difference.h"
#include "runner/test_rows.h"
#include "specs/fault_sink.h"
#include "specs/value.h"
#include "specs/yaml_edit.h"
#include "specs/yaml_tree.h"

namespace flowrun::runner {

namespace {

using specs::edit_refused;
using specs::Entry;
using specs::Value;

[[noreturn]] void refuse(const specs::Position& at, std::string reason) { throw edit_refused{at, std::move(reason)}; }

std::string cell_text(record::value_type type, const std::byte* cell) {
  if (type.is_bytes()) return {reinterpret_cast<const char*>(cell), type.num_bytes};
  char text[operators::max_value_chars];
  return {text, operators::format_value(type, cell, text)};
}

bool has_parameter(const Value& v) {
  if (specs::text(v).find("${") != std::string::npos) return true;
  const auto within = [](const auto& values, auto value_of) {
    return std::any_of(values.begin(), values.end(), [&](const auto& one) { return has_parameter(value_of(one)); });
  };
  return within(v.list().items(), [](const Value& item) -> const Value& { return item; }) ||
         within(v.map().entries(), [](const Entry& entry) -> const Value& { return entry.value(); });
}

// The rows of one output, or of one file of it, where they stand in a spec.
class expected_rows {
 public:
  // `expected`: the value of `owner` with its parameters put in.
  expected_rows(specs::yaml_edit& edit, const Entry& owner, const Value& expected, const fitted_test::output& form)
      : edit_(edit), owner_(owner), written_(owner.value()), expected_(expected), form_(form) {}

  void become(const std::string& found) {
    if (specs::is_scalar(written_)) return edit_.set_text(owner_, written_, found, true);
    const std::vector<std::string> before = before_rows(), now = now_rows(found);
    specs::member_changes changes;
    changes.dropped.assign(before.size(), false);
    std::vector<size_t> gone;
    size_t old = 0, fresh = 0;  // those of a stretch that differs are gone, and now[fresh - num_come, fresh) have come
    size_t num_come = 0;
    const auto close = [&] {
      const size_t in_place = std::min(gone.size(), num_come);
      const size_t first = fresh - num_come;
      for (size_t i = 0; i < in_place; ++i) rewrite(gone[i], now[first + i]);
      for (size_t i = in_place; i < gone.size(); ++i) drop(gone[i], changes);
      for (size_t i = in_place; i < num_come; ++i)
        changes.added[in_place > 0 ? gone[in_place - 1] + 1 : old].push_back(new_row(now[first + i], old));
      gone.clear();
      num_come = 0;
    };
    for (const difference_step step : difference_steps(before, now)) {
      if (step == difference_step::both) {
        close();
        ++old, ++fresh;
      } else if (step == difference_step::expected) {
        gone.push_back(old++);
      } else {
        ++num_come, ++fresh;
      }
    }
    close();
    if (!changes.added.empty() ||
        std::find(changes.dropped.begin(), changes.dropped.end(), true) != changes.dropped.end())
      edit_.change_members(owner_, changes);
  }

  // As the value of a new key.
  static std::string new_rows(const std::string& found, const fitted_test::output& form) {
    std::string out;
    const std::vector<std::string> rows = rows_of(found, form, specs::Position());
    for (const std::string& row : rows)
      out += (out.empty() ? "" : ",") + std::string(rows.size() > 1 ? "\n  " : "") + flow_row(row, form, nullptr);
    return "[" + out + (rows.size() > 1 ? "\n" : "") + "]";
  }

 private:
  static std::vector<std::string> rows_of(const std::string& found, const fitted_test::output& form,
                                          const specs::Position& at) {
    if (!form.packed) {
      if (!found.empty() && found.back() != form.delimiter)
        refuse(at, "the last line that came has no end, which a list of rows can't say: write it as text");
      return split_lines(found, form.delimiter);
    }
    const size_t row_bytes = form.type.row_bytes();
    if (found.size() % row_bytes != 0) refuse(at, "what came is no whole number of rows");
    std::vector<std::string> out;
    for (size_t i = 0; i < found.size(); i += row_bytes) out.push_back(found.substr(i, row_bytes));
    return out;
  }
  std::vector<std::string> now_rows(const std::string& found) const {
    return rows_of(found, form_, written_.position());
  }
  // As bytes, to be compared.
  std::vector<std::string> before_rows() const {
    std::vector<std::string> out;
    for (const Value& item : expected_.list().items()) out.push_back(form_.packed ? packed(item) : specs::text(item));
    return out;
  }
  std::string packed(const Value& item) const {
    Value list;
    *list.mutable_list()->add_items() = item;
    specs::fault_sink ignored("");  // the test could be fitted, so there are none
    return with_one_nan(packed_rows(list, form_.type, ignored), form_.type);
  }

  void rewrite(size_t index, const std::string& row) {
    const Value& item = written_.list().items(static_cast<int>(index));
    const Value& expected = expected_.list().items(static_cast<int>(index));
    if (!form_.packed) return edit_.set_text(owner_, item, row, true);
    const std::string before = packed(expected);
    const auto set = [&](size_t column, const Value& cell) {
      const record::column& c = form_.type[column];
      if (before.compare(c.offset, c.type.num_bytes, row, c.offset, c.type.num_bytes) != 0)
        edit_.set_text(owner_, cell, text_of(row, c), false);
    };
    if (specs::is_scalar(item)) return set(0, item);
    for (int i = 0; i < item.list().items_size(); ++i) set(static_cast<size_t>(i), item.list().items(i));
    for (const Entry& entry : item.map().entries()) set(*form_.type.index_of(entry.key()), entry.value());
  }

  void drop(size_t index, specs::member_changes& changes) const {
    const Value& item = written_.list().items(static_cast<int>(index));
    if (has_parameter(item)) refuse(item.position(), "a parameter stands in it");
    changes.dropped[index] = true;
  }

  // Like the row above its place, or the one below; `old`: behind its place.
  std::string new_row(const std::string& row, size_t old) const {
    const auto& items = written_.list().items();
    if (items.empty()) return flow_row(row, form_, nullptr);
    const Value& other = items[static_cast<int>(old > 0 ? old - 1 : 0)];
    if (!form_.packed) return edit_.scalar_like(other, row, true);
    if (!specs::is_map(other) || edit_.is_flow(other)) return flow_row(row, form_, &other);
    std::string out;
    for (const Entry& entry : other.map().entries())
      out += fmt::format("{}{}: {}", out.empty() ? "" : "\n", entry.key(), column_text(row, form_, entry.key()));
    return out;
  }

  static std::string flow_row(const std::string& row, const fitted_test::output& form, const Value* other) {
    if (!form.packed) return specs::yaml_edit::new_scalar(row, true);
    std::string out;
    const auto add = [&out](const std::string& item) { out += (out.empty() ? "" : ", ") + item; };
    if (other != nullptr && specs::is_map(*other)) {
      for (const Entry& entry : other->map().entries())
        add(fmt::format("{}: {}", entry.key(), column_text(row, form, entry.key())));
      return "{" + out + "}";
    }
    const bool list = other != nullptr && specs::is_list(*other);
    const bool one = form.type.num_columns() == 1;
    for (const record::column& c : form.type.columns())
      add((list || one ? "" : c.name + ": ") + specs::yaml_edit::new_scalar(text_of(row, c), false));
    return list ? "[" + out + "]" : one ? out : "{" + out + "}";
  }
  static std::string column_text(const std::string& row, const fitted_test::output& form, const std::string& column) {
    return specs::yaml_edit::new_scalar(text_of(row, form.type[*form.type.index_of(column)]), false);
  }
  static std::string text_of(const std::string& row, const record::column& c) {
    return cell_text(c.type, reinterpret_cast<const std::byte*>(row.data()) + c.offset);
  }

  specs::yaml_edit& edit_;
  const Entry& owner_;
  const Value& written_;
  const Value& expected_;
  const fitted_test::output& form_;
};

std::string key_of(const mismatch& m) { return m.field.empty() ? m.output.node : m.output.node + "." + m.field; }

// The entry of a spec that says what is expected, and what it lies in.
struct found_part {
  std::vector<const Value*> around;
  const Entry* part = nullptr;
};
found_part part_of(const Value& root, size_t index, const std::string& key) {
  found_part out;
  const Value* tests = specs::find(root, "tests");
  if (tests == nullptr || index >= static_cast<size_t>(tests->list().items_size())) return out;
  const Value& test = tests->list().items(static_cast<int>(index));
  const Value* expect = specs::find(test, "expect");
  if (expect == nullptr) return out;
  out.around = {tests, &test, expect};
  out.part = specs::find_entry(*expect, key);
  return out;
}

void forget_places(Value& v) {
  v.clear_position();
  if (v.has_list())
    for (Value& item : *v.mutable_list()->mutable_items()) forget_places(item);
  if (v.has_map())
    for (Entry& entry : *v.mutable_map()->mutable_entries()) {
      entry.clear_key_position();
      forget_places(*entry.mutable_value());
    }
}

// The tree without places, and without the value of the part.
std::string all_but(Value root, size_t index, const std::string& key) {
  if (const found_part found = part_of(root, index, key); found.part != nullptr)
    const_cast<Entry*>(found.part)->mutable_value()->clear_kind();
  forget_places(root);
  return root.SerializeAsString();
}

class updating {
 public:
  updating(const spec_file& spec, size_t index, const prepared_test& test, const environment_mask& mask)
      : path_(spec.path), text_(spec.text), index_(index), test_(test), mask_(mask) {}

  spec_update run(const std::vector<mismatch>& differing) {
    for (const mismatch& m : differing)
      if (m.what != mismatch::kind::nothing) update(m);
    return {std::move(text_), std::move(left_)};
  }

 private:
  void update(const mismatch& m) {
    const std::string plain = specs::plain_text(text_);
    const specs::source_text source(plain);
    specs::fault_sink ignored(path_);
    const std::optional<Value> root = specs::read_yaml(source, ignored);
    const std::string key = key_of(m);
    const found_part found = root ? part_of(*root, index_, key) : found_part{};
    if (found.part == nullptr) return leave(m, m.output.position, "its place can't be told");
    try {
      if (mask_.masked(m.found) != m.found || mask_.masked(m.output.path) != m.output.path)
        refuse(found.part->key_position(), "what came holds a value of ${env:…}, which may be a secret");
      specs::yaml_edit edit(source);
      for (const Value* around : found.around) edit.expect_own(*around, false);
      edit.expect_own(found.part->value(), true);
      change(m, *found.part, edit);
      std::string text = edit.applied(text_);
      if (!is_same_besides(*root, text, key))
        refuse(found.part->key_position(), "the new rows can't be written there so that all else reads as before");
      text_ = std::move(text);
    } catch (const edit_refused& why) {
      leave(m, why.position.line() > 0 ? why.position : found.part->key_position(), why.reason);
    }
  }

  void change(const mismatch& m, const Entry& part, specs::yaml_edit& edit) const {
    const auto expected = std::find_if(test_.test.expected.begin(), test_.test.expected.end(), [&m](const auto& one) {
      return one.node == m.output.node && one.field == m.field;
    });
    if (expected == test_.test.expected.end()) refuse(part.key_position(), "its place can't be told");
    if (m.what == mismatch::kind::value) return edit.set_text(part, part.value(), value_text(m, part), false);
    if (m.output.file.empty()) return expected_rows(edit, part, expected->value, m.output).become(m.found);
    const auto& files = part.value().map().entries();
    const auto at = std::find_if(files.begin(), files.end(), [&m](const Entry& e) { return e.key() == m.output.path; });
    if (m.what == mismatch::kind::rows) {
      const Value* rows = specs::find(expected->value, m.output.path);
      if (at == files.end() || rows == nullptr) refuse(part.key_position(), "its place can't be told");
      return expected_rows(edit, *at, *rows, m.output).become(m.found);
    }
    specs::member_changes changes;
    changes.dropped.assign(static_cast<size_t>(files.size()), false);
    if (m.what == mismatch::kind::no_file) {
      if (at == files.end() || has_parameter(at->value())) refuse(part.key_position(), "a parameter stands in it");
      changes.dropped[static_cast<size_t>(at - files.begin())] = true;
    } else {
      const std::string name = specs::yaml_edit::new_scalar(m.output.path, false);
      if (m.output.path.find('$') != std::string::npos) refuse(part.key_position(), "a file has a $ in its name");
      changes.added[static_cast<size_t>(files.size())] = {name + ": " + expected_rows::new_rows(m.found, m.output)};
    }
    edit.change_members(part, changes);
  }

  // Texts are reported in quotes.
  static std::string value_text(const mismatch& m, const Entry& part) {
    std::optional<std::string> text = unquoted(m.found);
    if (text) return *std::move(text);
    if (m.found.starts_with('"')) refuse(part.key_position(), "the text that came is too long");
    return m.found;
  }

  bool is_same_besides(const Value& before, const std::string& text, const std::string& key) const {
    const std::string plain = specs::plain_text(text);
    specs::fault_sink faults(path_);
    if (!specs::check_text(plain, faults)) return false;
    const specs::source_text source(plain);
    const std::optional<Value> after = specs::read_yaml(source, faults);
    return after && faults.empty() && part_of(*after, index_, key).part != nullptr &&
           all_but(before, index_, key) == all_but(*after, index_, key);
  }

  void leave(const mismatch& m, const specs::Position& at, const std::string& reason) {
    const std::string& what = m.output.path;
    left_.push_back(fmt::format("{}:{}:{}: {}{} stays as it is: {}", path_, at.line(), at.column(), key_of(m),
                                what.empty() ? "" : ", " + what + ",", reason));
  }

  const std::string path_;
  std::string text_;
  const size_t index_;
  const prepared_test& test_;
  const environment_mask& mask_;
  std::vector<std::string> left_;
};

}  // namespace

spec_update updated_spec(const spec_file& spec, size_t index, const prepared_test& test,
                         const std::vector<mismatch>& differing, const environment_mask& mask) {
  return updating(spec, index, test, mask).run(differing);
}

}  // namespace flowrun::runner
