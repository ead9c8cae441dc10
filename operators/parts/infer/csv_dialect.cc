#include "operators/parts/infer/csv_dialect.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "operators/parts/infer/missing_words.h"
#include "operators/parts/text/csv_record.h"
#include "operators/parts/text/csv_value.h"

namespace flowrun::operators {

namespace {

constexpr size_t most_records = 400;
constexpr size_t most_text = size_t{1} << 18;

struct candidate {
  char delimiter;
  double weight;  // blanks and colons stand in all sorts of texts
};
constexpr candidate candidates[] = {{',', 1},    {'\t', 1},  {';', 1},   {'|', 1},   {'\x01', 1},
                                    {'\x1f', 1}, {'~', 0.9}, {'^', 0.9}, {' ', 0.8}, {':', 0.7}};

bool is_candidate(char c) {
  return c != ' ' && std::any_of(std::begin(candidates), std::end(candidates),
                                 [c](const candidate& k) { return k.delimiter == c; });
}

// Digits with what stands between them in numbers, dates and times.
bool looks_like_number(std::string_view text) {
  const bool has_digit = text.find_first_of("0123456789") != std::string_view::npos;
  return has_digit && text.find_first_not_of("0123456789+-.,/: TZeE%") == std::string_view::npos;
}

// 2:16 AM, 2026-01-03 02:23:53 UTC.
std::string_view without_word_of_time(std::string_view text) {
  for (const std::string_view word : {" AM", " PM", " am", " pm", " UTC", " GMT"})
    if (text.ends_with(word) && text.find(':') != std::string_view::npos)
      return text.substr(0, text.size() - word.size());
  return text;
}

// How sure it is that a field is a value, 0 to 1.
double likeness(const csv_field& field) {
  const std::string_view text = field.text;
  if (field.broken) return 0;
  if (field.quoted || missing_word(text)) return 1;
  const bool padded = text.front() == ' ' || text.back() == ' ';
  if (looks_like_number(without_word_of_time(text))) return padded ? 0.9 : 1;
  if (std::any_of(text.begin(), text.end(), is_candidate)) return 0.3;
  if (text.size() > 1 && text.front() == text.back() && (text.front() == '"' || text.front() == '\'')) return 0.3;
  if (padded) return 0.3;
  return text.find(' ') == std::string_view::npos ? 0.95 : 0.85;
}

csv_dialect tried(std::string_view text, bool whole, const csv_format& format, double weight) {
  csv_dialect out{format};
  std::map<size_t, size_t> counts;  // of records by their number of fields
  csv_record record;
  double sum = 0;
  size_t num_fields = 0, of_first = 0;
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end && out.num_records < most_records) {
    const char* const behind = record_end(p, end, format);
    const bool complete = whole || behind != end || text.back() == '\n';
    if (!complete && out.num_records > 0) break;
    record.cut({p, behind}, format);
    p = behind;
    const auto fields = record.fields();
    if (fields.size() == 1 && fields[0].text.empty()) continue;  // an empty line says nothing
    if (++out.num_records == 1) of_first = fields.size();
    bool broken = false;
    for (const csv_field& field : fields) {
      if (field.text.empty() && !field.quoted) continue;  // neither for nor against
      broken = broken || field.broken;
      sum += likeness(field);
      ++num_fields;
    }
    if (!broken) ++counts[fields.size()];
  }
  size_t most = 0;
  for (const auto& [fields, records] : counts)
    if (records >= most) {
      most = records;
      out.num_fields = fields;
    }
  if (out.num_records == 0) return out;
  out.first_agrees = of_first == out.num_fields;
  out.agreeing = static_cast<double>(most) / static_cast<double>(out.num_records);
  const double like = num_fields == 0 ? 0.5 : sum / static_cast<double>(num_fields);
  out.score = out.num_fields < 2 ? 0 : out.agreeing * out.agreeing * like * weight;
  return out;
}

// A good candidate that cuts all lines alike, where the other one does so for all lines but the first: that one is the
// header, and the other cuts within the values of a column ("2:16 AM", "a;b;c").
bool cuts_the_header_alone(const csv_dialect& a, const csv_dialect& b) {
  constexpr double good = 0.45;
  return a.num_fields > 1 && a.agreeing == 1 && a.score >= good && b.num_fields > 1 && !b.first_agrees;
}

}  // namespace

csv_dialect guess_dialect(std::string_view text, bool whole, std::optional<char> delimiter) {
  if (text.size() > most_text) {
    text = text.substr(0, most_text);
    whole = false;
  }
  // A quote is the usual one unless others are clearly better: it costs nothing where there is none.
  constexpr double clearly = 1.05;
  std::vector<std::optional<char>> quotes = {'"'};
  if (delimiter == '"' || text.find('"') != std::string_view::npos) quotes.emplace_back(std::nullopt);
  if (text.find('\'') != std::string_view::npos) quotes.emplace_back('\'');
  csv_dialect best;
  bool first = true;
  const auto consider = [&](char separator, double weight) {
    for (const std::optional<char> quote : quotes) {
      if (quote == separator) continue;
      const csv_dialect made = tried(text, whole, {separator, quote}, weight);
      const bool better = made.score > clearly * best.score && !cuts_the_header_alone(best, made);
      if (first || better || cuts_the_header_alone(made, best)) best = made;
      first = false;
    }
  };
  if (delimiter) {
    consider(*delimiter, 1);
  } else {
    for (const candidate& c : candidates) consider(c.delimiter, c.weight);
  }
  return best;
}

bool is_table(const csv_dialect& dialect) {
  // A line or two with a comma are as likely a sentence; many that all have the same number of them are not.
  constexpr size_t few = 5;
  constexpr double least_agreeing = 0.9, least_of_few = 0.65, least_of_many = 0.45;
  return dialect.num_fields > 1 && dialect.agreeing >= least_agreeing &&
         dialect.score >= (dialect.num_records < few ? least_of_few : least_of_many);
}

}  // namespace flowrun::operators
