#include "plugin/problem.h"

#include <fmt/format.h>

#include "plugin/texts.h"

namespace flowrun::plugins {

namespace {

error_kind kind_of(uint32_t kind) {
  switch (kind) {
    case FR_BAD_DATA: return error_kind::bad_data;
    case FR_MISSING: return error_kind::missing_input;
    case FR_OUTPUT: return error_kind::output;
    case FR_IO: return error_kind::io;
    case FR_RESOURCES: return error_kind::resources;
    case FR_BAD_SPEC: return error_kind::bad_spec;
    default: return error_kind::internal;
  }
}

}  // namespace

error error_of(const fr_problem& problem, const std::string& who) {
  if (problem.kind == 0)
    return {error_kind::internal, fmt::format("{} failed and didn't say why", who), "tell the author of the plugin"};
  return {kind_of(problem.kind), fmt::format("{}: {}", who, problem.said->message), problem.said->hint};
}

void raise(const fr_problem& problem, const std::string& who) {
  if (problem.raised) std::rethrow_exception(problem.raised);
  throw error_of(problem, who);
}

void note_failure(fr_problem* problem, uint32_t kind, fr_text message, fr_text hint) {
  if (problem == nullptr) return;
  problem->kind = kind == 0 ? static_cast<uint32_t>(FR_INTERNAL) : kind;
  problem->said = std::make_unique<const fr_problem::words>(fr_problem::words{as_shown(message), as_shown(hint)});
}

}  // namespace flowrun::plugins
