#include "tests/engine/expr/random_expression.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flowrun::expr::testing {

namespace {

using generator = std::mt19937_64;

uint64_t pick(generator& random, uint64_t n) { return random() % n; }

// Small, large and borderline numbers.
uint64_t odd_number(generator& random) {
  switch (pick(random, 6)) {
    case 0: return pick(random, 4);
    case 1: return 60 + pick(random, 8);
    case 2: return ~uint64_t{0} - pick(random, 3);
    case 3: return (uint64_t{1} << 63) - 1 + pick(random, 3);
    case 4: return random() >> pick(random, 64);
    default: return pick(random, 1000);
  }
}

random_tree leaf(generator& random, kind type) {
  random_tree t;
  t.type = type;
  const auto column = [&](int index, const char* name) {
    t.column = index;
    t.op = name;
  };
  const bool constant = pick(random, 3) == 0;
  switch (type) {
    case kind::u:
      if (!constant) {
        if (pick(random, 2) == 0)
          column(0, "a");
        else
          column(1, "b");
      } else {
        const uint64_t n = odd_number(random);
        t.constant.emplace<uint64_t>(n);
        t.op = "u64(" + std::to_string(n) + ")";
      }
      break;
    case kind::i:
      if (!constant) {
        if (pick(random, 2) == 0)
          column(2, "c");
        else
          column(3, "d");
      } else {
        const auto n = static_cast<int64_t>(odd_number(random));
        t.constant.emplace<int64_t>(n);
        t.op = "i64(" + std::to_string(n) + ")";
      }
      break;
    case kind::f:
      if (!constant) {
        column(4, "e");
      } else {
        const double x = static_cast<double>(pick(random, 4000)) / 8;
        t.constant.emplace<double>(x);
        t.op = std::to_string(x);  // eighths have at most three digits
      }
      break;
    case kind::b:
      if (!constant) {
        column(5, "ok");
      } else {
        const uint64_t yes = pick(random, 2);
        t.constant.emplace<uint64_t>(yes);
        t.op = yes != 0 ? "true" : "false";
      }
      break;
    case kind::s:
      if (!constant) {
        if (pick(random, 2) == 0)
          column(6, "t");
        else
          column(7, "k");
      } else {
        const std::string words[] = {"", "a", " Ab ", "zz", "12"};
        const std::string& word = words[pick(random, 5)];
        t.constant.emplace<std::string>(word);
        t.op = "'" + word + "'";
      }
      break;
  }
  return t;
}

// Or may become one: of an if with a constant condition, one side is left.
bool is_constant(const random_tree& t) {
  if (t.op == "if" && is_constant(t.args[0])) return is_constant(t.args[1]) || is_constant(t.args[2]);
  return t.args.empty() ? t.column < 0 : std::all_of(t.args.begin(), t.args.end(), is_constant);
}

struct shape {
  kind type;
  const char* op;
  std::vector<kind> args;
};

const std::vector<shape>& shapes() {
  using enum kind;
  static const std::vector<shape> all = {{u, "+", {u, u}},
                                         {u, "-", {u, u}},
                                         {u, "*", {u, u}},
                                         {u, "/", {u, u}},
                                         {u, "%", {u, u}},
                                         {u, "&", {u, u}},
                                         {u, "|", {u, u}},
                                         {u, "^", {u, u}},
                                         {u, "<<", {u, u}},
                                         {u, ">>", {u, u}},
                                         {u, "<<", {u, i}},
                                         {u, "~", {u}},
                                         {u, "if", {b, u, u}},
                                         {u, "min", {u, u}},
                                         {u, "max", {u, u, u}},
                                         {u, "popcount", {i}},
                                         {u, "clz", {u}},
                                         {u, "ctz", {u}},
                                         {u, "parity", {u}},
                                         {u, "bit_reverse", {u}},
                                         {u, "u64", {i}},
                                         {u, "u64", {f}},
                                         {u, "u8", {u}},
                                         {u, "u40", {i}},
                                         {u, "u16", {f}},
                                         {u, "length", {s}},
                                         {u, "[]", {s, u}},
                                         {u, "u64", {b}},
                                         {u, "abs", {u}},
                                         {u, "to_u64", {s}},
                                         {i, "+", {i, i}},
                                         {i, "-", {i, i}},
                                         {i, "*", {i, i}},
                                         {i, "/", {i, i}},
                                         {i, "%", {i, i}},
                                         {i, "|", {i, i}},
                                         {i, "&", {i, i}},
                                         {i, ">>", {i, u}},
                                         {i, "<<", {i, i}},
                                         {i, "neg", {i}},
                                         {i, "~", {i}},
                                         {i, "if", {b, i, i}},
                                         {i, "mixed min", {i, u}},
                                         {u, "mixed max", {u, i, u}},
                                         {i, "min", {i, i}},
                                         {i, "max", {i, i}},
                                         {i, "i64", {u}},
                                         {i, "i64", {f}},
                                         {i, "i8", {i}},
                                         {i, "i16", {u}},
                                         {i, "abs", {i}},
                                         {i, "to_i64", {s}},
                                         {f, "+", {f, f}},
                                         {f, "-", {f, u}},
                                         {f, "*", {i, f}},
                                         {f, "/", {f, f}},
                                         {f, "%", {f, f}},
                                         {f, "f64", {u}},
                                         {f, "f64", {i}},
                                         {f, "if", {b, f, i}},
                                         {f, "abs", {f}},
                                         {f, "neg", {f}},
                                         {f, "min", {f, f}},
                                         {f, "max", {f, u}},
                                         {f, "f32", {f}},
                                         {b, "==", {u, u}},
                                         {b, "!=", {u, i}},
                                         {b, "<", {u, i}},
                                         {b, "<=", {i, u}},
                                         {b, ">", {i, i}},
                                         {b, ">=", {u, i}},
                                         {b, "==", {i, u}},
                                         {b, "<", {f, f}},
                                         {b, ">=", {f, i}},
                                         {b, "!=", {f, u}},
                                         {b, "==", {s, s}},
                                         {b, "<", {s, s}},
                                         {b, ">=", {s, s}},
                                         {b, "!=", {b, b}},
                                         {b, "and", {b, b}},
                                         {b, "or", {b, b}},
                                         {b, "not", {b}},
                                         {b, "tuple<", {u, s, u, s}},
                                         {b, "tuple>=", {i, u, u, i}},
                                         {b, "tuple==", {u, b, i, b}},
                                         {b, "in", {u, u, i}},
                                         {b, "in", {i, u}},
                                         {b, "in", {s, s, s, s, s, s}},
                                         {b, "not in", {f, f, u, i}},
                                         {b, "between", {i, i, u}},
                                         {b, "between", {s, s, s}},
                                         {b, "starts_with", {s, s}},
                                         {b, "contains", {s, s}},
                                         {b, "bool", {i}},
                                         {s, "concat", {s, s}},
                                         {s, "concat", {s, u, i}},
                                         {s, "slice", {s, u, u}},
                                         {s, "lower", {s}},
                                         {s, "upper", {s}},
                                         {s, "trim", {s}},
                                         {s, "string", {u}},
                                         {s, "string", {i}},
                                         {s, "string", {b}},
                                         {s, "if", {b, s, s}},
                                         {s, "min", {s, s}},
                                         {s, "max", {s, s}}};
  return all;
}

uint64_t as_u(const cell& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return static_cast<uint64_t>(*i);
  return std::get<uint64_t>(value);
}

double as_f(const cell& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return static_cast<double>(*i);
  if (const auto* u = std::get_if<uint64_t>(&value)) return static_cast<double>(*u);
  return std::get<double>(value);
}

__extension__ using wide = __int128;
wide as_wide(const cell& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return *i;
  return std::get<uint64_t>(value);
}

// -1, 0, 1; 2 when unordered.
int order(const cell& a, const cell& b) {
  if (const auto* s = std::get_if<std::string>(&a)) {
    const int c = s->compare(std::get<std::string>(b));
    return c < 0 ? -1 : c > 0 ? 1 : 0;
  }
  if (std::holds_alternative<double>(a) || std::holds_alternative<double>(b)) {
    const double x = as_f(a), y = as_f(b);
    if (std::isnan(x) || std::isnan(y)) return 2;
    return x < y ? -1 : x > y ? 1 : 0;
  }
  const wide x = as_wide(a), y = as_wide(b);
  return x < y ? -1 : x > y ? 1 : 0;
}

bool holds(const std::string& op, int order_of) {
  if (op == "==") return order_of == 0;
  if (op == "!=") return order_of != 0;
  if (op == "<") return order_of == -1;
  if (op == "<=") return order_of == -1 || order_of == 0;
  if (op == ">") return order_of == 1;
  return order_of == 1 || order_of == 0;
}

wide saturated(double x, wide low, wide high) {
  if (std::isnan(x)) return 0;
  if (x <= static_cast<double>(low)) return low;
  if (x >= static_cast<double>(high)) return high;
  return static_cast<wide>(x);
}

uint64_t integer_operation(const std::string& op, bool is_signed, bool left_signed, uint64_t x, uint64_t y) {
  const auto sx = static_cast<int64_t>(x), sy = static_cast<int64_t>(y);
  if (op == "+") return x + y;
  if (op == "-") return x - y;
  if (op == "*") return x * y;
  if (op == "&") return x & y;
  if (op == "|") return x | y;
  if (op == "^") return x ^ y;
  if (op == "<<") return y > 63 ? 0 : x << y;
  if (op == ">>") return y > 63 ? 0 : left_signed ? static_cast<uint64_t>(sx >> y) : x >> y;
  if (y == 0) return 0;
  if (is_signed) {
    if (sy == -1) return op == "/" ? 0 - x : 0;
    return static_cast<uint64_t>(op == "/" ? sx / sy : sx % sy);
  }
  return op == "/" ? x / y : x % y;
}

// The value in the tree's type; values that arithmetic gave are 64 bits wide.
cell integer(kind type, uint64_t bits) {
  if (type == kind::i) return static_cast<int64_t>(bits);
  return bits;
}

// To ask whether a difference of unsigned numbers is below 0 is a fault: a sum in its place.
void without_difference(random_tree& t) {
  if (t.type != kind::u) return;
  if (t.op == "-") t.op = "+";
  if (t.op == "if")
    for (size_t i = 1; i < t.args.size(); ++i) without_difference(t.args[i]);
}

}  // namespace

record::row_type random_columns() {
  return type_of({{"a", "u64"},
                  {"b", "u24"},
                  {"c", "i8"},
                  {"d", "i64"},
                  {"e", "f64"},
                  {"ok", "bool"},
                  {"t", "string"},
                  {"k", "bytes[3]"}});
}

row random_row(generator& random) {
  row out(8);
  out[0].emplace<uint64_t>(odd_number(random));
  out[1].emplace<uint64_t>(odd_number(random) & 0xffffff);
  out[2].emplace<int64_t>(static_cast<int8_t>(random()));
  out[3].emplace<int64_t>(static_cast<int64_t>(odd_number(random)));
  const double reals[] = {0.0,
                          -0.0,
                          1.5,
                          -1e300,
                          1e19,
                          4e9,
                          std::numeric_limits<double>::infinity(),
                          static_cast<double>(pick(random, 100)) - 50.25};
  out[4].emplace<double>(reals[pick(random, 8)]);
  out[5].emplace<uint64_t>(pick(random, 2));
  std::string text;
  for (uint64_t n = pick(random, 6); n-- > 0;) text += " aBz12"[pick(random, 6)];
  out[6].emplace<std::string>(text);
  out[7].emplace<std::string>(std::string(1, "a1B "[pick(random, 4)]) + "b" + "2 z"[pick(random, 3)]);
  return out;
}

random_tree random_expression(generator& random, kind type, int depth) {
  if (depth == 0 || pick(random, 8) == 0) return leaf(random, type);
  std::vector<const shape*> fitting;
  for (const shape& s : shapes())
    if (s.type == type) fitting.push_back(&s);
  const shape& chosen = *fitting[pick(random, fitting.size())];
  random_tree t;
  t.type = type;
  t.op = chosen.op;
  for (kind k : chosen.args) t.args.push_back(random_expression(random, k, depth - 1));
  // Integer constants don't wrap, they are faults: let a column take part.
  const bool constant = std::all_of(t.args.begin(), t.args.end(), is_constant);
  const bool judged = type == kind::u || type == kind::i || t.op == "f32";
  while (constant && judged && is_constant(t.args[0])) t.args[0] = leaf(random, chosen.args[0]);
  const bool has_constant = std::any_of(t.args.begin(), t.args.end(), is_constant);
  const bool compares = t.op[0] == '<' || t.op[0] == '>' || t.op == "between" || t.op.ends_with("max");
  const bool asks_for_sign = t.op == "abs" || (has_constant && compares);
  for (random_tree& arg : t.args)
    if (asks_for_sign) without_difference(arg);
  return t;
}

std::string text_of(const random_tree& t) {
  if (t.args.empty()) return t.op;
  std::vector<std::string> a;
  for (const random_tree& arg : t.args) a.push_back(text_of(arg));
  // A literal of another length than bytes[N] is refused where it can't be equal.
  const bool equality = t.op.ends_with("==") || t.op.ends_with("!=") || t.op == "in" || t.op == "not in";
  const auto is_literal = [](const std::string& text) { return text.starts_with('\''); };
  if (equality && std::any_of(a.begin(), a.end(), is_literal))
    for (size_t i = 0; i < a.size(); ++i)
      if (t.args[i].type == kind::s && !is_literal(a[i])) a[i] = "string(" + a[i] + ")";
  if (t.op == "[]") return "(" + a[0] + ")[" + a[1] + "]";
  // k[x:y] would be a cut of bytes, whose bounds are constants.
  if (t.op == "slice") return "string(" + a[0] + ")[" + a[1] + ":" + a[2] + "]";
  // The length of bytes[N] is a constant, and constants don't wrap.
  if (t.op == "length") return "length(string(" + a[0] + "))";
  if (t.op == "neg") return "-(" + a[0] + ")";
  // u64 beside a signed type: by value. Narrower numbers and constants meet as i64, so the type is said.
  if (t.op == "mixed min") return "i64(min(" + a[0] + ", " + a[1] + "))";
  if (t.op == "mixed max") return "u64(max(" + a[0] + ", " + a[1] + ", " + a[2] + "))";
  if (t.op == "~") return "~(" + a[0] + ")";
  if (t.op == "not") return "(not " + a[0] + ")";
  if (t.op.starts_with("tuple"))
    return "((" + a[0] + ", " + a[1] + ") " + t.op.substr(5) + " (" + a[2] + ", " + a[3] + "))";
  if (t.op == "between") return "(" + a[0] + " between " + a[1] + " and " + a[2] + ")";
  if (t.op == "in" || t.op == "not in") {
    std::string list;
    for (size_t i = 1; i < a.size(); ++i) list += (i == 1 ? "" : ", ") + a[i];
    return "(" + a[0] + " " + t.op + " (" + list + "))";
  }
  const bool word = t.op == "and" || t.op == "or";
  if (word || !(t.op[0] >= 'a' && t.op[0] <= 'z')) return "(" + a[0] + " " + t.op + " " + a[1] + ")";
  std::string out = t.op + "(";
  for (size_t i = 0; i < a.size(); ++i) out += (i == 0 ? "" : ", ") + a[i];
  return out + ")";
}

cell naive_value(const random_tree& t, const row& values) {
  if (t.column >= 0) return values[static_cast<size_t>(t.column)];
  if (t.args.empty()) return t.constant;
  std::vector<cell> v;
  for (const random_tree& arg : t.args) v.push_back(naive_value(arg, values));
  const std::string& op = t.op;
  const auto truth = [](bool yes) { return cell(uint64_t{yes}); };
  const auto number_text = [](const random_tree& arg, const cell& value) {
    if (arg.type == kind::s) return std::get<std::string>(value);
    if (arg.type == kind::b) return std::string(std::get<uint64_t>(value) != 0 ? "true" : "false");
    if (arg.type == kind::i) return std::to_string(std::get<int64_t>(value));
    return std::to_string(std::get<uint64_t>(value));
  };
  if (op == "if") {
    const cell& chosen = as_u(v[0]) != 0 ? v[1] : v[2];
    if (t.type == kind::f) return as_f(chosen);
    if (t.type == kind::s) return chosen;
    return integer(t.type, as_u(chosen));
  }
  if (op.starts_with("mixed")) {
    const auto* best = &v[0];
    for (const cell& next : v)
      if (order(next, *best) == (op == "mixed min" ? -1 : 1)) best = &next;
    return integer(t.type, as_u(*best));
  }
  if (op == "min" || op == "max") {
    const auto met = [&](const cell& x) {
      return t.type == kind::f ? cell(as_f(x)) : t.type == kind::s ? x : integer(t.type, as_u(x));
    };
    cell best = met(v[0]);
    for (size_t k = 1; k < v.size(); ++k) {
      const cell next = met(v[k]);
      if (order(next, best) == (op == "min" ? -1 : 1)) best = next;
    }
    return best;
  }
  if (t.type == kind::b) {
    if (op == "and") return truth(as_u(v[0]) != 0 && as_u(v[1]) != 0);
    if (op == "or") return truth(as_u(v[0]) != 0 || as_u(v[1]) != 0);
    if (op == "not") return truth(as_u(v[0]) == 0);
    if (op == "bool") return truth(as_u(v[0]) != 0);
    if (op == "between") return truth(holds(">=", order(v[0], v[1])) && holds("<=", order(v[0], v[2])));
    if (op == "in" || op == "not in") {
      const bool found =
          std::any_of(v.begin() + 1, v.end(), [&](const cell& x) { return holds("==", order(v[0], x)); });
      return truth(found == (op == "in"));
    }
    if (op == "starts_with") return truth(std::get<std::string>(v[0]).rfind(std::get<std::string>(v[1]), 0) == 0);
    if (op == "contains")
      return truth(std::get<std::string>(v[0]).find(std::get<std::string>(v[1])) != std::string::npos);
    if (op.starts_with("tuple")) {
      const int first = order(v[0], v[2]);
      return truth(holds(op.substr(5), first != 0 ? first : order(v[1], v[3])));
    }
    return truth(holds(op, order(v[0], v[1])));
  }
  if (t.type == kind::s) {
    std::string x = number_text(t.args[0], v[0]);
    if (op == "concat") {
      for (size_t k = 1; k < v.size(); ++k) x += number_text(t.args[k], v[k]);
    } else if (op == "slice") {
      const uint64_t from = std::min<uint64_t>(as_u(v[1]), x.size()), to = std::min<uint64_t>(as_u(v[2]), x.size());
      x = to > from ? x.substr(from, to - from) : "";
    } else if (op == "trim") {
      x.erase(0, std::min(x.find_first_not_of(' '), x.size()));
      x.erase(x.find_last_not_of(' ') + 1);
    } else if (op == "lower" || op == "upper") {
      for (char& c : x) c = static_cast<char>(op == "lower" ? std::tolower(c) : std::toupper(c));
    }
    return x;
  }
  if (t.type == kind::f) {
    const double x = as_f(v[0]);
    if (op == "neg") return -x;
    if (op == "abs") return std::fabs(x);
    if (op == "f64") return x;
    if (op == "f32") {
      if (std::fabs(x) >= 0x1.ffffffp127) return std::copysign(std::numeric_limits<double>::infinity(), x);
      return static_cast<double>(static_cast<float>(x));
    }
    const double y = as_f(v[1]);
    if (op == "+") return x + y;
    if (op == "-") return x - y;
    if (op == "*") return x * y;
    if (op == "%") return std::fmod(x, y);
    if (y == 0) {  // IEEE 754
      if (x == 0 || std::isnan(x)) return std::numeric_limits<double>::quiet_NaN();
      return std::signbit(x) == std::signbit(y) ? std::numeric_limits<double>::infinity()
                                                : -std::numeric_limits<double>::infinity();
    }
    return x / y;
  }
  if (op == "length") return uint64_t{std::get<std::string>(v[0]).size()};
  if (op == "[]") {
    const auto& x = std::get<std::string>(v[0]);
    return uint64_t{as_u(v[1]) < x.size() ? static_cast<unsigned char>(x[as_u(v[1])]) : 0u};
  }
  if (op == "to_u64" || op == "to_i64") {
    const auto& x = std::get<std::string>(v[0]);
    const bool minus = op == "to_i64" && !x.empty() && x[0] == '-';
    wide n = 0;
    bool number = x.size() > (minus ? 1 : 0);
    for (size_t k = minus ? 1 : 0; k < x.size() && number; ++k) {
      number = x[k] >= '0' && x[k] <= '9';
      n = n * 10 + (x[k] - '0');
      number = number && n <= wide{std::numeric_limits<uint64_t>::max()};
    }
    if (minus) n = -n;
    if (op == "to_i64")
      number = number && n >= std::numeric_limits<int64_t>::min() && n <= std::numeric_limits<int64_t>::max();
    return integer(t.type, number ? static_cast<uint64_t>(n) : 0);
  }
  if (std::holds_alternative<double>(v[0])) {
    const double x = std::get<double>(v[0]);
    if (op == "u64") return static_cast<uint64_t>(saturated(x, 0, std::numeric_limits<uint64_t>::max()));
    if (op == "u16") return static_cast<uint64_t>(saturated(x, 0, 65535));
    return static_cast<int64_t>(saturated(x, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
  }
  const uint64_t x = as_u(v[0]);
  if (op == "u64" || op == "i64") return integer(t.type, x);
  if (op == "u8") return x % 256;
  if (op == "u40") return x % (uint64_t{1} << 40);
  if (op == "i8") return int64_t{static_cast<int8_t>(x)};
  if (op == "i16") return int64_t{static_cast<int16_t>(x)};
  if (op == "neg") return integer(t.type, 0 - x);
  if (op == "~") return integer(t.type, ~x);
  if (op == "abs") return t.type == kind::u ? cell(x) : integer(t.type, static_cast<int64_t>(x) < 0 ? 0 - x : x);
  if (op == "popcount" || op == "parity" || op == "clz" || op == "ctz" || op == "bit_reverse") {
    uint64_t ones = 0, reversed = 0, high = 64, low = 64;
    for (uint64_t bit = 0; bit < 64; ++bit) {
      if ((x >> bit & 1) == 0) continue;
      ++ones;
      reversed |= uint64_t{1} << (63 - bit);
      high = 63 - bit;
      low = std::min(low, bit);
    }
    return op == "popcount" ? ones : op == "parity" ? ones % 2 : op == "clz" ? high : op == "ctz" ? low : reversed;
  }
  return integer(t.type,
                 integer_operation(op, t.type == kind::i, std::holds_alternative<int64_t>(v[0]), x, as_u(v[1])));
}

}  // namespace flowrun::expr::testing
