#include "operators/parts/text/json_reading.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace flowrun::operators {

json_reading::json_reading(record::row_type rows, json_layout places, bool skip, csv_missing rules, csv_times forms)
    : type(std::move(rows)),
      layout(std::move(places)),
      skip_others(skip),
      missing(std::move(rules)),
      times(std::move(forms)) {
  missing.columns.resize(type.num_columns());
  fronts.resize(layout.num_entries);
  least_line_bytes = std::string_view("{}\n").size();
  for (const json_layout::object& object : layout.objects) {
    auto& to_entry = keys.emplace_back();
    for (size_t i = 0; i < object.entries.size(); ++i) {
      const json_layout::entry& e = object.entries[i];
      to_entry[e.key] = i;
      const std::string_view quoted = std::string_view(e.quoted).substr(1);
      key_front& front = fronts[e.number];
      std::memcpy(&front.word, quoted.data(), std::min(quoted.size(), sizeof front.word));
      std::memset(&front.mask, 0xFF, std::min(quoted.size(), sizeof front.mask));
      // A key, its colon, a value and a comma; the last entry has no comma.
      if (e.column && !missing.columns[*e.column].allowed) least_line_bytes += e.key.size() + 5;
    }
  }
  if (least_line_bytes > 3) --least_line_bytes;
}

}  // namespace flowrun::operators
