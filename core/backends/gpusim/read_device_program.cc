// Reading a program: the instructions of the last stage in their order, each with its launches.
#include <fmt/format.h>

#include <algorithm>

#include "core/backends/gpusim/check_program.h"
#include "core/backends/gpusim/device_program.h"
#include "core/backends/gpusim/launches.h"
#include "core/backends/gpusim/leaf_slices.h"
#include "core/dump/complete_module.h"
#include "core/dump/gpu_target.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/expansion_budget.h"
#include "core/hlo/opcode_table.h"
#include "core/hlo/opcode_traits.h"
#include "core/hlo/verify/verifier.h"

namespace hloscope::replay {
namespace {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Opcode;

// Loops in branches in loops …
constexpr int kDeepest = 64;

class ProgramReader {
 public:
  ProgramReader(std::shared_ptr<const hlo::Module> module, const dump::BufferTable& buffers,
                const Launches& launches)
      : module_(*module),
        launches_(launches),
        slices_(*module, buffers),
        steps_(*module, hlo::ExpansionBudget::kSteps) {
    program_.module = std::move(module);
    for (const auto& allocation : buffers.allocations) {
      program_.allocations.push_back(allocation.size);
    }
  }

  Result<DeviceProgram> Read() {
    if (auto entry = ReadSequence(module_.entry_id(), 0); !entry) {
      return std::unexpected(std::move(entry).error());
    }
    for (const InstructionId id : module_.Parameters(module_.entry_id())) {
      if (!id.valid()) return InputError("a parameter is missing");
      HLOSCOPE_TRY(AppendKnown(id, program_.parameters));
    }
    HLOSCOPE_TRY(AppendKnown(module_.entry().root, program_.results));
    ReadConstants();
    return std::move(program_);
  }

 private:
  Result<uint32_t> ReadSequence(ComputationId computation, int depth) {
    if (depth > kDeepest) return UnsupportedError("loops and branches nest too deep");
    const hlo::Computation& c = module_[computation];
    if (!steps_.Take(c.instruction_count)) {
      return UnsupportedError("calls, loops and branches have too many steps");
    }
    const auto number = static_cast<uint32_t>(program_.sequences.size());
    program_.sequences.emplace_back();
    for (uint32_t k = 0; k < c.instruction_count; ++k) {
      const InstructionId id(c.first_instruction + k);
      HLOSCOPE_ASSIGN_OR_RETURN(DeviceStep step, ReadStep(id, depth));
      program_.sequences[number].push_back(std::move(step));
    }
    return number;
  }

  bool HasWork(InstructionId id) const {
    const Opcode opcode = module_[id].opcode;
    return !hlo::HasTrait(opcode, hlo::kTraitNoCode) && !HasFlag(opcode, hlo::kFlagDone) &&
           opcode != Opcode::kAddDependency && opcode != Opcode::kAfterAll &&
           opcode != Opcode::kDomain;
  }

  Result<DeviceStep> ReadStep(InstructionId id, int depth) {
    DeviceStep step;
    step.id = id;
    step.results = slices_.AllOf(id);
    // Each element of a loop's state would have the slices of all.
    if (!HasWork(id)) {
      step.kind = DeviceStepKind::kNothing;
      return step;
    }
    for (const InstructionId operand : module_.operands(id)) {
      const std::vector<Slice> leaves = slices_.AllOf(operand);
      step.operands.insert(step.operands.end(), leaves.begin(), leaves.end());
    }
    HLOSCOPE_TRY(ReadCallees(step, depth));
    if (!MeetsOthers(id)) {
      HLOSCOPE_ASSIGN_OR_RETURN(step.launches, launches_.Of(module_.name(id)));
    }
    if (step.launches.empty()) {
      if (IsCopy(id)) step.kind = DeviceStepKind::kCopy;
      return step;
    }
    step.kind = DeviceStepKind::kKernels;
    program_.kernels += std::ssize(step.launches);
    HLOSCOPE_TRY(CheckKnown(id, step.operands));
    HLOSCOPE_TRY(CheckKnown(id, step.results));
    AddSortCopies(step);
    return step;
  }

  // True of a collective, and of a fusion with one in it: where XLA has a kernel for it, that works
  // on the memory of other devices.
  bool MeetsOthers(InstructionId id) const {
    if (HasFlag(module_[id].opcode, hlo::kFlagCollective)) return true;
    const ComputationId fused = module_.GetComputation(module_[id], AttributeKey::kCalls);
    if (module_[id].opcode != Opcode::kFusion || !fused.valid()) return false;
    return std::ranges::any_of(module_.instructions(module_[fused]), [](const auto& inner) {
      return HasFlag(inner.opcode, hlo::kFlagCollective);
    });
  }

  // A copy, or a fusion that does nothing but move parts of arrays: the driver copies those, there
  // is no kernel. Arithmetic with scalars says where the parts are.
  bool IsCopy(InstructionId id) const {
    if (module_[id].opcode == Opcode::kCopy) return true;
    const ComputationId fused = module_.GetComputation(module_[id], AttributeKey::kCalls);
    if (module_[id].opcode != Opcode::kFusion || !fused.valid()) return false;
    static constexpr hlo::OpcodeSet kCopied = {Opcode::kParameter,
                                               Opcode::kConstant,
                                               Opcode::kBitcast,
                                               Opcode::kCopy,
                                               Opcode::kSlice,
                                               Opcode::kDynamicSlice,
                                               Opcode::kDynamicUpdateSlice,
                                               Opcode::kGetTupleElement,
                                               Opcode::kTuple};
    const hlo::Computation& c = module_[fused];
    for (uint32_t k = 0; k < c.instruction_count; ++k) {
      const InstructionId inner(c.first_instruction + k);
      const hlo::Shape& shape = module_.shape(inner);
      if (shape.IsArray() && shape.rank() == 0) continue;
      if (!kCopied.Has(module_[inner].opcode)) return false;
    }
    return true;
  }

  Status ReadLoop(DeviceStep& step, int depth) {
    step.kind = DeviceStepKind::kWhile;
    const auto& loop = module_[step.id];
    const ComputationId condition = module_.GetComputation(loop, AttributeKey::kCondition);
    const ComputationId body = module_.GetComputation(loop, AttributeKey::kBody);
    const std::vector<Slice> predicate = slices_.AllOf(module_[condition].root);
    HLOSCOPE_TRY(CheckKnown(step.id, predicate));
    if (predicate.size() != 1) return InputError("the condition of a loop is not a predicate");
    step.predicate = predicate[0];
    HLOSCOPE_TRY(AddSequence(step, condition, depth));
    return AddSequence(step, body, depth);
  }

  Status ReadCallees(DeviceStep& step, int depth) {
    const Opcode opcode = module_[step.id].opcode;
    if (opcode == Opcode::kWhile) return ReadLoop(step, depth);
    const bool is_call = opcode == Opcode::kCall || opcode == Opcode::kAsyncStart;
    if (!is_call && opcode != Opcode::kConditional) return {};
    step.kind = is_call ? DeviceStepKind::kCall : DeviceStepKind::kConditional;
    for (const hlo::Call& call : hlo::CallGraphOf(module_).calls(step.id)) {
      HLOSCOPE_TRY(AddSequence(step, call.callee, depth));
    }
    return {};
  }

  Status AddSequence(DeviceStep& step, ComputationId computation, int depth) {
    HLOSCOPE_ASSIGN_OR_RETURN(const uint32_t number, ReadSequence(computation, depth + 1));
    step.sequences.push_back(number);
    return {};
  }

  // A sort kernel works in place: the runtime first copies what it is to sort.
  void AddSortCopies(DeviceStep& step) const {
    InstructionId sort = step.id;
    if (module_[sort].opcode == Opcode::kFusion) {
      const ComputationId fused = module_.GetComputation(module_[sort], AttributeKey::kCalls);
      if (fused.valid()) sort = module_[fused].root;
    }
    if (module_[sort].opcode != Opcode::kSort) return;
    const auto operands = module_.operands(sort);
    for (size_t i = 0; i < operands.size() && i < step.results.size(); ++i) {
      size_t from = i;
      if (sort != step.id) {
        InstructionId source = operands[i];
        while (module_[source].opcode == Opcode::kBitcast) source = module_.operands(source)[0];
        if (module_[source].opcode != Opcode::kParameter) continue;
        from = static_cast<size_t>(module_.GetInt(module_[source], AttributeKey::kParameterNumber));
      }
      if (from >= step.operands.size() || step.operands[from] == step.results[i]) continue;
      step.copies.emplace_back(step.operands[from], step.results[i]);
    }
  }

  void ReadConstants() {
    for (uint32_t i = 0; i < module_.instructions().size(); ++i) {
      const InstructionId id(i);
      if (module_[id].opcode != Opcode::kConstant || !module_.shape(id).IsArray()) continue;
      const Slice slice = slices_.Of(id, {});
      if (slice.known()) program_.constants.emplace_back(id, slice);
    }
  }

  Status AppendKnown(InstructionId id, std::vector<Slice>& to) const {
    const std::vector<Slice> leaves = slices_.AllOf(id);
    HLOSCOPE_TRY(CheckKnown(id, leaves));
    to.insert(to.end(), leaves.begin(), leaves.end());
    return {};
  }

  Status CheckKnown(InstructionId id, const std::vector<Slice>& slices) const {
    if (std::ranges::all_of(slices, &Slice::known)) return {};
    return InputError(
        fmt::format("the buffer assignment does not say where {} or one of its operands is",
                    module_.name(id)),
        "dump again with --xla_dump_hlo_as_text, and keep all files of the dump together");
  }

  const hlo::Module& module_;
  const Launches& launches_;
  LeafSlices slices_;
  hlo::ExpansionBudget steps_;
  DeviceProgram program_;
};

// Parameters of a kernel that are no pointer.
bool HasWideParameters(std::string_view text) {
  return text.find(".param .align 64 .b8 ") != std::string_view::npos;
}

// The tiles of kernels that take tensor maps.
Status ReadTilesOf(const dump::DumpModel& dump, int32_t module, DeviceProgram& program) {
  if (!std::ranges::any_of(program.code, HasWideParameters, &DeviceCode::text)) return {};
  HLOSCOPE_ASSIGN_OR_RETURN(const auto kernels, dump.Kernels(module));
  for (const dump::Kernel& kernel : kernels->kernels) {
    if (!kernel.triton.found()) continue;
    HLOSCOPE_ASSIGN_OR_RETURN(const FileView view, dump.OpenFile(kernel.triton.file));
    auto tiles = dump::ReadTiles(view.bytes(), dump.FullPath(kernel.triton.file));
    if (tiles && tiles->name == kernel.name) {
      program.tiles.emplace(kernel.name, *std::move(tiles));
    } else if (!tiles) {
      program.warnings.push_back(tiles.error().ToString());
    }
  }
  return {};
}

}  // namespace

Result<DeviceProgram> ReadDeviceProgram(const dump::DumpModel& dump, int32_t module) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto buffers, dump.Buffers(module));
  if (!buffers->has_values()) {
    return InputError("the dump has no buffer assignment, which says where values are",
                      "dump again with --xla_dump_hlo_as_text");
  }
  const int32_t stage = dump.FinalStage(module);
  // It has lost the shardings of what devices take and give.
  HLOSCOPE_ASSIGN_OR_RETURN(dump::CompletedModule completed,
                            dump::CompleteStage(dump, module, stage, dump.limits()));
  const std::shared_ptr<const hlo::Module> last = std::move(completed.module);
  for (const hlo::Diagnostic& diagnostic : hlo::Verify(*last)) {
    if (diagnostic.severity != hlo::Severity::kError) continue;
    return InputError("the last stage of the dump: " + diagnostic.message, diagnostic.hint);
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const Launches launches, Launches::Read(dump, module));
  HLOSCOPE_ASSIGN_OR_RETURN(DeviceProgram program, ProgramReader(last, *buffers, launches).Read());
  HLOSCOPE_TRY(CheckProgram(program));
  for (const int32_t ptx : launches.files()) {
    HLOSCOPE_ASSIGN_OR_RETURN(const FileView text, dump.OpenFile(ptx));
    program.code.push_back({dump.FullPath(ptx), std::string(text.bytes())});
  }
  HLOSCOPE_TRY(ReadTilesOf(dump, module, program));
  if (const int32_t target = dump::FindGpuTarget(dump, module); target >= 0) {
    HLOSCOPE_ASSIGN_OR_RETURN(const FileView described, dump.OpenFile(target));
    program.target_config = std::string(described.bytes());
  }
  return program;
}

}  // namespace hloscope::replay
