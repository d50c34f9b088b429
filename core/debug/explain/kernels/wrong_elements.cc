#include "core/debug/explain/kernels/wrong_elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/eval/numbers/wide.h"

namespace hloscope::debug {
namespace {

// Where each element lies, in row-major order.
std::vector<int64_t> PlacesInMemory(const hlo::Shape& shape, int64_t elements) {
  const size_t rank = shape.rank();
  const std::vector<int64_t> strides = StridesInMemory(shape);
  std::vector<int64_t> index(rank, 0), places;
  places.reserve(static_cast<size_t>(elements));
  int64_t at = 0;
  for (int64_t i = 0; i < elements; ++i) {
    places.push_back(at);
    for (size_t d = rank; d-- > 0;) {
      at += strides[d];
      if (++index[d] < shape.dimension(d)) break;
      at -= strides[d] * index[d];
      index[d] = 0;
    }
  }
  return places;
}

}  // namespace

std::vector<int64_t> StridesInMemory(const hlo::Shape& shape) {
  const size_t rank = shape.rank();
  std::vector<int64_t> strides(rank);
  int64_t stride = 1;
  for (size_t i = 0; i < rank; ++i) {
    const auto d =
        shape.has_layout() ? static_cast<size_t>(shape.layout().minor_to_major[i]) : rank - 1 - i;
    strides[d] = stride;
    stride *= shape.dimension(d);
  }
  return strides;
}

std::vector<uint8_t> WrongElements(const hlo::Literal& actual, const hlo::Literal& expected,
                                   const hlo::Shape& on_device, const BoundsRequest& bounds) {
  const hlo::ElementType type = actual.shape().element_type();
  if (hlo::Info(type).bits < 8) return {};
  const auto width = static_cast<size_t>(hlo::StorageBytes(type));
  const size_t count = actual.bytes().size() / width;
  if (expected.bytes().size() != actual.bytes().size()) return {};
  const bool is_float = hlo::IsFloat(type) || hlo::IsComplex(type);
  const ErrorBounds held_to = BoundsFor(type, bounds);
  constexpr double kNear = 4, kFar = 64;  // below the largest error
  std::vector<double> errors(count, 0), allowed(count, 0);
  double largest = 0;
  for (size_t i = 0; i < count; ++i) {
    const std::byte* const a = actual.bytes().data() + i * width;
    const std::byte* const e = expected.bytes().data() + i * width;
    if (std::memcmp(a, e, width) == 0) continue;
    eval::Complex is, meant;
    eval::LoadAs(type, a, &is, 1);
    eval::LoadAs(type, e, &meant, 1);
    errors[i] = is_float ? std::abs(is - meant) : INFINITY;
    if (std::isnan(errors[i]))
      errors[i] = std::isnan(std::abs(is)) && std::isnan(std::abs(meant)) ? 0 : INFINITY;
    allowed[i] = std::max(held_to.absolute, held_to.relative * std::abs(meant));
    if (std::isfinite(errors[i])) largest = std::max(largest, errors[i]);
  }
  const std::vector<int64_t> places = PlacesInMemory(on_device, static_cast<int64_t>(count));
  std::vector<uint8_t> states(count, kUnclearElement);
  for (size_t i = 0; i < count; ++i) {
    uint8_t& state = states[static_cast<size_t>(places[i])];
    if (errors[i] == 0 || (errors[i] <= allowed[i] && errors[i] * kFar <= largest))
      state = kRightElement;
    else if (errors[i] * kNear >= largest)
      state = kWrongElement;
  }
  return states;
}

}  // namespace hloscope::debug
