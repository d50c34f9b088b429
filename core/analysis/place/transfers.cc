// Transfers by memory space, annotation and opcode.
#include "core/analysis/place/transfers.h"

#include <algorithm>
#include <optional>

#include "core/hlo/opcode_table.h"

namespace hloscope::analysis {
namespace {

using hlo::AttributeKey;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

constexpr int64_t kHostMemorySpace = 5;  // XLA: Layout::kHostMemorySpace

bool InHostMemory(const Shape& shape) {
  if (shape.has_layout()) return shape.layout().memory_space() == kHostMemorySpace;
  return false;
}

// Bytes of the arrays of a shape that are (or are not) in memory of the host; -1 where unknown.
int64_t BytesWhere(const Shape& shape, bool host) {
  int64_t sum = 0;
  for (const hlo::Shape* leaf : shape.LeafShapes()) {
    if (!leaf->IsArray() || InHostMemory(*leaf) != host) continue;
    std::optional<int64_t> bytes = leaf->ByteSize();
    if (!bytes || __builtin_add_overflow(sum, *bytes, &sum)) return -1;
  }
  return sum;
}
int64_t BytesOf(const Shape& shape) { return shape.ByteSize().value_or(-1); }

int64_t Sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? -1 : sum;
}

class Reader {
 public:
  Reader(const Module& module, InstructionId id, const PlacedInstruction& placed,
         const CallCounts& calls, std::vector<Transfer>& transfers)
      : module_(module), id_(id), i_(module[id]), placed_(placed), transfers_(transfers) {
    executions_ = calls.executions[i_.computation.index];
    context_ = calls.contexts[i_.computation.index];
  }

  void Run() {
    if (context_.kind == CallContext::Kind::kKernel || executions_ == 0) return;
    if (context_.host != FallbackReason::kNone) return;  // counted where the host's part begins
    const Opcode opcode = i_.opcode;
    const bool is_host = placed_.place == Place::kHost;
    if (opcode == Opcode::kInfeed || (opcode == Opcode::kRecv && is_host)) {
      return Add(TransferDirection::kToDevice, FirstElement());
    }
    if (opcode == Opcode::kRecv) return;
    if (opcode == Opcode::kOutfeed || opcode == Opcode::kSend) {
      if (is_host) Add(TransferDirection::kToHost, BytesOf(Operand(0)));
      return;
    }
    if (opcode == Opcode::kCustomCall && placed_.place == Place::kHostMemory) return Annotated();
    if (is_host) return RoundTrip();
    if (placed_.place == Place::kHostMemory) return Copied();
    if (placed_.place == Place::kDeviceKernel || placed_.place == Place::kLibraryCall) Reads();
  }

 private:
  const Shape& Operand(size_t k) const {
    static const Shape kNone;
    auto operands = module_.operands(i_);
    return k < operands.size() ? module_.shape(operands[k]) : kNone;
  }
  int64_t FirstElement() const {
    const Shape& shape = module_[i_.shape];
    return BytesOf(shape.IsTuple() && !shape.elements().empty() ? shape.elements()[0] : shape);
  }

  void Add(TransferDirection direction, int64_t bytes,
           FallbackReason reason = FallbackReason::kNone) {
    if (bytes == 0) return;
    if (reason == FallbackReason::kNone) reason = placed_.reason;
    transfers_.push_back({.instruction = id_,
                          .direction = direction,
                          .reason = reason,
                          .bytes = bytes,
                          .executions = executions_});
  }

  // MoveToHost, MoveToDevice and what JAX calls annotate_device_placement.
  void Annotated() {
    std::string_view target = module_.GetString(i_, AttributeKey::kCustomCallTarget);
    bool to_host = target == "MoveToHost";
    if (target == "annotate_device_placement") {
      const auto* list =
          module_.Get<hlo::FrontendAttributes>(i_, AttributeKey::kFrontendAttributes);
      if (list == nullptr) return;
      to_host = std::ranges::any_of(list->entries, [&](const hlo::FrontendAttribute& entry) {
        return module_[entry.value].find("host") != std::string_view::npos;
      });
    }
    Add(to_host ? TransferDirection::kToHost : TransferDirection::kToDevice, BytesOf(Operand(0)));
  }

  // The host takes the operands and gives the results, but for those that are with it already.
  void RoundTrip() {
    int64_t in = 0;
    for (InstructionId operand : module_.operands(i_)) {
      if (HostReasonOf(module_, module_[operand]) != FallbackReason::kNone) continue;
      in = Sum(in, BytesWhere(module_.shape(operand), false));
    }
    Add(TransferDirection::kToHost, in);
    const Shape& shape = module_[i_.shape];
    // The start of an asynchronous pair: operands, results, context.
    bool start = i_.opcode == Opcode::kAsyncStart && shape.elements().size() > 1;
    Add(TransferDirection::kToDevice, BytesWhere(start ? shape.elements()[1] : shape, false));
  }

  void Copied() {
    const Shape& shape = module_[i_.shape];
    if (i_.opcode == Opcode::kDynamicUpdateSlice) {
      return Add(InHostMemory(shape) ? TransferDirection::kToHost : TransferDirection::kToDevice,
                 BytesOf(Operand(1)));
    }
    bool start = i_.opcode == Opcode::kCopyStart && !shape.elements().empty();
    const Shape& result = start ? shape.elements()[0] : shape;
    Add(InHostMemory(result) ? TransferDirection::kToHost : TransferDirection::kToDevice,
        BytesOf(result));
  }

  // A kernel or library that reads or writes memory of the host itself.
  void Reads() {
    int64_t in = 0;
    for (InstructionId operand : module_.operands(i_)) {
      in = Sum(in, BytesWhere(module_.shape(operand), true));
    }
    Add(TransferDirection::kToDevice, in, FallbackReason::kHostMemorySpace);
    Add(TransferDirection::kToHost, BytesWhere(module_[i_.shape], true),
        FallbackReason::kHostMemorySpace);
  }

  const Module& module_;
  InstructionId id_;
  const Instruction& i_;
  const PlacedInstruction& placed_;
  std::vector<Transfer>& transfers_;
  int64_t executions_ = 0;
  CallContext context_;
};

}  // namespace

void AppendTransfers(const Module& module, InstructionId id, const PlacedInstruction& placed,
                     const CallCounts& calls, std::vector<Transfer>& transfers) {
  Reader(module, id, placed, calls, transfers).Run();
}

bool CrossesHostMemory(const Module& module, const Instruction& i) {
  auto operands = module.operands(i);
  if (operands.empty()) return false;
  const Shape& shape = module[i.shape];
  const auto differs = [&](const Shape& result, size_t operand) {
    return InHostMemory(result) != InHostMemory(module.shape(operands[operand]));
  };
  if (i.opcode == Opcode::kCopyStart) {
    return !shape.elements().empty() && differs(shape.elements()[0], 0);
  }
  if (i.opcode == Opcode::kDynamicUpdateSlice) return operands.size() > 1 && differs(shape, 1);
  static constexpr hlo::OpcodeSet kCopies = {Opcode::kCopy, Opcode::kDynamicSlice, Opcode::kSlice};
  return kCopies.Has(i.opcode) && differs(shape, 0);
}

}  // namespace hloscope::analysis
