// ByteProducts: sums of products of bytes as AVX512-VNNI adds them up: four neighbours along the
// depth in an instruction, into 32 bits that wrap.
#pragma once

#include <optional>
#include <span>

#include "core/codegen/math/numbers.h"
#include "core/hlo/module.h"

namespace hloscope::codegen {

// A flag of modules whose functions may use AVX512-VNNI if they ask for it: the features then.
inline constexpr const char* kByteProductFeatures = "hloscope.byte_products";

// One factor is taken as unsigned by the instruction and the other as signed. Where both are of one
// kind, the left one is moved by 128, and what that adds (the excess) is taken back.
class ByteProducts {
 public:
  // Of a dot of which compile::TakesByteProducts is true, for vectors of so many sums; nullopt
  // where the processor has no such instruction.
  static std::optional<ByteProducts> Of(const llvm::Module& module, const hlo::Module& hlo,
                                        hlo::InstructionId dot, int width);

  // Lets the function use the instruction.
  static void AllowIn(llvm::Function& function);

  // Vectors of bytes, one for each of a group's depths, as a group in each lane.
  static llvm::Value* Grouped(Builder& b, std::span<llvm::Value* const> depths);
  // A group of the left factor as it lies in memory, for Add.
  llvm::Value* Left(Builder& b, llvm::Value* group) const;
  // sum + the products of a group; `left` is one for all lanes.
  llvm::Value* Add(Builder& b, llvm::Value* sum, llvm::Value* left, llvm::Value* right) const;

  bool has_excess() const { return is_moved_; }
  // The excess of a group more of right factors.
  llvm::Value* AddExcess(Builder& b, llvm::Value* excess, llvm::Value* right) const;

 private:
  ByteProducts(bool is_right_signed, bool is_moved, int width)
      : is_right_signed_(is_right_signed), is_moved_(is_moved), width_(width) {}

  bool is_right_signed_, is_moved_;
  int width_;
};

}  // namespace hloscope::codegen
