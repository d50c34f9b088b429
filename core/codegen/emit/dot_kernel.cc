// Kernels that multiply matrices of any types: dots in every form. A unit is some rows of a few
// vectors of columns of one product. For a run of the dimension that is summed up, what it needs of
// the right side is brought side by side and into the type of the sums, unless the rows are few;
// then each block of rows sums up the run in registers, and adds that to its sums in memory.
#include <algorithm>
#include <array>
#include <optional>

#include "core/codegen/emit/byte_products.h"
#include "core/codegen/emit/dot_side.h"
#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/kernel_function.h"
#include "core/codegen/emit/loop_space.h"
#include "core/codegen/emit/products.h"
#include "core/codegen/math/functions.h"
#include "core/compile/dot_form.h"

namespace hloscope::codegen {

using hlo::InstructionId;
using llvm::Value;

namespace {

constexpr int64_t kDotRun = 256;  // products summed up before their sum joins others
constexpr int64_t kGroup = compile::kByteGroup;

// The sums of a block stay in registers.
struct BlockForm {
  int64_t rows, vectors;
};
BlockForm BlockFormOf(const llvm::Module& module, const Products& products, int64_t rows) {
  const auto parts = static_cast<int64_t>(products.parts());
  // Without AVX-512 a vector is two registers, and there are half as many of them.
  const bool is_wide = module.getModuleFlag(kHasAvx512) != nullptr;
  if (rows < compile::kDotFewRows) return {1, std::max<int64_t>(1, (is_wide ? 12 : 6) / parts)};
  return is_wide ? BlockForm{4, 4 / parts} : BlockForm{6 / parts, 1};
}

class DotKernel {
 public:
  DotKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : kernel_(kernel),
        name_(name),
        dot_(kernel.roots[0]),
        products_(kernel.module, dot_),
        runs_(products_.OfRuns(kDotRun)),
        function_(module, kernel, name, -1),
        left_(kernel.module, dot_, 0),
        right_(kernel.module, dot_, 1) {
    width_ = LanesAlong(kernel, std::min<int64_t>(products_.width(), right_.block_size));
    rows_ = std::min(compile::kDotUnitRows, left_.block_size);
    block_ = BlockFormOf(module, products_, rows_);
    vectors_ = std::min(block_.vectors, (right_.block_size - 1) / width_ + 1);
    TakeBytes(module);
    function_.AllowRegisters(2 * kMaxRegisters - 1);
  }

  EmittedKernel Emit() {
    const int64_t row_units = (left_.block_size - 1) / rows_ + 1;
    const int64_t column_blocks = (right_.block_size - 1) / (vectors_ * width_) + 1;
    int64_t depth = 1, turns = 1;
    for (const size_t d : left_.sums) depth *= left_.sizes[d];
    for (const size_t d : left_.batch) turns *= left_.sizes[d];
    for (const DotSide* side : {&left_, &right_}) {
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
    left_array_ = function_.Arrays().at(left_.id.index).address;
    sums_ = Room(rows_);
    if (packs()) packed_ = Room(std::min(kDotRun, DepthOfRuns()));
    if (bytes_ && bytes_->has_excess()) excess_ = Room(1);
    function_.ForUnits(units, grain,
                       [&](Value* number) { Unit(number, row_units, column_blocks); });
    function_.Finish();
    out.is_complete = !emitter.has_failed();
    return out;
  }

 private:
  using Numbers = std::vector<LaneNumber>;  // by dimension of an operand; of a block, by its first

  Value* Int(int64_t value) { return function_.Int(value); }
  bool packs() const { return rows_ >= compile::kDotFewRows; }

  // Where the left side has a group of bytes of a row in 32 bits.
  void TakeBytes(const llvm::Module& module) {
    if (kernel_.is_for_gpu() || !compile::TakesByteProducts(kernel_.module, dot_)) return;
    bytes_ = ByteProducts::Of(module, kernel_.module, dot_, width_);
    if (!bytes_) return;
    ByteProducts::AllowIn(function_.function());
    runs_ = products_;
  }

  // `rest` taken apart; the last dimension varies fastest.
  Value* Split(const DotSide& side, const std::vector<size_t>& dimensions, Value* rest,
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
    right_outer = b.CreateSub(right_outer, b.CreateMul(rest, Int(right_.OuterSize())));
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
      at = b.CreateAdd(b.CreateMul(at, Int(right_.OuterSize())), right_outer);
      at = b.CreateMul(at, Int(right_.block_size));
      for (int64_t v = 0; v < vectors_; ++v) {
        function_.Store(products_.Result(b, Load(products_, sums_, row, v)),
                        kernel_.module.shape(dot_).element_type(), function_.result(0),
                        b.CreateAdd(at, columns_[static_cast<size_t>(v)]), width_);
      }
    });
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
    const int64_t depth = DepthOfRuns(), run = bytes_ ? kGroup * kDotRun : kDotRun;
    function_.Loop(Int(0), Int(depth), run, [&](Value* from) {
      Builder& b = function_.builder();
      Value* length = function_.Smaller(Int(run), b.CreateSub(Int(depth), from));
      if (bytes_) {
        length = b.CreateUDiv(b.CreateAdd(length, Int(kGroup - 1)), Int(kGroup));
        PackGroups(from, length);
      } else if (packs()) {
        Pack(from, length);
      }
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
  Products::Number LeftAt(Value* row) {
    return runs_.Left(function_.builder(),
                      emitter_->Emit(left_.id, left_.IndexOf(left_at_, math_->FromScalar(row))));
  }
  Products::Number RightAt(int64_t vector) {
    const LaneNumber lanes = LanesFrom(columns_[static_cast<size_t>(vector)], width_);
    return runs_.Right(function_.builder(),
                       emitter_->Emit(right_.id, right_.IndexOf(right_at_, lanes)));
  }

  // Behind the depth the right side has zeros.
  void PackGroups(Value* from, Value* groups) {
    const auto none = products_.Zero(function_.builder(), width_)[0];
    std::vector<Value*> excess(excess_ == nullptr ? 0 : static_cast<size_t>(vectors_), none);
    excess = function_.Loop(Int(0), groups, 1, excess, [&](Value* i, std::vector<Value*> so_far) {
      Builder& b = function_.builder();
      emitter_->Forget();
      Value* first = b.CreateAdd(from, b.CreateMul(i, Int(kGroup)));
      for (int64_t v = 0; v < vectors_; ++v) {
        std::array<Value*, kGroup> depths;
        for (int64_t k = 0; k < kGroup; ++k) {
          depths[static_cast<size_t>(k)] = ByteAt(v, b.CreateAdd(first, Int(k)));
        }
        Value* group = ByteProducts::Grouped(b, depths);
        Save({group}, packed_, i, v);
        if (excess_ == nullptr) continue;
        Value*& sum = so_far[static_cast<size_t>(v)];
        sum = bytes_->AddExcess(b, sum, group);
      }
      return so_far;
    });
    for (size_t v = 0; v < excess.size(); ++v) {
      Save({excess[v]}, excess_, Int(0), static_cast<int64_t>(v));
    }
  }
  Value* ByteAt(int64_t vector, Value* k) {
    Builder& b = function_.builder();
    const int64_t depth = DepthOfRuns();
    const bool is_whole = depth % kGroup == 0;
    SetDepth(is_whole ? k : function_.Smaller(k, Int(depth - 1)));
    const LaneNumber lanes{columns_[static_cast<size_t>(vector)], 1, nullptr, 1};
    Value* bytes = emitter_->Emit(right_.id, right_.IndexOf(right_at_, lanes));
    if (is_whole) return bytes;
    return b.CreateSelect(b.CreateICmpSLT(k, Int(depth)), bytes,
                          llvm::Constant::getNullValue(bytes->getType()));
  }
  // A group of a row. The last one may begin before its place, so that it ends with the row.
  Value* LeftGroup(Value* row, Value* from, Value* i) {
    Builder& b = function_.builder();
    const int64_t depth = DepthOfRuns();
    Value* k = b.CreateAdd(from, b.CreateMul(i, Int(kGroup)));
    Value* at = depth % kGroup == 0 ? k : function_.Smaller(k, Int(depth - kGroup));
    SetDepth(at);
    const LaneNumber offset =
        math_->Offset(left_.IndexOf(left_at_, math_->FromScalar(row)), left_.sizes);
    Value* address = b.CreateGEP(b.getInt8Ty(), left_array_, offset.base);
    Value* group = b.CreateAlignedLoad(b.getInt32Ty(), address, llvm::Align(1));
    if (at != k) {
      Value* bits = b.CreateMul(b.CreateTrunc(b.CreateSub(k, at), b.getInt32Ty()), b.getInt32(8));
      group = b.CreateLShr(group, bits);
    }
    return bytes_->Left(b, group);
  }

  // Sums up a run for some rows of the unit.
  void Block(Value* first, int64_t rows, Value* from, Value* length) {
    Builder& b = function_.builder();
    const auto parts = static_cast<ptrdiff_t>(products_.parts());
    std::vector<Value*> sums;
    for (int64_t i = 0; i < rows * vectors_; ++i) {
      auto zero = runs_.Zero(b, width_);
      if (excess_ != nullptr) {
        zero[0] = b.CreateSub(zero[0], Load(runs_, excess_, Int(0), i % vectors_)[0]);
      }
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
            Value* row = b.CreateAdd(b.CreateAdd(first_row_, first), Int(r));
            const auto x = bytes_ ? Products::Number{LeftGroup(row, from, i)} : LeftAt(row);
            for (int64_t v = 0; v < vectors_; ++v) {
              const auto& of_vector = y[static_cast<size_t>(v)];
              const auto sum =
                  bytes_ ? Products::Number{bytes_->Add(b, sum_at(r, v)[0], x[0], of_vector[0])}
                         : runs_.Add(b, sum_at(r, v), x, of_vector);
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

  const Kernel& kernel_;
  const std::string& name_;
  InstructionId dot_;
  Products products_, runs_;
  KernelFunction function_;
  DotSide left_, right_;
  int width_ = 1;
  BlockForm block_ = {1, 1};
  int64_t rows_ = 1, vectors_ = 1;  // of a unit, of a block
  IndexMath* math_ = nullptr;
  ElementEmitter* emitter_ = nullptr;
  Numbers left_at_, right_at_;
  Value* first_row_ = nullptr;
  std::vector<Value*> columns_;                // where the unit's vectors begin
  Value *sums_ = nullptr, *packed_ = nullptr;  // rooms
  std::optional<ByteProducts> bytes_;          // where products are of groups of bytes
  Value* excess_ = nullptr;                    // a room, where they have an excess
  Value* left_array_ = nullptr;
};

}  // namespace

EmittedKernel EmitDot(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  return DotKernel(module, kernel, name).Emit();
}

}  // namespace hloscope::codegen
