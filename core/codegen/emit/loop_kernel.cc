// Kernels whose results are arrays of the same dimensions: one loop over their elements.
#include <algorithm>
#include <numeric>

#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/kernel_function.h"
#include "core/codegen/emit/loop_space.h"
#include "core/compile/fusion/index_map.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::codegen {

using hlo::InstructionId;
using hlo::Opcode;
using llvm::Value;

namespace {

constexpr int64_t kLoopGrainBytes = 1 << 15;       // read and written by a grain, about
constexpr int64_t kLongRow = 1 << 13;              // elements; longer ones are cut
constexpr int64_t kTiledRow = 1 << 8;              // the same where rows are gone through by tiles
constexpr int64_t kLine = 64;                      // bytes that memory is read by
constexpr size_t kFewInstructions = 8;             // that may stand in the code once for each lane
constexpr int64_t kMaxUnroll = 9;                  // vectors of a loop that is unrolled
constexpr int64_t kMaxUnrolledInstructions = 256;  // of all of them
constexpr int64_t kLongInstruction = 16;           // instructions that an exponential counts as

// The loops around the vector loop are one loop over units: a row, or a piece of one.
class LoopKernel {
 public:
  LoopKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : kernel_(kernel), function_(module, kernel, name, -1) {
    sizes_ = kernel.module.shape(kernel.roots[0]).dimensions();
    total_ = ProductOf(sizes_);
    groups_ = Grouped(sizes_, Borders(kernel, kernel.roots, sizes_));
    MergeShortRows();
    FindTile();
    row_ = groups_.empty() ? 1 : groups_.back().size;
    width_ = LanesAlong(kernel, row_);
    if (width_ < FullWidth(kernel)) unroll_ = 1;
  }

  EmittedKernel Emit(const std::string& name) {
    const int64_t bytes = BytesPerElement(kernel_, total_);
    const int64_t step = 64 * unroll_;
    const int64_t grain = std::max<int64_t>(step, kLoopGrainBytes / bytes) / step * step;
    // Pieces of a row that do not end with it are whole vectors.
    const int64_t longest = tile_ > 1            ? kTiledRow
                            : groups_.size() > 1 ? kLongRow / step * step
                                                 : grain;
    piece_ = std::min(row_, longest);
    pieces_ = (row_ - 1) / piece_ + 1;
    int64_t units = pieces_;
    for (size_t g = 0; g + 1 < groups_.size(); ++g) units *= Steps(g);
    units_ = std::max<int64_t>(1, grain / (piece_ * tile_));
    EmittedKernel out = InGrains(name, units, units_, piece_ * tile_ * bytes, kernel_.roots.size());
    IndexMath math(function_.builder(), width_, width_ == 1 ? 64 : LaneBits(kernel_));
    ElementEmitter emitter(kernel_.module, math, function_.Arrays());
    if (tile_ == 1 && row_ >= kMinAhead) emitter.ReadAhead(kAhead);
    Builder& b = function_.builder();
    if (groups_.size() <= 1) {
      Value* from = b.CreateMul(function_.begin(), function_.Int(units_ * piece_));
      Value* to = function_.Smaller(b.CreateMul(function_.end(), function_.Int(units_ * piece_)),
                                    function_.Int(total_));
      Row(math, emitter, {}, from, to);
    } else {
      function_.ForUnits(units, units_, [&](Value* unit) { Unit(math, emitter, unit); });
    }
    function_.Finish();
    out.is_complete = !emitter.has_failed();
    return out;
  }

 private:
  // Rows of less than half a vector are run through together, and those of less than one where
  // nothing is read across them. The loop is unrolled to as many vectors as end where a row does:
  // what lies where in the rows is known then.
  void MergeShortRows() {
    const int64_t full = FullWidth(kernel_);
    const bool is_tiled = FindTransposition(kernel_, kernel_.roots, sizes_).dimension >= 0;
    int64_t instructions = 0;
    for (const InstructionId id : kernel_.instructions) {
      const bool is_long = compile::CostOf(kernel_.module[id].opcode) >= compile::kExpensiveOpCost;
      instructions += is_long ? kLongInstruction : 1;
    }
    while (groups_.size() > 1) {
      const int64_t row = groups_.back().size, unroll = row / std::gcd(row, full);
      const bool may_unroll =
          unroll <= kMaxUnroll && unroll * instructions <= kMaxUnrolledInstructions;
      if (row >= full / 2 && (row >= full || is_tiled || !may_unroll)) break;
      unroll_ = may_unroll ? unroll : 1;
      groups_[groups_.size() - 2].count += groups_.back().count;
      groups_[groups_.size() - 2].size *= row;
      groups_.pop_back();
    }
  }

  // A parameter that is read across the rows is read by tiles: as many rows together as elements of
  // it are read with each other.
  void FindTile() {
    if (groups_.size() < 2) return;
    const Transposition transposition = FindTransposition(kernel_, kernel_.roots, sizes_);
    if (transposition.dimension < 0) return;
    const auto d = static_cast<size_t>(transposition.dimension);
    size_t first = 0, g = 0;
    for (; d >= first + groups_[g].count; ++g) first += groups_[g].count;
    if (g + 1 == groups_.size()) return;
    tiled_ = g;
    const int64_t rows = groups_[g].size, lanes = FullWidth(kernel_);
    in_registers_ = transposition.is_only && kernel_.instructions.size() <= kFewInstructions &&
                    rows >= lanes && groups_.back().size >= lanes && kernel_.overwritten.empty();
    const auto bytes = hlo::StorageBytes(kernel_.module.shape(kernel_.roots[0]).element_type());
    tile_ = in_registers_ ? lanes : std::min<int64_t>(rows, kLine / bytes);
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
      Value* mask = ComputesOnce() ? LanesBelow(i, to) : nullptr;
      Value* at = mask != nullptr ? i : LaneStart(i, to);
      if (in_registers_) return Square(math, emitter, outer, tile, at);
      function_.Loop(tile, end, 1, [&](Value* t) {
        outer[tiled_] = math.FromScalar(t);
        Vector(math, emitter, outer, Lanes(at), mask);
      });
    });
  }

  // As many rows as lanes: computed with lanes across the rows, as memory is read, and turned.
  void Square(IndexMath& math, ElementEmitter& emitter, std::vector<LaneNumber> outer, Value* tile,
              Value* at) {
    Builder& b = function_.builder();
    const int64_t rows = groups_[tiled_].size;
    const bool is_even = rows % width_ == 0;
    Value* first = is_even ? tile : function_.Smaller(tile, function_.Int(rows - width_));
    const auto index_at = [&](const LaneNumber& row, Value* lane) {
      Index index;
      for (size_t g = 0; g < groups_.size(); ++g) {
        const LaneNumber& number = g == tiled_ ? row : outer[g];
        index.groups.push_back(
            {groups_[g].count, g + 1 < groups_.size() ? number : math.FromScalar(lane)});
      }
      return index;
    };
    for (size_t k = 0; k < kernel_.roots.size(); ++k) {
      const hlo::ElementType type = kernel_.module.shape(kernel_.roots[k]).element_type();
      std::vector<Value*> square;
      for (int lane = 0; lane < width_; ++lane) {
        emitter.Forget();
        const LaneNumber across{first, 1, nullptr, is_even ? width_ : 1};
        Value* value =
            emitter.Emit(kernel_.roots[k], index_at(across, b.CreateAdd(at, function_.Int(lane))));
        if (!value->getType()->isVectorTy()) {
          value = b.CreateVectorSplat(static_cast<unsigned>(width_), value);
        }
        square.push_back(ToMemory(b, value, type));
      }
      Turn(square);
      for (int row = 0; row < width_; ++row) {
        const Index index = index_at(math.FromScalar(b.CreateAdd(first, function_.Int(row))), at);
        Value* address =
            b.CreateGEP(MemoryType(b, type), function_.result(k), math.Offset(index, sizes_).base);
        b.CreateAlignedStore(square[static_cast<size_t>(row)], address,
                             llvm::Align(static_cast<uint64_t>(hlo::StorageBytes(type))));
      }
    }
  }

  // Transposes a square of vectors: at each distance, the blocks off the diagonal change places.
  void Turn(std::vector<Value*>& square) {
    Builder& b = function_.builder();
    for (int distance = width_ / 2; distance > 0; distance /= 2) {
      std::vector<int> upper, lower;
      for (int lane = 0; lane < width_; ++lane) {
        const bool is_right = (lane & distance) != 0;
        upper.push_back(is_right ? width_ + lane - distance : lane);
        lower.push_back(is_right ? width_ + lane : lane + distance);
      }
      for (int row = 0; row < width_; ++row) {
        if ((row & distance) != 0) continue;
        Value*& above = square[static_cast<size_t>(row)];
        Value*& below = square[static_cast<size_t>(row + distance)];
        Value* turned = b.CreateShuffleVector(above, below, upper);
        below = b.CreateShuffleVector(above, below, lower);
        above = turned;
      }
    }
  }

  // Where the vector at i begins. A last one that would reach beyond is moved back: what it
  // computes again is the same.
  Value* LaneStart(Value* i, Value* to) {
    if (IsEven()) return i;
    return function_.Smaller(i, function_.builder().CreateSub(to, function_.Int(width_)));
  }
  bool IsEven() const { return row_ % width_ == 0; }
  // Where results lie over operands nothing can be computed again: what was read is gone, and other
  // elements may be another thread's.
  bool ComputesOnce() const { return !kernel_.overwritten.empty() && !IsEven(); }
  // Which lanes of the vector at i lie before `to`.
  Value* LanesBelow(Value* i, Value* to) {
    Builder& b = function_.builder();
    std::vector<llvm::Constant*> lanes;
    for (int lane = 0; lane < width_; ++lane)
      lanes.push_back(b.getInt64(static_cast<uint64_t>(lane)));
    Value* left = b.CreateVectorSplat(static_cast<unsigned>(width_), b.CreateSub(to, i));
    return b.CreateICmpSLT(llvm::ConstantVector::get(lanes), left);
  }

  // Elements [from, to) of a row.
  void Row(IndexMath& math, ElementEmitter& emitter, const std::vector<LaneNumber>& outer,
           Value* from, Value* to) {
    Builder& b = function_.builder();
    if (unroll_ > 1) {
      const int64_t step = unroll_ * width_;
      Value* whole = b.CreateSDiv(b.CreateSub(to, from), function_.Int(step));
      Value* end = b.CreateAdd(from, b.CreateMul(whole, function_.Int(step)));
      function_.Loop(from, end, step, [&](Value* i) {
        for (int64_t first = 0; first < step; first += width_) {
          Vector(math, emitter, outer,
                 {b.CreateAdd(i, function_.Int(first)), 1, nullptr, step, first});
        }
      });
      from = end;
    }
    if (!ComputesOnce()) {
      return function_.Loop(from, to, width_, [&](Value* i) {
        Vector(math, emitter, outer, Lanes(LaneStart(i, to)));
      });
    }
    Value* vectors = b.CreateSDiv(b.CreateSub(to, from), function_.Int(width_));
    Value* end = b.CreateAdd(from, b.CreateMul(vectors, function_.Int(width_)));
    function_.Loop(from, end, width_, [&](Value* i) { Vector(math, emitter, outer, Lanes(i)); });
    function_.Loop(end, to, width_,
                   [&](Value* i) { Vector(math, emitter, outer, Lanes(i), LanesBelow(i, to)); });
  }
  LaneNumber Lanes(Value* at) const { return LanesFrom(at, width_, std::gcd(row_, width_)); }

  // Elements where the mask lets them in; null: all lanes. All are read before any is written.
  void Vector(IndexMath& math, ElementEmitter& emitter, const std::vector<LaneNumber>& outer,
              const LaneNumber& lanes, Value* mask = nullptr) {
    emitter.Forget();
    Index index;
    index.mask = mask;
    for (size_t g = 0; g < groups_.size(); ++g) {
      index.groups.push_back({groups_[g].count, g + 1 < groups_.size() ? outer[g] : lanes});
    }
    const LaneNumber offset = math.Offset(index, sizes_);
    const auto store = [&](size_t k, Value* value) {
      const hlo::ElementType type = kernel_.module.shape(kernel_.roots[k]).element_type();
      if (mask != nullptr) {
        return function_.StoreWhere(mask, value, type, function_.result(k), offset.base);
      }
      function_.Store(value, type, function_.result(k), offset.base, width_);
    };
    std::vector<Value*> values;
    for (size_t k = 0; k < kernel_.roots.size(); ++k) {
      values.push_back(emitter.Emit(kernel_.roots[k], index));
      if (kernel_.overwritten.empty()) store(k, values[k]);
    }
    for (size_t k = 0; k < values.size() && !kernel_.overwritten.empty(); ++k) store(k, values[k]);
  }

  const Kernel& kernel_;
  KernelFunction function_;
  std::span<const int64_t> sizes_;
  std::vector<LoopGroup> groups_;
  int64_t total_ = 1, row_ = 1, piece_ = 1, pieces_ = 1;
  int64_t units_ = 1;   // in a grain
  int64_t unroll_ = 1;  // vectors of an iteration
  size_t tiled_ = 0;    // the group whose rows are gone through by tiles, where there are any
  int64_t tile_ = 1;
  bool in_registers_ = false;  // tiles are squares that are turned in registers
  int width_ = 1;
};

// Small arrays that are taken apart and put together: each element of each value once, in
// registers.
EmittedKernel EmitUnrolled(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  KernelFunction function(module, kernel, name, -1);
  IndexMath math(function.builder(), 1, 64);
  ElementEmitter emitter(kernel.module, math, function.Arrays());
  emitter.UnifyIndices();
  const auto sizes = kernel.module.shape(kernel.roots[0]).dimensions();
  const int64_t count = ProductOf(sizes);
  std::vector<Value*> values;
  for (const InstructionId root : kernel.roots) {
    for (int64_t i = 0; i < count; ++i) {
      Index index;
      if (!sizes.empty()) index.groups.push_back({sizes.size(), math.Constant(i)});
      values.push_back(emitter.Emit(root, std::move(index)));
    }
  }
  // Results may be in the memory of operands.
  auto value = values.begin();
  for (size_t k = 0; k < kernel.roots.size(); ++k) {
    const hlo::ElementType type = kernel.module.shape(kernel.roots[k]).element_type();
    for (int64_t i = 0; i < count; ++i) {
      function.Store(*value++, type, function.result(k), function.Int(i), 1);
    }
  }
  function.Finish();
  EmittedKernel out =
      InGrains(name, 1, 1, count * BytesPerElement(kernel, count), kernel.roots.size());
  out.is_complete = !emitter.has_failed();
  return out;
}

}  // namespace

EmittedKernel EmitLoop(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  if (IsUnrolled(kernel)) return EmitUnrolled(module, kernel, name);
  return LoopKernel(module, kernel, name).Emit(name);
}

EmittedKernel InGrains(const std::string& name, int64_t units, int64_t grain, int64_t unit_bytes,
                       size_t results) {
  EmittedKernel out;
  out.code.name = name;
  out.code.grains = (units - 1) / grain + 1;
  out.code.grain_bytes = grain * unit_bytes;
  out.code.in_place.assign(results, -1);
  return out;
}

namespace {

// Of what has no kernel there.
EmittedKernel EmitNothing(llvm::Module&, const Kernel&, const std::string&) { return {}; }

// What writes the kernels of a root on either side.
struct Emitters {
  EmittedKernel (*cpu)(llvm::Module& module, const Kernel& kernel, const std::string& name);
  EmittedKernel (*gpu)(llvm::Module& module, const Kernel& kernel, const std::string& name);
};
constexpr hlo::OpcodeTable<Emitters> kEmitters(
    {
        {Opcode::kCholesky, {EmitLinearAlgebra, EmitGpuFactor}},
        {Opcode::kConcatenate, {EmitConcatenate, EmitGpuLoop}},
        {Opcode::kConvolution, {EmitConvolution, EmitGpuConvolution}},
        {Opcode::kCustomCall, {EmitGpuFactor, EmitGpuFactor}},
        {Opcode::kDot, {EmitDot, EmitGpuDot}},
        {Opcode::kDynamicUpdateSlice, {EmitUpdate, EmitUpdate}},
        {Opcode::kFft, {EmitGpuFft, EmitGpuFft}},
        {Opcode::kReduce, {EmitReduce, EmitGpuReduce}},
        {Opcode::kReduceWindow, {EmitReduceWindow, EmitReduceWindow}},
        {Opcode::kRngBitGenerator, {EmitRandomBits, EmitRandomBits}},
        {Opcode::kScatter, {EmitScatter, EmitGpuScatter}},
        {Opcode::kSelectAndScatter, {EmitSelectAndScatter, EmitSelectAndScatter}},
        {Opcode::kSort, {EmitSort, EmitGpuSort}},
        {Opcode::kTopK, {EmitSort, EmitNothing}},
        {Opcode::kTriangularSolve, {EmitLinearAlgebra, EmitGpuSolve}},
    },
    {EmitLoop, EmitGpuLoop});

}  // namespace

InstructionId DotOf(const Kernel& kernel) {
  for (const InstructionId id : kernel.instructions) {
    if (kernel.module[id].opcode == hlo::Opcode::kDot) return id;
  }
  return kernel.roots[0];
}

EmittedKernel EmitKernel(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  if (const auto form = compile::RowFormOf(kernel.module, kernel.instructions, kernel.roots)) {
    return kernel.is_for_gpu() ? EmitGpuRows(module, kernel, name, *form)
                               : EmitRows(module, kernel, name, *form);
  }
  if (kernel.is_for_gpu() && kernel.module[DotOf(kernel)].opcode == Opcode::kDot) {
    return EmitGpuDot(module, kernel, name);
  }
  const Emitters& emitters = kEmitters[kernel.module[kernel.roots[0]].opcode];
  return (kernel.is_for_gpu() ? emitters.gpu : emitters.cpu)(module, kernel, name);
}

}  // namespace hloscope::codegen
