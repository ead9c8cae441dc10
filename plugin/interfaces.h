// What plugins find by name beside the core of the interface (flowrun/interfaces.h).
#pragma once

#include "plugin/include/flowrun/interfaces.h"

namespace flowrun::plugins {

// fr_host::interface. Null: there is none of this name.
const void* interface_by_name(const char* id);

const fr_queue_interface& queues();
const fr_vector_interface& vectors();
const fr_output_file_interface& output_files();
const fr_wake_interface& wakes();

}  // namespace flowrun::plugins
