#include "plugin/interfaces.h"

#include <string_view>
#include <utility>

namespace flowrun::plugins {

const void* interface_by_name(const char* id) {
  const std::pair<std::string_view, const void*> known[] = {{FR_QUEUE_INTERFACE, &queues()},
                                                            {FR_VECTOR_INTERFACE, &vectors()},
                                                            {FR_OUTPUT_FILE_INTERFACE, &output_files()},
                                                            {FR_WAKE_INTERFACE, &wakes()}};
  for (const auto& [name, table] : known)
    if (name == id) return table;
  return nullptr;
}

}  // namespace flowrun::plugins
