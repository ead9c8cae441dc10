// What a plugin's file says about itself, read before any of its code runs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plugin/include/flowrun/plugin.h"

namespace flowrun::plugins {

// From the bytes of a shared object. nullopt: there is no note of flowrun in it; `reason` says why.
std::optional<fr_note> read_note(std::string_view file, std::string& reason);

std::string name_of(const fr_note& note);
std::string version_of(const fr_note& note);
std::string compiler_of(const fr_note& note);

// Why the plugin can't be loaded here, by what its note says; empty: it can.
std::string refusal_of(const fr_note& note);

// A word as plugins and what is in them are called: a lower case letter, then such letters, digits and _.
bool is_word(std::string_view text);

}  // namespace flowrun::plugins
