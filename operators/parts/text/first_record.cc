#include "operators/parts/text/first_record.h"

#include <algorithm>

#include "engine/base/units.h"
#include "engine/io/decoder.h"

namespace flowrun::operators {

void with_first_record_of(const std::string& path, const csv_format& format, size_t most_bytes,
                          const std::function<void(std::string_view record)>& look) {
  for (size_t wanted = std::min(64 * KiB, most_bytes);; wanted = std::min(2 * wanted, most_bytes)) {
    const io::decoded_text text = io::text_beginning(path, wanted);
    std::string_view rest = text.text;
    if (rest.starts_with(byte_order_mark)) rest.remove_prefix(byte_order_mark.size());
    const char* const end = rest.data() + rest.size();
    const char* const behind = record_end(rest.data(), end, format);
    // A line end as the last byte may lie within quotes.
    if (!rest.empty() && (behind != end || text.whole)) return look({rest.data(), behind});
    if (wanted == most_bytes || text.whole) return;
  }
}

}  // namespace flowrun::operators
