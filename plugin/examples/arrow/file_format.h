// The kinds of files that are read and written.
#pragma once

namespace columnar {

enum class file_format { parquet, ipc };

}  // namespace columnar
