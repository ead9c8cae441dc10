#include "runner/job_words.h"

#include <utility>

#include "runner/option_values.h"

namespace flowrun::runner {

void job_words::declare(declared_command& of) {
  of.words("-p,--param", parameters, "NAME=VALUE", "A value for a parameter of the job; repeatable.");
  of.words("--set", overrides, "PATH=VALUE", "Replaces any value of the job: nodes.top.with.limit=5; repeatable.");
}

job_arguments values_of(const job_words& given, const std::string& file) {
  job_arguments out;
  out.file = file;
  for (const std::string& text : given.parameters) {
    auto [name, value] = key_and_value("-p", text, "-p NAME=VALUE");
    if (!out.parameters.emplace(name, std::move(value)).second)
      throw error(error_kind::usage, "-p gives '" + name + "' twice", "leave one of them out");
  }
  for (const std::string& text : given.overrides)
    out.overrides.push_back(key_and_value("--set", text, "--set nodes.top.with.limit=5"));
  return out;
}

}  // namespace flowrun::runner
