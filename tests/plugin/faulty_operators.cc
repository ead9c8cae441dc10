// Operators that are right as long as nobody looks closely, for checks_test.py: each keeps one promise not.
#include <unistd.h>

#include <atomic>
#include <flowrun/plugin.hpp>
#include <fstream>
#include <string>
#include <thread>

namespace {

struct settings {
  fr::row_type type{std::vector<fr::column>{{"value", {FR_U64, 8}}}};
};
struct state {
  settings s;
  bool has_last = false;
  uint64_t last = 0;
  bool finished = false;
};

settings keep_type(fr::node& node) {
  settings s;
  node.set_output(0, s.type);
  return s;
}
void give(const settings& s, fr::out& out, uint64_t value) {
  fr::row_writer& rows = out.rows(s.type);
  rows.put(rows.append(), 0, value);
}
uint64_t value_of(const fr::batch& in, size_t row) { return in.get<uint64_t>(row, 0); }

// impatient: takes any wake for the one that it waits for. asleep: waits for one that nobody promised.
struct rest_settings {
  settings s;
  bool sleeps = false;
};
struct rest {
  rest(const rest_settings& given, const fr::job& j) : s(given), job(j), waker(j.waker()) {}
  fr::outcome pull(fr::out& out) {
    if (!has_waited) {
      has_waited = true;
      if (!s.sleeps)
        job.spawn([this] {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          made = 7;
          waker.wake();
        });
      return fr::outcome::blocked();
    }
    give(s.s, out, made);
    return fr::outcome::done();
  }
  const rest_settings& s;
  fr::job job;
  fr::waker waker;
  std::atomic<uint64_t> made = 0;
  bool has_waited = false;
};

// The rows as they are, after `first`, which gets each batch.
template <class First>
auto pass_after(First first) {
  return [first](const settings&, const fr::batch& in, fr::out& out) {
    first(in);
    out.pass(in, 0, in.size());
  };
}

}  // namespace

FLOWRUN_PLUGIN("faulty", "1") {
  const auto stateless = [&](const char* name, auto apply, auto check) {
    plugin.add(fr::stateless<settings>(name)
                   .summary("Wrong.")
                   .input("in", "rows")
                   .output("out", "rows")
                   .check(check)
                   .apply(apply));
  };
  const auto ordered = [&](const char* name, auto push, auto finish) {
    plugin.add(fr::ordered<settings, state>(name)
                   .summary("Wrong.")
                   .input("in", "rows")
                   .output("out", "rows")
                   .check(keep_type)
                   .run([](const settings& s, const fr::job&) { return state{s}; }, push, finish));
  };
  const auto no_end = [](state&, fr::out&) { return false; };

  stateless(
      "position",
      [](const settings& s, const fr::batch& in, fr::out& out) {
        for (size_t i = 0; i < in.size(); ++i) give(s, out, value_of(in, i) + i);
      },
      keep_type);
  static std::atomic<uint64_t> calls = 0;
  stateless(
      "counting",
      [](const settings& s, const fr::batch& in, fr::out& out) {
        for (size_t i = 0; i < in.size(); ++i) give(s, out, value_of(in, i) + calls++);
      },
      keep_type);
  stateless(
      "losing",
      [](const settings& s, const fr::batch& in, fr::out& out) {
        for (size_t i = 0; i < in.size(); ++i)
          for (int k = 0; k < 3; ++k) {
            if (out.full()) return out.leave(i + 1);
            give(s, out, value_of(in, i));
          }
      },
      keep_type);
  ordered(
      "forgetting",
      [](state& s, const fr::batch& in, fr::out& out) {
        s.has_last = false;
        for (size_t i = 0; i < in.size(); ++i) {
          if (!s.has_last || s.last != value_of(in, i)) out.pass(in, i, 1);
          s.has_last = true;
          s.last = value_of(in, i);
        }
      },
      no_end);
  static std::atomic<int> at_once = 0;
  stateless(
      "crowded",
      [](const settings& s, const fr::batch& in, fr::out& out) {
        const int others = at_once++;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        for (size_t i = 0; i < in.size(); ++i) give(s, out, value_of(in, i) + (others > 0 ? 1 : 0));
        --at_once;
      },
      keep_type);
  for (const bool sleeps : {false, true})
    plugin.add(fr::source<rest_settings, rest>(sleeps ? "asleep" : "impatient")
                   .summary("Wrong.")
                   .output("out", "a row")
                   .check([sleeps](fr::node& node) {
                     rest_settings s{{}, sleeps};
                     node.set_output(0, s.s.type);
                     return s;
                   })
                   .run([](const rest_settings& s, const fr::job& job) { return rest(s, job); },
                        [](rest& r, fr::out& out) { return r.pull(out); }));
  stateless("aborting", pass_after([](const fr::batch& in) {
              if (in.size() == 1) std::abort();
            }),
            keep_type);
  stateless("leaving", pass_after([](const fr::batch& in) {
              if (in.size() == 1) ::_exit(0);
            }),
            keep_type);
  stateless("exiting", pass_after([](const fr::batch& in) {
              if (in.size() == 1) std::exit(0);
            }),
            keep_type);
  stateless("hanging", pass_after([](const fr::batch& in) {
              while (in.size() == 1) std::this_thread::sleep_for(std::chrono::seconds(1));
            }),
            keep_type);
  stateless("throwing", pass_after([](const fr::batch& in) {
              if (in.size() == 1) throw 1;
            }),
            keep_type);
  stateless("littering", pass_after([](const fr::batch&) {
              const char* const place = std::getenv("TMPDIR");
              std::ofstream(std::string(place == nullptr ? "/tmp" : place) + "/faulty.tmp") << "x";
            }),
            keep_type);
  stateless("unsorted", pass_after([](const fr::batch&) {}), [](fr::node& node) {
    settings s;
    node.set_output(0, s.type, {{"value"}});
    return s;
  });
  stateless("miscounting", pass_after([](const fr::batch&) {}), [](fr::node& node) {
    settings s;
    node.set_output(0, s.type, {}, {3, 24, true, true, 3, 24});
    return s;
  });
  stateless("ending", pass_after([](const fr::batch&) {}), [](fr::node& node) {
    if (node.good()) ::_exit(0);
    return settings();
  });
  stateless("quitting", pass_after([](const fr::batch&) {}), [](fr::node& node) {
    if (node.good()) std::exit(0);
    return settings();
  });
  // Its state must have been finished when it dies.
  struct fragile : state {
    explicit fragile(const settings& with) : state{with} {}
    fragile(fragile&& other) noexcept : state(other) { other.finished = true; }
    ~fragile() {
      if (!finished) ::_exit(3);
    }
  };
  plugin.add(fr::ordered<settings, fragile>("fragile")
                 .summary("Wrong.")
                 .input("in", "rows")
                 .output("out", "rows")
                 .check(keep_type)
                 .run([](const settings& s, const fr::job&) { return fragile(s); },
                      [](fragile&, const fr::batch& in, fr::out& out) { out.pass(in, 0, in.size()); },
                      [](fragile& s, fr::out&) {
                        s.finished = true;
                        return false;
                      }));
  stateless("deep", pass_after([](const fr::batch& in) {
              static const auto down = [](auto&& self, uint64_t depth) -> uint64_t {
                volatile char room[512] = {};
                return depth == 0 ? 0 : self(self, depth - 1) + static_cast<uint64_t>(room[depth % 512]) + depth;
              };
              if (in.size() == 1) static_cast<void>(down(down, uint64_t{1} << 40));
            }),
            keep_type);
}
