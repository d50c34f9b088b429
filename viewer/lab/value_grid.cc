// ValueGrid: addressing, numbers and statistics of one array.
#include "viewer/lab/value_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/debug/compare/compare_values.h"
#include "core/debug/compare/magnitude.h"
#include "core/hlo/index_text.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::viewer {
namespace {

constexpr int64_t kMaxCounted = 1 << 20;

template <typename Part>
std::string ShortComplex(const hlo::Literal& literal, int64_t element) {
  const auto parts = literal.data<Part>().subspan(static_cast<size_t>(2 * element), 2);
  return fmt::format("({:.5g}, {:.5g})", parts[0], parts[1]);
}

}  // namespace

ValueGrid::ValueGrid(hlo::Literal reference, std::optional<hlo::Literal> actual,
                     const debug::BoundsRequest& bounds)
    : reference_(std::move(reference)),
      actual_(std::move(actual)),
      bounds_(debug::BoundsFor(reference_.shape().element_type(), bounds)) {
  const auto dimensions = reference_.shape().dimensions();
  if (!dimensions.empty()) columns_ = dimensions.back();
  if (dimensions.size() > 1) rows_ = dimensions[dimensions.size() - 2];
  for (size_t d = 0; d + 2 < dimensions.size(); ++d) pages_ *= dimensions[d];
  elements_ = rows_ * columns_ * pages_;
  step_ = std::max<int64_t>(1, elements_ / kMaxCounted);
}

std::optional<Verdict> ValueGrid::VerdictAt(int64_t element) const {
  if (!actual_) return std::nullopt;
  return VerdictOfElement(*actual_, reference_, element, bounds_);
}

std::string ValueGrid::IndexText(int64_t element) const {
  const auto dimensions = shape().dimensions();
  std::vector<int64_t> index(dimensions.size());
  for (size_t d = dimensions.size(); d-- > 0;) {
    index[d] = element % std::max<int64_t>(1, dimensions[d]);
    element /= std::max<int64_t>(1, dimensions[d]);
  }
  return hlo::ArrayIndexText(index);
}

std::string ValueGrid::Text(ValueSide side, int64_t element) const {
  std::string text;
  switch (side) {
    case ValueSide::kReference:
      hlo::AppendElement(text, reference_, element);
      return text;
    case ValueSide::kActual:
      if (actual_) hlo::AppendElement(text, *actual_, element);
      return text;
    case ValueSide::kUlp: {
      const double distance = Number(side, element);
      return distance >= 1e15 ? "far" : std::to_string(static_cast<int64_t>(distance));
    }
    case ValueSide::kError: {
      hlo::AppendDouble(text, Number(side, element));
      return text;
    }
  }
  return text;
}

std::string ValueGrid::ShortText(ValueSide side, int64_t element) const {
  const hlo::ElementType type = shape().element_type();
  const bool is_error = side == ValueSide::kError, is_value = !is_error && side != ValueSide::kUlp;
  if (is_error || (is_value && hlo::IsFloat(type)))
    return fmt::format("{:.5g}", Number(side, element));
  if (!is_value || !hlo::IsComplex(type)) return Text(side, element);
  const hlo::Literal& literal = side == ValueSide::kActual && actual_ ? *actual_ : reference_;
  return type == hlo::ElementType::kC64 ? ShortComplex<float>(literal, element)
                                        : ShortComplex<double>(literal, element);
}

std::string ValueGrid::CellText(ValueSide side, int64_t element) const {
  const bool is_distance = side == ValueSide::kUlp || side == ValueSide::kError;
  if (is_distance && VerdictAt(element) == Verdict::kSameBits) return {};
  return ShortText(side, element);
}

std::string_view ValueGrid::WidestText(ValueSide side) const {
  const hlo::ElementType type = shape().element_type();
  if (side == ValueSide::kUlp) return "999999999999999";
  if (side == ValueSide::kError) return "1.2346e-05";
  if (hlo::IsComplex(type)) return "(-1.2346e-05, -1.2346e-05)";
  const bool is_long = !hlo::IsFloat(type) && hlo::StorageBytes(type) > 4;
  return is_long ? "-9223372036854775808" : "-1.2346e-05";
}

bool ValueGrid::IsFinite(ValueSide side, int64_t element) const {
  return std::isfinite(Number(side, element));
}

int64_t ValueGrid::FirstNonFinite() const {
  for (int64_t i = 0; i < elements_; ++i) {
    if (!IsFinite(ValueSide::kReference, i)) return i;
  }
  return -1;
}

double ValueGrid::Number(ValueSide side, int64_t element) const {
  if (side == ValueSide::kReference) return debug::MagnitudeAt(reference_, element);
  if (!actual_) return 0;
  if (side == ValueSide::kActual) return debug::MagnitudeAt(*actual_, element);
  const hlo::ElementType type = shape().element_type();
  const auto size = static_cast<int64_t>(hlo::StorageBytes(type));
  if (side == ValueSide::kUlp) {
    return static_cast<double>(debug::UlpDistance(type, actual_->bytes().data() + element * size,
                                                  reference_.bytes().data() + element * size));
  }
  return std::abs(debug::MagnitudeAt(*actual_, element) - debug::MagnitudeAt(reference_, element));
}

ValueGrid::Counted& ValueGrid::Count(ValueSide side) {
  std::optional<Counted>& slot = counted_[static_cast<size_t>(side)];
  if (slot) return *slot;
  slot = Counted();
  ValueSummary& summary = slot->summary;
  std::vector<double> finite;
  finite.reserve(static_cast<size_t>(elements_ / step_ + 1));
  double sum = 0;
  for (int64_t i = 0; i < elements_; i += step_) {
    const double value = Number(side, i);
    ++summary.elements;
    summary.nans += std::isnan(value) ? 1 : 0;
    summary.infinities += std::isinf(value) ? 1 : 0;
    summary.zeros += value == 0 ? 1 : 0;
    if (!std::isfinite(value)) continue;
    finite.push_back(value);
    sum += value;
  }
  if (finite.empty()) return *slot;
  const auto [least, largest] = std::ranges::minmax(finite);
  summary.least = least;
  summary.largest = largest;
  summary.mean = sum / static_cast<double>(finite.size());
  const double width = largest - least;
  for (double value : finite) {
    const double part = width > 0 ? (value - least) / width : 0;
    const auto bin = static_cast<size_t>(part * static_cast<double>(kBins));
    ++slot->bins[std::min(bin, kBins - 1)];
  }
  return *slot;
}

const ValueSummary& ValueGrid::summary(ValueSide side) { return Count(side).summary; }
const std::array<int64_t, ValueGrid::kBins>& ValueGrid::histogram(ValueSide side) {
  return Count(side).bins;
}

}  // namespace hloscope::viewer
