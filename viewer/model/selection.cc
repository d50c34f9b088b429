// Selections by what they name.
#include "viewer/model/selection.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/dump/dump_model.h"

namespace hloscope::viewer {

std::string_view ToString(SelectionKind kind) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"nothing", "module", "stage", "computation", "instruction", "thunk", "kernel", "buffer",
       "event", "line", "source line", "TensorFlow node"});
  return kNames[static_cast<size_t>(kind)];
}

namespace {

Selection Of(SelectionKind kind, int32_t module, int32_t stage = -1) {
  Selection selection;
  selection.kind = kind;
  selection.module = module;
  selection.stage = stage;
  return selection;
}

}  // namespace

Selection Selection::OfModule(int32_t module) { return Of(SelectionKind::kModule, module); }
Selection Selection::OfStage(int32_t module, int32_t stage) {
  return Of(SelectionKind::kStage, module, stage);
}
Selection Selection::OfComputation(int32_t module, int32_t stage, hlo::ComputationId computation) {
  Selection selection = Of(SelectionKind::kComputation, module, stage);
  selection.computation = computation;
  return selection;
}
Selection Selection::OfInstruction(int32_t module, int32_t stage, hlo::InstructionId instruction) {
  Selection selection = Of(SelectionKind::kInstruction, module, stage);
  selection.instruction = instruction;
  return selection;
}
Selection Selection::OfThunk(int32_t module, int32_t thunk) {
  Selection selection = Of(SelectionKind::kThunk, module);
  selection.thunk = thunk;
  return selection;
}
Selection Selection::OfKernel(int32_t module, int32_t kernel) {
  Selection selection = Of(SelectionKind::kKernel, module);
  selection.kernel = kernel;
  return selection;
}
Selection Selection::OfBuffer(int32_t module, int32_t buffer) {
  Selection selection = Of(SelectionKind::kBuffer, module);
  selection.buffer = buffer;
  return selection;
}
Selection Selection::OfEvent(int64_t event, int32_t module) {
  Selection selection = Of(SelectionKind::kEvent, module);
  selection.event = event;
  return selection;
}
Selection Selection::OfTextLine(int32_t file, int32_t line) {
  Selection selection = Of(SelectionKind::kTextLine, -1);
  selection.file = file;
  selection.line = line;
  return selection;
}
Selection Selection::OfGraphNode(int32_t file, int32_t node) {
  Selection selection = Of(SelectionKind::kGraphNode, -1);
  selection.file = file;
  selection.node = node;
  return selection;
}
Selection Selection::OfSourceLine(std::string file, int32_t line, int32_t module) {
  Selection selection = Of(SelectionKind::kSourceLine, module);
  selection.source_file = std::move(file);
  selection.source_line = line;
  return selection;
}

std::string ModuleTitle(const dump::ModuleEntry& entry, bool shares_name) {
  std::string title = entry.name;
  if (!shares_name) return title;
  if (entry.id >= 0) title += fmt::format(", id {}", entry.id);
  if (!entry.folder.empty()) title += " in " + entry.folder;
  return title;
}

}  // namespace hloscope::viewer
