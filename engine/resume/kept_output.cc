#include "engine/resume/kept_output.h"

#include <utility>

#include "engine/resume/manifest.h"

namespace flowrun::resume {

uint64_t kept_output::bytes_between_marks() const { return owner_.bytes_between_marks(); }
std::string kept_output::suffix() const { return owner_.output_suffix(); }

void kept_output::begin(const std::string& path) { owner_.save_begun(*this, path); }

void kept_output::written(std::shared_ptr<io::file> content, const std::string& path, uint64_t num_bytes,
                          pipeline_position position) {
  owner_.save_output(*this, std::move(content), {path, 0, num_bytes, std::move(position)});
}

}  // namespace flowrun::resume
