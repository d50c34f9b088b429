// Names of what a dump has at a position, and positions of names.
#include "viewer/model/anchor.h"

#include <algorithm>
#include <utility>

#include "core/base/text.h"
#include "profiler/event_store.h"

namespace hloscope::viewer {
namespace {

using dump::DumpModel;
using dump::ModuleEntry;

template <typename Range>
bool IsIn(int64_t position, const Range& range) {
  return position >= 0 && position < std::ssize(range);
}

std::unexpected<Error> Gone(std::string_view what, std::string_view name) {
  return InputError(std::string(what) + " " + RepairUtf8(name.substr(0, 200)) +
                    " is no longer in the dump");
}

// What a position of that kind is called in a table of the dump.
template <typename Table, typename Take>
Status TakeRow(const Table& table, int32_t position, std::string_view kind, Take take) {
  if (!IsIn(position, table)) return InputError("no such " + std::string(kind));
  take(table[static_cast<size_t>(position)]);
  return {};
}

// The position of the first row that fits.
template <typename Table, typename Fits>
Result<int32_t> FindRow(const Table& table, const Anchor& anchor, Fits fits) {
  const auto found = std::ranges::find_if(table, fits);
  if (found == table.end()) return Gone(ToString(anchor.kind), anchor.name);
  return static_cast<int32_t>(found - table.begin());
}

Status NameInside(const DumpModel& dump, const Selection& selection, Anchor& anchor) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto module, dump.Module(selection.module, selection.stage));
  if (anchor.kind == SelectionKind::kComputation) {
    if (selection.computation.index >= module->computations().size())
      return InputError("no such computation");
    anchor.name = (*module)[(*module)[selection.computation].name];
    return {};
  }
  if (selection.instruction.index >= module->instructions().size())
    return InputError("no such instruction");
  anchor.name = module->name(selection.instruction);
  return {};
}

Status FindInside(const DumpModel& dump, const Anchor& anchor, Selection& selection) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto module, dump.Module(selection.module, selection.stage));
  if (anchor.kind == SelectionKind::kComputation) {
    for (uint32_t c = 0; c < module->computations().size(); ++c) {
      selection.computation = hlo::ComputationId(c);
      if ((*module)[(*module)[selection.computation].name] == anchor.name) return {};
    }
  } else {
    for (uint32_t i = 0; i < module->instructions().size(); ++i) {
      selection.instruction = hlo::InstructionId(i);
      if (module->name(selection.instruction) == anchor.name) return {};
    }
  }
  return Gone(anchor.kind == SelectionKind::kComputation ? "computation" : "instruction",
              anchor.name);
}

// What only the selection's kind needs, beyond module and stage.
Status NameRest(const DumpModel& dump, const Selection& selection, Anchor& anchor) {
  switch (selection.kind) {
    case SelectionKind::kComputation:
    case SelectionKind::kInstruction:
      return NameInside(dump, selection, anchor);
    case SelectionKind::kEvent:
      return selection.instruction.valid() ? NameInside(dump, selection, anchor) : Status();
    case SelectionKind::kKernel: {
      HLOSCOPE_ASSIGN_OR_RETURN(const auto table, dump.Kernels(selection.module));
      return TakeRow(table->kernels, selection.kernel, "kernel",
                     [&](const dump::Kernel& kernel) { anchor.name = kernel.name; });
    }
    case SelectionKind::kBuffer: {
      HLOSCOPE_ASSIGN_OR_RETURN(const auto table, dump.Buffers(selection.module));
      return TakeRow(table->values, selection.buffer, "buffer", [&](const dump::BufferValue& v) {
        anchor.name = v.instruction;
        anchor.shape_index = v.shape_index;
      });
    }
    case SelectionKind::kThunk: {
      HLOSCOPE_ASSIGN_OR_RETURN(const auto table, dump.Thunks(selection.module));
      return TakeRow(table->thunks, selection.thunk, "thunk", [&](const dump::Thunk& thunk) {
        anchor.name = thunk.description;
        anchor.number = thunk.id;
      });
    }
    case SelectionKind::kTextLine:
      anchor.number = selection.line;
      return TakeRow(dump.files(), selection.file, "file",
                     [&](const dump::FileEntry& file) { anchor.name = file.path; });
    case SelectionKind::kSourceLine:
      anchor.name = selection.source_file;
      anchor.number = selection.source_line;
      return {};
    case SelectionKind::kGraphNode: {
      HLOSCOPE_ASSIGN_OR_RETURN(const auto graph, dump.TensorFlow(selection.file));
      anchor.name = dump.files()[static_cast<size_t>(selection.file)].path;
      return TakeRow(graph->nodes, selection.node, "node",
                     [&](const dump::TensorFlowNode& node) { anchor.event = node.name; });
    }
    default:
      return {};
  }
}

Status FindRest(const DumpModel& dump, const Anchor& anchor, Selection& selection) {
  switch (anchor.kind) {
    case SelectionKind::kComputation:
    case SelectionKind::kInstruction:
      return FindInside(dump, anchor, selection);
    case SelectionKind::kEvent:
      if (anchor.name.empty()) {
        selection = {};
        return {};
      }
      selection.kind = SelectionKind::kInstruction;
      return FindInside(dump, anchor, selection);
    case SelectionKind::kKernel: {
      HLOSCOPE_ASSIGN_OR_RETURN(const auto table, dump.Kernels(selection.module));
      HLOSCOPE_ASSIGN_OR_RETURN(selection.kernel,
                                FindRow(table->kernels, anchor, [&](const dump::Kernel& kernel) {
                                  return kernel.name == anchor.name;
                                }));
      return {};
    }
    case SelectionKind::kBuffer: {
      HLOSCOPE_ASSIGN_OR_RETURN(const auto table, dump.Buffers(selection.module));
      HLOSCOPE_ASSIGN_OR_RETURN(
          selection.buffer, FindRow(table->values, anchor, [&](const dump::BufferValue& value) {
            return value.instruction == anchor.name && value.shape_index == anchor.shape_index;
          }));
      return {};
    }
    case SelectionKind::kThunk: {
      HLOSCOPE_ASSIGN_OR_RETURN(const auto table, dump.Thunks(selection.module));
      HLOSCOPE_ASSIGN_OR_RETURN(
          selection.thunk, FindRow(table->thunks, anchor, [&](const dump::Thunk& thunk) {
            return thunk.id == anchor.number && thunk.description == anchor.name;
          }));
      return {};
    }
    case SelectionKind::kTextLine: {
      HLOSCOPE_ASSIGN_OR_RETURN(selection.file,
                                FindRow(dump.files(), anchor, [&](const dump::FileEntry& file) {
                                  return file.path == anchor.name;
                                }));
      selection.line = static_cast<int32_t>(anchor.number);
      return {};
    }
    case SelectionKind::kGraphNode: {
      HLOSCOPE_ASSIGN_OR_RETURN(selection.file,
                                FindRow(dump.files(), anchor, [&](const dump::FileEntry& file) {
                                  return file.path == anchor.name;
                                }));
      HLOSCOPE_ASSIGN_OR_RETURN(const auto graph, dump.TensorFlow(selection.file));
      HLOSCOPE_ASSIGN_OR_RETURN(
          selection.node, FindRow(graph->nodes, anchor, [&](const dump::TensorFlowNode& node) {
            return node.name == anchor.event;
          }));
      return {};
    }
    case SelectionKind::kSourceLine:
      selection.source_file = anchor.name;
      selection.source_line = static_cast<int32_t>(anchor.number);
      return {};
    default:
      return {};
  }
}

}  // namespace

ModuleAnchor AnchorOfModule(const DumpModel& dump, int32_t module) {
  const ModuleEntry& entry = dump.modules()[static_cast<size_t>(module)];
  return {.folder = entry.folder, .name = entry.name, .timestamp = entry.timestamp, .id = entry.id};
}

StageAnchor AnchorOfStage(const DumpModel& dump, int32_t module, int32_t stage) {
  const auto& stages = dump.modules()[static_cast<size_t>(module)].stages;
  return {.module = AnchorOfModule(dump, module),
          .stage = IsIn(stage, stages) ? stages[static_cast<size_t>(stage)].name : std::string()};
}

int32_t FindModule(const DumpModel& dump, const ModuleAnchor& module) {
  int32_t found = -1;
  for (size_t m = 0; m < dump.modules().size(); ++m) {
    const ModuleEntry& entry = dump.modules()[m];
    if (entry.name != module.name || entry.folder != module.folder) continue;
    if (entry.id == module.id && entry.timestamp == module.timestamp)
      return static_cast<int32_t>(m);
    if (found < 0) found = static_cast<int32_t>(m);
  }
  return found;
}

std::set<int32_t> FindModules(const DumpModel& now, const DumpModel& before,
                              const std::set<int32_t>& modules) {
  std::set<int32_t> found;
  for (const int32_t module : modules) {
    const int32_t again = FindModule(now, AnchorOfModule(before, module));
    if (again >= 0) found.insert(again);
  }
  return found;
}

Place FindPlace(const DumpModel& dump, const StageAnchor& place) {
  const int32_t module = FindModule(dump, place.module);
  if (module < 0 || place.stage.empty()) return {.module = module};
  const int32_t stage = dump.FindStage(module, place.stage);
  return stage < 0 ? Place() : Place{.module = module, .stage = stage};
}

Result<Anchor> AnchorOf(const DumpModel& dump, const Selection& selection,
                        const profiler::EventStore* store) {
  Anchor anchor{.kind = selection.kind};
  if (selection.module >= 0) {
    if (!IsIn(selection.module, dump.modules())) return InputError("no such module");
    anchor.place = AnchorOfStage(dump, selection.module, selection.stage);
    if (selection.stage >= 0 && anchor.place.stage.empty()) return InputError("no such stage");
  }
  HLOSCOPE_TRY(NameRest(dump, selection, anchor));
  if (store != nullptr && selection.kind == SelectionKind::kEvent)
    NameEvent(*store, selection.event, anchor);
  return anchor;
}

Result<Selection> Find(const DumpModel& dump, const Anchor& anchor) {
  Selection selection;
  selection.kind = anchor.kind;
  if (!anchor.place.module.name.empty()) {
    selection.module = FindModule(dump, anchor.place.module);
    if (selection.module < 0) return Gone("module", anchor.place.module.name);
    if (!anchor.place.stage.empty()) {
      selection.stage = dump.FindStage(selection.module, anchor.place.stage);
      if (selection.stage < 0) return Gone("stage", anchor.place.stage);
    }
  }
  HLOSCOPE_TRY(FindRest(dump, anchor, selection));
  return selection;
}

void NameEvent(const profiler::EventStore& store, int64_t event, Anchor& anchor) {
  if (event < 0 || static_cast<size_t>(event) >= store.size()) return;
  const profiler::EventId id(static_cast<uint32_t>(event));
  anchor.event = store.text(store.name(id));
  anchor.lane = store.text(store.lanes()[store.LaneOf(id).index].name);
  anchor.start = store.start(id);
}

int64_t FindEvent(const profiler::EventStore& store, const Anchor& anchor) {
  for (const profiler::Lane& lane : store.lanes()) {
    if (store.text(lane.name) != anchor.lane) continue;
    for (uint32_t row = lane.first_row; row < lane.first_row + lane.row_count; ++row) {
      const auto [first, last] = store.EventsIn(row, {anchor.start, anchor.start + 1});
      for (profiler::EventId event = first; event.index < last.index; ++event.index) {
        if (store.start(event) == anchor.start && store.text(store.name(event)) == anchor.event)
          return event.index;
      }
    }
  }
  return -1;
}

std::string ToString(const StageAnchor& place) {
  std::string out = RepairUtf8(place.module.name.substr(0, 200));
  if (!place.stage.empty()) out += ", " + RepairUtf8(place.stage.substr(0, 200));
  return out;
}

std::string ToString(const Anchor& anchor) {
  std::string out(ToString(anchor.kind));
  const std::string& name = anchor.event.empty() ? anchor.name : anchor.event;
  if (!name.empty()) out += " " + RepairUtf8(name.substr(0, 200));
  if (!anchor.place.module.name.empty())
    out += (name.empty() ? " " : " of ") + ToString(anchor.place);
  return out;
}

}  // namespace hloscope::viewer
