// Window arithmetic (XLA: window_util::DilatedBound, StridedBound).
#include "core/hlo/window.h"

#include "core/base/checked.h"
#include "fmt/format.h"

namespace hloscope::hlo {

std::optional<int64_t> DilatedExtent(int64_t size, int64_t dilation) {
  if (size == 0) return 0;
  auto extent = CheckedMul(size - 1, dilation);
  return extent ? CheckedAdd<int64_t>(*extent, 1) : std::nullopt;
}

Result<int64_t> WindowPlaces(const WindowDimension& window, int64_t base) {
  if (window.size <= 0 || window.stride <= 0 || window.base_dilation <= 0 ||
      window.window_dilation <= 0) {
    return InputError(
        fmt::format("window {} needs positive size, stride and dilations", Text(window)));
  }
  if (base < 0) return InputError(fmt::format("window over negative size {}", base));
  std::optional<int64_t> padded = DilatedExtent(base, window.base_dilation);
  if (padded) padded = CheckedAdd(*padded, window.padding_low);
  if (padded) padded = CheckedAdd(*padded, window.padding_high);
  std::optional<int64_t> extent = DilatedExtent(window.size, window.window_dilation);
  if (!padded || !extent) {
    return InputError(fmt::format("window {} over size {} overflows", Text(window), base));
  }
  if (*padded < 0) {
    return InputError(fmt::format("window {} over size {} has negative padded size {}",
                                  Text(window), base, *padded));
  }
  if (*padded == 0 || *extent > *padded) return 0;
  return (*padded - *extent) / window.stride + 1;
}

std::string Text(const WindowDimension& window) {
  return fmt::format("size={} stride={} pad={}_{} lhs_dilate={} rhs_dilate={}", window.size,
                     window.stride, window.padding_low, window.padding_high, window.base_dilation,
                     window.window_dilation);
}

}  // namespace hloscope::hlo
