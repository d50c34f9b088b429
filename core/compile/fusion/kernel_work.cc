#include "core/compile/fusion/kernel_work.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "core/compile/fusion/index_map.h"
#include "core/compile/kernel_rules.h"

namespace hloscope::compile {

using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

// So that the code stays small: values in that of a loop.
constexpr size_t kMaxInLoop = 2000;
// Picoseconds that any kernel may compute again; more only as far as its elements take as long.
constexpr double kFreeAgain = 1'000'000;

}  // namespace

bool KernelWork::FitsLoop(const Value& value) const {
  if (must_unroll_ || value.maps > kMaxMaps || maps_ + value.maps > kMaxInLoop) return false;
  const double again = std::max(0.0, value.count - value.elements) * value.cost;
  return for_gpu_ || again == 0 ||
         again_ + again <= kFreeAgain + own_ + value.elements * value.cost;
}

bool KernelWork::FitsUnrolled(const Value& value) const {
  return may_unroll_ && (has_parts_ || value.has_parts) &&
         unrolled_ + value.Demanded() <= kMaxUnrolled;
}

bool KernelWork::FitsUnrolled() const {
  return may_unroll_ && has_parts_ && unrolled_ <= kMaxUnrolled;
}

void KernelWork::Add(const Value& value) {
  must_unroll_ |= !FitsLoop(value);
  has_parts_ |= value.has_parts;
  maps_ += value.maps;
  own_ += value.elements * value.cost;
  again_ += std::max(0.0, value.count - value.elements) * value.cost;
  if (value.cost > 0) unrolled_ += value.Demanded();
}

void KernelWork::Add(const KernelWork& other) {
  may_unroll_ &= other.may_unroll_;
  has_parts_ |= other.has_parts_;
  is_tiny_ &= other.is_tiny_;
  must_unroll_ |= other.must_unroll_;
  unrolled_ += other.unrolled_;
  maps_ += other.maps_;
  own_ += other.own_;
  again_ += other.again_;
}

namespace {

// Goes from the roots of a kernel to its parameters as fusion does.
class WorkCounter {
 public:
  WorkCounter(const Module& module, int lanes) : module_(module), lanes_(lanes) {}

  bool Count(std::span<const InstructionId> instructions, std::span<const InstructionId> roots) {
    for (const InstructionId id : instructions) reads_[id.index];
    const double loop = LoopCount(module_, roots[0]);
    for (const InstructionId root : roots) {
      if (!IsElemental(module_, root) || LoopCount(module_, root) != loop) return false;
      reads_[root.index].push_back({.map = 0, .count = loop});
    }
    vectors_ = std::ceil(loop / std::min<double>(lanes_, std::exp2(std::floor(std::log2(loop)))));
    work_ = KernelWork(true, false, loop);
    for (size_t k = instructions.size(); k-- > 0;) Visit(instructions[k]);
    return work_.FitsUnrolled() && (work_.must_unroll() || work_.unrolled_elements() <= in_loop_);
  }

 private:
  void Visit(InstructionId id) {
    std::vector<Reads>& reads = reads_[id.index];
    if (reads.empty()) return;
    const Opcode opcode = module_[id].opcode;
    double count = 0;
    for (const Reads& each : reads) count += each.count;
    const double elements = ElementCount(module_.shape(id));
    const size_t maps = reads.size();
    work_.Add({elements, CostOf(opcode), maps, count, opcode == Opcode::kConcatenate});
    if (CostOf(opcode) > 0) {
      const size_t steps = opcode == Opcode::kConcatenate ? module_.operands(id).size() : 1;
      in_loop_ += static_cast<double>(maps * steps) * vectors_;
    }
    if (maps > kMaxMaps) reads = {ReadsOfAll(id, elements)};
    for (const Reads& each : reads) ReadOperands(id, each);
  }

  void ReadOperands(InstructionId id, const Reads& reads) {
    const auto operands = module_.operands(id);
    for (size_t slot = 0; slot < operands.size(); ++slot) {
      const auto operand = reads_.find(operands[slot].index);
      if (operand == reads_.end()) continue;
      const Reads read = OperandReads(module_, id, slot, reads);
      const auto same = std::ranges::find(operand->second, read.map, &Reads::map);
      if (same == operand->second.end()) {
        operand->second.push_back(read);
      } else {
        same->count = std::max(same->count, read.count);
      }
    }
  }

  const Module& module_;
  int lanes_;
  double vectors_ = 1;  // of a loop over the results
  double in_loop_ = 0;  // vectors that the loop computes
  KernelWork work_;
  std::unordered_map<uint32_t, std::vector<Reads>> reads_;  // by instruction of the kernel
};

}  // namespace

bool IsUnrolled(const Module& module, std::span<const InstructionId> instructions,
                std::span<const InstructionId> roots, int lanes) {
  const bool has_parts = std::ranges::any_of(
      instructions, [&](InstructionId id) { return module[id].opcode == Opcode::kConcatenate; });
  return has_parts && WorkCounter(module, lanes).Count(instructions, roots);
}

}  // namespace hloscope::compile
