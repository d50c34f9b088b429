// The one file that knows ducc0.
#include "core/eval/kernels/fourier_plan.h"

#include <ducc0/fft/fft1d_impl.h>

namespace hloscope::eval {

struct FourierPlan::Plan {
  ducc0::pocketfft_c<double> transform;
};

FourierPlan::FourierPlan(int64_t length)
    : plan_(new Plan{ducc0::pocketfft_c<double>(static_cast<size_t>(length), true)}) {}

FourierPlan::~FourierPlan() = default;

void FourierPlan::Transform(std::complex<double>* x, bool inverse) const {
  plan_->transform.exec(reinterpret_cast<ducc0::Cmplx<double>*>(x), 1.0, !inverse);
}

}  // namespace hloscope::eval
