// Products of bf16 or f16 matrices by the tensor cores of a GPU (PTX ISA: mma.m16n8k16, whose
// fragments are laid out as there), summed up in f32. A block of four warps makes a square of the
// result, a warp a quarter of it; what both sides have of a part of the depth lies in memory that
// the threads share, rows of which are as long as lets no two threads of a warp want one bank.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>

#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/gpu_block.h"
#include "core/compile/dot_form.h"

namespace hloscope::codegen {
namespace {

using hlo::ElementType;
using hlo::InstructionId;
using llvm::Value;

constexpr int64_t kThreads = 128, kTile = 64, kDepth = 32;
constexpr int64_t kPitch = kDepth + 8;                   // elements of a row in shared memory
constexpr int64_t kRows = 16, kColumns = 8, kStep = 16;  // of an instruction
constexpr int64_t kDown = kTile / 2 / kRows, kAlong = kTile / 2 / kColumns;  // of a warp
constexpr int64_t kAtOnce = 4;  // elements that lie side by side

class GpuTensorDotKernel {
 public:
  GpuTensorDotKernel(llvm::Module& module, const Kernel& kernel, const std::string& name,
                     const compile::DotForm& form)
      : kernel_(kernel),
        form_(form),
        function_(module, kernel, name, -1, kThreads),
        block_(function_),
        b_(function_.builder()),
        type_(kernel.module.shape(kernel.module.operands(kernel.roots[0])[0]).element_type()) {}

  EmittedKernel Emit(const std::string& name) {
    const int64_t down = (form_.rows - 1) / kTile + 1, along = (form_.columns - 1) / kTile + 1;
    EmittedKernel out = InGrains(name, form_.products() * down * along, 1, 1, 1);
    out.block = kThreads;
    Value* rest = function_.begin();
    const auto take = [&](int64_t size) {
      Value* number = b_.CreateURem(rest, Int(size));
      rest = b_.CreateUDiv(rest, Int(size));
      return number;
    };
    first_column_ = b_.CreateMul(take(along), Int(kTile));
    first_row_ = b_.CreateMul(take(down), Int(kTile));
    Value *left = Int(0), *right = Int(0), *result = Int(0);
    for (size_t i = form_.loops.size(); i-- > 0;) {
      Value* turn = take(form_.loops[i].size);
      const auto add = [&](Value*& to, int64_t stride) {
        to = b_.CreateAdd(to, b_.CreateMul(turn, Int(stride)));
      };
      add(left, form_.loops[i].left);
      add(right, form_.loops[i].right);
      add(result, form_.loops[i].out);
    }
    const auto operands = kernel_.module.operands(kernel_.roots[0]);
    const Side x{operands[0],
                 left,
                 first_row_,
                 form_.rows,
                 form_.left_row,
                 form_.left_depth,
                 block_.Shared(b_.getInt16Ty(), kTile * kPitch)};
    const Side y{operands[1],
                 right,
                 first_column_,
                 form_.columns,
                 form_.right_column,
                 form_.right_depth,
                 block_.Shared(b_.getInt16Ty(), kTile * kPitch)};
    Value* warp = b_.CreateUDiv(function_.thread(), Int(kWarp));
    Value* lane = b_.CreateURem(function_.thread(), Int(kWarp));
    row_ = b_.CreateUDiv(lane, Int(4));
    pair_ = b_.CreateMul(b_.CreateURem(lane, Int(4)), Int(2));
    Value* half = Int(kTile / 2);
    warp_row_ = b_.CreateMul(b_.CreateUDiv(warp, Int(2)), half);
    warp_column_ = b_.CreateMul(b_.CreateURem(warp, Int(2)), half);
    std::vector<Value*> sums(4 * kDown * kAlong, llvm::ConstantFP::get(b_.getFloatTy(), 0.0));
    sums = function_.Loop(Int(0), Int(form_.depth), kDepth, sums,
                          [&](Value* from, const std::vector<Value*>& so_far) {
                            Bring(x, from);
                            Bring(y, from);
                            block_.Barrier();
                            std::vector<Value*> next = so_far;
                            for (int64_t k = 0; k < kDepth; k += kStep) AddProducts(x, y, k, next);
                            block_.Barrier();
                            return next;
                          });
    Write(sums, result);
    function_.Finish();
    out.is_complete = true;
    return out;
  }

 private:
  // Rows of the left side, columns of the right one.
  struct Side {
    InstructionId operand;
    Value* begin;         // of the matrix
    Value* first;         // line of the tile
    int64_t size;         // lines in all
    int64_t line, depth;  // strides
    Value* room;          // line by line
  };

  Value* Int(int64_t value) { return function_.Int(value); }

  // Every thread takes elements that lie side by side, where they do.
  void Bring(const Side& side, Value* from) {
    const bool is_depth_fast = side.depth == 1, is_line_fast = side.line == 1;
    const int64_t fast_size = is_depth_fast ? form_.depth : side.size;
    const int64_t at_once =
        (is_depth_fast || is_line_fast) && fast_size % kAtOnce == 0 && IsEven(side) ? kAtOnce : 1;
    const int64_t fast = is_depth_fast ? kDepth : kTile, groups = fast / at_once;
    llvm::Type* memory = b_.getInt16Ty();
    Value* array = function_.Arrays().at(side.operand.index).address;
    for (int64_t i = 0; i < kTile * kDepth; i += kThreads * at_once) {
      Value* number = b_.CreateAdd(function_.thread(), Int(i / at_once));
      Value* inner = b_.CreateMul(b_.CreateURem(number, Int(groups)), Int(at_once));
      Value* outer = b_.CreateUDiv(number, Int(groups));
      Value* k = is_depth_fast ? inner : outer;
      Value* line = is_depth_fast ? outer : inner;
      // Lines beyond the last are made of it and never written; beyond the depth there are zeros.
      Value* depth = b_.CreateAdd(from, k);
      Value* is_there = b_.CreateICmpSLT(depth, Int(form_.depth));
      const auto last = [&](int64_t size, bool is_fast) {
        return Int(size - (is_fast ? at_once : 1));
      };
      Value* own_line =
          function_.Smaller(b_.CreateAdd(side.first, line), last(side.size, !is_depth_fast));
      Value* own_depth = function_.Smaller(depth, last(form_.depth, is_depth_fast));
      Value* at = b_.CreateAdd(b_.CreateMul(own_line, Int(side.line)),
                               b_.CreateMul(own_depth, Int(side.depth)));
      at = b_.CreateAdd(at, side.begin);
      Value* place = b_.CreateAdd(b_.CreateMul(line, Int(kPitch)), k);
      for (int64_t e = 0; e < at_once; ++e) {
        llvm::LoadInst* load = b_.CreateAlignedLoad(
            memory, b_.CreateGEP(memory, array, b_.CreateAdd(at, Int(e))), llvm::Align(2));
        load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                          llvm::MDNode::get(b_.getContext(), {}));
        Value* x = b_.CreateSelect(is_there, load, b_.getInt16(0));
        block_.Save(x, side.room, b_.CreateAdd(place, Int(is_depth_fast ? e : e * kPitch)));
      }
    }
  }
  // Whether all groups of elements side by side begin at multiples of their size.
  bool IsEven(const Side& side) const {
    const int64_t other = side.depth == 1 ? side.line : side.depth;
    return other % kAtOnce == 0 && std::ranges::all_of(form_.loops, [](const auto& loop) {
             return loop.left % kAtOnce == 0 && loop.right % kAtOnce == 0;
           });
  }

  // Two elements side by side.
  Value* Pair(const Side& side, Value* line, int64_t k) {
    Value* at = b_.CreateAdd(b_.CreateMul(line, Int(kPitch)), b_.CreateAdd(pair_, Int(k)));
    Value* address = b_.CreateGEP(b_.getInt16Ty(), side.room, at);
    llvm::Type* type = b_.getInt32Ty();
    if (type_ == ElementType::kF16) type = llvm::FixedVectorType::get(b_.getHalfTy(), 2);
    return b_.CreateAlignedLoad(type, address, llvm::Align(4));
  }

  void AddProducts(const Side& x, const Side& y, int64_t k, std::vector<Value*>& sums) {
    std::vector<Value*> left, right;
    for (int64_t i = 0; i < kDown; ++i) {
      Value* upper = b_.CreateAdd(b_.CreateAdd(warp_row_, row_), Int(i * kRows));
      Value* lower = b_.CreateAdd(upper, Int(kRows / 2));
      left.insert(left.end(), {Pair(x, upper, k), Pair(x, lower, k), Pair(x, upper, k + 8),
                               Pair(x, lower, k + 8)});
    }
    for (int64_t j = 0; j < kAlong; ++j) {
      Value* column = b_.CreateAdd(b_.CreateAdd(warp_column_, row_), Int(j * kColumns));
      right.insert(right.end(), {Pair(y, column, k), Pair(y, column, k + 8)});
    }
    const auto id = type_ == ElementType::kF16 ? llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32
                                               : llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16;
    for (int64_t i = 0; i < kDown; ++i) {
      for (int64_t j = 0; j < kAlong; ++j) {
        const auto sum = sums.begin() + 4 * (i * kAlong + j);
        std::vector<Value*> operands(left.begin() + 4 * i, left.begin() + 4 * (i + 1));
        operands.insert(operands.end(), right.begin() + 2 * j, right.begin() + 2 * (j + 1));
        operands.insert(operands.end(), sum, sum + 4);
        Value* out = b_.CreateIntrinsic(id, {}, operands);
        for (unsigned e = 0; e < 4; ++e) *(sum + e) = b_.CreateExtractValue(out, e);
      }
    }
  }

  void Write(const std::vector<Value*>& sums, Value* result) {
    const ElementType type = kernel_.module.shape(kernel_.roots[0]).element_type();
    for (int64_t i = 0; i < kDown; ++i) {
      for (int64_t j = 0; j < kAlong; ++j) {
        for (int64_t e = 0; e < 4; ++e) {
          Value* row = b_.CreateAdd(b_.CreateAdd(first_row_, warp_row_),
                                    b_.CreateAdd(row_, Int(i * kRows + e / 2 * (kRows / 2))));
          Value* column = b_.CreateAdd(b_.CreateAdd(first_column_, warp_column_),
                                       b_.CreateAdd(pair_, Int(j * kColumns + e % 2)));
          Value* is_inside = b_.CreateAnd(b_.CreateICmpSLT(row, Int(form_.rows)),
                                          b_.CreateICmpSLT(column, Int(form_.columns)));
          Value* place = b_.CreateAdd(b_.CreateMul(row, Int(form_.out_row)),
                                      b_.CreateMul(column, Int(form_.out_column)));
          Value* sum = sums[static_cast<size_t>(4 * (i * kAlong + j) + e)];
          block_.When(is_inside, [&] {
            function_.Store(Converted(b_, sum, ElementType::kF32, type), type, function_.result(0),
                            b_.CreateAdd(result, place), 1);
          });
        }
      }
    }
  }

  const Kernel& kernel_;
  const compile::DotForm& form_;
  KernelFunction function_;
  GpuBlock block_;
  Builder& b_;
  ElementType type_;
  Value *first_row_ = nullptr, *first_column_ = nullptr;
  Value *warp_row_ = nullptr, *warp_column_ = nullptr;  // in the tile
  Value *row_ = nullptr, *pair_ = nullptr;              // of the thread, in a fragment
};

}  // namespace

bool FitsTensorCores(const Kernel& kernel) {
  const hlo::Module& module = kernel.module;
  const auto operands = module.operands(kernel.roots[0]);
  const ElementType type = module.shape(operands[0]).element_type();
  return (type == ElementType::kBF16 || type == ElementType::kF16) &&
         module.shape(operands[1]).element_type() == type &&
         compile::SumTypeOf(module, kernel.roots[0]) == ElementType::kF32;
}

EmittedKernel EmitGpuTensorDot(llvm::Module& module, const Kernel& kernel, const std::string& name,
                               const compile::DotForm& form) {
  return GpuTensorDotKernel(module, kernel, name, form).Emit(name);
}

}  // namespace hloscope::codegen
