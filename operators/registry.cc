#include "operators/registry.h"

#include <algorithm>

#include "engine/base/error.h"
#include "operators/listed_words.h"

namespace flowrun::operators {

namespace {

std::vector<exec::operator_definition> definitions() {
  std::vector<exec::operator_definition> out;
  for (const listed_word& word : listed_words()) {
    out.push_back(word.define());
    // The YAML word, the file, the label in metrics and the name in dashboards are the same.
    std::string name = out.back().declaration.name;
    std::replace(name.begin(), name.end(), '.', '_');
    FLOWRUN_CHECK(name == word.file);
  }
  std::sort(out.begin(), out.end(), [](const exec::operator_definition& a, const exec::operator_definition& b) {
    return a.declaration.name < b.declaration.name;
  });
  return out;
}

}  // namespace

const std::vector<const exec::operator_definition*>& built_in_operators() {
  static const std::vector<exec::operator_definition> all = definitions();
  static const std::vector<const exec::operator_definition*> pointers = [] {
    std::vector<const exec::operator_definition*> out;
    for (const exec::operator_definition& definition : all) out.push_back(&definition);
    return out;
  }();
  return pointers;
}

plan::vocabulary built_in_vocabulary() {
  plan::vocabulary out;
  for (const exec::operator_definition* definition : built_in_operators()) out.add(&definition->declaration);
  return out;
}

const exec::operator_definition* find_operator(const std::string& name) {
  for (const exec::operator_definition* definition : built_in_operators())
    if (definition->declaration.name == name) return definition;
  return nullptr;
}

}  // namespace flowrun::operators
