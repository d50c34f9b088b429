// Calls of ducc0. Compiled once for each width of vectors, under the name HLOSCOPE_FFT; nothing
// else of it is seen outside, since the same templates differ between them.
#pragma once

#include <ducc0/fft/fft.h>
#include <ducc0/fft/fftnd_impl.h>

#include <complex>
#include <cstring>
#include <new>
#include <vector>

#include "core/linking/runtime/fft.h"

namespace {

using Sizes = std::vector<size_t>;

Sizes SizesOf(const HloscopeFft& fft, int64_t count) {
  Sizes sizes = {static_cast<size_t>(count)};
  for (int32_t d = 0; d < fft.rank; ++d) sizes.push_back(static_cast<size_t>(fft.lengths[d]));
  return sizes;
}

// One complex line, in place where it ends up: without the copies that ducc0 makes of arrays.
template <typename T>
void TransformLine(const HloscopeFft& fft, const std::byte* in, std::byte* out, T factor) {
  const auto length = static_cast<size_t>(fft.lengths[0]);
  const auto plan = ducc0::detail_fft::get_plan<ducc0::pocketfft_c<T>>(length, true);
  std::memcpy(out, in, length * sizeof(std::complex<T>));
  static thread_local std::vector<std::complex<T>> room;
  room.resize(plan->bufsize());
  plan->exec_copyback(reinterpret_cast<ducc0::Cmplx<T>*>(out),
                      reinterpret_cast<ducc0::Cmplx<T>*>(room.data()), factor,
                      fft.kind == kHloscopeFft);
}

template <typename T>
void Transform(const HloscopeFft& fft, const std::byte* in, std::byte* out, int64_t count) {
  using Complex = std::complex<T>;
  const bool is_forward = fft.kind == kHloscopeFft || fft.kind == kHloscopeRfft;
  double elements = 1;
  for (int32_t d = 0; d < fft.rank; ++d) elements *= static_cast<double>(fft.lengths[d]);
  const T factor = is_forward ? T{1} : static_cast<T>(1 / elements);
  const bool is_complex = fft.kind == kHloscopeFft || fft.kind == kHloscopeIfft;
  if (is_complex && fft.rank == 1 && count == 1) return TransformLine<T>(fft, in, out, factor);
  const Sizes sizes = SizesOf(fft, count);
  Sizes half = sizes, axes;
  half.back() = half.back() / 2 + 1;
  for (size_t d = 1; d < sizes.size(); ++d) axes.push_back(d);
  using ducc0::cfmav, ducc0::vfmav;
  if (is_complex) {
    ducc0::c2c(cfmav<Complex>(reinterpret_cast<const Complex*>(in), sizes),
               vfmav<Complex>(reinterpret_cast<Complex*>(out), sizes), axes, is_forward, factor, 1);
  } else if (is_forward) {
    ducc0::r2c(cfmav<T>(reinterpret_cast<const T*>(in), sizes),
               vfmav<Complex>(reinterpret_cast<Complex*>(out), half), axes, true, factor, 1);
  } else {
    ducc0::c2r(cfmav<Complex>(reinterpret_cast<const Complex*>(in), half),
               vfmav<T>(reinterpret_cast<T*>(out), sizes), axes, false, factor, 1);
  }
}

}  // namespace

extern "C" bool HLOSCOPE_FFT(const HloscopeFft* fft, const std::byte* in, std::byte* out,
                             int64_t count);
extern "C" bool HLOSCOPE_FFT(const HloscopeFft* fft, const std::byte* in, std::byte* out,
                             int64_t count) {
  try {
    fft->is_double ? Transform<double>(*fft, in, out, count)
                   : Transform<float>(*fft, in, out, count);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}
