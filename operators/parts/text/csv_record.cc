#include "operators/parts/text/csv_record.h"

namespace flowrun::operators {

void csv_record::cut(std::string_view record, const csv_format& format) {
  if (record.ends_with('\n')) record.remove_suffix(1);
  if (record.ends_with('\r')) record.remove_suffix(1);
  num_fields_ = 0;
  const char* p = record.data();
  const char* const end = p + record.size();
  while (true) {
    if (num_fields_ == fields_.size()) fields_.emplace_back();
    csv_field& field = fields_[num_fields_++];
    field.text.clear();
    field.quoted = p != end && format.quote && *p == *format.quote;
    field.broken = false;
    if (field.quoted) {
      const char quote = *format.quote;
      bool escaped = false;
      const char* const closing = find_closing_quote(p + 1, end, quote, escaped);
      for (++p; p != closing; ++p) {
        field.text += *p;
        if (*p == quote) ++p;  // the first of two
      }
      field.broken = p == end;
      if (p != end) ++p;
    }
    const char* const behind = find_byte(p, end, format.delimiter);
    field.broken = field.broken || (field.quoted && behind != p);
    field.text.append(p, behind);
    if (behind == end) return;
    p = behind + 1;
  }
}

}  // namespace flowrun::operators
