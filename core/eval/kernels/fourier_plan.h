// FourierPlan: discrete Fourier transforms of one length, by ducc0.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>

namespace hloscope::eval {

// What transforms of one length need, computed once. A transform runs on the calling thread alone,
// so that its bits do not depend on how many there are.
class FourierPlan {
 public:
  explicit FourierPlan(int64_t length);  // at least 1
  ~FourierPlan();

  // Σ x[j]·e^(∓2πi·jk/n), in place, not divided by the length.
  void Transform(std::complex<double>* x, bool inverse) const;

 private:
  struct Plan;
  std::unique_ptr<const Plan> plan_;
};

}  // namespace hloscope::eval
