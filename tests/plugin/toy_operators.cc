// Operators of all roles that plugins may have so far, for operators_test.py and checks_test.py, which build it out of the tree.
#include <flowrun/plugin.hpp>
#include <string>

namespace {

// repeat: each row so often.
struct repeat_settings {
  uint64_t times;
};
void repeat(const repeat_settings& s, const fr::batch& in, fr::out& out) {
  uint64_t done = out.within();
  for (size_t i = 0; i < in.size(); ++i, done = 0)
    for (; done < s.times; ++done) {
      if (out.full()) return out.leave(i, done);
      out.pass(in, i, 1);
    }
}

// label: a text with a column's number, that many letters long if `long` says so.
struct label_settings {
  fr::row_type type;
  uint32_t number = 0;
  std::string text;
  uint64_t length = 0;
};
label_settings check_label(fr::node& node) {
  label_settings s;
  const fr::row_type input = node.input();
  const std::vector<uint32_t> columns = node.columns("of");
  if (!node.good()) return s;
  if (columns.size() != 1 || input[columns[0]].type.kind != FR_U64) {
    node.fault("of", "this is no u64 column", "one column of type u64", "write u64(x) in a map in front");
    return s;
  }
  s.number = input[columns[0]].offset;
  s.text = node.text("text");
  s.length = node.bytes("length");
  s.type = fr::row_type({{input[columns[0]].name, {FR_U64, 8}}, {"label", {FR_STRING, 8}}});
  node.set_output(0, s.type, {}, node.input_estimate());
  return s;
}
void label(const label_settings& s, const fr::batch& in, fr::out& out) {
  fr::row_writer& rows = out.rows(s.type);
  for (size_t i = 0; i < in.size(); ++i) {
    if (out.full()) return out.leave(i);
    const auto number = in.get<uint64_t>(i, s.number);
    std::string text = s.text + std::to_string(number);
    if (text.size() < s.length) text.resize(s.length, '.');
    unsigned char* const row = rows.append();
    rows.put(row, 0, number);
    rows.put_text(row, 8, text);
  }
}

// beside: each row, and one more that is written.
struct beside_settings {
  fr::row_type type;
};
void beside(const beside_settings& s, const fr::batch& in, fr::out& out) {
  for (size_t i = 0; i < in.size(); ++i) {
    if (out.full()) return out.leave(i);
    out.pass(in, i, 1);
    fr::row_writer& rows = out.rows(s.type);
    rows.put(rows.append(), 0, in.get<uint64_t>(i, 0) + 1);
  }
}

// changes: of rows sorted by a column, the first one of each value.
struct changes_settings {
  uint32_t offset = 0;
};
struct changes_state {
  uint32_t offset;
  bool has_last = false;
  uint64_t last = 0;
};
void changes(changes_state& s, const fr::batch& in, fr::out& out) {
  for (size_t i = 0; i < in.size(); ++i) {
    const auto value = in.get<uint64_t>(i, s.offset);
    if (!s.has_last || value != s.last) out.pass(in, i, 1);
    s.has_last = true;
    s.last = value;
  }
}

// total: the sum of a column, as a row and in the report. forget: nothing at all.
struct total_settings {
  fr::row_type type{std::vector<fr::column>{{"total", {FR_U64, 8}}}};
  uint32_t offset = 0;
};
struct total_state {
  const total_settings* settings;
  fr::job job;
  uint64_t total = 0;
};

// upward: 0, 1, 2 …
struct upward_settings {
  fr::row_type type{std::vector<fr::column>{{"value", {FR_U64, 8}}}};
  uint64_t rows = 0;
};
struct upward_state {
  const upward_settings* settings;
  uint64_t next = 0;
};

}  // namespace

FLOWRUN_PLUGIN("toy", "1.2.3") {
  plugin.add(fr::stateless<repeat_settings>("repeat")
                 .summary("Gives each row several times.")
                 .order("keeps: the input's order")
                 .example("twice: {op: toy.repeat, in: rows, with: {times: 2}}\n")
                 .input("in", "the rows")
                 .output("out", "the rows, each so often")
                 .parameter({.name = "times", .kind = FR_PARAMETER_INTEGER, .required = true, .help = "How often."})
                 .check([](fr::node& node) {
                   node.set_output(0, node.input(), node.input_order());
                   return repeat_settings{node.integer("times")};
                 })
                 .apply(repeat));
  plugin.add(fr::stateless<label_settings>("label")
                 .summary("A text for each number.")
                 .input("in", "the rows")
                 .output("out", "the number and its label")
                 .parameter({.name = "of", .kind = FR_PARAMETER_COLUMNS, .required = true, .help = "The number."})
                 .parameter({.name = "text", .default_text = "no.", .help = "What stands in front."})
                 .parameter({.name = "length", .kind = FR_PARAMETER_BYTES, .default_text = "0", .help = "At least."})
                 .check(check_label)
                 .apply(label));
  plugin.add(fr::stateless<beside_settings>("beside")
                 .summary("Each row and the number behind it.")
                 .input("in", "the rows")
                 .output("out", "twice as many")
                 .check([](fr::node& node) {
                   node.set_output(0, node.input());
                   return beside_settings{node.input()};
                 })
                 .apply(beside));
  plugin.add(fr::ordered<changes_settings, changes_state>("changes")
                 .summary("The first row of each value.")
                 .order("needs: by")
                 .input("in", "sorted rows")
                 .output("out", "the first of each value")
                 .parameter({.name = "by", .kind = FR_PARAMETER_COLUMNS, .required = true, .help = "The column."})
                 .check([](fr::node& node) {
                   changes_settings s;
                   const auto columns = node.columns("by");
                   if (!node.good() || columns.empty()) return s;
                   s.offset = node.input()[columns[0]].offset;
                   node.require_order({{node.input()[columns[0]].name}});
                   node.set_output(0, node.input(), node.input_order());
                   return s;
                 })
                 .run([](const changes_settings& s, const fr::job&) { return changes_state{s.offset}; }, changes));
  const auto total = [](const char* name) {
    return fr::ordered<total_settings, total_state>(name)
        .summary("Adds numbers up.")
        .input("in", "the rows")
        .parameter({.name = "of", .kind = FR_PARAMETER_COLUMNS, .required = true, .help = "The column."});
  };
  const auto check_total = [](bool has_output) {
    return [has_output](fr::node& node) {
      total_settings s;
      const auto columns = node.columns("of");
      if (node.good() && !columns.empty()) s.offset = node.input()[columns[0]].offset;
      if (has_output) node.set_output(0, s.type, {}, {1, 8, true, true, 1, 8});
      return s;
    };
  };
  const auto start = [](const total_settings& s, const fr::job& job) { return total_state{&s, job}; };
  const auto add = [](total_state& s, const fr::batch& in, fr::out&) {
    for (size_t i = 0; i < in.size(); ++i) s.total += in.get<uint64_t>(i, s.settings->offset);
  };
  plugin.add(total("total")
                 .output("out", "the sum")
                 .output_is_optional()
                 .check(check_total(true))
                 .run(start, add, [](total_state& s, fr::out& out) {
                   s.job.report("total", std::to_string(s.total));
                   fr::row_writer& rows = out.rows(s.settings->type);
                   rows.put(rows.append(), 0, s.total);
                   return false;
                 }));
  plugin.add(total("forget").check(check_total(false)).run(start, add, [](total_state& s, fr::out&) {
    s.job.warn("forgotten: " + std::to_string(s.total));
    return false;
  }));
  plugin.add(fr::source<upward_settings, upward_state>("upward")
                 .summary("Counts.")
                 .order("gives: value")
                 .output("out", "0, 1, 2 and so on")
                 .parameter({.name = "rows", .kind = FR_PARAMETER_INTEGER, .required = true, .help = "How many."})
                 .check([](fr::node& node) {
                   upward_settings s;
                   s.rows = node.integer("rows");
                   node.set_output(0, s.type, {{"value"}}, {s.rows, 8 * s.rows, true, true, s.rows, 8 * s.rows});
                   return s;
                 })
                 .run([](const upward_settings& s, const fr::job&) { return upward_state{&s}; },
                      [](upward_state& s, fr::out& out) {
                        fr::row_writer& rows = out.rows(s.settings->type);
                        for (int i = 0; i < 1000 && s.next < s.settings->rows; ++i)
                          rows.put(rows.append(), 0, s.next++);
                        return s.next < s.settings->rows;
                      }));
}
