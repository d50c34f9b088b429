// Kinds, lengths and sizes of transforms.
#include "core/codegen/emit/fft_form.h"

#include <algorithm>

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::FftType;

namespace {

constexpr int64_t kCallBytes = 1 << 17;

constexpr HloscopeFftKind KindOf(FftType type) {
  switch (type) {
    case FftType::kFft:
      return kHloscopeFft;
    case FftType::kIfft:
      return kHloscopeIfft;
    case FftType::kRfft:
      return kHloscopeRfft;
    case FftType::kIrfft:
      return kHloscopeIrfft;
  }
  return kHloscopeFft;
}

}  // namespace

FftForm FftFormOf(const hlo::Module& module, hlo::InstructionId id) {
  const hlo::Shape &in = module.shape(module.operands(id)[0]), &out = module.shape(id);
  const auto lengths = module.GetInts(module[id], AttributeKey::kFftLength);
  FftForm form;
  form.fft.kind = KindOf(static_cast<FftType>(module.GetInt(module[id], AttributeKey::kFftType)));
  form.fft.is_double =
      in.element_type() == hlo::ElementType::kF64 || in.element_type() == hlo::ElementType::kC128;
  form.fft.rank = static_cast<int32_t>(lengths.size());
  std::ranges::copy(lengths, form.fft.lengths);
  for (size_t d = 0; d + lengths.size() < in.rank(); ++d) form.arrays *= in.dimension(d);
  form.in_bytes = static_cast<int64_t>(*in.ByteSize()) / form.arrays;
  form.out_bytes = static_cast<int64_t>(*out.ByteSize()) / form.arrays;
  form.per_call = std::clamp<int64_t>(kCallBytes / form.in_bytes, 1, form.arrays);
  return form;
}

}  // namespace hloscope::codegen
