// Transforms of the last dimensions; each grain some of the arrays of those.
#include "core/codegen/library/fft_call.h"

#include <algorithm>

#include "core/codegen/runtime/fft.h"

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::FftType;
using hlo::InstructionId;
using hlo::Module;

namespace {

constexpr int64_t kGrainBytes = 1 << 17;

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

class FftCall : public compile::LibraryCall {
 public:
  FftCall(const Module& module, InstructionId id) {
    const hlo::Shape &in = module.shape(module.operands(id)[0]), &out = module.shape(id);
    const auto lengths = module.GetInts(module[id], AttributeKey::kFftLength);
    fft_.kind = KindOf(static_cast<FftType>(module.GetInt(module[id], AttributeKey::kFftType)));
    fft_.is_double =
        in.element_type() == hlo::ElementType::kF64 || in.element_type() == hlo::ElementType::kC128;
    fft_.rank = static_cast<int32_t>(lengths.size());
    std::ranges::copy(lengths, fft_.lengths);
    for (size_t d = 0; d + lengths.size() < in.rank(); ++d) arrays_ *= in.dimension(d);
    in_bytes_ = static_cast<int64_t>(*in.ByteSize()) / arrays_;
    out_bytes_ = static_cast<int64_t>(*out.ByteSize()) / arrays_;
    per_grain_ = std::clamp<int64_t>(kGrainBytes / in_bytes_, 1, arrays_);
  }

  int64_t grains() const { return (arrays_ - 1) / per_grain_ + 1; }
  int64_t grain_bytes() const { return per_grain_ * (in_bytes_ + out_bytes_); }

  Status Run(const std::byte* const* operands, std::byte* const* results, std::byte*, int64_t begin,
             int64_t end) const override {
    for (int64_t grain = begin; grain < end; ++grain) {
      const int64_t first = grain * per_grain_;
      if (!hloscope_fft(&fft_, operands[0] + first * in_bytes_, results[0] + first * out_bytes_,
                        std::min(per_grain_, arrays_ - first))) {
        return EnvironmentError("no memory for a Fourier transform");
      }
    }
    return {};
  }

 private:
  HloscopeFft fft_ = {};
  int64_t arrays_ = 1, per_grain_ = 1;
  int64_t in_bytes_ = 0, out_bytes_ = 0;  // of an array
};

}  // namespace

Result<compile::KernelCode> MakeFftCall(const Module& module, InstructionId fft) {
  auto call = std::make_shared<FftCall>(module, fft);
  compile::KernelCode code;
  code.name = "ducc0 fft";
  code.grains = call->grains();
  code.grain_bytes = call->grain_bytes();
  code.library = std::move(call);
  return code;
}

}  // namespace hloscope::codegen
