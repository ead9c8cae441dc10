// What expressions cost: nanoseconds per row and primitive inside the registers, and per row for whole programs over
// packed (u64, u64) batches of 16,384 rows. Prints medians of 9 rounds; takes a few seconds.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "engine/base/error.h"
#include "engine/expr/kernels.h"
#include "engine/expr/lane.h"
#include "engine/expr/row_program.h"
#include "engine/expr/state_program.h"

namespace {

using namespace flowrun;

double nanoseconds_per_row(size_t rows_per_call, const std::function<void()>& call) {
  std::vector<double> rounds;
  const size_t calls = std::max<size_t>(1, 500'000 / rows_per_call);
  for (int round = 0; round < 9; ++round) {
    timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (size_t i = 0; i < calls; ++i) call();
    clock_gettime(CLOCK_MONOTONIC, &to);
    const double ns =
        static_cast<double>(to.tv_sec - from.tv_sec) * 1e9 + static_cast<double>(to.tv_nsec - from.tv_nsec);
    rounds.push_back(ns / static_cast<double>(calls * rows_per_call));
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() / 2];
}

void primitives() {
  constexpr size_t n = expr::chunk_rows;
  std::mt19937_64 random(1);
  std::vector<uint64_t> a(n), b(n), c(n), out(n), mask(n), x(n), y(n);
  for (size_t i = 0; i < n; ++i) {
    a[i] = random();
    b[i] = random() >> 32 | 1;
    c[i] = random();
    mask[i] = random() & 1;
    x[i] = expr::lane::bits(static_cast<double>(random() % 1000000) / 7);
    y[i] = expr::lane::bits(static_cast<double>(random() % 1000 + 1));
  }
  fmt::print("{:<14}", "ns per row");
  for (size_t s = 0; s < expr::num_kernel_sets(); ++s) fmt::print("{:>10}", expr::kernel_set_at(s).name);
  fmt::print("\n");
  for (size_t k = 0; k < expr::num_opcodes; ++k) {
    const auto op = static_cast<expr::opcode>(k);
    if (!expr::is_numeric_op(op) || expr::may_fail(op)) continue;  // random operands would make those fail
    fmt::print("{:<14}", expr::to_string(op));
    for (size_t s = 0; s < expr::num_kernel_sets(); ++s) {
      const auto kernel = expr::kernel_set_at(s).lanes[k];
      const bool real = expr::to_string(op).ends_with("_f") && op != expr::opcode::u_to_f && op != expr::opcode::i_to_f;
      const bool from_real = real || expr::to_string(op).starts_with("f_to");
      const uint64_t* first = op == expr::opcode::select ? mask.data() : from_real ? x.data() : a.data();
      const uint64_t* second = real ? y.data() : b.data();
      fmt::print("{:>10.3f}", nanoseconds_per_row(n, [&] { kernel(out.data(), first, second, c.data(), 7, 2, n); }));
    }
    fmt::print("\n");
  }
  std::vector<std::byte> rows(16 * n);
  std::vector<uint16_t> positions(n);
  const auto field = [&](const char* name, auto&& one) {
    fmt::print("{:<14}", name);
    for (size_t s = 0; s < expr::num_kernel_sets(); ++s)
      fmt::print("{:>10.3f}", nanoseconds_per_row(n, [&] { one(expr::kernel_set_at(s)); }));
    fmt::print("\n");
  };
  using record::type_kind;
  for (auto kind : {type_kind::u8, type_kind::u32, type_kind::u40, type_kind::u64, type_kind::f32}) {
    const std::string name = to_string(record::value_type::of(kind));
    const auto k = static_cast<size_t>(kind);
    field(("load " + name).c_str(),
          [&](const expr::kernel_set& set) { set.load[k](out.data(), rows.data(), 16, nullptr, n); });
    field(("store " + name).c_str(), [&](const expr::kernel_set& set) { set.store[k](rows.data(), 16, a.data(), n); });
  }
  field("positions", [&](const expr::kernel_set& set) { set.positions(positions.data(), mask.data(), n); });
  field("compact", [&](const expr::kernel_set& set) { set.compact(out.data(), positions.data(), n / 2); });
}

expr::expression compiled(const std::string& text, const expr::scope& names) {
  expr::compiled c = expr::compile(text, names);
  if (!c.value) throw error(error_kind::usage, c.problems.at(0).message);
  return *c.value;
}

void programs() {
  constexpr size_t n = 16384;
  const record::row_type edge({{"src", record::value_type{}, 0}, {"dst", record::value_type{}, 0}});
  std::mt19937_64 random(2);
  std::vector<uint64_t> data(2 * n);
  for (uint64_t& x : data) x = random() >> 20;
  record::batch in;
  in.rows = reinterpret_cast<const std::byte*>(data.data());
  in.num_rows = n;
  in.row_bytes = 16;
  record::batch_pool pool;
  std::vector<record::batch> out;
  expr::scope names;
  names.row = &edge;
  names.row_number = true;
  fmt::print("\n{:<64}{:>10}\n", "program over (src: u64, dst: u64)", "ns per row");
  const auto report = [](const std::string& text, double ns) { fmt::print("{:<64}{:>10.3f}\n", text, ns); };

  for (const char* condition : {"src % 2 == 0", "src % 16 == 0", "src % 3 == 0", "src < dst", "true and src != 0"}) {
    expr::row_program_builder builder(edge);
    builder.filter(compiled(condition, names));
    const expr::row_program program = builder.build();
    report(fmt::format("filter {}", condition), nanoseconds_per_row(n, [&] {
             out.clear();
             program.run(in, 0, pool, out);
           }));
  }
  for (const char* value :
       {"src", "src + 1", "src * 3 + dst", "hash64(1, src, dst)", "src / 10", "src % 1000003", "src / dst", "u32(src)",
        "if(src > dst, src - dst, dst - src)", "(src, dst) < (dst, src)", "rand(1, row_number)", "string(src)"}) {
    expr::row_program_builder builder(edge);
    builder.map({{"x", compiled(value, names)}});
    const expr::row_program program = builder.build();
    report(fmt::format("map {}", value), nanoseconds_per_row(n, [&] {
             out.clear();
             program.run(in, 0, pool, out);
           }));
  }
  {
    expr::row_program_builder builder(edge);
    builder.filter(compiled("src % 2 == 0", names));
    builder.map({{"x", compiled("src ^ dst", names)}, {"y", compiled("src + dst", names)}});
    const expr::row_program program = builder.build();
    report("filter src % 2 == 0, map src ^ dst, src + dst", nanoseconds_per_row(n, [&] {
             out.clear();
             program.run(in, 0, pool, out);
           }));
  }
  names.state = {{"total", record::value_type{}}};
  const auto scan = [&](const char* title, const std::vector<std::pair<std::string, std::string>>& columns,
                        const char* update) {
    expr::state_program_builder builder(edge, names.state, {compiled("0", {})});
    builder.set(0, compiled(update, names));
    std::vector<std::pair<std::string, expr::expression>> emitted;
    for (const auto& [name, text] : columns) emitted.push_back({name, compiled(text, names)});
    builder.emit(emitted);
    expr::state_program program = builder.build();
    report(title, nanoseconds_per_row(n, [&] {
             out.clear();
             program.run(in, 0, pool, out);
           }));
  };
  scan("scan total = total + dst, emit src, total", {{"src", "src"}, {"total", "total"}}, "total + dst");
  scan("scan total = if(src > dst, total + 1, 0), emit total", {{"total", "total"}}, "if(src > dst, total + 1, 0)");
}

// Lines as a web server writes them: what looking into them costs.
void texts() {
  const record::row_type line({{"line", record::value_type::of(record::type_kind::string), 0}});
  std::mt19937_64 random(3);
  record::batch_pool pool;
  record::batch_builder builder(line, pool, {256 * 1024, uint64_t{1} << 32});
  const size_t n = std::min<size_t>(builder.room(), 16384);
  for (size_t i = 0; i < n; ++i) {
    const std::string text =
        fmt::format("{}.{}.{}.{} - - [23/Nov/2026:13:{:02}:{:02}] \"{} /shop/item/{}?ref={:x} HTTP/1.1\" {} {}",
                    random() % 256, random() % 256, random() % 256, random() % 256, random() % 60, random() % 60,
                    random() % 8 == 0 ? "POST" : "GET", random() % 100000, random(), random() % 16 == 0 ? 500 : 200,
                    random() % 50000);
    builder.put_string(builder.append(), text);
  }
  const record::batch in = builder.take();
  std::vector<record::batch> out;
  const expr::scope names{.row = &line};
  fmt::print("\n{:<64}{:>10}\n", "map of lines of a log (90 bytes)", "ns per row");
  for (const char* value :
       {R"(regex_matches(line, r'" 5\d\d '))", R"(regex_matches(line, 'POST.*HTTP'))",
        R"(regex_extract(line, r'item/(\d+)', 1))", R"(regex_extract(line, r'"(GET|POST) (\S+) HTTP', 2))",
        R"(regex_replace(line, r'\d+\.\d+\.\d+\.\d+', 'x'))", R"(regex_replace(line, '[0-9]+', '#'))",
        R"(split_part(line, ' ', 6))", R"(replace(line, 'shop', 'store'))", R"(find(line, 'HTTP'))",
        R"(line like '%POST%')", R"(line like '%POST%HTTP%')", R"(line like '1__.%')"}) {
    expr::row_program_builder program_builder(line);
    program_builder.map({{"x", compiled(value, names)}});
    const expr::row_program program = program_builder.build();
    const double ns = nanoseconds_per_row(n, [&] {
      out.clear();
      program.run(in, 0, pool, out);
    });
    fmt::print("{:<64}{:>10.1f}\n", value, ns);
  }
}

// x in (…) beside the chain of comparisons that it stands for: numbers, and texts of six bytes of which an eighth is in
// the list.
void lists() {
  const record::row_type type(
      {{"n", record::value_type{}, 0}, {"t", record::value_type::of(record::type_kind::string), 0}});
  std::mt19937_64 random(4);
  record::batch_pool pool;
  record::batch_builder builder(type, pool, {256 * 1024, uint64_t{1} << 32});
  const size_t n = std::min<size_t>(builder.room(), 8192);
  const auto text_of = [](uint64_t k) { return fmt::format("{:06}", k * 7919 % 1000000); };
  fmt::print("\n{:<20}{:>12}{:>12}{:>12}{:>12}\n", "constants", "n: or", "n in (…)", "t: or", "t in (…)");
  for (const uint64_t count : {1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 256}) {
    for (size_t i = 0; i < n; ++i) {
      std::byte* const to = builder.append();
      const uint64_t k = random() % (8 * count);
      std::memcpy(to, &k, sizeof k);
      builder.put_string(to + 8, text_of(k));
    }
    const record::batch in = builder.take();
    std::vector<std::string> conditions(4);
    for (uint64_t k = 0; k < count; ++k) {
      conditions[0] += fmt::format("{}n == {}", k == 0 ? "" : " or ", k * 8);
      conditions[1] += fmt::format("{}{}", k == 0 ? "n in (" : ", ", k * 8);
      conditions[2] += fmt::format("{}t == '{}'", k == 0 ? "" : " or ", text_of(k * 8));
      conditions[3] += fmt::format("{}'{}'", k == 0 ? "t in (" : ", ", text_of(k * 8));
    }
    conditions[1] += ")", conditions[3] += ")";
    fmt::print("{:<20}", count);
    for (const std::string& condition : conditions) {
      expr::row_program_builder program_builder(type);
      program_builder.filter(compiled(condition, {.row = &type}));
      const expr::row_program program = program_builder.build();
      std::vector<record::batch> out;
      fmt::print("{:>12.2f}", nanoseconds_per_row(n, [&] {
                   out.clear();
                   program.run(in, 0, pool, out);
                 }));
    }
    fmt::print("\n");
  }
}

}  // namespace

int main() {
  try {
    primitives();
    programs();
    texts();
    lists();
  } catch (const error& e) {
    fmt::print(stderr, "expression_bench: {}\n", e.what());
    return e.exit_code();
  }
  return 0;
}
