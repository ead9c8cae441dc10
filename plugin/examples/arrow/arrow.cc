// Files of columns: Parquet and Arrow IPC, through Arrow C++.
#include <arrow/util/utf8.h>

#include <flowrun/plugin.hpp>

#include "read.h"
#include "write.h"

FLOWRUN_PLUGIN("arrow", "1.0.0") {
  arrow::util::InitializeUTF8();
  columnar::declare_readers(plugin);
  columnar::declare_writers(plugin);
}
