// The instruction VPDPBUSD, which takes unsigned bytes and signed ones.
#include "core/codegen/emit/byte_products.h"

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <utility>
#include <vector>

#include "core/compile/dot_form.h"

namespace hloscope::codegen {

using hlo::ElementType;
using llvm::Value;

namespace {

constexpr uint32_t kSigns = 0x80808080;  // of a group's bytes

llvm::Intrinsic::ID InstructionOf(int width) {
  switch (width) {
    case 4:
      return llvm::Intrinsic::x86_avx512_vpdpbusd_128;
    case 8:
      return llvm::Intrinsic::x86_avx512_vpdpbusd_256;
    case 16:
      return llvm::Intrinsic::x86_avx512_vpdpbusd_512;
    default:
      return llvm::Intrinsic::not_intrinsic;
  }
}

const llvm::MDString* FeaturesOf(const llvm::Module& module) {
  return llvm::dyn_cast_or_null<llvm::MDString>(module.getModuleFlag(kByteProductFeatures));
}

}  // namespace

std::optional<ByteProducts> ByteProducts::Of(const llvm::Module& module, const hlo::Module& hlo,
                                             hlo::InstructionId dot, int width) {
  const auto type_of = [&](size_t k) { return hlo.shape(hlo.operands(dot)[k]).element_type(); };
  const ElementType left = type_of(0), right = type_of(1);
  if (FeaturesOf(module) == nullptr || InstructionOf(width) == llvm::Intrinsic::not_intrinsic) {
    return std::nullopt;
  }
  return ByteProducts(right == ElementType::kS8, left == right, width);
}

void ByteProducts::AllowIn(llvm::Function& function) {
  function.addFnAttr("target-features", FeaturesOf(*function.getParent())->getString());
}

Value* ByteProducts::Grouped(Builder& b, std::span<Value* const> depths) {
  const auto width =
      static_cast<int>(llvm::cast<llvm::FixedVectorType>(depths[0]->getType())->getNumElements());
  std::vector<int> two, four;
  for (int k = 0; k < 2 * width; ++k) two.push_back(k);
  for (int lane = 0; lane < width; ++lane) {
    for (int k = 0; k < static_cast<int>(compile::kByteGroup); ++k)
      four.push_back(k * width + lane);
  }
  Value* bytes = b.CreateShuffleVector(b.CreateShuffleVector(depths[0], depths[1], two),
                                       b.CreateShuffleVector(depths[2], depths[3], two), four);
  return b.CreateBitCast(bytes,
                         llvm::FixedVectorType::get(b.getInt32Ty(), static_cast<unsigned>(width)));
}

Value* ByteProducts::Left(Builder& b, Value* group) const {
  return is_moved_ ? b.CreateXor(group, b.getInt32(kSigns)) : group;
}

Value* ByteProducts::Add(Builder& b, Value* sum, Value* left, Value* right) const {
  left = b.CreateVectorSplat(static_cast<unsigned>(width_), left);
  if (!is_right_signed_) std::swap(left, right);
  return b.CreateIntrinsic(InstructionOf(width_), {}, {sum, left, right});
}

// 128 is the byte 0x80 where it is unsigned, and -128 where it is signed: a left byte without a
// sign is moved down.
Value* ByteProducts::AddExcess(Builder& b, Value* excess, Value* right) const {
  return Add(b, excess, b.getInt32(kSigns), right);
}

}  // namespace hloscope::codegen
