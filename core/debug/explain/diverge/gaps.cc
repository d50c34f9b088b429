#include "core/debug/explain/diverge/gaps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include "core/eval/numbers/wide.h"

namespace hloscope::debug {

using eval::Complex;
using hlo::Literal;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool HasFiniteParts(Complex value) {
  return std::isfinite(value.real()) && std::isfinite(value.imag());
}

// Infinite between numbers of two classes.
double ElementDistance(double a, double b) {
  if (std::isfinite(a) && std::isfinite(b)) return std::abs(a - b);
  return a == b || (std::isnan(a) && std::isnan(b)) ? 0 : kInfinity;
}
double ElementDistance(Complex a, Complex b) {
  if (HasFiniteParts(a) && HasFiniteParts(b)) return std::abs(a - b);
  return std::max(ElementDistance(a.real(), b.real()), ElementDistance(a.imag(), b.imag()));
}

// Nothing where the two are not arrays of as many elements.
void ForEachPair(const Result<Literal>& a, const Result<Literal>& b,
                 const std::function<void(uint64_t, Complex, Complex)>& visit) {
  if (!a.has_value() || !b.has_value() || !a->shape().IsArray() || !b->shape().IsArray()) return;
  if (a->elided() || b->elided()) return;
  const auto count_of = [](const Literal& literal) {
    return literal.bytes().size() /
           static_cast<size_t>(hlo::StorageBytes(literal.shape().element_type()));
  };
  if (count_of(*a) != count_of(*b)) return;
  constexpr size_t kChunk = 1024;
  std::array<Complex, kChunk> of_a, of_b;
  const auto load = [](const Literal& from, size_t first, size_t count, Complex* out) {
    const hlo::ElementType type = from.shape().element_type();
    eval::LoadAs(type, from.bytes().data() + first * static_cast<size_t>(hlo::StorageBytes(type)),
                 out, static_cast<int64_t>(count));
  };
  for (size_t first = 0; first < count_of(*a); first += kChunk) {
    const size_t count = std::min(kChunk, count_of(*a) - first);
    load(*a, first, count, of_a.data());
    load(*b, first, count, of_b.data());
    for (size_t i = 0; i < count; ++i) visit(first + i, of_a[i], of_b[i]);
  }
}

// Sampled evenly, however many come.
class Sample {
 public:
  void Take(const Gaps::Element& element) {
    constexpr size_t kMax = size_t{1} << 20;
    if (seen_++ % stride_ != 0) return;
    elements_.push_back(element);
    if (elements_.size() < kMax) return;
    for (size_t i = 0; 2 * i < elements_.size(); ++i) elements_[i] = elements_[2 * i];
    elements_.resize((elements_.size() + 1) / 2);
    stride_ *= 2;
  }
  std::vector<Gaps::Element>& elements() { return elements_; }

 private:
  std::vector<Gaps::Element> elements_;
  uint64_t seen_ = 0, stride_ = 1;
};

class MeanSquare {
 public:
  void Add(double distance) {
    if (!std::isfinite(distance)) return;
    sum_ += distance * distance;
    ++count_;
  }
  double root() const { return count_ == 0 ? 0 : std::sqrt(sum_ / static_cast<double>(count_)); }

 private:
  double sum_ = 0;
  int64_t count_ = 0;
};

double TotalOf(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

}  // namespace

Gaps::Gaps(const Leaves& actual, const Leaves& expected, const BoundsRequest& bounds) {
  Sample beyond, within;
  const size_t leaves = std::min(actual.size(), expected.size());
  for (size_t i = 0; i < leaves; ++i) {
    if (!expected[i].has_value() || !expected[i]->shape().IsArray()) continue;
    const hlo::ElementType type = expected[i]->shape().element_type();
    const ErrorBounds own = BoundsFor(type, bounds);
    const bool is_choice = !hlo::IsFloat(hlo::RealPart(type));
    ForEachPair(actual[i], expected[i], [&](uint64_t at, Complex a, Complex e) {
      const double distance = ElementDistance(a, e);
      if (distance == 0) return;
      const double magnitude = HasFiniteParts(e) ? std::abs(e) : 0;
      const bool is_beyond = distance > own.absolute && distance > own.relative * magnitude;
      (is_beyond ? beyond : within).Take({i, at, distance, magnitude, is_choice});
    });
  }
  elements_ = std::move((beyond.elements().empty() ? within : beyond).elements());
  differs_.assign(leaves, false);
  for (const Element& element : elements_) differs_[element.leaf] = true;
  mean_square_ = MeanSquareIn(actual, expected);
}

bool Gaps::has_other_class() const {
  return std::ranges::any_of(elements_, [](const Element& e) { return std::isinf(e.distance); });
}

double Gaps::largest() const {
  double largest = 0;
  for (const Element& element : elements_) largest = std::max(largest, element.distance);
  return largest;
}

std::vector<double> Gaps::MovesIn(const Leaves& moved, const Leaves& base) const {
  std::vector<double> moves(elements_.size(), 0);
  size_t next = 0;
  for (size_t i = 0; i < std::min(moved.size(), base.size()); ++i) {
    while (next < elements_.size() && elements_[next].leaf < i) ++next;
    ForEachPair(moved[i], base[i], [&](uint64_t at, Complex m, Complex b) {
      if (next >= elements_.size() || elements_[next].leaf != i || elements_[next].at != at) return;
      moves[next++] = ElementDistance(m, b);
    });
  }
  return moves;
}

double Gaps::MeanSquareIn(const Leaves& moved, const Leaves& base) const {
  MeanSquare mean;
  for (size_t i = 0; i < std::min({moved.size(), base.size(), differs_.size()}); ++i) {
    if (!differs_[i]) continue;
    ForEachPair(moved[i], base[i],
                [&](uint64_t, Complex m, Complex b) { mean.Add(ElementDistance(m, b)); });
  }
  return mean.root();
}

bool MovesByAsMuch(const Gaps& gaps, const Leaves& moved, const Leaves& expected) {
  constexpr double kLeast = 0.25, kMost = 64, kOfElements = 0.125;
  constexpr size_t kFew = 8;  // that another order may leave as they are by chance
  if (gaps.elements().empty() || gaps.has_other_class()) return false;
  const double move = gaps.MeanSquareIn(moved, expected);
  if (move < kLeast * gaps.mean_square() || move > kMost * gaps.mean_square()) return false;
  if (gaps.elements().size() < kFew) return true;
  double distances = 0;
  for (const Gaps::Element& element : gaps.elements()) distances += element.distance;
  return TotalOf(gaps.MovesIn(moved, expected)) >= kOfElements * distances;
}

}  // namespace hloscope::debug
