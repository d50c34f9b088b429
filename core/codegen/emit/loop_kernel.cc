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
constexpr int64_t kTiledRow = 1 << 8;     // the same where rows are gone through by tiles
constexpr int64_t kLine = 64;             // bytes that memory is read by

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
    FindTile();
    row_ = groups_.empty() ? 1 : groups_.back().size;
    width_ = static_cast<int>(std::bit_floor(static_cast<uint64_t>(std::min<int64_t>(full, row_))));
  }

  EmittedKernel Emit(const std::string& name) {
    const int64_t bytes = BytesPerElement(kernel_, total_);
    const int64_t grain = std::max<int64_t>(64, kGrainBytes / bytes) / 64 * 64;
    // Pieces of a row that do not end with it are whole vectors.
    const int64_t longest = tile_ > 1 ? kTiledRow : groups_.size() > 1 ? kLongRow : grain;
    piece_ = std::min(row_, longest);
    pieces_ = (row_ - 1) / piece_ + 1;
    int64_t units = pieces_;
    for (size_t g = 0; g + 1 < groups_.size(); ++g) units *= Steps(g);
    units_ = std::max<int64_t>(1, grain / (piece_ * tile_));
    EmittedKernel out;
    out.code.name = name;
    out.code.grains = (units - 1) / units_ + 1;
    out.code.grain_bytes = units_ * piece_ * tile_ * bytes;
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
  // A parameter that is read across the rows is read by tiles: as many rows together as elements of
  // it are read with each other.
  void FindTile() {
    if (groups_.size() < 2) return;
    const int d = TransposedDimension(kernel_, kernel_.roots, sizes_);
    if (d < 0) return;
    size_t first = 0, g = 0;
    for (; static_cast<size_t>(d) >= first + groups_[g].count; ++g) first += groups_[g].count;
    if (g + 1 == groups_.size()) return;
    tiled_ = g;
    const auto bytes = hlo::StorageBytes(kernel_.module.shape(kernel_.roots[0]).element_type());
    tile_ = std::min<int64_t>(groups_[g].size, kLine / bytes);
  }
  int64_t Steps(size_t g) const {
    return tile_ > 1 && g == tiled_ ? (groups_[g].size - 1) / tile_ + 1 : groups_[g].size;
  }

  void Unit(IndexMath& math, ElementEmitter& emitter, Value* unit) {
    Builder& b = function_.builder();
    Value* piece = b.CreateURem(unit, function_.Int(pieces_));
    Value* rest = b.CreateUDiv(unit, function_.Int(pieces_));
    std::vector<LaneNumber> outer(groups_.size() - 1);
    Value* tile = nullptr;
    for (size_t g = outer.size(); g-- > 0;) {
      Value* size = function_.Int(Steps(g));
      outer[g] = math.FromScalar(g == 0 ? rest : b.CreateURem(rest, size));
      rest = b.CreateUDiv(rest, size);
      if (tile_ > 1 && g == tiled_) tile = b.CreateMul(outer[g].base, function_.Int(tile_));
    }
    Value* from = b.CreateMul(piece, function_.Int(piece_));
    Value* to = function_.Smaller(b.CreateAdd(from, function_.Int(piece_)), function_.Int(row_));
    if (tile == nullptr) return Row(math, emitter, outer, from, to);
    Value* end = function_.Smaller(b.CreateAdd(tile, function_.Int(tile_)),
                                   function_.Int(groups_[tiled_].size));
    function_.Loop(from, to, width_, [&](Value* i) {
      Value* at = LaneStart(i, to);
      function_.Loop(tile, end, 1, [&](Value* t) {
        outer[tiled_] = math.FromScalar(t);
        Vector(math, emitter, outer, at);
      });
    });
  }

  // Where the vector at i begins. A last one that would reach beyond is moved back: what it
  // computes again is the same.
  Value* LaneStart(Value* i, Value* to) {
    if (IsEven()) return i;
    return function_.Smaller(i, function_.builder().CreateSub(to, function_.Int(width_)));
  }
  bool IsEven() const { return row_ % width_ == 0; }

  // Elements [from, to) of a row.
  void Row(IndexMath& math, ElementEmitter& emitter, const std::vector<LaneNumber>& outer,
           Value* from, Value* to) {
    function_.Loop(from, to, width_,
                   [&](Value* i) { Vector(math, emitter, outer, LaneStart(i, to)); });
  }

  void Vector(IndexMath& math, ElementEmitter& emitter, const std::vector<LaneNumber>& outer,
              Value* at) {
    emitter.Forget();
    Index index;
    for (size_t g = 0; g < groups_.size(); ++g) {
      const LaneNumber lanes{at, width_ == 1 ? 0 : 1, nullptr, IsEven() ? width_ : 1};
      index.groups.push_back({groups_[g].count, g + 1 < groups_.size() ? outer[g] : lanes});
    }
    const LaneNumber offset = math.Offset(index, sizes_);
    for (size_t k = 0; k < kernel_.roots.size(); ++k) {
      const InstructionId root = kernel_.roots[k];
      function_.Store(emitter.Emit(root, index), kernel_.module.shape(root).element_type(),
                      function_.result(k), offset.base, width_);
    }
  }

  const Kernel& kernel_;
  KernelFunction function_;
  std::span<const int64_t> sizes_;
  std::vector<LoopGroup> groups_;
  int64_t total_ = 1, row_ = 1, piece_ = 1, pieces_ = 1;
  int64_t units_ = 1;  // in a grain
  size_t tiled_ = 0;   // the group whose rows are gone through by tiles, where there are any
  int64_t tile_ = 1;
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
