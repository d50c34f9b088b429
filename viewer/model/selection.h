// Selection: the one thing every view follows. A value: what was clicked, addressed inside one
// dump.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/hlo/module.h"

namespace hloscope::dump {
struct ModuleEntry;
}

namespace hloscope::viewer {

// What was chosen; the fields it needs are listed after it.
enum class SelectionKind : uint8_t {
  kNothing,
  kModule,       // module
  kStage,        // module, stage
  kComputation,  // module, stage, computation
  kInstruction,  // module, stage, instruction
  kThunk,        // module, thunk
  kKernel,       // module, kernel
  kBuffer,       // module, buffer
  kEvent,        // event (and module where it is known)
  kTextLine,     // file, line
  kSourceLine,   // source_file, source_line (and module)
  kGraphNode,    // file, node
};
inline constexpr SelectionKind kLastSelectionKind = SelectionKind::kGraphNode;
std::string_view ToString(SelectionKind kind);

struct Selection {
  SelectionKind kind = SelectionKind::kNothing;
  int32_t module = -1;             // of DumpModel::modules()
  int32_t stage = -1;              // of that module's stages
  hlo::ComputationId computation;  // of Module(module, stage)
  hlo::InstructionId instruction;  // likewise
  int32_t thunk = -1;              // position in Thunks(module)
  int32_t kernel = -1;             // … in Kernels(module)
  int32_t buffer = -1;             // … in Buffers(module)->values
  int64_t event = -1;              // row of the event store
  int32_t file = -1;               // of DumpModel::files()
  int32_t line = 0;                // of that file, counts from 1
  std::string source_file;         // of the user's program, as the metadata writes it
  int32_t source_line = 0;         // counts from 1
  int32_t node = -1;               // of TensorFlow(file)->nodes

  bool operator==(const Selection&) const = default;

  static Selection OfModule(int32_t module);
  static Selection OfStage(int32_t module, int32_t stage);
  static Selection OfComputation(int32_t module, int32_t stage, hlo::ComputationId computation);
  static Selection OfInstruction(int32_t module, int32_t stage, hlo::InstructionId instruction);
  static Selection OfThunk(int32_t module, int32_t thunk);
  static Selection OfKernel(int32_t module, int32_t kernel);
  static Selection OfBuffer(int32_t module, int32_t buffer);
  static Selection OfEvent(int64_t event, int32_t module = -1);
  static Selection OfTextLine(int32_t file, int32_t line);
  static Selection OfSourceLine(std::string file, int32_t line, int32_t module = -1);
  static Selection OfGraphNode(int32_t file, int32_t node);
};

// What a module is called in a sentence: its name; with id and folder where `shares_name`, another
// module of the dump has that name too.
std::string ModuleTitle(const dump::ModuleEntry& entry, bool shares_name);

}  // namespace hloscope::viewer
