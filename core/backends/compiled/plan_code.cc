// What is read is held to the module before anything runs.
#include "core/backends/compiled/plan_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>

#include "core/base/byte_archive.h"
#include "core/base/file.h"
#include "core/base/memory_limit.h"
#include "core/compile/plan/check_plan.h"
#include "core/compile/plan/plan_archive.h"
#include "core/dump/plan_file.h"
#include "core/hlo/proto/proto.h"
#include "core/replay/capture/capture_plan.h"

namespace hloscope::compile {

// All members by name, so that a new one does not compile until it is in a new version.
template <typename A>
void Archive(A& a, Archived<A, GpuKernel>& kernel) {
  auto& [name, finish, module, grains, block, passes, scratch_bytes, in_place] = kernel;
  a(name, finish, module, grains, block, passes, scratch_bytes, in_place);
}
template <typename A>
void Archive(A& a, Archived<A, GpuCode::Refused>& refused) {
  auto& [instruction, why] = refused;
  a(instruction, why);
}
template <typename A>
void Archive(A& a, Archived<A, GpuCode>& code) {
  auto& [modules, kernels, uses, refused] = code;
  a(modules, kernels);
  ArchiveEach(a, uses, [&a](auto& use) {
    auto& [instruction, kernel] = use;
    a(instruction, kernel);
  });
  a(refused);
}

}  // namespace hloscope::compile

namespace hloscope::replay {
namespace {

using compile::GpuCode;
using compile::Plan;
using compile::PlannedBuffer;
using compile::PlannedStep;
using hlo::InstructionId;

// Where each instruction of `a` is in `b`, the same module read from its proto, which may have its
// computations in another order and under other names: from the entry on, what calls what, and the
// place in its computation.
Result<std::vector<InstructionId>> PlacesIn(const hlo::Module& a, const hlo::Module& b) {
  std::vector<InstructionId> places(a.instructions().size());
  std::vector<std::pair<hlo::ComputationId, hlo::ComputationId>> pending = {
      {a.entry_id(), b.entry_id()}};
  std::set<uint32_t> seen = {a.entry_id().index};
  while (!pending.empty()) {
    const auto [from, to] = pending.back();
    pending.pop_back();
    const hlo::Computation &x = a[from], &y = b[to];
    bool is_same = x.instruction_count == y.instruction_count;
    for (uint32_t i = 0; is_same && i < x.instruction_count; ++i) {
      const InstructionId id(x.first_instruction + i), there(y.first_instruction + i);
      places[id.index] = there;
      is_same = a[id].opcode == b[there].opcode &&
                a.shape(id).WithDefaultLayouts() == b.shape(there).WithDefaultLayouts() &&
                std::ranges::equal(
                    a.operands(id), b.operands(there), [&](InstructionId own, InstructionId other) {
                      return own.index - x.first_instruction == other.index - y.first_instruction;
                    });
      const auto called = a.CalledComputations(a[id]), others = b.CalledComputations(b[there]);
      is_same = is_same && called.size() == others.size();
      for (size_t c = 0; is_same && c < called.size(); ++c) {
        if (seen.insert(called[c].index).second) pending.emplace_back(called[c], others[c]);
      }
    }
    if (!is_same) {
      return InternalError(
          fmt::format("a proto of the compiled module does not keep {}", a[x.name]));
    }
  }
  return places;
}

struct Placed {
  Plan plan;
  GpuCode code;
};

// The same with the instructions of another module.
Placed PutIn(const hlo::Module& module, const std::vector<InstructionId>& places,
             const compile::Compilation& compilation, const GpuCode& code) {
  const auto move = [&](InstructionId& id) {
    if (id.valid()) id = places[id.index];
  };
  Placed out{{}, code};
  if (compilation.plan != nullptr) {
    out.plan = *compilation.plan;
    out.plan.computation =
        module[places[(*compilation.module)[out.plan.computation].root.index]].computation;
  }
  for (PlannedBuffer& buffer : out.plan.buffers) {
    move(buffer.made_by);
    if (buffer.place == compile::Place::kConstant) {
      buffer.at = places[static_cast<size_t>(buffer.at)].index;
    }
  }
  for (compile::Sequence& sequence : out.plan.sequences) {
    for (PlannedStep& step : sequence) move(step.id);
  }
  for (GpuCode::Use& use : out.code.uses) move(use.instruction);
  for (GpuCode::Refused& refused : out.code.refused) move(refused.instruction);
  return out;
}

// Whether the numbers of instructions mean the same in both, and all that they do is the same.
bool IsSame(const hlo::Module& a, const hlo::Module& b) {
  const size_t count = a.instructions().size();
  if (count != b.instructions().size() || a.entry_id() != b.entry_id()) return false;
  for (uint32_t i = 0; i < count; ++i) {
    const InstructionId id(i);
    if (a[id].opcode != b[id].opcode || a[id].computation != b[id].computation ||
        !std::ranges::equal(a.operands(id), b.operands(id))) {
      return false;
    }
  }
  return StageFingerprint(a) == StageFingerprint(b);
}

std::unexpected<Error> Damaged(const std::string& path) {
  return std::unexpected(Error{ErrorClass::kInput,
                               "this .hloplan is damaged",
                               {path, 0, 0},
                               "write it again: `hloscope compile --emit plan`"});
}

}  // namespace

std::string ToImage(const GpuCode& code) {
  ByteWriter out;
  out(code);
  return std::move(out).Take();
}

Result<GpuCode> GpuCodeOf(const std::string& image, const compile::Compilation& compilation) {
  GpuCode code;
  ByteReader in(std::as_bytes(std::span(image)));
  in(code);
  if (!in.ok() || !in.empty() || !compile::CheckGpuCode(*compilation.module, code) ||
      (compilation.plan != nullptr && !compile::CheckPlan(*compilation.plan, code))) {
    return InternalError("what the cache has is no code of this module");
  }
  return code;
}

Result<std::string> ToPlanFile(const compile::Compilation& compilation, const std::string& target,
                               const GpuCode& code) {
  hlo::ProtoFile file;
  file.kind = hlo::ProtoKind::kHlo;
  file.module = compilation.module;
  const std::string module = hlo::HloToProto(file);
  HLOSCOPE_ASSIGN_OR_RETURN(const hlo::ProtoFile again,
                            hlo::ReadProto(std::as_bytes(std::span(module))));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto places, PlacesIn(*compilation.module, *again.module));
  const Placed placed = PutIn(*again.module, places, compilation, code);
  ByteWriter rest;
  rest(compilation.plan != nullptr, target, compilation.why_no_plan, placed.plan, placed.code);
  return dump::WritePlanFile(module, rest.bytes());
}

bool IsPlanFile(const std::string& path) {
  std::array<char, dump::kPlanFileMark.size()> head{};
  std::ifstream file(path, std::ios::binary);
  return file.read(head.data(), head.size()) &&
         std::string_view(head.data(), head.size()) == dump::kPlanFileMark;
}

namespace {

Result<PlanCode> ReadPlan(const FileView& file, std::shared_ptr<const hlo::Module> module,
                          const Limits& limits) {
  const std::string& path = file.path();
  HLOSCOPE_ASSIGN_OR_RETURN(const dump::PlanFile parts, dump::OpenPlanFile(file.bytes()));
  HLOSCOPE_ASSIGN_OR_RETURN(const hlo::ProtoFile proto, hlo::ReadProto(parts.module, limits));
  if (!IsSame(*proto.module, *module)) {
    return InputError(fmt::format("{} holds another module than the one to be run", path),
                      "run the .hloplan as it is, or the module that it was compiled from");
  }
  PlanCode out;
  Plan plan;
  plan.module = module;
  ByteReader in(parts.rest);
  const bool has_plan = in.Get<bool>();
  in(out.target, out.compilation.why_no_plan, plan, out.code);
  if (!in.ok() || !in.empty() || !compile::CheckGpuCode(*module, out.code) ||
      (has_plan && !compile::CheckPlan(plan, out.code))) {
    return Damaged(path);
  }
  out.compilation.module = module;
  if (has_plan) out.compilation.plan = std::make_shared<const Plan>(std::move(plan));
  return out;
}

}  // namespace

Result<PlanCode> ReadPlanFile(const std::string& path, std::shared_ptr<const hlo::Module> module,
                              const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(path, limits));
  return WithinMemory(limits, path, [&] { return ReadPlan(file, module, limits); });
}

}  // namespace hloscope::replay
