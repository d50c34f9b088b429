// `hloscope show M --explain INSTR` and `hloscope ops SHAPE`: what the parts of an instruction or
// shape mean.
#pragma once

#include <string>

#include "core/hlo/module.h"

namespace hloscope::app {

// The instruction, what its opcode does, its attributes and its layout, as text or JSON.
std::string ExplainText(const hlo::Module& module, hlo::InstructionId id);
std::string ExplainJson(const hlo::Module& module, hlo::InstructionId id);

// The parts of a layout and where its elements lie.
std::string LayoutText(const hlo::Shape& shape, std::string_view device);
std::string LayoutJson(const hlo::Shape& shape, std::string_view device);

}  // namespace hloscope::app
