// What Arrow says when something fails, as an error of the job.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>
#include <parquet/exception.h>

#include <flowrun/plugin.hpp>
#include <string>
#include <utility>

namespace columnar {

// Ends the step. `doing` says with which file: "cannot read 'x.parquet'".
[[noreturn]] void fail(const arrow::Status& status, const std::string& doing);

// Runs a call of Arrow's, which tells of failures in two ways.
template <class Call>
auto attempt(const std::string& doing, Call call) {
  const auto checked = [&] {
    try {
      return call();
    } catch (const parquet::ParquetStatusException& e) {
      fail(e.status(), doing);
    } catch (const parquet::ParquetException& e) {
      fail(arrow::Status::Invalid(e.what()), doing);
    }
  };
  if constexpr (std::is_same_v<decltype(call()), arrow::Status>) {
    if (const arrow::Status status = checked(); !status.ok()) fail(status, doing);
  } else {
    auto result = checked();
    if (!result.ok()) fail(result.status(), doing);
    return std::move(result).ValueUnsafe();
  }
}

}  // namespace columnar
