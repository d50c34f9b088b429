// Sets of indices in words; factors; shifts.
#include "core/debug/compare/difference_patterns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "core/base/counted.h"
#include "core/eval/numbers/wide.h"

namespace hloscope::debug {
namespace {

using hlo::Literal;

constexpr int64_t kMaxElements = 1 << 24;

class PatternFinder {
 public:
  PatternFinder(const Literal& actual, const Literal& expected, const ErrorBounds& bounds)
      : shape_(expected.shape()),
        bounds_(bounds),
        type_(shape_.element_type()),
        width_(static_cast<size_t>(hlo::StorageBytes(type_))),
        actual_(actual.bytes().data()),
        expected_(expected.bytes().data()),
        count_(shape_.ElementCount().value_or(0)) {}

  std::vector<std::string> Run() {
    std::vector<std::string> patterns;
    differs_.resize(static_cast<size_t>(count_));
    for (int64_t i = 0; i < count_; ++i) {
      differs_[static_cast<size_t>(i)] = !Agree(actual_, i, expected_, i);
      differing_ += differs_[static_cast<size_t>(i)] ? 1 : 0;
    }
    if (differing_ == 0) return patterns;
    if (auto where = Region()) patterns.push_back(*std::move(where));
    if (auto moved = Moved()) {
      patterns.push_back(*std::move(moved));
    } else if (auto how = Value()) {
      patterns.push_back(*std::move(how));
    }
    return patterns;
  }

 private:
  bool IsFloat() const { return hlo::IsFloat(type_); }

  double At(const std::byte* array, int64_t i) const {
    double value = 0;
    eval::LoadAs(type_, array + static_cast<size_t>(i) * width_, &value, 1);
    return value;
  }

  bool Agree(const std::byte* a, int64_t i, const std::byte* b, int64_t j) const {
    if (std::memcmp(a + static_cast<size_t>(i) * width_, b + static_cast<size_t>(j) * width_,
                    width_) == 0)
      return true;
    return IsFloat() && Near(At(a, i), At(b, j));
  }

  bool Near(double is, double meant) const {
    if (std::isnan(is) || std::isnan(meant)) return std::isnan(is) && std::isnan(meant);
    if (is == meant) return true;
    return std::abs(is - meant) <= std::max(bounds_.absolute, bounds_.relative * std::abs(meant));
  }

  int64_t StrideOf(size_t dimension) const {
    int64_t stride = 1;
    for (size_t d = dimension + 1; d < shape_.rank(); ++d) stride *= shape_.dimension(d);
    return stride;
  }

  // Where the differing elements are all those whose indices are in one set for each dimension.
  std::optional<std::string> Region() const {
    if (differing_ == count_ || shape_.rank() == 0) return std::nullopt;
    std::vector<std::vector<bool>> sets;
    for (size_t d = 0; d < shape_.rank(); ++d)
      sets.emplace_back(static_cast<size_t>(shape_.dimension(d)), false);
    for (int64_t i = 0; i < count_; ++i) {
      if (!differs_[static_cast<size_t>(i)]) continue;
      int64_t rest = i;
      for (size_t d = shape_.rank(); d-- > 0;) {
        sets[d][static_cast<size_t>(rest % shape_.dimension(d))] = true;
        rest /= shape_.dimension(d);
      }
    }
    int64_t product = 1;
    std::vector<std::string> parts;
    for (size_t d = 0; d < sets.size(); ++d) {
      const int64_t size = std::ranges::count(sets[d], true);
      product *= size;
      if (size == shape_.dimension(d)) continue;
      auto part = Words(sets[d], d);
      if (!part) return std::nullopt;
      parts.push_back(*std::move(part));
    }
    if (product != differing_) return std::nullopt;
    return fmt::format("only {}", fmt::join(parts, " and "));
  }

  // A set of indices of a dimension.
  std::optional<std::string> Words(const std::vector<bool>& set, size_t dimension) const {
    const auto size = std::ssize(set);
    const auto is = [&](int64_t i) { return set[static_cast<size_t>(i)]; };
    int64_t first = 0, last = size - 1;
    while (!is(first)) ++first;
    while (!is(last)) --last;
    const int64_t members = std::ranges::count(set, true);
    const bool is_matrix = shape_.rank() == 2;
    const std::string one = is_matrix ? (dimension == 0 ? "row" : "column") : "index";
    const std::string many = is_matrix ? one + "s" : "indices";
    const std::string of =
        is_matrix || shape_.rank() == 1 ? "" : fmt::format(" of dimension {}", dimension);
    if (members == last - first + 1) {
      if (members == 1) return fmt::format("{} {}{}", one, first, of);
      if (last == size - 1) return fmt::format("{}{} ≥ {}", many, of, first);
      if (first == 0) return fmt::format("{}{} ≤ {}", many, of, last);
      return fmt::format("{} {} to {}{}", many, first, last, of);
    }
    for (int64_t period = 2; period <= size / 2; ++period) {
      if (size % period != 0) continue;
      bool repeats = true;
      for (int64_t i = period; i < size && repeats; ++i) repeats = is(i) == is(i - period);
      if (!repeats) continue;
      int64_t begin = 0, end = period - 1;
      while (!is(begin)) ++begin;
      while (!is(end)) --end;
      const int64_t held = members / (size / period);
      if (held != end - begin + 1) return std::nullopt;
      if (end == period - 1)
        return fmt::format("the last {} of each {} {}{}", held, WithCommas(period), many, of);
      if (begin == 0)
        return fmt::format("the first {} of each {} {}{}", held, WithCommas(period), many, of);
      return fmt::format("{} {} to {} of each {}{}", many, begin, end, WithCommas(period), of);
    }
    return std::nullopt;
  }

  static std::string WithCommas(int64_t value) {
    std::string digits = std::to_string(value);
    for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
    return digits;
  }

  // What is there is expected elsewhere.
  std::optional<std::string> Moved() const {
    if (count_ < 4) return std::nullopt;
    for (size_t d = shape_.rank(); d-- > 0;) {
      const int64_t size = shape_.dimension(d), stride = StrideOf(d);
      if (size < 3) continue;
      for (const int64_t step : {1, -1, 2, -2, 4, -4, 8, -8, 16, -16, 32, -32}) {
        if (2 * std::abs(step) > size || !IsShifted(size, stride, step)) continue;
        return fmt::format(
            "shifted by {} along dimension {}: each is expected {} {}",
            std::abs(step) == 1 ? "one" : std::to_string(std::abs(step)), d,
            std::abs(step) == 1 ? "one index" : std::to_string(std::abs(step)) + " indices",
            step > 0 ? "later" : "earlier");
      }
      if (IsReversed(size, stride)) return fmt::format("reversed along dimension {}", d);
    }
    if (IsTransposed()) return "transposed";
    return std::nullopt;
  }

  // All that differ have the value that is expected `step` further, but for those whose source is
  // outside; most of the elements have one inside.
  bool IsShifted(int64_t size, int64_t stride, int64_t step) const {
    int64_t inside = 0;
    for (int64_t i = 0; i < count_; ++i) {
      const int64_t at = i / stride % size;
      if (at + step < 0 || at + step >= size) continue;
      if (!Agree(actual_, i, expected_, i + step * stride)) return false;
      inside += differs_[static_cast<size_t>(i)] ? 1 : 0;
    }
    return 2 * inside >= differing_ && inside > 0;
  }

  bool IsReversed(int64_t size, int64_t stride) const {
    for (int64_t i = 0; i < count_; ++i) {
      const int64_t at = i / stride % size;
      if (!Agree(actual_, i, expected_, i + (size - 1 - 2 * at) * stride)) return false;
    }
    return true;
  }

  bool IsTransposed() const {
    if (shape_.rank() != 2 || shape_.dimension(0) != shape_.dimension(1)) return false;
    const int64_t size = shape_.dimension(0);
    for (int64_t i = 0; i < count_; ++i) {
      if (!Agree(actual_, i, expected_, i % size * size + i / size)) return false;
    }
    return true;
  }

  // What all differing elements have in common.
  std::optional<std::string> Value() const {
    const std::string subject =
        differing_ == count_ ? "every value is " : "every differing value is ";
    const auto all = [&](auto holds) {
      for (int64_t i = 0; i < count_; ++i) {
        if (differs_[static_cast<size_t>(i)] && !holds(At(actual_, i), At(expected_, i)))
          return false;
      }
      return true;
    };
    if (differing_ < 2) return std::nullopt;
    if (all([](double is, double) { return std::isnan(is); })) return subject + "NaN";
    if (all([](double is, double) { return is == 0; })) return subject + "0";
    // By the element whose expected value is the largest.
    int64_t largest = -1;
    for (int64_t i = 0; i < count_; ++i) {
      const double value = std::abs(At(expected_, i));
      if (!differs_[static_cast<size_t>(i)] || !std::isfinite(value)) continue;
      if (largest < 0 || value > std::abs(At(expected_, largest))) largest = i;
    }
    if (largest < 0 || At(expected_, largest) == 0) return std::nullopt;
    const double ratio = At(actual_, largest) / At(expected_, largest);
    for (const int64_t below : {1, 2, 3, 4, 8, 16, 32}) {
      const double above = std::round(ratio * static_cast<double>(below));
      if (above == 0 || std::abs(above) > 1024) continue;
      const double factor = above / static_cast<double>(below);
      if (factor == 1 || std::abs(ratio - factor) > 1e-2 * std::abs(factor)) continue;
      if (!all([&](double is, double meant) { return Near(is, factor * meant); })) continue;
      // What is nearly zero agrees with anything.
      if (factor == -1) return subject + "the expected with the other sign";
      if (below == 1) return fmt::format("{}{:.0f} × the expected", subject, above);
      return fmt::format("{}{:.0f}/{} of the expected", subject, above, below);
    }
    const double apart = At(actual_, largest) - At(expected_, largest);
    if (std::isfinite(apart) && std::abs(apart) > 0 &&
        all([&](double is, double meant) { return Near(is, meant + apart); }))
      return fmt::format("{}the expected {} {:g}", subject, apart < 0 ? "-" : "+", std::abs(apart));
    return std::nullopt;
  }

  const hlo::Shape& shape_;
  const ErrorBounds& bounds_;
  const hlo::ElementType type_;
  const size_t width_;
  const std::byte *actual_, *expected_;
  const int64_t count_;
  std::vector<bool> differs_;
  int64_t differing_ = 0;
};

}  // namespace

std::vector<std::string> DifferencePatterns(const Literal& actual, const Literal& expected,
                                            const ErrorBounds& bounds) {
  const hlo::Shape& shape = expected.shape();
  const int64_t count = shape.ElementCount().value_or(0);
  if (!shape.IsArray() || hlo::IsComplex(shape.element_type()) || count < 2 ||
      count > kMaxElements || actual.bytes().size() != expected.bytes().size())
    return {};
  return PatternFinder(actual, expected, bounds).Run();
}

}  // namespace hloscope::debug
