// arrow.read_parquet and arrow.read_ipc.
#pragma once

#include <flowrun/plugin.hpp>

namespace columnar {

void declare_readers(fr::plugin& plugin);

}  // namespace columnar
