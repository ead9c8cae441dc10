#include "operators/registry.h"

namespace flowrun::operators {

std::vector<const exec::operator_definition*> built_in_operators() {
  return {
      &call_operator(),
      &check_operator(),
      &concat_operator(),
      &file_read_csv_operator(),
      &file_read_lines_operator(),
      &file_read_rows_operator(),
      &file_write_csv_operator(),
      &file_write_lines_operator(),
      &file_write_rows_operator(),
      &filter_operator(),
      &flat_map_operator(),
      &generate_operator(),
      &group_operator(),
      &group_pairs_operator(),
      &if_operator(),
      &join_operator(),
      &lookup_operator(),
      &loop_operator(),
      &map_operator(),
      &merge_operator(),
      &partition_operator(),
      &permute_operator(),
      &pq_scan_operator(),
      &reduce_operator(),
      &reverse_operator(),
      &scan_operator(),
      &shuffle_operator(),
      &sort_operator(),
      &split_operator(),
      &suffix_sort_operator(),
      &tokens_operator(),
      &union_find_operator(),
      &window_operator(),
      &zip_operator(),
  };
}

plan::operator_catalog built_in_catalog() {
  plan::operator_catalog out;
  for (const exec::operator_definition* definition : built_in_operators()) out.add(&definition->declaration);
  return out;
}

const exec::operator_definition* find_operator(const std::string& name) {
  for (const exec::operator_definition* definition : built_in_operators())
    if (definition->declaration.name == name) return definition;
  return nullptr;
}

}  // namespace flowrun::operators
