// DotResults: what a kernel yields of the elements of a dot: the dot itself, or what is computed of
// each of its elements where they are.
#pragma once

#include <memory>
#include <vector>

#include "core/codegen/emit/kernel_function.h"
#include "core/codegen/emit/loop_space.h"
#include "core/codegen/emit/products.h"
#include "core/compile/dot_form.h"

namespace hloscope::codegen {

// Of a GPU that is worth filling.
inline constexpr int64_t kMultiprocessors = 132;

class DotResults {
 public:
  DotResults(const Kernel& kernel, hlo::InstructionId dot, const compile::DotForm& form,
             KernelFunction& function);

  // An element's number in the dot's array; its row and column too where they are known.
  struct Place {
    llvm::Value* number;
    llvm::Value *row = nullptr, *column = nullptr;
  };
  void Write(const Products::Number& sum, const Place& place);
  // What was written before is not on the way to what follows.
  void Forget() { emitter_.Forget(); }
  bool has_failed() const { return emitter_.has_failed(); }

 private:
  Index IndexOf(const Place& place);

  const Kernel& kernel_;
  hlo::InstructionId dot_;
  Products products_;
  KernelFunction& function_;
  IndexMath math_;
  ElementEmitter emitter_;
  std::vector<LoopGroup> groups_;
  bool is_matrix_ = false;  // groups are the rows and the columns
};

}  // namespace hloscope::codegen
