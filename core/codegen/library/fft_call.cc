// Transforms of the last dimensions; each grain some of the arrays of those.
#include "core/codegen/library/fft_call.h"

#include <algorithm>

#include "core/codegen/emit/fft_form.h"

namespace hloscope::codegen {

using hlo::InstructionId;
using hlo::Module;

namespace {

class FftCall : public compile::LibraryCall {
 public:
  FftCall(const Module& module, InstructionId id) : form_(FftFormOf(module, id)) {}

  int64_t grains() const { return (form_.arrays - 1) / form_.per_call + 1; }
  int64_t grain_bytes() const { return form_.per_call * (form_.in_bytes + form_.out_bytes); }

  Status Run(const std::byte* const* operands, std::byte* const* results, std::byte*, int64_t begin,
             int64_t end) const override {
    for (int64_t grain = begin; grain < end; ++grain) {
      const int64_t first = grain * form_.per_call;
      if (!hloscope_fft(&form_.fft, operands[0] + first * form_.in_bytes,
                        results[0] + first * form_.out_bytes,
                        std::min(form_.per_call, form_.arrays - first))) {
        return EnvironmentError("no memory for a Fourier transform");
      }
    }
    return {};
  }

 private:
  FftForm form_;
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
