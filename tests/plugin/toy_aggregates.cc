// Aggregates of all kinds, for aggregates_test.py, which builds it out of the tree.
#include <flowrun/plugin.hpp>
#include <string>
#include <string_view>

namespace {

// Of 24 bytes, and ordered: combining needs all that came before.
struct digest_state {
  uint64_t digest = 0, power = 1, count = 0;
};
void add(digest_state& s, uint64_t value) {
  constexpr uint64_t base = 0x9E3779B97F4A7C15;
  s.digest = s.digest * base + value + 1;
  s.power *= base;
  ++s.count;
}
void add(digest_state& s, const digest_state& more) {
  s.digest = s.digest * more.power + more.digest;
  s.power *= more.power;
  s.count += more.count;
}

// A size that is no multiple of anything, and odd addresses.
struct narrow_state {
  unsigned char low = 255, high = 0, seen = 0;
};

struct wide {
  uint64_t num_bytes;
  size_t state_bytes() const { return num_bytes; }
};


template <class T>
void add_sum(fr::aggregate& to) {
  to.overload<T>([](T& s, T x) { s += x; }, [](T& s, const T& more) { s += more; }, [](const T& s) { return s; });
}

}  // namespace

FLOWRUN_PLUGIN("toy", "1.2.3") {
  fr::aggregate sum("sum");
  sum.signature("sum(x)").help("The sum.");
  add_sum<uint64_t>(sum);
  add_sum<int64_t>(sum);
  sum.overload<double>([](double& s, double x) { s += x; }, fr::not_combinable, [](const double& s) { return s; });
  plugin.add(sum);

  plugin.add(fr::aggregate("rows")
                 .signature("rows() → u32")
                 .help("How many.")
                 .overload<uint64_t>([](uint64_t& s) { ++s; }, [](uint64_t& s, uint64_t more) { s += more; },
                                     [](uint64_t s) { return static_cast<uint32_t>(s); }));

  plugin.add(fr::aggregate("digest")
                 .signature("digest(x) → u64")
                 .help("Of values in their order.")
                 .in_order()
                 .overload<digest_state>([](digest_state& s, uint64_t x) { add(s, x); },
                                         [](digest_state& s, const digest_state& more) { add(s, more); },
                                         [](const digest_state& s) { return s.digest; }));

  // The same, as a text; and without combine.
  plugin.add(fr::aggregate("digest_text")
                 .signature("digest_text(x) → string")
                 .help("As a text.")
                 .in_order()
                 .overload<digest_state>(
                     [](digest_state& s, uint64_t x) { add(s, x); },
                     [](digest_state& s, const digest_state& more) { add(s, more); },
                     [](const digest_state& s, fr::text_out& out) { out.append(std::to_string(s.digest)); }));
  plugin.add(fr::aggregate("digest_whole")
                 .signature("digest_whole(x) → string")
                 .help("In one go.")
                 .in_order()
                 .overload<digest_state>([](digest_state& s, uint64_t x) { add(s, x); }, fr::not_combinable,
                                         [](const digest_state& s) { return std::to_string(s.digest); }));

  plugin.add(
      fr::aggregate("span")
          .signature("span(x) → f32")
          .help("The largest byte less the smallest.")
          .overload<narrow_state>(
              [](narrow_state& s, uint64_t x) {
                const auto byte = static_cast<unsigned char>(x);
                if (byte < s.low) s.low = byte;
                if (byte > s.high) s.high = byte;
                s.seen = 1;
              },
              [](narrow_state& s, const narrow_state& more) {
                if (more.low < s.low) s.low = more.low;
                if (more.high > s.high) s.high = more.high;
                s.seen |= more.seen;
              },
              [](const narrow_state& s) { return s.seen == 0 ? -1.0F : static_cast<float>(s.high - s.low) / 2; }));

  plugin.add(fr::aggregate("above")
                 .signature("above(x, limit) → u64")
                 .help("How many are above a constant.")
                 .overload<uint64_t>(
                     [](double limit) {
                       if (limit < 0) throw fr::error("a limit below 0 lets all pass", "0 or more");
                       return limit;
                     },
                     [](double limit, uint64_t& count, double x, fr::constant<double>) { count += x > limit ? 1 : 0; },
                     [](double, uint64_t& count, uint64_t more) { count += more; },
                     [](double, uint64_t count) { return count; }));

  // How long the text of all prefixes is, with a text that is the same for all rows.
  plugin.add(fr::aggregate("begin")
                 .signature("begin(text, prefix) → u64")
                 .help("How many begin so.")
                 .overload<uint64_t>([](uint64_t& count, std::string_view text,
                                        std::string_view prefix) { count += text.starts_with(prefix) ? 1 : 0; },
                                     [](uint64_t& count, uint64_t more) { count += more; },
                                     [](uint64_t count) { return count; }));

  plugin.add(fr::aggregate("stars")
                 .signature("stars(n) → string")
                 .help("As many letters as the sum says.")
                 .overload<uint64_t>([](uint64_t& s, uint64_t x) { s += x; },
                                     [](uint64_t& s, uint64_t more) { s += more; },
                                     [](uint64_t s, fr::text_out& out) { std::memset(out.extend(s), '*', s); }));

  // A state of so many bytes, which counts in its last.
  plugin.add(fr::aggregate("wide")
                 .signature("wide(x, bytes) → u8")
                 .help("A wide state.")
                 .overload<fr::bytes>([](uint64_t num_bytes) { return wide{num_bytes}; },
                                      [](const wide&, fr::bytes s, uint64_t, fr::constant<uint64_t>) { ++s.back(); },
                                      [](const wide&, fr::bytes s, fr::const_bytes more) {
                                        s.back() = static_cast<unsigned char>(s.back() + more.back());
                                      },
                                      [](const wide&, fr::const_bytes s) { return s.back(); }));

  plugin.add(
      fr::function("plus").signature("plus(x) → f64").help("One more.").overload([](double x) { return x + 1; }));
}
