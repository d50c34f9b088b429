// What the pointer says of the values of an instruction, wherever it is drawn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/dump_model.h"
#include "core/hlo/module.h"
#include "viewer/model/captured_values.h"
#include "viewer/model/context.h"
#include "viewer/model/selection.h"

namespace hloscope::viewer {

/// The instruction under the pointer, in a graph, a list or a curve.
struct Hovered {
  Selection selection;
  int frame = -1000;  // of ImGui, when it was seen there last
  void Rebase(const dump::DumpModel&, const dump::DumpModel&, std::vector<std::string>&) {
    *this = {};
  }
};

// What is known of an instruction: of a run, or of a constant what the file says.
struct KnownValues {
  CapturedValues held;
  std::string platform, reference;  // whose the two sides are; "the file" for constants
  std::string inputs;               // of the run; empty for constants
  uint64_t run = 0;                 // its number; 0 for constants
};
// nullopt: nothing; HoverValues says why.
std::optional<KnownValues> KnownValuesOf(Context& context, int32_t module, int32_t stage,
                                         const hlo::Module& read, hlo::InstructionId instruction);

// Lines for a tooltip: values of both sides and how far they are apart, or how to get them.
std::string HoverValues(Context& context, int32_t module, int32_t stage, const hlo::Module& read,
                        hlo::InstructionId instruction);

// The same of an instruction of a smaller module: what the one of that name held in the whole one.
std::string HoverValuesOfWhole(Context& context, int32_t module, int32_t stage,
                               const hlo::Module& small, hlo::InstructionId instruction);

}  // namespace hloscope::viewer
