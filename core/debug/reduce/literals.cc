// Values by their bytes, and as double where they have to be known.
#include "core/debug/reduce/literals.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/eval/numbers/precise.h"

namespace hloscope::debug {
namespace {

using hlo::ElementType;
using hlo::Literal;
using hlo::Shape;

constexpr double kExactIntegers = 9007199254740992.0;  // 2^53

size_t WidthOf(const Literal& literal) {
  return static_cast<size_t>(hlo::StorageBytes(literal.shape().element_type()));
}

size_t ElementsOf(const Literal& literal) {
  const size_t width = WidthOf(literal);
  return width == 0 ? 0 : literal.bytes().size() / width;
}

bool IsZero(std::span<const std::byte> element) {
  return std::ranges::all_of(element, [](std::byte b) { return b == std::byte{0}; });
}

Shape As(const Shape& shape, ElementType type) {
  Shape other = shape.WithoutLayouts();
  other.set_element_type(type);
  return other;
}

std::vector<double> Numbers(const Literal& literal) {
  const Literal wide = eval::ConvertLiteral(literal, As(literal.shape(), ElementType::kF64));
  const auto data = wide.data<double>();
  return {data.begin(), data.end()};
}

Literal FromNumbers(std::span<const double> numbers, const Shape& shape) {
  const Literal wide = Literal::Of<double>(As(shape, ElementType::kF64), numbers);
  Literal literal = eval::ConvertLiteral(wide, shape.WithoutLayouts());
  if (shape.has_layout()) literal.set_layout(shape.layout());
  return literal;
}

Literal Uniform(const Literal& literal) {
  std::vector<std::byte> bytes(literal.bytes().begin(), literal.bytes().end());
  const size_t width = WidthOf(literal);
  for (size_t i = width; i + width <= bytes.size(); i += width) {
    std::memcpy(bytes.data() + i, bytes.data(), width);
  }
  return Literal::Dense(literal.shape(), std::move(bytes));
}

double Rounded(double number, int digits) {
  if (!std::isfinite(number)) return number;
  const std::string text = fmt::format("{:.{}g}", number, digits);
  double rounded = number;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

std::optional<std::vector<double>> Changed(const Literal& literal, Simpler how) {
  const ElementType type = literal.shape().element_type();
  std::vector<double> numbers = Numbers(literal);
  const bool is_integer = hlo::IsInteger(type);
  if (is_integer != (how == Simpler::kHalves) || (!is_integer && !hlo::IsFloat(type))) {
    return std::nullopt;
  }
  for (double& number : numbers) {
    if (is_integer && std::abs(number) >= kExactIntegers) return std::nullopt;
    if (is_integer && std::abs(number) > 1) number = std::trunc(number / 2);
    if (!is_integer) number = Rounded(number, how == Simpler::kOneDigit ? 1 : 3);
  }
  return numbers;
}

// Zeros and ones, of any type, are as simple as can be.
bool IsSimplest(const Literal& literal) {
  if (CountNonZeros(literal) == 0) return true;
  const std::vector<double> ones(ElementsOf(literal), 1.0);
  return FromNumbers(ones, literal.shape()).bytes().size() == literal.bytes().size() &&
         std::ranges::equal(FromNumbers(ones, literal.shape()).bytes(), literal.bytes());
}

}  // namespace

size_t CountNonZeros(const Literal& literal) {
  const size_t width = WidthOf(literal);
  size_t count = 0;
  for (size_t i = 0; i < ElementsOf(literal); ++i) {
    count += IsZero(literal.bytes().subspan(i * width, width)) ? 0 : 1;
  }
  return count;
}

Literal WithZeros(const Literal& literal, size_t begin, size_t end) {
  const size_t width = WidthOf(literal);
  std::vector<std::byte> bytes(literal.bytes().begin(), literal.bytes().end());
  size_t number = 0;
  for (size_t i = 0; i < ElementsOf(literal); ++i) {
    const auto element = std::span(bytes).subspan(i * width, width);
    if (IsZero(element)) continue;
    if (number >= begin && number < end) std::ranges::fill(element, std::byte{0});
    ++number;
  }
  Literal changed = Literal::Dense(literal.shape(), std::move(bytes));
  changed.set_dynamic_sizes({literal.dynamic_sizes().begin(), literal.dynamic_sizes().end()});
  return changed;
}

std::optional<Literal> Simplified(const Literal& literal, Simpler how) {
  if (!literal.shape().IsArray() || literal.elided() || !literal.dynamic_sizes().empty()) {
    return std::nullopt;
  }
  if (ElementsOf(literal) == 0 || CountNonZeros(literal) == 0) return std::nullopt;
  if (how == Simpler::kZeros) {
    return Literal::Dense(literal.shape(), std::vector<std::byte>(literal.bytes().size()));
  }
  if (IsSimplest(literal)) return std::nullopt;
  Literal simpler = literal;
  if (how == Simpler::kOnes) {
    simpler = FromNumbers(std::vector<double>(ElementsOf(literal), 1.0), literal.shape());
  } else if (how == Simpler::kUniform) {
    if (IsZero(literal.bytes().first(WidthOf(literal)))) return std::nullopt;
    simpler = Uniform(literal);
  } else {
    const auto numbers = Changed(literal, how);
    if (!numbers) return std::nullopt;
    simpler = FromNumbers(*numbers, literal.shape());
  }
  if (std::ranges::equal(simpler.bytes(), literal.bytes())) return std::nullopt;
  return simpler;
}

Literal Resized(const Literal& literal, const Shape& shape) {
  const size_t width = WidthOf(literal);
  const auto from = literal.shape().dimensions();
  const auto to = shape.dimensions();
  std::vector<std::byte> bytes(static_cast<size_t>(shape.ByteSize().value_or(0)));
  std::vector<int64_t> index(to.size(), 0);
  for (size_t at = 0; at + width <= bytes.size(); at += width) {
    int64_t place = 0;
    for (size_t d = 0; d < to.size(); ++d) {
      place = place * from[d] + (from[d] == 0 ? 0 : index[d] % from[d]);
    }
    const auto source = static_cast<size_t>(place) * width;
    if (source + width <= literal.bytes().size()) {
      std::memcpy(bytes.data() + at, literal.bytes().data() + source, width);
    }
    for (size_t d = to.size(); d-- > 0;) {
      if (++index[d] < to[d]) break;
      index[d] = 0;
    }
  }
  return Literal::Dense(shape, std::move(bytes));
}

}  // namespace hloscope::debug
