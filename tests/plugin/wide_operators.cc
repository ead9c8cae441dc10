// Operators that use what the interface has beyond streams: expressions, stored rows, queues, vectors, spawned work,
// wakes, output files, error ports, counters. For roles_test.py, which builds it out of the tree.
#include <atomic>
#include <chrono>
#include <flowrun/plugin.hpp>
#include <mutex>
#include <string>
#include <thread>

namespace {

const fr::row_type& numbers() {
  static const fr::row_type type(std::vector<fr::column>{{"value", {FR_U64, 8}}});
  return type;
}

struct nothing {};

// pick: a number and a text that expressions compute, of rows that a condition holds for.
struct pick_settings {
  fr::column condition, number;
  std::vector<fr::column> texts;
  fr::row_type output;
};
pick_settings check_pick(fr::node& node) {
  pick_settings s;
  if (const auto condition = node.expression("where")) s.condition = *condition;
  if (const auto number = node.expression("number")) s.number = *number;
  s.texts = node.expressions("texts");
  if (!node.good()) return s;
  std::vector<fr::column> columns{{"number", s.number.type}};
  for (const fr::column& c : s.texts) {
    if (c.type.kind != FR_STRING) node.fault("texts." + c.name, "this is no string", "a string");
    columns.push_back({c.name, c.type});
  }
  s.output = fr::row_type(columns);
  node.set_output(0, s.output);
  return s;
}
void pick(const pick_settings& s, const fr::batch& in, fr::out& out) {
  fr::row_writer& rows = out.rows(s.output);
  for (size_t i = 0; i < in.size(); ++i) {
    if (in.get<uint8_t>(i, s.condition.offset) == 0) continue;
    if (out.full()) return out.leave(i);
    unsigned char* const row = rows.append();
    std::memcpy(row, in.row(i) + s.number.offset, fr::width_of(s.number.type));
    for (size_t t = 0; t < s.texts.size(); ++t)
      rows.put_text(row, s.output[t + 1].offset, in.text(i, s.texts[t].offset));
  }
}

// there_and_back: stored rows, forward and then backward.
struct there_and_back {
  there_and_back(const nothing&, const fr::job& j)
      : rows(j.stored(0)), memory(j.memory_bytes()), reader(rows.forward(memory / 2)) {}
  fr::outcome pull(fr::out& out) {
    fr::batch front;
    const fr::outcome o = reader.front(front);
    if (o.is_blocked()) return o;
    if (o.is_done()) {
      if (is_backward) return o;
      is_backward = true;
      reader = rows.backward(memory / 2);
      return fr::outcome::ready();
    }
    out.pass(front, 0, front.size());
    reader.pop();
    return fr::outcome::ready();
  }
  fr::stored_rows rows;
  uint64_t memory;
  fr::reader reader;
  bool is_backward = false;
};

// through_queue: all rows into a queue, and out again behind the last. through_vector: the same, and out from the end.
struct input_rows {
  fr::row_type type;
};
input_rows check_container(fr::node& node) {
  node.set_memory({.minimum = 512 << 10, .maximum = 512 << 10});
  node.set_output(0, node.input());
  return {node.input()};
}
struct through_queue {
  through_queue(const input_rows& s, const fr::job& j) : rows(j, s.type, j.memory_bytes()), reader(rows.reader()) {}
  fr::queue rows;
  fr::reader reader;
  bool has_ended = false;
};
fr::outcome give_front(const fr::reader& reader, fr::out& out) {
  fr::batch front;
  if (const fr::outcome o = reader.front(front); !o.is_ready()) return o;
  out.pass(front, 0, front.size());
  reader.pop();
  return fr::outcome::ready();
}
fr::outcome end_queue(through_queue& s, fr::out& out) {
  if (!s.has_ended) s.rows.end();
  s.has_ended = true;
  return give_front(s.reader, out);
}
struct through_vector {
  through_vector(const input_rows& s, const fr::job& j) : memory(j.memory_bytes()), rows(j, s.type, memory / 2) {}
  uint64_t memory;
  fr::vector rows;
  std::unique_ptr<fr::reader> reader;
};
fr::outcome end_vector(through_vector& s, fr::out& out) {
  if (s.reader == nullptr) {
    if (const fr::outcome o = s.rows.finish(); !o.is_done()) return o;
    s.reader = std::make_unique<fr::reader>(s.rows.rows().backward(s.memory / 2));
  }
  return give_front(*s.reader, out);
}

// spawned: numbers that work on the job's threads makes, a hundred at a time, while the source is blocked.
struct spawn_settings {
  uint64_t rows = 0, breaks_at = 0;
};
struct spawned {
  spawned(const spawn_settings& given, const fr::job& j) : s(given), job(j), waker(j.waker()) {}
  fr::outcome pull(fr::out& out) {
    std::lock_guard lock(mutex);
    fr::row_writer& rows = out.rows(numbers());
    for (; next < made; ++next) rows.put(rows.append(), 0, next);
    if (next == s.rows) return fr::outcome::done();
    if (is_working) return fr::outcome::blocked();
    is_working = true;
    job.spawn([this] { work(); });
    return fr::outcome::blocked();
  }
  void work() {
    {
      std::lock_guard lock(mutex);
      is_working = false;
      made = std::min(s.rows, made + 100);
      if (s.breaks_at > 0 && made >= s.breaks_at) throw fr::error("the work broke", "work less");
    }
    job.count("pieces", 1);
    waker.wake();
  }
  const spawn_settings& s;
  fr::job job;
  fr::waker waker;
  std::mutex mutex;
  uint64_t made = 0, next = 0;
  bool is_working = false;
};

// late: a thread of its own wakes it, also long after the node is gone.
struct late {
  late(const spawn_settings& given, const fr::job& j) : s(given), left(std::make_shared<std::atomic<uint64_t>>(0)) {
    std::thread([left = left, waker = j.waker(), rows = s.rows] {
      for (uint64_t i = 0; i < rows + 100; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        *left += 1;
        waker.wake();
      }
    }).detach();
  }
  fr::outcome pull(fr::out& out) {
    if (next == s.rows) return fr::outcome::done();
    if (*left <= next) return fr::outcome::blocked(FR_BLOCKED_INPUT);
    fr::row_writer& rows = out.rows(numbers());
    rows.put(rows.append(), 0, next++);
    return fr::outcome::ready();
  }
  const spawn_settings& s;
  std::shared_ptr<std::atomic<uint64_t>> left;
  uint64_t next = 0;
};

// sleeps: a row after so many milliseconds, without a thread.
struct sleeps {
  sleeps(const spawn_settings& given, const fr::job& j) : s(given), waker(j.waker()) {}
  fr::outcome pull(fr::out& out) {
    const auto now = std::chrono::steady_clock::now();
    if (next == s.rows) return fr::outcome::done();
    if (now < due) {
      fr::wakes().after(waker.raw(), 2);
      return fr::outcome::blocked();
    }
    due = now + std::chrono::milliseconds(3);
    fr::row_writer& rows = out.rows(numbers());
    rows.put(rows.append(), 0, next++);
    return fr::outcome::ready();
  }
  const spawn_settings& s;
  fr::waker waker;
  std::chrono::steady_clock::time_point due;
  uint64_t next = 0;
};

// save: numbers as lines of a file.
struct save_settings {
  std::string path;
  uint32_t offset = 0;
};
struct save {
  save(const save_settings& given, const fr::job& j) : s(given), file(j, given.path) {}
  fr::outcome push(fr::batch& in) {
    if (pending.empty())
      for (size_t i = 0; i < in.size(); ++i) pending += std::to_string(in.get<uint64_t>(i, s.offset)) + "\n";
    const fr::outcome o = flush();
    return o;
  }
  fr::outcome flush() {
    std::string_view left = std::string_view(pending).substr(written);
    const fr::outcome o = file.write(left);
    written = pending.size() - left.size();
    if (o.is_blocked()) return o;
    pending.clear();
    written = 0;
    return fr::outcome::ready();
  }
  const save_settings& s;
  fr::output_file file;
  std::string pending;
  size_t written = 0;
};

// sound: rows whose number is no multiple of 3; the others are rejected.
struct sound_settings {
  fr::row_type type;
  fr::error_policy on_error;
};
struct sound {
  sound(const sound_settings& given, const fr::job& j) : s(given), job(j) {}
  void push(fr::batch& in, fr::out& out) {
    for (size_t i = 0; i < in.size(); ++i) {
      if (in.get<uint64_t>(i, 0) % 3 != 0) {
        out.pass(in, i, 1);
        continue;
      }
      if (s.on_error.action == FR_ON_ERROR_FAIL)
        throw fr::error("the number " + std::to_string(in.get<uint64_t>(i, 0)) + " is a multiple of 3", "leave it out");
      job.count("rejected_rows", 1);
      if (s.on_error.action == FR_ON_ERROR_TO_PORT) out.pass(in, i, 1, s.on_error.port);
    }
  }
  const sound_settings& s;
  fr::job job;
};

// halved: a breaker with an intake: halves, sorted, each once, with a text.
struct halved_settings {
  uint64_t length = 0;
  fr::row_type sorted{{{"half", {FR_U64, 8}}, {"text", {FR_STRING, 8}}}};
};
void halve(const halved_settings& s, const fr::batch& in, fr::out& out) {
  fr::row_writer& rows = out.rows(s.sorted);
  for (size_t i = 0; i < in.size(); ++i) {
    if (out.full()) return out.leave(i);
    const uint64_t half = in.get<uint64_t>(i, 0) / 2;
    unsigned char* const row = rows.append();
    rows.put(row, 0, half);
    std::string text = "half " + std::to_string(half);
    if (text.size() < s.length) text.resize(s.length, '.');
    rows.put_text(row, 8, text);
  }
}

// first_of_each: one row of each batch into a queue, which gives them back.
struct first_of_each : through_queue {
  using through_queue::through_queue;
  fr::batch first;
  fr::outcome push(fr::batch& in) {
    if (first.empty()) {
      fr_batch one = in.raw();
      one.num_rows = std::min<size_t>(one.num_rows, 1);
      first = fr::batch(one);
    }
    const fr::outcome o = rows.push(first);
    if (!o.is_blocked()) first = fr::batch();
    return o;
  }
};

// early: reads rows while it is built.
struct early {
  early(const nothing&, const fr::job& j) : reader(j.stored(0).forward(1 << 20)) {
    fr::batch rows;
    reader.front(rows);
  }
  fr::reader reader;
};

// hungry: reserves more memory than it was given.
struct hungry {
  hungry(const nothing&, const fr::job& j) { j.reserve(j.memory_bytes() + 1); }
};

spawn_settings check_numbers(fr::node& node) {
  node.set_output(0, numbers(), {{"value"}});
  return {node.integer("rows"), node.has("breaks_at") ? node.integer("breaks_at") : 0};
}
template <class Source>
fr::source<spawn_settings, Source> number_source(const char* name) {
  return fr::source<spawn_settings, Source>(name)
      .summary("Numbers from 0 on.")
      .output("out", "the numbers")
      .parameter({.name = "rows", .kind = FR_PARAMETER_INTEGER, .required = true, .help = "How many."})
      .parameter({.name = "breaks_at", .kind = FR_PARAMETER_INTEGER, .help = "Where it breaks."})
      .check(check_numbers)
      .run([](const spawn_settings& s, const fr::job& j) { return Source(s, j); },
           [](Source& s, fr::out& out) { return s.pull(out); });
}

}  // namespace

FLOWRUN_PLUGIN("wide", "1.2.3") {
  plugin.add(fr::stateless<pick_settings>("pick")
                 .summary("What expressions say of rows.")
                 .input("in", "the rows")
                 .output("out", "what was computed")
                 .parameter({.name = "where", .kind = FR_PARAMETER_CONDITION, .default_text = "true", .help = "Which."})
                 .parameter({.name = "number", .kind = FR_PARAMETER_EXPRESSION, .required = true, .help = "A number."})
                 .parameter({.name = "texts", .kind = FR_PARAMETER_EXPRESSIONS, .required = true, .help = "Texts."})
                 .check(check_pick)
                 .apply(pick));
  plugin.add(fr::meeting<nothing, there_and_back>("there_and_back")
                 .summary("The rows forward and backward.")
                 .stored_input("in", "the rows")
                 .output("out", "twice as many")
                 .check([](fr::node& node) {
                   node.set_memory({.minimum = 1 << 20, .maximum = 1 << 20}, FR_WORK);
                   node.set_output(0, node.input());
                   return nothing{};
                 })
                 .run([](const nothing& s, const fr::job& j) { return there_and_back(s, j); },
                      [](there_and_back& s, fr::out& out) { return s.pull(out); }));
  plugin.add(fr::ordered<input_rows, through_queue>("through_queue")
                 .summary("The rows through a queue.")
                 .input("in", "the rows")
                 .output("out", "the same")
                 .check(check_container)
                 .run([](const input_rows& s, const fr::job& j) { return through_queue(s, j); },
                      [](through_queue& s, fr::batch& in, fr::out&) { return s.rows.push(in); }, end_queue));
  plugin.add(fr::ordered<input_rows, through_vector>("through_vector")
                 .summary("The rows from the end.")
                 .input("in", "the rows")
                 .output("out", "the same, backward")
                 .check(check_container)
                 .run([](const input_rows& s, const fr::job& j) { return through_vector(s, j); },
                      [](through_vector& s, fr::batch& in, fr::out&) { return s.rows.push(in); }, end_vector));
  plugin.add(number_source<spawned>("spawned"));
  plugin.add(number_source<late>("late"));
  plugin.add(number_source<sleeps>("sleeps"));
  plugin.add(fr::ordered<save_settings, save>("save")
                 .summary("Numbers as lines.")
                 .input("in", "the rows")
                 .parameter({.name = "path", .kind = FR_PARAMETER_PATH, .required = true, .help = "The file."})
                 .parameter({.name = "of", .kind = FR_PARAMETER_COLUMNS, .required = true, .help = "The number."})
                 .check([](fr::node& node) {
                   const auto columns = node.columns("of");
                   return save_settings{node.text("path"), columns.empty() ? 0 : node.input()[columns[0]].offset};
                 })
                 .run([](const save_settings& s, const fr::job& j) { return save(s, j); },
                      [](save& s, fr::batch& in, fr::out&) { return s.push(in); },
                      [](save& s, fr::out&) { return s.file.finish(); }));
  plugin.add(fr::ordered<sound_settings, sound>("sound")
                 .summary("No multiples of 3.")
                 .input("in", "the rows")
                 .output("out", "the good ones")
                 .error_port()
                 .check([](fr::node& node) {
                   sound_settings s{node.input(), node.on_error()};
                   node.set_output(0, s.type);
                   if (s.on_error.action == FR_ON_ERROR_TO_PORT) node.set_output(s.on_error.port, s.type);
                   return s;
                 })
                 .run([](const sound_settings& s, const fr::job& j) { return sound(s, j); },
                      [](sound& s, fr::batch& in, fr::out& out) { s.push(in, out); }));
  plugin.add(fr::breaker<halved_settings>("halved")
                 .summary("Half of each number, once.")
                 .input("in", "the rows")
                 .output("out", "the halves")
                 .parameter({.name = "length", .kind = FR_PARAMETER_BYTES, .default_text = "0", .help = "At least."})
                 .parameter({.name = "limit", .kind = FR_PARAMETER_INTEGER, .default_text = "0", .help = "At most."})
                 .check([](fr::node& node) {
                   halved_settings s;
                   s.length = node.bytes("length");
                   node.set_sort({.rows = s.sorted,
                                  .by = {{"half", true}},
                                  .limit = node.integer("limit"),
                                  .stable = false,
                                  .unique = true});
                   node.set_output(0, s.sorted, {{"half", true}});
                   return s;
                 })
                 .before(halve));
  plugin.add(fr::ordered<input_rows, first_of_each>("first_of_each")
                 .summary("The first row of each batch.")
                 .input("in", "the rows")
                 .output("out", "some of them")
                 .check(check_container)
                 .run([](const input_rows& s, const fr::job& j) { return first_of_each(s, j); },
                      [](first_of_each& s, fr::batch& in, fr::out&) { return s.push(in); },
                      [](first_of_each& s, fr::out& out) { return end_queue(s, out); }));
  plugin.add(fr::ordered<input_rows, through_queue>("push_behind_the_end")
                 .summary("Pushes into a queue that has ended.")
                 .input("in", "the rows")
                 .output("out", "nothing")
                 .check(check_container)
                 .run([](const input_rows& s, const fr::job& j) { return through_queue(s, j); },
                      [](through_queue& s, fr::batch& in, fr::out&) {
                        s.rows.end();
                        return s.rows.push(in);
                      }));
  plugin.add(
      fr::meeting<nothing, early>("early")
          .summary("Reads too early.")
          .stored_input("in", "the rows")
          .output("out", "the rows")
          .check([](fr::node& node) {
            node.set_output(0, node.input());
            return nothing{};
          })
          .run([](const nothing& s, const fr::job& j) { return early(s, j); }, [](early&, fr::out&) { return false; }));
  plugin.add(fr::source<nothing, hungry>("hungry")
                 .summary("Wants too much.")
                 .output("out", "nothing")
                 .check([](fr::node& node) {
                   node.set_output(0, numbers());
                   return nothing{};
                 })
                 .run([](const nothing& s, const fr::job& j) { return hungry(s, j); },
                      [](hungry&, fr::out&) { return false; }));
}
