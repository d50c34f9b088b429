// Places by opcode, custom call target, fusion kind and the computation an instruction stands in.
#include "core/analysis/place/placement.h"

#include <algorithm>
#include <optional>

#include "core/analysis/place/boundaries.h"
#include "core/analysis/place/call_counts.h"
#include "core/analysis/place/transfers.h"
#include "core/base/counted.h"
#include "core/hlo/dimension_numbers.h"
#include "core/hlo/opcode_table.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::analysis {
namespace {

using hlo::AttributeKey;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

struct Words {
  std::string_view key, text, one, several;
};
constexpr Words kPlaces[] = {
#define PLACE(name, key, text, one, several) {key, text, one, several},
#include "core/analysis/place/places.def"
#undef PLACE
};

enum class Compare : uint8_t { kPrefix, kWhole, kContains };
struct CustomCallRow {
  Compare compare;
  std::string_view text;
  Place place;
  std::string_view library;
};
constexpr CustomCallRow kCustomCalls[] = {
#define CUSTOM_CALL_PLACE(compare, text, place, library) \
  {Compare::compare, text, Place::place, library},
#include "core/analysis/place/custom_call_places.def"
#undef CUSTOM_CALL_PLACE
};

bool Fits(const CustomCallRow& row, std::string_view target) {
  if (row.compare == Compare::kPrefix) return target.starts_with(row.text);
  if (row.compare == Compare::kWhole) return target == row.text;
  return target.find(row.text) != std::string_view::npos;
}

const CustomCallRow* FindCustomCall(std::string_view target) {
  const auto* row =
      std::ranges::find_if(kCustomCalls, [&](const auto& r) { return Fits(r, target); });
  return row == std::ranges::end(kCustomCalls) ? nullptr : row;
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Which compiler wrote this, by what only it writes.
Target TargetOf(const Module& module) {
  for (const Instruction& i : module.instructions()) {
    std::string_view config = BackendConfigText(module, i);
    if (Contains(config, "outer_dimension_partitions") || Contains(config, "__ynn")) {
      return Target::kCpu;
    }
    if (Contains(config, "operation_queue_id") || Contains(config, "fusion_backend_config") ||
        Contains(config, "force_earliest_schedule")) {
      return Target::kGpu;
    }
    if (i.opcode != Opcode::kCustomCall) continue;
    std::string_view target = module.GetString(i, AttributeKey::kCustomCallTarget);
    if (target.starts_with("__cublas$") || target.starts_with("__cudnn$") ||
        target.starts_with("xla.gpu.")) {
      return Target::kGpu;
    }
  }
  return Target::kUnknown;
}

bool IsCompiled(const Module& module) {
  return module.header().is_scheduled ||
         std::ranges::any_of(module.instructions(),
                             [](const Instruction& i) { return i.opcode == Opcode::kFusion; });
}

bool IsNoCode(Opcode opcode) { return hlo::HasTrait(opcode, hlo::kTraitNoCode); }

PlacedInstruction At(Place place, FallbackReason reason = FallbackReason::kNone,
                     std::string_view library = {}) {
  return {.place = place, .reason = reason, .library = library};
}

// The libraries that XLA leaves an opcode to.
struct LibraryNames {
  std::string_view cpu = {}, gpu = {};
  bool only_cpu = false;
};
constexpr hlo::OpcodeTable<LibraryNames> kLibraries = {
    {Opcode::kCholesky, {"LAPACK", "cuSOLVER"}},
    {Opcode::kConvolution, {"Eigen", "cuDNN"}},
    {Opcode::kDot, {"Eigen", "", true}},
    {Opcode::kFft, {"FFT", "cuFFT"}},
    {Opcode::kRngGetAndUpdateState, {"XLA runtime", "", true}},
    {Opcode::kSort, {"XLA runtime", "", true}},
    {Opcode::kTopK, {"XLA runtime", "", true}},
    {Opcode::kTriangularSolve, {"LAPACK", "cuSOLVER"}},
};

class Placer {
 public:
  Placer(const Module& module, Target target) : module_(module), calls_(CountCalls(module)) {
    result_.target = target == Target::kUnknown ? TargetOf(module) : target;
    result_.compiled = IsCompiled(module);
    result_.instructions.resize(module.instructions().size());
  }

  Placement Run() {
    for (uint32_t id = 0; id < result_.instructions.size(); ++id) {
      PlacedInstruction placed = PlaceOf(module_.instructions()[id]);
      result_.instructions[id] = placed;
      ++result_.counts[static_cast<size_t>(placed.place)];
      if (result_.target != Target::kCpu) {
        AppendTransfers(module_, InstructionId(id), placed, calls_, result_.transfers);
      }
    }
    SumTransfers(result_);
    result_.executions = std::move(calls_.executions);
    return std::move(result_);
  }

 private:
  PlacedInstruction PlaceOf(const Instruction& i) const {
    if (IsNoCode(i.opcode)) return At(Place::kNoCode);
    const CallContext& context = calls_.contexts[i.computation.index];
    if (context.kind == CallContext::Kind::kNone) return At(Place::kNoCode);  // never called
    if (context.kind == CallContext::Kind::kKernel) return At(Place::kInKernel);
    PlacedInstruction placed = InSequence(i);
    if (context.host != FallbackReason::kNone) {
      placed = At(Place::kHost, context.host);
    } else if (FallbackReason asked = HostReasonOf(module_, i); asked != FallbackReason::kNone) {
      placed = At(Place::kHost, asked);
    }
    return placed;
  }

  Place Compute() const { return result_.compiled ? Place::kDeviceKernel : Place::kUndecided; }
  PlacedInstruction Library(std::string_view name) const {
    if (!result_.compiled) return At(Place::kUndecided);
    return At(Place::kLibraryCall, FallbackReason::kNone, name);
  }
  bool cpu() const { return result_.target == Target::kCpu; }
  bool gpu() const { return result_.target == Target::kGpu; }

  PlacedInstruction InSequence(const Instruction& i) const {
    if (HasFlag(i.opcode, hlo::kFlagDone)) return At(Place::kControl);
    using Find = PlacedInstruction (Placer::*)(const Instruction&) const;
    static constexpr hlo::OpcodeTable<Find> kFinders(
        {
            {Opcode::kAsyncStart, &Placer::Control},
            {Opcode::kAsyncUpdate, &Placer::Control},
            {Opcode::kCall, &Placer::Call},
            {Opcode::kConditional, &Placer::Call},
            {Opcode::kCustomCall, &Placer::CustomCall},
            {Opcode::kFusion, &Placer::Fusion},
            {Opcode::kInfeed, &Placer::Feed},
            {Opcode::kOutfeed, &Placer::Feed},
            {Opcode::kRecv, &Placer::Transfer},
            {Opcode::kSend, &Placer::Transfer},
            {Opcode::kWhile, &Placer::Call},
        },
        &Placer::Plain);
    return (this->*kFinders[i.opcode])(i);
  }

  PlacedInstruction Control(const Instruction&) const { return At(Place::kControl); }
  PlacedInstruction Call(const Instruction& i) const {
    return At(IsKernelCall(module_, i) ? Place::kDeviceKernel : Place::kControl);
  }
  PlacedInstruction Feed(const Instruction&) const {
    return At(Place::kHost, FallbackReason::kInfeedOutfeed);
  }
  PlacedInstruction Transfer(const Instruction& i) const {
    if (!module_.GetBool(i, AttributeKey::kIsHostTransfer)) return At(Place::kCollective);
    return At(Place::kHost, FallbackReason::kHostSendRecv);
  }

  PlacedInstruction Plain(const Instruction& i) const {
    if (HasFlag(i.opcode, hlo::kFlagCollective)) return At(Place::kCollective);
    if (!cpu() && CrossesHostMemory(module_, i)) {
      return At(Place::kHostMemory, FallbackReason::kHostMemorySpace);
    }
    static constexpr hlo::OpcodeSet kCopies = {Opcode::kCopy, Opcode::kCopyStart,
                                               Opcode::kPartitionId, Opcode::kReplicaId};
    if (kCopies.Has(i.opcode)) return At(result_.compiled ? Place::kCopy : Place::kUndecided);
    const LibraryNames names = kLibraries[i.opcode];
    const bool is_ours = i.opcode == Opcode::kDot && !(cpu() && IsEigenProduct(i));
    if (names.cpu.empty() || is_ours || (names.only_cpu && !cpu())) return At(Compute());
    return Library(cpu() ? names.cpu : gpu() ? names.gpu : "");
  }

  // XLA:CPU leaves to Eigen products of matrices of floats and s32, and all of complex numbers;
  // those with a vector and of other integers it writes itself (dumps of jaxlib 0.10.2: those have
  // code of their own).
  bool IsEigenProduct(const Instruction& i) const {
    const hlo::ElementType type = module_[i.shape].element_type();
    auto operands = module_.operands(i);
    if (operands.size() != 2) return false;
    if (IsComplex(type)) return true;
    if (type != hlo::ElementType::kS32 && !IsFloat(type)) return false;
    const hlo::DotDims dims = hlo::DotDimsOf(module_, module_.attributes(i));
    const auto has_free = [&](const hlo::Shape& shape, const hlo::DotSide& side) {
      return std::ranges::any_of(side.Free(shape.rank()), [&](int64_t d) {
        return shape.dimension(static_cast<size_t>(d)) != 1;
      });
    };
    return has_free(module_.shape(operands[0]), dims.lhs) &&
           has_free(module_.shape(operands[1]), dims.rhs);
  }

  PlacedInstruction Fusion(const Instruction& i) const {
    std::string_view config = BackendConfigText(module_, i);
    if (Contains(config, "\"__triton_collective\"")) return At(Place::kCollective);
    if (Contains(config, "\"__cudnn$fusion\"")) return Library("cuDNN");
    if (Contains(config, "\"__ynn_fusion\"")) return Library("YNNPACK");
    if (Contains(config, "\"__onednn_fusion\"")) return Library("oneDNN");
    bool custom =
        Contains(config, "\"__custom_fusion\"") || Contains(config, "\"dynamic_slice_fusion\"");
    return custom ? SlicedCall(i) : At(Compute());
  }

  // A fusion around a library call or collective that reads or writes slices is run as that call.
  PlacedInstruction SlicedCall(const Instruction& fusion) const {
    hlo::ComputationId inside = module_.GetComputation(fusion, AttributeKey::kCalls);
    if (!inside.valid()) return At(Compute());
    for (const Instruction& i : module_.instructions(module_[inside])) {
      if (i.opcode == Opcode::kCustomCall) return CustomCall(i);
      if (HasFlag(i.opcode, hlo::kFlagCollective)) return At(Place::kCollective);
    }
    return At(Compute());
  }

  PlacedInstruction CustomCall(const Instruction& i) const {
    std::string_view target = module_.GetString(i, AttributeKey::kCustomCallTarget);
    const CustomCallRow* row = FindCustomCall(target);
    if (row == nullptr) return At(Place::kLibraryCall, FallbackReason::kNone, "custom call");
    PlacedInstruction placed = At(row->place, FallbackReason::kNone, row->library);
    if (placed.place == Place::kHost) {
      placed.reason = target == "HostExecute" ? FallbackReason::kHostComputeAsked
                                              : FallbackReason::kHostCallback;
    }
    if (placed.place == Place::kHostMemory) placed.reason = FallbackReason::kHostMemoryAsked;
    return placed;
  }

  const Module& module_;
  CallCounts calls_;
  Placement result_;
};

}  // namespace

std::string_view KeyOf(Place place) { return kPlaces[static_cast<size_t>(place)].key; }
std::string_view Describe(Place place) { return kPlaces[static_cast<size_t>(place)].text; }
std::string CountedAt(Place place, int64_t count) {
  const Words& words = kPlaces[static_cast<size_t>(place)];
  return Counted(count, words.one, words.several);
}

std::string_view KeyOf(TransferDirection direction) {
  return direction == TransferDirection::kToHost ? "to_host" : "to_device";
}

bool IsHostCallback(std::string_view custom_call_target) {
  const CustomCallRow* row = FindCustomCall(custom_call_target);
  return row != nullptr && row->place == Place::kHost && row->text != "HostExecute";
}

bool IsHostCallback(const hlo::Module& module, const hlo::Instruction& instruction) {
  return instruction.opcode == hlo::Opcode::kCustomCall &&
         IsHostCallback(module.GetString(instruction, hlo::AttributeKey::kCustomCallTarget));
}

std::string_view LibraryOf(std::string_view custom_call_target) {
  const CustomCallRow* row = FindCustomCall(custom_call_target);
  return row == nullptr ? std::string_view() : row->library;
}

Target TargetNamed(std::string_view device) {
  if (device == "cpu") return Target::kCpu;
  return device == "gpu" ? Target::kGpu : Target::kUnknown;
}

void SumTransfers(Placement& placement) {
  placement.bytes = placement.unknown_transfers = 0;
  placement.bytes_of = {};
  for (const Transfer& t : placement.transfers) {
    int64_t total = 0, sum = 0;
    const bool known = t.bytes >= 0 && t.executions >= 0 &&
                       !__builtin_mul_overflow(t.bytes, t.executions, &total) &&
                       !__builtin_add_overflow(placement.bytes, total, &sum);
    if (!known) {
      ++placement.unknown_transfers;
      continue;
    }
    placement.bytes = sum;
    const Place place = placement.instructions[t.instruction.index].place;
    placement.bytes_of[static_cast<size_t>(place)] += total;
  }
}

Placement FindPlacement(const Module& module, Target target) {
  return Placer(module, target).Run();
}

}  // namespace hloscope::analysis
