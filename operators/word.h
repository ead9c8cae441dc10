// How an operator enters the language: operators/NAME.cc defines word<"NAME">, and that is all. The build finds the
// files of this folder and lists their words (CMakeLists.txt); the checker, the executor, `flowrun ops`, the reference
// and the schema read that list. A name that isn't the file's doesn't link.
#pragma once

#include <algorithm>
#include <cstddef>

#include "engine/exec/operator_definition.h"
#include "engine/plan/node_checker.h"

namespace flowrun::operators {

// A string literal as a template argument.
template <size_t size>
struct word_name {
  constexpr word_name(const char (&text)[size]) { std::copy_n(text, size, letters); }
  char letters[size] = {};
};

// Called once. The name in the declaration is that of the file; '.' in it is '_' in the file's ("file.read_csv").
template <word_name name>
exec::operator_definition word();

}  // namespace flowrun::operators
