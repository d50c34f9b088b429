// Kernels that multiply matrices of any types: dots in every form. A unit is some rows of a few
// vectors of columns of one product. For a run of the dimension that is summed up, what it needs of
// the right side is brought side by side and into the type of the sums, unless the rows are few;
// then each block of rows sums up the run in registers, and adds that to its sums in memory.
#include <algorithm>

#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/kernel_function.h"
#include "core/codegen/emit/loop_space.h"
#include "core/codegen/emit/products.h"
#include "core/codegen/math/functions.h"
#include "core/compile/dot_form.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::codegen {

using hlo::InstructionId;
using llvm::Value;

namespace {

constexpr int64_t kDotRun = 256;  // products summed up before their sum joins others
constexpr int64_t kFewRows = 3;   // for which the right side is read as it lies

// The sums of a block stay in registers.
struct BlockForm {
  int64_t rows, vectors;
};
BlockForm BlockFormOf(const llvm::Module& module, const Products& products, int64_t rows) {
  const auto parts = static_cast<int64_t>(products.parts());
  // Without AVX-512 a vector is two registers, and there are half as many of them.
  const bool is_wide = module.getModuleFlag(kHasAvx512) != nullptr;
  if (rows < kFewRows) return {1, std::max<int64_t>(1, (is_wide ? 12 : 6) / parts)};
  return is_wide ? BlockForm{4, 4 / parts} : BlockForm{6 / parts, 1};
}

// The dimensions of an operand by what they are to the product.
struct Side {
  InstructionId id;
  std::span<const int64_t> sizes;
  std::vector<size_t> batch, sums;
  std::vector<size_t> outer, block;  // free ones; those of the block are neighbours
  int64_t block_size = 1;
};

class DotKernel {
 public:
  DotKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : kernel_(kernel),
        name_(name),
        dot_(kernel.roots[0]),
        products_(kernel.module, dot_),
        runs_(products_.OfRuns(kDotRun)),
        function_(module, kernel, name, -1),
        left_(SideOf(0)),
        right_(SideOf(1)) {
    width_ = LanesAlong(kernel, std::min<int64_t>(products_.width(), right_.block_size));
    rows_ = std::min(compile::kDotUnitRows, left_.block_size);
    block_ = BlockFormOf(module, products_, rows_);
    vectors_ = std::min(block_.vectors, (right_.block_size - 1) / width_ + 1);
    function_.AllowRegisters(2 * kMaxRegisters - 1);
  }

  EmittedKernel Emit() {
    const int64_t row_units = (left_.block_size - 1) / rows_ + 1;
    const int64_t column_blocks = (right_.block_size - 1) / (vectors_ * width_) + 1;
    int64_t depth = 1, turns = 1;
    for (const size_t d : left_.sums) depth *= left_.sizes[d];
    for (const size_t d : left_.batch) turns *= left_.sizes[d];
    for (const Side* side : {&left_, &right_}) {
      for (const size_t d : side->outer) turns *= side->sizes[d];
    }
    const int64_t units = turns * row_units * column_blocks;
    const int64_t unit = rows_ * vectors_ * width_ * depth;
    const int64_t grain = std::clamp<int64_t>(GrainLimit(kernel_, kGrainProducts) / unit, 1, units);
    EmittedKernel out = InGrains(name_, units, grain, unit, 1);
    Builder& b = function_.builder();
    IndexMath math(b, width_, width_ == 1 ? 64 : LaneBits(kernel_));
    ElementEmitter emitter(kernel_.module, math, function_.Arrays());
    math_ = &math;
    emitter_ = &emitter;
    sums_ = Room(rows_);
    if (packs()) packed_ = Room(std::min(kDotRun, DepthOfRuns()));
    function_.ForUnits(units, grain,
                       [&](Value* number) { Unit(number, row_units, column_blocks); });
    function_.Finish();
    out.is_complete = !emitter.has_failed();
    return out;
  }

 private:
  using Numbers = std::vector<LaneNumber>;  // by dimension of an operand; of a block, by its first

  Value* Int(int64_t value) { return function_.Int(value); }
  bool packs() const { return rows_ >= kFewRows; }

  Side SideOf(size_t which) const {
    const hlo::DotDims dims = hlo::DotDimsOf(kernel_.module, dot_);
    const auto& [batch, sums, group] = dims.side(which);
    Side side;
    side.id = kernel_.module.operands(dot_)[which];
    side.sizes = kernel_.module.shape(side.id).dimensions();
    side.batch.assign(batch.begin(), batch.end());
    side.sums.assign(sums.begin(), sums.end());
    const auto free = dims.side(which).Free(side.sizes.size());
    side.outer.assign(free.begin(), free.end());
    while (!side.outer.empty() &&
           (side.block.empty() || side.outer.back() + 1 == side.block.front())) {
      side.block.insert(side.block.begin(), side.outer.back());
      side.block_size *= side.sizes[side.outer.back()];
      side.outer.pop_back();
    }
    return side;
  }

  // `rest` taken apart; the last dimension varies fastest.
  Value* Split(const Side& side, const std::vector<size_t>& dimensions, Value* rest,
               Numbers& numbers) {
    for (size_t i = dimensions.size(); i-- > 0;) {
      numbers[dimensions[i]] = math_->TakeLast(rest, side.sizes[dimensions[i]]);
    }
    return rest;
  }

  // ---- Vectors in memory: all of a row side by side, part by part.

  Value* Room(int64_t rows) {
    llvm::BasicBlock& entry = function_.builder().GetInsertBlock()->getParent()->getEntryBlock();
    Builder at(&entry, entry.begin());
    const int64_t count = rows * vectors_ * static_cast<int64_t>(products_.parts());
    auto* room = at.CreateAlloca(VectorType(), at.getInt64(static_cast<uint64_t>(count)));
    room->setAlignment(llvm::Align(64));
    return room;
  }
  // The same for sums and runs, whose lanes are of one width.
  llvm::Type* VectorType() { return products_.Zero(function_.builder(), width_)[0]->getType(); }
  Value* Place(Value* room, Value* row, int64_t vector, size_t part) {
    Builder& b = function_.builder();
    const auto parts = static_cast<int64_t>(products_.parts());
    Value* at = b.CreateAdd(b.CreateMul(row, Int(vectors_ * parts)),
                            Int(vector * parts + static_cast<int64_t>(part)));
    return b.CreateGEP(VectorType(), room, at);
  }
  Products::Number Load(const Products& of, Value* room, Value* row, int64_t vector) {
    Builder& b = function_.builder();
    Products::Number number = of.Zero(b, width_);
    for (size_t part = 0; part < number.size(); ++part) {
      number[part] = b.CreateLoad(number[part]->getType(), Place(room, row, vector, part));
    }
    return number;
  }
  void Save(const Products::Number& number, Value* room, Value* row, int64_t vector) {
    Builder& b = function_.builder();
    for (size_t part = 0; part < number.size(); ++part) {
      Value* value = number[part];
      if (width_ > 1 && !value->getType()->isVectorTy()) {
        value = b.CreateVectorSplat(static_cast<unsigned>(width_), value);
      }
      b.CreateStore(value, Place(room, row, vector, part));
    }
  }

  // ---- A unit.

  void Unit(Value* unit, int64_t row_units, int64_t column_blocks) {
    Builder& b = function_.builder();
    left_at_.assign(left_.sizes.size(), math_->Constant(0));
    right_at_.assign(right_.sizes.size(), math_->Constant(0));
    Value* rest = unit;
    Value* row_unit = math_->TakeLast(rest, row_units).base;
    Value* column_block = math_->TakeLast(rest, column_blocks).base;
    // Where rows and columns of this unit begin in the result, which has batch, left and right
    // dimensions in this order.
    Value* right_outer = rest;
    rest = Split(right_, right_.outer, rest, right_at_);
    right_outer = b.CreateSub(right_outer, b.CreateMul(rest, Int(OuterSize(right_))));
    Value* left_outer = rest;
    rest = Split(left_, left_.outer, rest, left_at_);
    Split(left_, left_.batch, rest, left_at_);
    for (size_t i = 0; i < left_.batch.size(); ++i) {
      right_at_[right_.batch[i]] = left_at_[left_.batch[i]];
    }
    first_row_ = b.CreateMul(row_unit, Int(rows_));
    Value* count = function_.Smaller(Int(rows_), b.CreateSub(Int(left_.block_size), first_row_));
    columns_.clear();
    for (int64_t v = 0; v < vectors_; ++v) {
      Value* at = b.CreateAdd(b.CreateMul(column_block, Int(vectors_ * width_)), Int(v * width_));
      columns_.push_back(function_.Smaller(at, Int(right_.block_size - width_)));
    }
    function_.Loop(Int(0), count, 1, [&](Value* row) {
      for (int64_t v = 0; v < vectors_; ++v) {
        Save(products_.Zero(function_.builder(), width_), sums_, row, v);
      }
    });
    Depth(0, count);
    function_.Loop(Int(0), count, 1, [&](Value* row) {
      Value* at =
          b.CreateAdd(b.CreateMul(left_outer, Int(left_.block_size)), b.CreateAdd(first_row_, row));
      at = b.CreateAdd(b.CreateMul(at, Int(OuterSize(right_))), right_outer);
      at = b.CreateMul(at, Int(right_.block_size));
      for (int64_t v = 0; v < vectors_; ++v) {
        function_.Store(products_.Result(b, Load(products_, sums_, row, v)),
                        kernel_.module.shape(dot_).element_type(), function_.result(0),
                        b.CreateAdd(at, columns_[static_cast<size_t>(v)]), width_);
      }
    });
  }
  static int64_t OuterSize(const Side& side) {
    int64_t size = 1;
    for (const size_t d : side.outer) size *= side.sizes[d];
    return size;
  }

  // ---- Sums: the last of the dimensions that are summed up in runs.

  int64_t DepthOfRuns() const { return left_.sums.empty() ? 1 : left_.sizes[left_.sums.back()]; }

  void Depth(size_t level, Value* count) {
    if (level + 1 < left_.sums.size()) {
      const size_t left = left_.sums[level], right = right_.sums[level];
      function_.Loop(Int(0), Int(left_.sizes[left]), 1, [&](Value* k) {
        left_at_[left] = right_at_[right] = math_->FromScalar(k);
        Depth(level + 1, count);
      });
      return;
    }
    const int64_t depth = DepthOfRuns();
    function_.Loop(Int(0), Int(depth), kDotRun, [&](Value* from) {
      Builder& b = function_.builder();
      Value* length = function_.Smaller(Int(kDotRun), b.CreateSub(Int(depth), from));
      if (packs()) Pack(from, length);
      const int64_t rows = block_.rows;
      Value* whole = b.CreateMul(b.CreateUDiv(count, Int(rows)), Int(rows));
      function_.Loop(Int(0), whole, rows, [&](Value* row) { Block(row, rows, from, length); });
      if (rows == 1) return;
      function_.Loop(whole, count, 1, [&](Value* row) { Block(row, 1, from, length); });
    });
  }
  void SetDepth(Value* k) {
    if (left_.sums.empty()) return;
    left_at_[left_.sums.back()] = right_at_[right_.sums.back()] = math_->FromScalar(k);
  }

  void Pack(Value* from, Value* length) {
    function_.Loop(Int(0), length, 1, [&](Value* i) {
      Builder& b = function_.builder();
      emitter_->Forget();
      SetDepth(b.CreateAdd(from, i));
      for (int64_t v = 0; v < vectors_; ++v) Save(RightAt(v), packed_, i, v);
    });
  }
  Products::Number RightAt(int64_t vector) {
    const LaneNumber lanes = LanesFrom(columns_[static_cast<size_t>(vector)], width_);
    return runs_.Right(function_.builder(),
                       emitter_->Emit(right_.id, IndexOf(right_, right_at_, lanes)));
  }

  // Sums up a run for some rows of the unit.
  void Block(Value* first, int64_t rows, Value* from, Value* length) {
    Builder& b = function_.builder();
    const auto parts = static_cast<ptrdiff_t>(products_.parts());
    std::vector<Value*> sums;
    for (int64_t i = 0; i < rows * vectors_; ++i) {
      const auto zero = runs_.Zero(b, width_);
      sums.insert(sums.end(), zero.begin(), zero.end());
    }
    const auto sum_at = [&](int64_t row, int64_t vector) {
      const auto at = sums.begin() + (row * vectors_ + vector) * parts;
      return Products::Number(at, at + parts);
    };
    sums =
        function_.Loop(Int(0), length, 1, sums, [&](Value* i, const std::vector<Value*>& so_far) {
          emitter_->Forget();
          SetDepth(b.CreateAdd(from, i));
          std::vector<Products::Number> y;
          for (int64_t v = 0; v < vectors_; ++v) {
            y.push_back(packs() ? Load(runs_, packed_, i, v) : RightAt(v));
          }
          std::vector<Value*> next;
          sums = so_far;
          for (int64_t r = 0; r < rows; ++r) {
            const LaneNumber row =
                math_->FromScalar(b.CreateAdd(b.CreateAdd(first_row_, first), Int(r)));
            const auto x = runs_.Left(b, emitter_->Emit(left_.id, IndexOf(left_, left_at_, row)));
            for (int64_t v = 0; v < vectors_; ++v) {
              const auto sum = runs_.Add(b, sum_at(r, v), x, y[static_cast<size_t>(v)]);
              next.insert(next.end(), sum.begin(), sum.end());
            }
          }
          return next;
        });
    for (int64_t r = 0; r < rows; ++r) {
      Value* row = b.CreateAdd(first, Int(r));
      for (int64_t v = 0; v < vectors_; ++v) {
        const auto sum = products_.FromRun(b, runs_, sum_at(r, v));
        Save(products_.Add(b, Load(products_, sums_, row, v), sum), sums_, row, v);
      }
    }
  }

  Index IndexOf(const Side& side, const Numbers& numbers, const LaneNumber& block) const {
    Index index;
    for (size_t d = 0; d < side.sizes.size(); ++d) {
      if (!side.block.empty() && d == side.block.front()) {
        index.groups.push_back({side.block.size(), block});
        d = side.block.back();
        continue;
      }
      index.groups.push_back({1, numbers[d]});
    }
    return index;
  }

  const Kernel& kernel_;
  const std::string& name_;
  InstructionId dot_;
  Products products_, runs_;
  KernelFunction function_;
  Side left_, right_;
  int width_ = 1;
  BlockForm block_ = {1, 1};
  int64_t rows_ = 1, vectors_ = 1;  // of a unit, of a block
  IndexMath* math_ = nullptr;
  ElementEmitter* emitter_ = nullptr;
  Numbers left_at_, right_at_;
  Value* first_row_ = nullptr;
  std::vector<Value*> columns_;                // where the unit's vectors begin
  Value *sums_ = nullptr, *packed_ = nullptr;  // rooms
};

}  // namespace

EmittedKernel EmitDot(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  return DotKernel(module, kernel, name).Emit();
}

}  // namespace hloscope::codegen
