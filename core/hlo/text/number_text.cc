// Floating-point numbers as XLA's literals spell them.
#include "core/hlo/text/number_text.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <string_view>

#include "core/base/append.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

// The digits of a finite number without trailing zeros, and the power of ten of the first.
struct Decimal {
  char digits[20];
  int count = 0;
  int exponent = 0;
  bool negative = false;
};

// Takes apart "-1.25e+07".
Decimal ParseScientific(std::string_view text) {
  Decimal decimal;
  size_t i = 0;
  if (text[0] == '-') {
    decimal.negative = true;
    ++i;
  }
  for (; i < text.size() && text[i] != 'e'; ++i) {
    if (text[i] != '.') decimal.digits[decimal.count++] = text[i];
  }
  while (decimal.count > 1 && decimal.digits[decimal.count - 1] == '0') --decimal.count;
  bool exponent_negative = text[i + 1] == '-';
  std::from_chars(text.data() + i + 2, text.data() + text.size(), decimal.exponent);
  if (exponent_negative) decimal.exponent = -decimal.exponent;
  return decimal;
}

template <typename Number>
Decimal ShortestDecimal(Number value) {
  char text[40];
  auto [end, error] = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
  return ParseScientific({text, end});
}

Decimal RoundedDecimal(double value, int digits) {
  char text[40];
  auto [end, error] =
      std::to_chars(text, text + sizeof text, value, std::chars_format::scientific, digits - 1);
  return ParseScientific({text, end});
}

void AppendScientific(std::string& out, const Decimal& decimal) {
  out += decimal.digits[0];
  if (decimal.count > 1) {
    out += '.';
    out.append(decimal.digits + 1, static_cast<size_t>(decimal.count - 1));
  }
  out += 'e';
  out += decimal.exponent < 0 ? '-' : '+';
  int magnitude = decimal.exponent < 0 ? -decimal.exponent : decimal.exponent;
  if (magnitude < 10) out += '0';
  AppendInteger(out, magnitude);
}

// In the style of %.<precision>g without trailing zeros.
void AppendStyled(std::string& out, const Decimal& decimal, int precision) {
  if (decimal.negative) out += '-';
  if (decimal.exponent < -4 || decimal.exponent >= precision) {
    AppendScientific(out, decimal);
    return;
  }
  if (decimal.exponent < 0) {
    out.append("0.0000", static_cast<size_t>(1 - decimal.exponent));
    out.append(decimal.digits, static_cast<size_t>(decimal.count));
    return;
  }
  const int whole = decimal.exponent + 1;
  for (int i = 0; i < whole; ++i) out += i < decimal.count ? decimal.digits[i] : '0';
  if (decimal.count > whole) {
    out += '.';
    out.append(decimal.digits + whole, static_cast<size_t>(decimal.count - whole));
  }
}

void AppendNan(std::string& out, bool negative, uint64_t payload, uint64_t usual_payload) {
  out += negative ? "-nan" : "nan";
  if (payload == usual_payload) return;
  char text[24];
  auto [end, error] = std::to_chars(text, text + sizeof text, payload, 16);
  out.append("(0x").append(text, end).append(")");
}

// Where `kFew` digits do not read back, `kMany` do. The spacing of decimals with `kFew` digits is
// wider than that of normal numbers, so a short decimal that reads back is also the nearest one;
// subnormal numbers have to be tried.
template <typename Number, int kFew, int kMany>
void AppendFinite(std::string& out, Number value) {
  if (value == 0) {
    out += std::signbit(value) ? "-0" : "0";
    return;
  }
  if (std::fabs(value) >= std::numeric_limits<Number>::min()) {
    Decimal shortest = ShortestDecimal(value);
    if (shortest.count <= kFew) {
      AppendStyled(out, shortest, kFew);
      return;
    }
  } else {
    char text[40];
    auto [end, error] = std::to_chars(text, text + sizeof text, static_cast<double>(value),
                                      std::chars_format::scientific, kFew - 1);
    Number back = 0;
    std::from_chars(text, end, back);
    if (back == value) {
      AppendStyled(out, ParseScientific({text, end}), kFew);
      return;
    }
  }
  AppendStyled(out, RoundedDecimal(static_cast<double>(value), kMany), kMany);
}

}  // namespace

void AppendGeneral(std::string& out, double value, int precision) {
  if (std::isnan(value)) {
    out += std::signbit(value) ? "-nan" : "nan";
  } else if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
  } else if (value == 0) {
    out += std::signbit(value) ? "-0" : "0";
  } else {
    AppendStyled(out, RoundedDecimal(value, precision), precision);
  }
}

void AppendLiteralNumber(std::string& out, float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) {
    AppendNan(out, bits >> 31 != 0, bits & 0x7fffffu, 0x400000u);
  } else if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
  } else {
    AppendFinite<float, 6, 9>(out, value);
  }
}

void AppendLiteralNumber(std::string& out, double value) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  if (std::isnan(value)) {
    AppendNan(out, bits >> 63 != 0, bits & 0xfffffffffffffu, 0x8000000000000u);
  } else if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
  } else {
    AppendFinite<double, 15, 17>(out, value);
  }
}

void AppendLiteralNumber(std::string& out, const FloatFormat& format, uint32_t bits) {
  if (!format.IsNan(bits)) {
    AppendGeneral(out, static_cast<double>(DecodeFloat(format, bits)), format.max_digits10);
    return;
  }
  const bool negative = (bits & format.sign_mask()) != 0;
  if (format.nan_payload_bits() == 0) {
    AppendNan(out, negative, 0, 0);
  } else {
    const uint32_t mask = (1u << format.mantissa_bits) - 1;
    AppendNan(out, negative, bits & mask, format.nan() & mask);
  }
}

void AppendDouble(std::string& out, double value, bool exact) {
  const size_t start = out.size();
  AppendGeneral(out, value, 6);
  if (!exact || !std::isfinite(value)) return;
  double back = 0;
  std::from_chars(out.data() + start, out.data() + out.size(), back);
  if (back == value) return;
  out.resize(start);
  AppendStyled(out, ShortestDecimal(value), 17);
}

}  // namespace hloscope::hlo
