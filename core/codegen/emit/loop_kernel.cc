// Kernels whose results are arrays of the same dimensions: one loop over their elements.
#include <algorithm>
#include <bit>

#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/kernel_function.h"
#include "core/codegen/emit/loop_space.h"

namespace hloscope::codegen {

using hlo::InstructionId;
using hlo::Opcode;
using llvm::Value;

namespace {

constexpr int64_t kGrainBytes = 1 << 15;  // read and written by a grain, about
constexpr int64_t kLongRow = 1 << 13;     // elements; longer ones are cut

// The loops around the vector loop are one loop over units: a row, or a piece of one.
class LoopKernel {
 public:
  LoopKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : kernel_(kernel), function_(module, kernel, name, -1) {
    sizes_ = kernel.module.shape(kernel.roots[0]).dimensions();
    total_ = ProductOf(sizes_);
    groups_ = Grouped(sizes_, Borders(kernel, kernel.roots, sizes_));
    const int full = FullWidth(kernel);
    // Rows of less than half a vector are run through together.
    while (groups_.size() > 1 && groups_.back().size < full / 2) {
      const LoopGroup last = groups_.back();
      groups_.pop_back();
      groups_.back().count += last.count;
      groups_.back().size *= last.size;
    }
    row_ = groups_.empty() ? 1 : groups_.back().size;
    width_ = static_cast<int>(std::bit_floor(static_cast<uint64_t>(std::min<int64_t>(full, row_))));
  }

  EmittedKernel Emit(const std::string& name) {
    const int64_t bytes = BytesPerElement(kernel_, total_);
    const int64_t grain = std::max<int64_t>(64, kGrainBytes / bytes) / 64 * 64;
    // Pieces of a row that do not end with it are whole vectors.
    piece_ = groups_.size() > 1 ? std::min(row_, kLongRow) : std::min(row_, grain);
    pieces_ = (row_ - 1) / piece_ + 1;
    const int64_t units = total_ / row_ * pieces_;
    units_ = std::max<int64_t>(1, grain / piece_);
    EmittedKernel out;
    out.code.name = name;
    out.code.grains = (units - 1) / units_ + 1;
    out.code.grain_bytes = units_ * piece_ * bytes;
    out.code.in_place.assign(kernel_.roots.size(), -1);
    IndexMath math(function_.builder(), width_, width_ == 1 ? 64 : LaneBits(kernel_));
    ElementEmitter emitter(kernel_.module, math, function_.Arrays());
    Builder& b = function_.builder();
    if (groups_.size() <= 1) {
      Value* from = b.CreateMul(function_.begin(), function_.Int(units_ * piece_));
      Value* to = function_.Smaller(b.CreateMul(function_.end(), function_.Int(units_ * piece_)),
                                    function_.Int(total_));
      Row(math, emitter, {}, from, to);
    } else {
      Value* from = b.CreateMul(function_.begin(), function_.Int(units_));
      Value* to = function_.Smaller(b.CreateMul(function_.end(), function_.Int(units_)),
                                    function_.Int(units));
      function_.Loop(from, to, 1, [&](Value* unit) { Unit(math, emitter, unit); });
    }
    function_.Finish();
    out.is_complete = !emitter.has_failed();
    return out;
  }

 private:
  void Unit(IndexMath& math, ElementEmitter& emitter, Value* unit) {
    Builder& b = function_.builder();
    Value* piece = b.CreateURem(unit, function_.Int(pieces_));
    Value* rest = b.CreateUDiv(unit, function_.Int(pieces_));
    std::vector<LaneNumber> outer(groups_.size() - 1);
    for (size_t g = outer.size(); g-- > 0;) {
      Value* size = function_.Int(groups_[g].size);
      outer[g] = math.FromScalar(g == 0 ? rest : b.CreateURem(rest, size));
      rest = b.CreateUDiv(rest, size);
    }
    Value* from = b.CreateMul(piece, function_.Int(piece_));
    Value* to = function_.Smaller(b.CreateAdd(from, function_.Int(piece_)), function_.Int(row_));
    Row(math, emitter, outer, from, to);
  }

  // Elements [from, to) of a row. A last vector that would reach beyond is moved back: what it
  // computes again is the same.
  void Row(IndexMath& math, ElementEmitter& emitter, const std::vector<LaneNumber>& outer,
           Value* from, Value* to) {
    Builder& b = function_.builder();
    const bool is_even = row_ % width_ == 0;
    Value* last = b.CreateSub(to, function_.Int(width_));
    function_.Loop(from, to, width_, [&](Value* i) {
      emitter.Forget();
      Value* at = is_even ? i : function_.Smaller(i, last);
      Index index;
      for (size_t g = 0; g < groups_.size(); ++g) {
        const LaneNumber number =
            g + 1 < groups_.size()
                ? outer[g]
                : LaneNumber{at, width_ == 1 ? 0 : 1, nullptr, is_even ? width_ : 1};
        index.groups.push_back({groups_[g].count, number});
      }
      const LaneNumber offset = math.Offset(index, sizes_);
      for (size_t k = 0; k < kernel_.roots.size(); ++k) {
        const InstructionId root = kernel_.roots[k];
        function_.Store(emitter.Emit(root, index), kernel_.module.shape(root).element_type(),
                        function_.result(k), offset.base, width_);
      }
    });
  }

  const Kernel& kernel_;
  KernelFunction function_;
  std::span<const int64_t> sizes_;
  std::vector<LoopGroup> groups_;
  int64_t total_ = 1, row_ = 1, piece_ = 1, pieces_ = 1;
  int64_t units_ = 1;  // in a grain
  int width_ = 1;
};

}  // namespace

EmittedKernel EmitLoop(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  return LoopKernel(module, kernel, name).Emit(name);
}

EmittedKernel EmitKernel(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  switch (kernel.module[kernel.roots[0]].opcode) {
    case Opcode::kDynamicUpdateSlice:
      return EmitUpdate(module, kernel, name);
    case Opcode::kReduce:
      return EmitReduce(module, kernel, name);
    default:
      return EmitLoop(module, kernel, name);
  }
}

}  // namespace hloscope::codegen
