// What a value is told as, and which platforms can.
#include "core/replay/capture/capture_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/eval/numbers/wide.h"
#include "core/hlo/proto/proto.h"
#include "core/hlo/string_pool.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;

constexpr int64_t kBlock = 1024;

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Equal for values of equal type, dimensions, live sizes and bytes.
uint64_t HashOf(const Literal& array) {
  std::string what = hlo::ToString(array.shape(), false);
  for (const int64_t size : array.dynamic_sizes()) what += fmt::format(" {}", size);
  what += fmt::format(" {:x}", hlo::HashBytes(TextOf(array.bytes())));
  return hlo::HashBytes(what);
}

}  // namespace

ValueStatistics StatisticsOf(const Literal& array) {
  ValueStatistics all;
  if (!array.shape().IsArray() || array.elided()) return all;
  const hlo::ElementType type = array.shape().element_type();
  const int64_t bytes = hlo::StorageBytes(type);
  if (bytes == 0) return all;
  all.elements = static_cast<int64_t>(array.bytes().size()) / bytes;
  const bool is_complex = hlo::IsComplex(type);
  int64_t finite = 0;
  double sum = 0, squares = 0;
  eval::Complex block[kBlock];
  for (int64_t begin = 0; begin < all.elements; begin += kBlock) {
    const int64_t n = std::min(kBlock, all.elements - begin);
    eval::LoadAs<eval::Complex>(type, array.bytes().data() + begin * bytes, block, n);
    if (begin == 0) std::copy_n(block, std::min(n, ValueStatistics::kFirst), all.first);
    for (int64_t i = 0; i < n; ++i) {
      // |inf + nan i| is infinite, and the element holds a NaN.
      const bool is_nan = std::isnan(block[i].real()) || std::isnan(block[i].imag());
      const double x = is_nan ? NAN : is_complex ? std::abs(block[i]) : block[i].real();
      all.nans += is_nan ? 1 : 0;
      const bool is_infinite = std::isinf(block[i].real()) || std::isinf(block[i].imag());
      all.infinities += is_infinite && !is_nan ? 1 : 0;
      if (is_nan || is_infinite) continue;
      all.zeros += x == 0 ? 1 : 0;
      all.low = finite == 0 ? x : std::min(all.low, x);
      all.high = finite == 0 ? x : std::max(all.high, x);
      sum += x;
      squares += x * x;
      ++finite;
    }
  }
  if (finite == 0) return all;
  all.mean = sum / static_cast<double>(finite);
  all.rms = std::sqrt(squares / static_cast<double>(finite));
  return all;
}

uint64_t StageFingerprint(const hlo::Module& module) {
  return hlo::HashBytes(hlo::ModuleToProto(module));
}

CapturedForm FormOf(const Result<Literal>& leaf, CaptureForm form) {
  if (!leaf.has_value()) return leaf.error();
  switch (form) {
    case CaptureForm::kHash:
      return HashOf(*leaf);
    case CaptureForm::kStatistics:
      return StatisticsOf(*leaf);
    default:
      return *leaf;
  }
}

Error EndedByPlan() { return {ErrorClass::kCancelled, "the capture plan is satisfied", {}, {}}; }

}  // namespace hloscope::replay
