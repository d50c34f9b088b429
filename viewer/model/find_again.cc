// Positions of one reading as names, and names as positions of the other.
#include "viewer/model/find_again.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/text.h"

namespace hloscope::viewer {
namespace {

using dump::DumpModel;
using dump::ModuleEntry;

std::unexpected<Error> Gone(std::string_view what, std::string_view name) {
  return InputError(std::string(what) + " " + RepairUtf8(name.substr(0, 200)) +
                    " is no longer in the dump");
}

template <typename Range>
bool IsIn(int32_t position, const Range& range) {
  return position >= 0 && position < std::ssize(range);
}

Result<int32_t> ModuleAgain(const DumpModel& before, int32_t module, const DumpModel& now) {
  if (!IsIn(module, before.modules())) return InputError("no such module");
  const ModuleEntry& was = before.modules()[static_cast<size_t>(module)];
  int32_t found = -1;
  for (size_t m = 0; m < now.modules().size(); ++m) {
    const ModuleEntry& is = now.modules()[m];
    if (is.name != was.name || is.folder != was.folder) continue;
    if (is.id == was.id && is.timestamp == was.timestamp) return static_cast<int32_t>(m);
    if (found < 0) found = static_cast<int32_t>(m);
  }
  if (found < 0) return Gone("module", was.name);
  return found;
}

Result<int32_t> StageAgain(const DumpModel& before, const Selection& was, const DumpModel& now,
                           int32_t module) {
  const ModuleEntry& entry = before.modules()[static_cast<size_t>(was.module)];
  if (!IsIn(was.stage, entry.stages)) return InputError("no such stage");
  const std::string& name = entry.stages[static_cast<size_t>(was.stage)].name;
  const int32_t stage = now.FindStage(module, name);
  if (stage < 0) return Gone("stage", name);
  return stage;
}

// Instruction or computation, by name.
Status InsideAgain(const DumpModel& before, const Selection& was, const DumpModel& now,
                   Selection& is) {
  HLOSCOPE_ASSIGN_OR_RETURN(auto old_module, before.Module(was.module, was.stage));
  HLOSCOPE_ASSIGN_OR_RETURN(auto new_module, now.Module(is.module, is.stage));
  if (was.kind == SelectionKind::kComputation) {
    if (was.computation.index >= old_module->computations().size())
      return InputError("no such computation");
    const std::string_view name = (*old_module)[(*old_module)[was.computation].name];
    for (uint32_t c = 0; c < new_module->computations().size(); ++c) {
      is.computation = hlo::ComputationId(c);
      if ((*new_module)[(*new_module)[is.computation].name] == name) return {};
    }
    return Gone("computation", name);
  }
  if (was.instruction.index >= old_module->instructions().size())
    return InputError("no such instruction");
  const std::string_view name = old_module->name(was.instruction);
  for (uint32_t i = 0; i < new_module->instructions().size(); ++i) {
    is.instruction = hlo::InstructionId(i);
    if (new_module->name(is.instruction) == name) return {};
  }
  return Gone("instruction", name);
}

Status KernelAgain(const DumpModel& before, const Selection& was, const DumpModel& now,
                   Selection& is) {
  HLOSCOPE_ASSIGN_OR_RETURN(auto old_table, before.Kernels(was.module));
  HLOSCOPE_ASSIGN_OR_RETURN(auto new_table, now.Kernels(is.module));
  if (!IsIn(was.kernel, old_table->kernels)) return InputError("no such kernel");
  const std::string& name = old_table->kernels[static_cast<size_t>(was.kernel)].name;
  const auto found = std::ranges::find(new_table->kernels, name, &dump::Kernel::name);
  if (found == new_table->kernels.end()) return Gone("kernel", name);
  is.kernel = static_cast<int32_t>(found - new_table->kernels.begin());
  return {};
}

Status BufferAgain(const DumpModel& before, const Selection& was, const DumpModel& now,
                   Selection& is) {
  HLOSCOPE_ASSIGN_OR_RETURN(auto old_table, before.Buffers(was.module));
  HLOSCOPE_ASSIGN_OR_RETURN(auto new_table, now.Buffers(is.module));
  if (!IsIn(was.buffer, old_table->values)) return InputError("no such buffer");
  const dump::BufferValue& value = old_table->values[static_cast<size_t>(was.buffer)];
  const auto found = std::ranges::find_if(new_table->values, [&](const dump::BufferValue& other) {
    return other.instruction == value.instruction && other.shape_index == value.shape_index;
  });
  if (found == new_table->values.end()) return Gone("buffer of", value.instruction);
  is.buffer = static_cast<int32_t>(found - new_table->values.begin());
  return {};
}

Status ThunkAgain(const DumpModel& before, const Selection& was, const DumpModel& now,
                  Selection& is) {
  HLOSCOPE_ASSIGN_OR_RETURN(auto old_table, before.Thunks(was.module));
  HLOSCOPE_ASSIGN_OR_RETURN(auto new_table, now.Thunks(is.module));
  if (!IsIn(was.thunk, old_table->thunks)) return InputError("no such thunk");
  const dump::Thunk& thunk = old_table->thunks[static_cast<size_t>(was.thunk)];
  const auto found = std::ranges::find_if(new_table->thunks, [&](const dump::Thunk& other) {
    return other.id == thunk.id && other.description == thunk.description;
  });
  if (found == new_table->thunks.end()) return Gone("thunk", thunk.description);
  is.thunk = static_cast<int32_t>(found - new_table->thunks.begin());
  return {};
}

Status FileAgain(const DumpModel& before, const DumpModel& now, Selection& is) {
  if (!IsIn(is.file, before.files())) return InputError("no such file");
  const std::string& path = before.files()[static_cast<size_t>(is.file)].path;
  const auto found = std::ranges::find(now.files(), path, &dump::FileEntry::path);
  if (found == now.files().end()) return Gone("file", path);
  is.file = static_cast<int32_t>(found - now.files().begin());
  return {};
}

}  // namespace

Result<Selection> FindAgain(const DumpModel& before, const Selection& selection,
                            const DumpModel& now) {
  Selection is = selection;
  if (selection.module >= 0) {
    HLOSCOPE_ASSIGN_OR_RETURN(is.module, ModuleAgain(before, selection.module, now));
  }
  if (selection.module >= 0 && selection.stage >= 0) {
    HLOSCOPE_ASSIGN_OR_RETURN(is.stage, StageAgain(before, selection, now, is.module));
  }
  if (selection.file >= 0) HLOSCOPE_TRY(FileAgain(before, now, is));
  switch (selection.kind) {
    case SelectionKind::kComputation:
    case SelectionKind::kInstruction:
      HLOSCOPE_TRY(InsideAgain(before, selection, now, is));
      break;
    case SelectionKind::kKernel:
      HLOSCOPE_TRY(KernelAgain(before, selection, now, is));
      break;
    case SelectionKind::kBuffer:
      HLOSCOPE_TRY(BufferAgain(before, selection, now, is));
      break;
    case SelectionKind::kThunk:
      HLOSCOPE_TRY(ThunkAgain(before, selection, now, is));
      break;
    default:
      break;
  }
  return is;
}

}  // namespace hloscope::viewer
