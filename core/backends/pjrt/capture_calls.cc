// Which values get a call, and writing the calls.
#include "core/backends/pjrt/capture_calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/analysis/place/boundaries.h"
#include "core/backends/pjrt/ffi.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/module_builder.h"

namespace hloscope::replay::pjrt {
namespace {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

// The bytes of a dynamic array say nothing of its live sizes.
bool IsStatic(const hlo::Shape& shape) {
  return std::ranges::all_of(shape.LeafShapes(), [](const hlo::Shape* leaf) {
    return leaf->IsToken() || (leaf->IsArray() && leaf->is_static());
  });
}

// By instruction: it makes a value that lies in memory.
std::vector<bool> Boundaries(const Module& module, std::vector<std::string>& left_out) {
  std::vector<bool> is_boundary(module.instructions().size(), false);
  for (const InstructionId id : analysis::BoundariesOf(module)) {
    is_boundary[id.index] = IsStatic(module.shape(id));
    if (!is_boundary[id.index]) left_out.emplace_back(module.name(id));
  }
  return is_boundary;
}

Status Want(const Module& module, const CaptureItem& item, const std::vector<bool>& boundaries,
            std::vector<bool>& points) {
  if (item.scope != CaptureScope::kInstructions) {
    for (size_t i = 0; i < points.size(); ++i) points[i] = points[i] || boundaries[i];
    return {};
  }
  for (const InstructionId id : item.instructions) {
    if (id.index >= points.size()) {
      return InputError("a capture plan names an instruction that the module does not have");
    }
    if (!boundaries[id.index]) {
      return UnsupportedError(
          fmt::format("{}: its value cannot be captured: it has no buffer of its own",
                      module.name(id)),
          "ask for the kernel that it is part of");
    }
    points[id.index] = true;
  }
  return {};
}

// Which entry into a computation a value belongs to is known by the results of its callers.
void AddCallers(const Module& module, std::vector<bool>& points) {
  const hlo::CallGraph& graph = hlo::CallGraphOf(module);
  std::vector<bool> reaches(module.computations().size(), false);
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i]) reaches[module.instructions()[i].computation.index] = true;
  }
  for (const ComputationId callee : graph.callees_first()) {
    if (!reaches[callee.index]) continue;
    for (const InstructionId caller : graph.callers(callee)) {
      points[caller.index] = true;
      reaches[module[caller].computation.index] = true;
    }
  }
}

// Copies a module, computation by computation, with a call behind each point.
class CallWriter {
 public:
  CallWriter(const Module& module, const std::vector<bool>& points, int64_t program)
      : module_(module), points_(points), program_(program), builder_(module) {}

  std::shared_ptr<const Module> Run() {
    std::vector<ComputationId> by_place;
    for (const hlo::Computation& computation : module_.computations()) {
      by_place.push_back(builder_.DeclareComputation(computation.name));
    }
    std::ranges::stable_sort(by_place, {},
                             [&](ComputationId c) { return module_[c].first_instruction; });
    Number(by_place);
    for (const ComputationId c : by_place) {
      builder_.BeginComputation(c);
      const hlo::Computation& from = module_[c];
      for (uint32_t i = 0; i < from.instruction_count; ++i) {
        Copy(InstructionId(from.first_instruction + i));
      }
      builder_.EndComputation(New(from.root), from.execution_thread);
    }
    builder_.SetEntry(module_.entry_id());
    return builder_.Build();
  }

 private:
  InstructionId New(InstructionId id) const { return new_id_[id.index]; }
  InstructionId CallBehind(InstructionId id) const { return InstructionId(New(id).index + 1); }

  void Number(std::span<const ComputationId> by_place) {
    new_id_.resize(module_.instructions().size());
    uint32_t next = 0;
    for (const ComputationId c : by_place) {
      for (uint32_t i = 0; i < module_[c].instruction_count; ++i) {
        const uint32_t old = module_[c].first_instruction + i;
        new_id_[old] = InstructionId(next);
        next += points_[old] ? 2 : 1;
      }
    }
  }

  void Copy(InstructionId id) {
    const hlo::Instruction& from = module_[id];
    std::vector<InstructionId> operands;
    std::vector<uint32_t> waits_for;
    for (const InstructionId operand : module_.operands(id)) {
      operands.push_back(New(operand));
      if (points_[operand.index]) waits_for.push_back(CallBehind(operand).index);
    }
    std::vector<Attribute> attributes;
    for (const Attribute& attribute : module_.attributes(from)) {
      if (attribute.key != AttributeKey::kControlPredecessors) attributes.push_back(attribute);
    }
    if (const Attribute* own = module_.Find(id, AttributeKey::kControlPredecessors)) {
      for (const uint32_t before : module_.IdsOf(*own)) {
        waits_for.push_back(New(InstructionId(before)).index);
      }
    }
    std::ranges::sort(waits_for);
    waits_for.erase(std::ranges::unique(waits_for).begin(), waits_for.end());
    if (!waits_for.empty()) {
      attributes.push_back(builder_.MakeIds(AttributeKey::kControlPredecessors, waits_for));
    }
    builder_.AddInstruction(from.name, from.opcode, from.shape, operands, attributes,
                            module_.source_offset(id));
    if (points_[id.index]) AddCall(id);
  }

  void AddCall(InstructionId id) {
    const auto config = builder_.Intern(CaptureConfig(program_, id.index));
    const std::vector<Attribute> attributes = {
        builder_.MakeString(AttributeKey::kCustomCallTarget, kCaptureTarget),
        builder_.MakeBool(AttributeKey::kCustomCallHasSideEffect, true),
        builder_.MakeEnum(AttributeKey::kApiVersion,
                          static_cast<int32_t>(hlo::CustomCallApiVersion::kTypedFfi)),
        builder_.Make(AttributeKey::kBackendConfig, hlo::BackendConfig{config, false})};
    const InstructionId value = New(id);
    builder_.AddInstruction(builder_.Intern(fmt::format("{}.{}", kCaptureTarget, id.index)),
                            Opcode::kCustomCall, builder_.InternShape(hlo::Shape::Tuple({})),
                            {&value, 1}, attributes);
  }

  const Module& module_;
  const std::vector<bool>& points_;
  int64_t program_;
  hlo::ModuleBuilder builder_;
  std::vector<InstructionId> new_id_;
};

}  // namespace

Result<CaptureCalls> AddCaptureCalls(const Module& module, const CapturePlan& plan,
                                     int64_t program) {
  if (plan.until || plan.search) {
    return UnsupportedError("a plugin runs to the end and cannot search values",
                            "capture values instead");
  }
  CaptureCalls calls;
  calls.points.resize(module.instructions().size(), false);
  const std::vector<bool> boundaries = Boundaries(module, calls.left_out);
  for (const CaptureItem& item : plan.items) {
    HLOSCOPE_TRY(Want(module, item, boundaries, calls.points));
  }
  AddCallers(module, calls.points);
  calls.module = CallWriter(module, calls.points, program).Run();
  return calls;
}

}  // namespace hloscope::replay::pjrt
