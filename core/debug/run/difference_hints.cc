// Hints read off the module and the platforms.
#include "core/debug/run/difference_hints.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/counted.h"
#include "core/hlo/analysis/summary.h"

namespace hloscope::debug {
namespace {

using hlo::AttributeKey;
using hlo::Opcode;

bool IsXlaGpu(std::string_view platform) {
  const replay::PlatformRow* const row = replay::FindPlatform(platform);
  return row != nullptr && (row->Has(replay::kTargets) || row->Has(replay::kRunsDumps));
}

// XLA allows TF32 at the precisions default and high, where no algorithm is named.
bool MayUseTf32(const hlo::Module& module, const hlo::Instruction& product) {
  constexpr int64_t kHigh = 1;
  if (product.opcode != Opcode::kDot && product.opcode != Opcode::kConvolution) return false;
  const bool is_f32 = std::ranges::all_of(module.operands(product), [&](hlo::InstructionId id) {
    return module.shape(id).element_type() == hlo::ElementType::kF32;
  });
  const hlo::Attribute* const algorithm = module.Find(product, AttributeKey::kAlgorithm);
  return is_f32 && (algorithm == nullptr || algorithm->value == 0) &&
         std::ranges::all_of(module.GetInts(product, AttributeKey::kOperandPrecision),
                             [](int64_t precision) { return precision <= kHigh; });
}

}  // namespace

std::optional<std::string> PrecisionHint(const hlo::Module& module, const RunSpec& spec) {
  if (IsXlaGpu(spec.test.name) == IsXlaGpu(spec.reference.name)) return std::nullopt;
  const auto products = std::ranges::count_if(
      module.instructions(), [&](const auto& one) { return MayUseTf32(module, one); });
  if (products == 0) return std::nullopt;
  return fmt::format(
      "the module has {} of f32 at default precision, which XLA computes in TF32 (10 bits of "
      "mantissa) on GPUs since the A100: relative errors near 1e-3 are expected; "
      "operand_precision={{highest,highest}}, in JAX jax.default_matmul_precision('highest'), "
      "computes {} in f32",
      Counted(products, "product"), VerbFor(products, "it", "them"));
}

std::optional<std::string> MadeUpConstantsHint(const hlo::Module& module, const RunSpec& spec) {
  if (!spec.load.fill_elided) return std::nullopt;
  const size_t elided = hlo::ElidedConstants(module).size();
  if (elided == 0) return std::nullopt;
  return fmt::format("{} generated from seed {}: results are not those of the program",
                     Counted(elided, "elided constant is", "elided constants are"),
                     *spec.load.fill_elided);
}

}  // namespace hloscope::debug
