// A selection of instructions for other programs: JSON, Graphviz, SVG, HTML. Texts of the module
// are escaped for the form.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::hlo {

// One object: module name and a list of computations with their instructions (name, opcode, shape,
// operands, text).
std::string ToJson(const Module& module, std::span<const InstructionId> selection);
// One digraph, a cluster for each computation, edges from operands to users.
std::string ToDot(const Module& module, std::span<const InstructionId> selection);
// A layered drawing: operands above users.
std::string ToSvg(const Module& module, std::span<const InstructionId> selection);
// A page without scripts: one line an instruction, operands and called computations linked.
std::string ToHtml(const Module& module, std::span<const InstructionId> selection);

// The fill colour of an opcode in drawings, "#rrggbb"; by category, told apart by people with
// colour blindness.
std::string_view ColorOf(Opcode opcode);

}  // namespace hloscope::hlo
