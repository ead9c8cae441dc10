// arrow.write_parquet and arrow.write_ipc.
#pragma once

#include <flowrun/plugin.hpp>

namespace columnar {

void declare_writers(fr::plugin& plugin);

}  // namespace columnar
