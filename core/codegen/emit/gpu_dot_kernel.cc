// Products of matrices on a GPU: a block makes a tile of the result. For some of the depth at a
// time its threads bring what the tile needs of both sides into memory that they share, as it lies
// side by side; then each sums up a few rows and columns in registers, in the order of the depth.
#include <algorithm>

#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/gpu_block.h"
#include "core/codegen/emit/products.h"
#include "core/compile/dot_form.h"

namespace hloscope::codegen {
namespace {

using hlo::ElementType;
using hlo::InstructionId;
using llvm::Value;

constexpr int64_t kSide = 16;   // threads along a side of the tile
constexpr int64_t kDepth = 16;  // brought at a time
constexpr int64_t kEach = 4;    // rows and columns of a thread, at most
constexpr int64_t kLeast = 16;  // rows and columns that tiles are worth

class GpuDotKernel {
 public:
  GpuDotKernel(llvm::Module& module, const Kernel& kernel, const std::string& name,
               const compile::DotForm& form)
      : kernel_(kernel),
        form_(form),
        products_(kernel.module, kernel.roots[0]),
        function_(module, kernel, name, -1, kSide * kSide),
        block_(function_),
        b_(function_.builder()) {
    const int64_t most = products_.parts() == 1 ? kEach : kEach / 2;
    rows_ = std::min(most, (form.rows - 1) / kSide + 1);
    columns_ = std::min(most, (form.columns - 1) / kSide + 1);
  }

  EmittedKernel Emit(const std::string& name) {
    const int64_t down = (form_.rows - 1) / (rows_ * kSide) + 1;
    const int64_t along = (form_.columns - 1) / (columns_ * kSide) + 1;
    EmittedKernel out = InGrains(name, form_.products() * down * along, 1, 1, 1);
    out.block = kSide * kSide;
    Value* rest = function_.begin();
    const auto take = [&](int64_t size) {
      Value* number = b_.CreateURem(rest, Int(size));
      rest = b_.CreateUDiv(rest, Int(size));
      return number;
    };
    first_column_ = b_.CreateMul(take(along), Int(columns_ * kSide));
    first_row_ = b_.CreateMul(take(down), Int(rows_ * kSide));
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
    left_ =
        Side{operands[0], left, first_row_, form_.rows, rows_, form_.left_row, form_.left_depth};
    right_ =
        Side{operands[1],      right, first_column_, form_.columns, columns_, form_.right_column,
             form_.right_depth};
    across_ = b_.CreateURem(function_.thread(), Int(kSide));
    down_ = b_.CreateUDiv(function_.thread(), Int(kSide));
    MakeRooms(left_);
    MakeRooms(right_);
    std::vector<Value*> sums;
    for (int64_t i = 0; i < rows_ * columns_; ++i) {
      const auto zero = products_.Zero(b_, 1);
      sums.insert(sums.end(), zero.begin(), zero.end());
    }
    sums = function_.Loop(Int(0), Int(form_.depth), kDepth, sums,
                          [&](Value* from, const std::vector<Value*>& so_far) {
                            Bring(left_, from, true);
                            Bring(right_, from, false);
                            block_.Barrier();
                            std::vector<Value*> next = so_far;
                            for (int64_t k = 0; k < kDepth; ++k) AddProducts(k, next);
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
    int64_t each;         // of a thread
    int64_t line, depth;  // strides
    std::vector<Value*> rooms = {};
    std::vector<llvm::Type*> types = {};

    int64_t lines() const { return each * kSide; }
    int64_t pitch() const { return lines() + 1; }
  };

  Value* Int(int64_t value) { return function_.Int(value); }

  void MakeRooms(Side& side) {
    for (Value* part : products_.Zero(b_, 1)) {
      side.types.push_back(part->getType());
      side.rooms.push_back(block_.Shared(part->getType(), kDepth * side.pitch()));
    }
  }

  // Elements that are beside each other in memory go to neighbouring threads.
  void Bring(const Side& side, Value* from, bool is_left) {
    const ElementType type = kernel_.module.shape(side.operand).element_type();
    llvm::Type* memory = MemoryType(b_, type);
    const llvm::Align align(static_cast<uint64_t>(hlo::StorageBytes(type)));
    Value* array = function_.Arrays().at(side.operand.index).address;
    const bool is_depth_fast = side.depth == 1;
    const int64_t fast = is_depth_fast ? kDepth : side.lines();
    for (int64_t i = 0; i < side.lines() * kDepth; i += kSide * kSide) {
      Value* number = b_.CreateAdd(function_.thread(), Int(i));
      Value* inner = b_.CreateURem(number, Int(fast));
      Value* outer = b_.CreateUDiv(number, Int(fast));
      Value* k = is_depth_fast ? inner : outer;
      Value* line = is_depth_fast ? outer : inner;
      // Lines beyond the last are made of it and never written; beyond the depth there are zeros.
      Value* depth = b_.CreateAdd(from, k);
      Value* is_there = b_.CreateICmpSLT(depth, Int(form_.depth));
      Value* at = b_.CreateMul(
          function_.Smaller(b_.CreateAdd(side.first, line), Int(side.size - 1)), Int(side.line));
      at = b_.CreateAdd(
          at, b_.CreateMul(function_.Smaller(depth, Int(form_.depth - 1)), Int(side.depth)));
      at = b_.CreateAdd(at, side.begin);
      llvm::LoadInst* load = b_.CreateAlignedLoad(memory, b_.CreateGEP(memory, array, at), align);
      load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                        llvm::MDNode::get(b_.getContext(), {}));
      Value* x = FromMemory(b_, load, type);
      const auto number_of = is_left ? products_.Left(b_, x) : products_.Right(b_, x);
      Value* place = b_.CreateAdd(b_.CreateMul(k, Int(side.pitch())), line);
      for (size_t part = 0; part < number_of.size(); ++part) {
        Value* zero = llvm::Constant::getNullValue(side.types[part]);
        block_.Save(b_.CreateSelect(is_there, number_of[part], zero), side.rooms[part], place);
      }
    }
  }

  Products::Number Take(const Side& side, int64_t k, Value* line) {
    Products::Number number;
    Value* at = b_.CreateAdd(line, Int(k * side.pitch()));
    for (size_t part = 0; part < side.rooms.size(); ++part) {
      number.push_back(block_.Load(side.types[part], side.rooms[part], at));
    }
    return number;
  }

  void AddProducts(int64_t k, std::vector<Value*>& sums) {
    const size_t parts = products_.parts();
    std::vector<Products::Number> x, y;
    for (int64_t i = 0; i < rows_; ++i) {
      x.push_back(Take(left_, k, b_.CreateAdd(down_, Int(i * kSide))));
    }
    for (int64_t j = 0; j < columns_; ++j) {
      y.push_back(Take(right_, k, b_.CreateAdd(across_, Int(j * kSide))));
    }
    auto at = sums.begin();
    for (const Products::Number& row : x) {
      for (const Products::Number& column : y) {
        const Products::Number sum(at, at + static_cast<ptrdiff_t>(parts));
        at = std::ranges::copy(products_.Add(b_, sum, row, column), at).out;
      }
    }
  }

  void Write(const std::vector<Value*>& sums, Value* result) {
    auto at = sums.begin();
    for (int64_t i = 0; i < rows_; ++i) {
      Value* row = b_.CreateAdd(first_row_, b_.CreateAdd(down_, Int(i * kSide)));
      for (int64_t j = 0; j < columns_; ++j) {
        Value* column = b_.CreateAdd(first_column_, b_.CreateAdd(across_, Int(j * kSide)));
        const Products::Number sum(at, at + static_cast<ptrdiff_t>(products_.parts()));
        at += static_cast<ptrdiff_t>(products_.parts());
        Value* is_inside = b_.CreateAnd(b_.CreateICmpSLT(row, Int(form_.rows)),
                                        b_.CreateICmpSLT(column, Int(form_.columns)));
        Value* place = b_.CreateAdd(b_.CreateMul(row, Int(form_.out_row)),
                                    b_.CreateMul(column, Int(form_.out_column)));
        block_.When(is_inside, [&] {
          function_.Store(products_.Result(b_, sum),
                          kernel_.module.shape(kernel_.roots[0]).element_type(),
                          function_.result(0), b_.CreateAdd(result, place), 1);
        });
      }
    }
  }

  const Kernel& kernel_;
  const compile::DotForm& form_;
  Products products_;
  KernelFunction function_;
  GpuBlock block_;
  Builder& b_;
  int64_t rows_ = 1, columns_ = 1;  // of a thread
  Value *first_row_ = nullptr, *first_column_ = nullptr;
  Value *across_ = nullptr, *down_ = nullptr;  // the thread's place in the tile
  Side left_{}, right_{};
};

}  // namespace

EmittedKernel EmitGpuDot(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  const auto form = compile::DotFormOf(kernel.module, kernel.roots[0]);
  if (!form.has_value() || form->rows < kLeast || form->columns < kLeast) {
    return EmitDot(module, kernel, name);
  }
  if (FitsTensorCores(kernel) && form->depth >= kLeast) {
    return EmitGpuTensorDot(module, kernel, name, *form);
  }
  return GpuDotKernel(module, kernel, name, *form).Emit(name);
}

}  // namespace hloscope::codegen
