// The file that --report names.
#pragma once

#include <exception>
#include <memory>
#include <string>

#include "runner/document.h"
#include "runner/terminal.h"

namespace flowrun::runner {

class report_file {
 public:
  // An empty path: nobody asks for a report.
  explicit report_file(std::string path) : path_(std::move(path)) {}

  // When the run begins: its place is tried, so that nobody waits hours to learn that it can't be written. Throws
  // error(output).
  void open();
  // Does nothing where nobody asks. Throws error(output).
  void write(const std::string& document);
  // The same behind a job that has succeeded, which the error says.
  void write_of_success(const std::string& document);
  // Of a run that has ended before its job began, so that the report of an earlier run doesn't stay. Nothing where
  // there is a report of this run, or a file that is no report. What fails here is left at that: what ended the run is
  // told.
  void write_unbegun(const std::string& job, const std::exception& problem, const terminal& screen) noexcept;

 private:
  const std::string path_;
  std::unique_ptr<pending_document> document_;
  bool is_over_ = false;  // written, or it can't be
};

}  // namespace flowrun::runner
