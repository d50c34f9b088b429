// Modules and instructions of a test, by text and by name.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "core/hlo/module.h"
#include "core/hlo/text/text.h"

namespace hloscope::hlo {

// Fails the test where the text is wrong.
inline std::shared_ptr<const Module> Parsed(std::string_view text) {
  ParseResult parsed = ParseText(text);
  for (const Diagnostic& d : parsed.diagnostics) ADD_FAILURE() << d.message << '\n' << text;
  return parsed.module;
}

// Fails the test where there is none of the name.
inline InstructionId Named(const Module& module, std::string_view name) {
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    if (module.name(InstructionId(i)) == name) return InstructionId(i);
  }
  ADD_FAILURE() << "no instruction " << name;
  return {};
}

}  // namespace hloscope::hlo
