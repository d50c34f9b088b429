// Products: what dots and convolutions sum up: numbers of any two types, in a type that is wide
// enough for the sum.
#pragma once

#include <vector>

#include "core/codegen/math/numbers.h"
#include "core/hlo/module.h"

namespace hloscope::codegen {

// Registers of a thread of a GPU, for sums and what they are made of.
inline constexpr int64_t kMaxRegisters = 128;
// Products of a grain on a processor, about.
inline constexpr int64_t kGrainProducts = 1 << 18;

class Products {
 public:
  // A number in registers as it is computed with: one value, or both parts of a complex number.
  using Number = std::vector<llvm::Value*>;

  Products(const hlo::Module& module, hlo::InstructionId contraction);

  size_t parts() const { return hlo::IsComplex(sum_) ? 2 : 1; }
  // Lanes of a sum that the widest registers hold.
  int width() const { return 64 / hlo::StorageBytes(hlo::RealPart(sum_)); }

  Number Zero(Builder& b, int width) const;
  Number Left(Builder& b, llvm::Value* x) const { return In(b, x, left_); }
  Number Right(Builder& b, llvm::Value* x) const { return In(b, x, right_); }
  // sum + x·y; scalars stand for equal lanes.
  Number Add(Builder& b, const Number& sum, Number x, Number y) const;
  Number Add(Builder& b, const Number& x, const Number& y) const;
  // For sums of so many products alone: in f32 where these are integers that it holds exactly.
  Products OfRuns(int64_t length) const;
  // Their sum as one of these.
  Number FromRun(Builder& b, const Products& runs, Number sum) const;
  // Rounded to the type of the result.
  llvm::Value* Result(Builder& b, const Number& sum) const;

 private:
  Number In(Builder& b, llvm::Value* x, hlo::ElementType type) const;

  hlo::ElementType left_, right_, out_, sum_;
};

}  // namespace hloscope::codegen
