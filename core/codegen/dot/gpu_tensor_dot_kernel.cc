// Products of matrices by the tensor cores of a GPU (PTX ISA: mma.m16n8k16 of bf16 and f16, summed
// up in f32; mma.m16n8k32 of bytes, exact), whose fragments are laid out as there. A block of eight
// warps makes a tile of the result, four of them down and two along. Where tiles are few and the
// depth is large, parts of it have blocks of their own, and a second launch adds these up in their
// order: which sum is where depends on the shapes alone.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/codegen/dot/dot_results.h"
#include "core/codegen/dot/tensor_side.h"
#include "core/codegen/emit/emit_kernel.h"

namespace hloscope::codegen {
namespace {

using hlo::ElementType;
using hlo::InstructionId;
using llvm::Value;

constexpr int64_t kThreads = 256, kWarpsDown = 4, kWarpsAlong = 2;
constexpr int64_t kRows = 16, kColumns = 8, kStep = 16;  // of an instruction; in units
constexpr int64_t kAlong = 4;                            // instructions side by side of a warp
constexpr int64_t kTileColumns = kWarpsAlong * kAlong * kColumns;
constexpr int64_t kEnoughBlocks = 120;  // for large tiles
// Turns that are worth a launch, and how many turns adding up a part takes the time of, about.
constexpr int64_t kMinTurns = 24;
constexpr double kTurnsOfPart = 0.3;

// A float of 8 bits that is a number of bf16 and f16 too.
bool IsSmallFloat(ElementType type) {
  return hlo::IsFloat(type) && hlo::BitWidth(type) == 8 && type != ElementType::kF8E8M0FNU;
}

std::optional<TensorForm> FormOf(ElementType left, ElementType right, ElementType sum) {
  const auto is_byte = [](ElementType type) {
    return type == ElementType::kS8 || type == ElementType::kU8;
  };
  if (sum == ElementType::kS32 && is_byte(left) && is_byte(right)) {
    return TensorForm{TensorType::kBytes};
  }
  if (sum != ElementType::kF32) return {};
  const auto is_f16 = [](ElementType type) {
    return type == ElementType::kF16 || IsSmallFloat(type);
  };
  if (is_f16(left) && is_f16(right)) return TensorForm{TensorType::kF16};
  const auto parts = [](ElementType type) {
    return type == ElementType::kF32 ? 3 : type == ElementType::kBF16 || IsSmallFloat(type) ? 1 : 0;
  };
  const int64_t of_left = parts(left), of_right = parts(right);
  if (of_left == 0 || of_right == 0 || of_left * of_right > 3) return {};
  return TensorForm{TensorType::kBF16, of_left, of_right};
}

std::optional<TensorForm> FormOf(const Kernel& kernel) {
  const InstructionId dot = DotOf(kernel);
  const auto operands = kernel.module.operands(dot);
  return FormOf(kernel.module.shape(operands[0]).element_type(),
                kernel.module.shape(operands[1]).element_type(),
                compile::SumTypeOf(kernel.module, dot));
}

class GpuTensorDotKernel {
 public:
  GpuTensorDotKernel(llvm::Module& module, const Kernel& kernel, const std::string& name,
                     const compile::DotForm& form, const TensorForm& tensor)
      : kernel_(kernel),
        form_(form),
        tensor_(tensor),
        dot_(DotOf(kernel)),
        function_(module, kernel, name, -1, kThreads),
        block_(function_),
        b_(function_.builder()),
        results_(kernel, dot_, form, function_),
        along_((form.columns - 1) / kTileColumns + 1) {
    if (Blocks() < kEnoughBlocks) down_ = 1;
    step_ = kTensorUnits * (tensor.type == TensorType::kBytes ? 2 : 1);
    ChooseParts();
  }

  EmittedKernel Emit(const std::string& name) {
    EmittedKernel out = InGrains(name, Blocks() * parts_, 1, 1, kernel_.roots.size());
    out.block = kThreads;
    function_.AllowRegisters(kMaxRegisters);
    if (parts_ == 1) {
      Sum([&](const std::vector<Value*>& sums) { Write(sums); });
    } else {
      out.passes = {0, 1};
      out.code.scratch_bytes = parts_ * elements() * kSumBytes;
      block_.When(b_.CreateICmpEQ(function_.pass(), Int(0)),
                  [&] { Sum([&](const std::vector<Value*>& sums) { WritePart(sums); }); });
      block_.When(b_.CreateICmpEQ(function_.pass(), Int(1)), [&] { AddParts(out.code.grains); });
    }
    function_.Finish();
    out.is_complete = !results_.has_failed();
    return out;
  }

 private:
  static constexpr int64_t kSumBytes = 4;

  Value* Int(int64_t value) { return function_.Int(value); }
  int64_t tile_rows() const { return kWarpsDown * down_ * kRows; }
  int64_t Blocks() const {
    return form_.products() * ((form_.rows - 1) / tile_rows() + 1) * along_;
  }
  int64_t elements() const { return form_.products() * form_.rows * form_.columns; }
  ElementType SumType() const {
    return tensor_.type == TensorType::kBytes ? ElementType::kS32 : ElementType::kF32;
  }

  // As many as balance a part's turns and adding up parts, but not more than there is room for.
  void ChooseParts() {
    const int64_t turns = (form_.depth - 1) / step_ + 1;
    if (turns < kMinTurns) return;
    const auto wanted = static_cast<int64_t>(std::sqrt(static_cast<double>(turns) / kTurnsOfPart));
    const int64_t parts = std::min(wanted, kMultiprocessors / Blocks());
    if (parts < 2) return;
    part_turns_ = (turns - 1) / parts + 1;
    parts_ = (turns - 1) / part_turns_ + 1;
  }

  // Strides of a loop that all matrices of an operand begin at multiples of.
  int64_t BeginsAt(int64_t compile::DotForm::Loop::* side) const {
    int64_t common = 0;
    for (const auto& loop : form_.loops) common = std::gcd(common, loop.*side);
    return common;
  }

  // The sums of a thread: four for each instruction, down and along.
  void Sum(const std::function<void(const std::vector<Value*>&)>& write) {
    const auto operands = kernel_.module.operands(dot_);
    using Loop = compile::DotForm::Loop;
    TensorSide left(function_, block_,
                    {operands[0], TypeOf(operands[0]), form_.rows, form_.depth, form_.left_row,
                     form_.left_depth, BeginsAt(&Loop::left), true},
                    tensor_.type, tensor_.left_parts, tile_rows(), kThreads);
    TensorSide right(function_, block_,
                     {operands[1], TypeOf(operands[1]), form_.columns, form_.depth,
                      form_.right_column, form_.right_depth, BeginsAt(&Loop::right), false},
                     tensor_.type, tensor_.right_parts, kTileColumns, kThreads);
    Value* rest = function_.begin();
    const auto take = [&](int64_t size) -> Value* {
      if (size == 1) return Int(0);
      Value* number = b_.CreateURem(rest, Int(size));
      rest = b_.CreateUDiv(rest, Int(size));
      return number;
    };
    Value* first_column = b_.CreateMul(take(along_), Int(kTileColumns));
    Value* first_row = b_.CreateMul(take((form_.rows - 1) / tile_rows() + 1), Int(tile_rows()));
    Value *left_at = Int(0), *right_at = Int(0);
    result_ = Int(0);
    for (size_t i = form_.loops.size(); i-- > 0;) {
      Value* turn = take(form_.loops[i].size);
      const auto add = [&](Value*& to, int64_t stride) {
        to = b_.CreateAdd(to, b_.CreateMul(turn, Int(stride)));
      };
      add(left_at, form_.loops[i].left);
      add(right_at, form_.loops[i].right);
      add(result_, form_.loops[i].out);
    }
    part_ = rest;
    left.Begin(left_at, first_row);
    right.Begin(right_at, first_column);
    Value* warp = b_.CreateUDiv(function_.thread(), Int(kWarp));
    Value* lane = b_.CreateURem(function_.thread(), Int(kWarp));
    Value* warp_row = b_.CreateMul(b_.CreateUDiv(warp, Int(kWarpsAlong)), Int(down_ * kRows));
    Value* warp_column =
        b_.CreateMul(b_.CreateURem(warp, Int(kWarpsAlong)), Int(kAlong * kColumns));
    left.BeginFragments(warp_row, lane);
    right.BeginFragments(warp_column, lane);
    row_ = b_.CreateAdd(b_.CreateAdd(first_row, warp_row), b_.CreateUDiv(lane, Int(4)));
    column_ = b_.CreateAdd(b_.CreateAdd(first_column, warp_column),
                           b_.CreateMul(b_.CreateURem(lane, Int(4)), Int(2)));
    Value *from = Int(0), *to = Int(form_.depth);
    if (parts_ > 1) {
      from = b_.CreateMul(part_, Int(part_turns_ * step_));
      to = function_.Smaller(b_.CreateAdd(from, Int(part_turns_ * step_)), to);
    }
    llvm::Type* type = RegisterType(b_, SumType());
    const std::vector<Value*> zeros(static_cast<size_t>(4 * down_ * kAlong),
                                    llvm::Constant::getNullValue(type));
    write(function_.Loop(from, to, step_, zeros, [&](Value* at, const std::vector<Value*>& so_far) {
      left.Bring(at);
      right.Bring(at);
      block_.Barrier();
      std::vector<Value*> next = so_far;
      for (int64_t unit = 0; unit < kTensorUnits; unit += kStep) {
        AddProducts(left, right, unit, next);
      }
      block_.Barrier();
      return next;
    }));
  }

  ElementType TypeOf(InstructionId id) const { return kernel_.module.shape(id).element_type(); }

  llvm::Intrinsic::ID Instruction() const {
    const auto operands = kernel_.module.operands(dot_);
    const bool is_left_signed = TypeOf(operands[0]) == ElementType::kS8;
    const bool is_right_signed = TypeOf(operands[1]) == ElementType::kS8;
    switch (tensor_.type) {
      case TensorType::kF16:
        return llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32;
      case TensorType::kBytes:
        return is_left_signed    ? is_right_signed ? llvm::Intrinsic::nvvm_mma_m16n8k32_row_col_s8
                                                   : llvm::Intrinsic::nvvm_mma_m16n8k32_row_col_s8_u8
               : is_right_signed ? llvm::Intrinsic::nvvm_mma_m16n8k32_row_col_u8_s8
                                 : llvm::Intrinsic::nvvm_mma_m16n8k32_row_col_u8;
      case TensorType::kBF16:
        break;
    }
    return llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16;
  }

  // Two numbers of bf16, those that are not finite as 0.
  Value* FiniteOnly(Value* word) {
    auto* const pair = llvm::FixedVectorType::get(b_.getInt16Ty(), 2);
    const auto both = [&](uint16_t bits) {
      return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(2), b_.getInt16(bits));
    };
    constexpr uint16_t kExponent = 0x7f80;
    Value* halves = b_.CreateBitCast(word, pair);
    Value* is_not = b_.CreateICmpEQ(b_.CreateAnd(halves, both(kExponent)), both(kExponent));
    return b_.CreateBitCast(b_.CreateSelect(is_not, both(0), halves), b_.getInt32Ty());
  }

  // Small parts first. An infinity meets the first part of the other number alone: times the
  // others, which may be 0, it would be a NaN.
  void AddProducts(TensorSide& left, TensorSide& right, int64_t unit, std::vector<Value*>& sums) {
    const llvm::Intrinsic::ID id = Instruction();
    const auto in = [&](Value* word) {
      if (tensor_.type != TensorType::kF16) return word;
      return b_.CreateBitCast(word, llvm::FixedVectorType::get(b_.getHalfTy(), 2));
    };
    const auto beside = [&](int64_t part, Value* word) {
      return part == 0 ? word : FiniteOnly(word);
    };
    for (int64_t x = left.parts(); x-- > 0;) {
      std::vector<std::array<Value*, 4>> rows;
      for (int64_t i = 0; i < down_; ++i) rows.push_back(left.Fragment(x, i * kRows, unit));
      for (int64_t y = right.parts(); y-- > 0;) {
        std::vector<std::array<Value*, 4>> columns;
        for (int64_t j = 0; j < kAlong / 2; ++j) {
          columns.push_back(right.Fragment(y, j * 2 * kColumns, unit));
        }
        for (int64_t i = 0; i < down_; ++i) {
          for (int64_t j = 0; j < kAlong; ++j) {
            const auto sum = sums.begin() + 4 * (i * kAlong + j);
            std::vector<Value*> operands;
            for (Value* word : rows[static_cast<size_t>(i)])
              operands.push_back(in(beside(y, word)));
            const auto& pair = columns[static_cast<size_t>(j / 2)];
            for (const int64_t k : {0, 1}) {
              operands.push_back(in(beside(x, pair[static_cast<size_t>(j % 2 * 2 + k)])));
            }
            operands.insert(operands.end(), sum, sum + 4);
            Value* out = b_.CreateIntrinsic(id, {}, operands);
            for (unsigned e = 0; e < 4; ++e) *(sum + e) = b_.CreateExtractValue(out, e);
          }
        }
      }
    }
  }

  // Calls write(sum, place) for the thread's sums that are of elements, two columns at a time.
  void ForSums(const std::vector<Value*>& sums,
               const std::function<void(Value* sum, const DotResults::Place& place)>& write) {
    const bool all_rows = form_.rows % tile_rows() == 0;
    const bool all_columns = form_.columns % kTileColumns == 0;
    const int64_t together = form_.columns % 2 == 0 ? 2 : 1;
    Value* begin =
        b_.CreateAdd(result_, b_.CreateAdd(b_.CreateMul(row_, Int(form_.out_row)),
                                           b_.CreateMul(column_, Int(form_.out_column))));
    for (int64_t i = 0; i < down_; ++i) {
      for (int64_t half = 0; half < 2; ++half) {
        const int64_t down = i * kRows + half * (kRows / 2);
        Value* row = b_.CreateAdd(row_, Int(down));
        for (int64_t j = 0; j < 2 * kAlong; j += together) {
          const int64_t along = j / 2 * kColumns + j % 2;
          Value* column = b_.CreateAdd(column_, Int(along));
          Value* is_inside = b_.getTrue();
          if (!all_rows) is_inside = b_.CreateICmpSLT(row, Int(form_.rows));
          if (!all_columns) {
            is_inside = b_.CreateAnd(is_inside, b_.CreateICmpSLT(column, Int(form_.columns)));
          }
          const auto both = [&] {
            for (int64_t e = 0; e < together; ++e) {
              const int64_t more = down * form_.out_row + (along + e) * form_.out_column;
              write(sums[static_cast<size_t>(4 * (i * kAlong + j / 2) + 2 * half + j % 2 + e)],
                    {b_.CreateAdd(begin, Int(more)), row, b_.CreateAdd(column, Int(e))});
            }
          };
          if (all_rows && all_columns) {
            both();
          } else {
            block_.When(is_inside, both);
          }
        }
      }
    }
  }

  void Write(const std::vector<Value*>& sums) {
    ForSums(sums, [&](Value* sum, const DotResults::Place& place) {
      results_.Forget();
      results_.Write({sum}, place);
    });
  }

  void WritePart(const std::vector<Value*>& sums) {
    Value* begin = b_.CreateMul(part_, Int(elements()));
    ForSums(sums, [&](Value* sum, const DotResults::Place& place) {
      function_.Store(sum, SumType(), function_.scratch(), b_.CreateAdd(begin, place.number), 1);
    });
  }

  void AddParts(int64_t blocks) {
    Value* first = b_.CreateAdd(b_.CreateMul(function_.begin(), Int(kThreads)), function_.thread());
    function_.Loop(first, Int(elements()), blocks * kThreads, [&](Value* element) {
      Value* sum = nullptr;
      for (int64_t part = 0; part < parts_; ++part) {
        Value* at = b_.CreateAdd(element, Int(part * elements()));
        Value* next = function_.Load(SumType(), function_.scratch(), at, 1);
        sum = sum == nullptr                   ? next
              : SumType() == ElementType::kS32 ? b_.CreateAdd(sum, next)
                                               : b_.CreateFAdd(sum, next);
      }
      results_.Forget();
      results_.Write({sum}, {element});
    });
  }

  const Kernel& kernel_;
  const compile::DotForm& form_;
  TensorForm tensor_;
  InstructionId dot_;
  KernelFunction function_;
  GpuBlock block_;
  Builder& b_;
  DotResults results_;
  int64_t down_ = 2;  // instructions of a warp, one below the other
  int64_t along_;     // tiles
  int64_t step_ = 1;  // elements of the depth in a turn
  int64_t parts_ = 1, part_turns_ = 0;
  Value *result_ = nullptr, *part_ = nullptr;  // of the block
  Value *row_ = nullptr, *column_ = nullptr;   // of the thread's first sum
};

}  // namespace

bool FitsTensorCores(const Kernel& kernel) { return FormOf(kernel).has_value(); }

EmittedKernel EmitGpuTensorDot(llvm::Module& module, const Kernel& kernel, const std::string& name,
                               const compile::DotForm& form) {
  return GpuTensorDotKernel(module, kernel, name, form, *FormOf(kernel)).Emit(name);
}

}  // namespace hloscope::codegen
