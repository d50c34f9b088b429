// Numbers of literals: XLA's tokens, ranges and roundings.
#include "core/hlo/text/element_reader.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/hlo/text/text_parts.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

constexpr uint64_t kUsualNan = uint64_t{1} << 51;  // mantissa of a double's plain NaN
constexpr uint64_t kNanMantissa = (uint64_t{1} << 52) - 1;

bool EndsNumber(const TextCursor& cursor) {
  if (cursor.position() == cursor.end()) return true;
  char c = *cursor.position();
  return !TextCursor::IsIdentifierPart(c);
}

struct Number {
  bool is_integer = false;
  int64_t integer = 0;  // bits of a uint64 beyond the int64 range, as XLA's lexer has it
  double real = 0;
  bool is_plain_nan = false;  // nan or -nan without a payload in parentheses
};

// True if a magnitude outside the range of double is too small rather than too large.
bool Underflows(std::string_view digits) {
  size_t e = digits.find_first_of("eE");
  return e != std::string_view::npos && e + 1 < digits.size() && digits[e + 1] == '-';
}

// The (0x…) that may follow nan.
std::optional<uint64_t> ReadPayload(TextCursor& cursor) {
  std::string_view rest(cursor.position(), static_cast<size_t>(cursor.end() - cursor.position()));
  if (!rest.starts_with('(')) return kUsualNan;
  if (!rest.starts_with("(0x")) return std::nullopt;
  uint64_t payload = 0;
  auto [after, error] = std::from_chars(rest.data() + 3, cursor.end(), payload, 16);
  if (error != std::errc() || after == cursor.end() || *after != ')') return std::nullopt;
  if (payload == 0 || payload > kNanMantissa) return std::nullopt;
  cursor.set_position(after + 1);
  return payload;
}

// inf, nan and nan(0x…) after an optional minus.
Parsed<Number> ReadWordNumber(TextCursor& cursor, bool negative) {
  const uint64_t start = cursor.offset();
  const char* word_start = cursor.position();
  while (cursor.position() != cursor.end() && TextCursor::IsIdentifierPart(*cursor.position())) {
    cursor.set_position(cursor.position() + 1);
  }
  std::string_view word = cursor.Since(word_start);
  uint64_t bits = 0x7ff0000000000000u;
  const bool plain =
      word == "nan" && (cursor.position() == cursor.end() || *cursor.position() != '(');
  if (word == "nan") {
    std::optional<uint64_t> payload = ReadPayload(cursor);
    if (!payload) {
      return std::unexpected(BadLiteral(start, "payload of nan is not 0x1 to 0xfffffffffffff"));
    }
    bits |= *payload;
  } else if (word != "inf") {
    cursor.set_position(word_start);
    return std::unexpected(cursor.Expected("a number", "constant"));
  }
  if (negative) bits |= uint64_t{1} << 63;
  return Number{.real = std::bit_cast<double>(bits), .is_plain_nan = plain};
}

Parsed<Number> ReadReal(TextCursor& cursor, const char* start) {
  Number number;
  auto [after, error] = std::from_chars(start, cursor.end(), number.real);
  std::string_view text(start, static_cast<size_t>(after - start));
  if (error == std::errc::result_out_of_range) {
    if (!Underflows(text)) {
      return std::unexpected(BadLiteral(cursor.offset(), "number is beyond the range of f64"));
    }
    number.real = text.starts_with('-') ? -0.0 : 0.0;
  } else if (error != std::errc()) {
    return std::unexpected(cursor.Expected("a number", "constant"));
  }
  cursor.set_position(after);
  return number;
}

// A number as XLA's lexer takes it: an integer of up to 64 bits, or a real with a point or an
// exponent.
Parsed<Number> ReadNumber(TextCursor& cursor) {
  cursor.SkipSpace();
  const char* const start = cursor.position();
  const char* p = start;
  const bool negative = p != cursor.end() && *p == '-';
  if (negative) ++p;
  if (p == cursor.end()) return std::unexpected(cursor.Expected("a number", "constant"));
  if (!TextCursor::IsDigit(*p) && !(negative && *p == '.')) {
    cursor.set_position(p);
    Parsed<Number> word = ReadWordNumber(cursor, negative);
    if (!word) cursor.set_position(start);
    return word;
  }
  uint64_t magnitude = 0;
  auto [after, error] = std::from_chars(p, cursor.end(), magnitude);
  Number number;
  if (after != cursor.end() && (*after == '.' || *after == 'e' || *after == 'E')) {
    HLOSCOPE_ASSIGN_OR_RETURN(number, ReadReal(cursor, start));
  } else if (error != std::errc() || (negative && magnitude > uint64_t{1} << 63)) {
    return std::unexpected(BadLiteral(cursor.offset(), "integer does not fit into 64 bits"));
  } else {
    number.is_integer = true;
    number.integer = std::bit_cast<int64_t>(negative ? uint64_t{0} - magnitude : magnitude);
    // XLA prints the float -0.0 as -0, which its own reader takes for 0; here a dump loses no sign.
    number.real = negative && magnitude == 0 ? -0.0 : static_cast<double>(number.integer);
    cursor.set_position(after);
  }
  if (EndsNumber(cursor)) return number;
  cursor.set_position(start);
  return std::unexpected(cursor.Expected("a number", "constant"));
}

template <typename T>
Parsed<void> Store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
  return {};
}

}  // namespace

Parsed<void> ElementReader::Read(std::byte* to) {
  switch (info_.kind) {
    case ElementKind::kPred:
      return ReadPred(to);
    case ElementKind::kSigned:
    case ElementKind::kUnsigned:
      return ReadInteger(to);
    case ElementKind::kFloat:
      return ReadFloat(to);
    case ElementKind::kComplex:
      return ReadComplex(to);
    case ElementKind::kNone:
      break;
  }
  return std::unexpected(cursor_.Expected("an array type", "constant"));
}

Parsed<int64_t> ElementReader::Integer() {
  const uint64_t start = (cursor_.SkipSpace(), cursor_.offset());
  HLOSCOPE_ASSIGN_OR_RETURN(Number number, ReadNumber(cursor_));
  if (number.is_integer) return number.integer;
  return std::unexpected(
      BadLiteral(start, "expected an integer for an element of type " + std::string(info_.text)));
}

Parsed<void> ElementReader::ReadPred(std::byte* to) {
  bool value = cursor_.ConsumeWord("true");
  if (!value && !cursor_.ConsumeWord("false")) {
    HLOSCOPE_ASSIGN_OR_RETURN(int64_t number, Integer());
    value = number != 0;
  }
  *to = static_cast<std::byte>(value);
  return {};
}

Parsed<void> ElementReader::ReadInteger(std::byte* to) {
  const uint64_t start = (cursor_.SkipSpace(), cursor_.offset());
  HLOSCOPE_ASSIGN_OR_RETURN(int64_t value, Integer());
  const bool is_signed = info_.kind == ElementKind::kSigned;
  if (info_.bits < 64) {
    const int64_t low = is_signed ? -(int64_t{1} << (info_.bits - 1)) : 0;
    const int64_t high = (int64_t{1} << (info_.bits - (is_signed ? 1 : 0))) - 1;
    if (value < low || value > high) {
      return std::unexpected(
          BadLiteral(start, "value " + std::to_string(value) + " is out of range for " +
                                std::string(info_.text) + ", which holds " + std::to_string(low) +
                                " to " + std::to_string(high)));
    }
  }
  std::memcpy(to, &value, static_cast<size_t>(info_.storage_bytes));  // little endian
  return {};
}

Parsed<void> ElementReader::ReadFloat(std::byte* to) {
  const uint64_t start = (cursor_.SkipSpace(), cursor_.offset());
  HLOSCOPE_ASSIGN_OR_RETURN(Number number, ReadNumber(cursor_));
  if (type_ == ElementType::kF64) return Store(to, number.real);
  if (type_ == ElementType::kF32) return StoreF32(to, number.real, start);
  return StoreNarrow(to, number.real, start);
}

Parsed<void> ElementReader::ReadComplex(std::byte* to) {
  HLOSCOPE_TRY(Require(cursor_, '(', "( of a complex number such as (1, 2)", "constant"));
  const uint64_t start = (cursor_.SkipSpace(), cursor_.offset());
  HLOSCOPE_ASSIGN_OR_RETURN(Number real, ReadNumber(cursor_));
  HLOSCOPE_TRY(Require(cursor_, ',', ", after the real part", "constant"));
  HLOSCOPE_ASSIGN_OR_RETURN(Number imaginary, ReadNumber(cursor_));
  HLOSCOPE_TRY(Require(cursor_, ')', ") after the imaginary part", "constant"));
  // XLA's reader lets a NaN of the real part overwrite the other.
  if (real.is_plain_nan) imaginary = real;
  if (type_ == ElementType::kC128) {
    HLOSCOPE_TRY(Store(to, real.real));
    return Store(to + 8, imaginary.real);
  }
  HLOSCOPE_TRY(StoreF32(to, real.real, start));
  return StoreF32(to + 4, imaginary.real, start);
}

Parsed<void> ElementReader::StoreF32(std::byte* to, double value, uint64_t start) {
  if (std::isnan(value)) {
    HLOSCOPE_ASSIGN_OR_RETURN(uint64_t payload, Payload(value, 23, start));
    uint32_t sign = std::signbit(value) ? 0x80000000u : 0u;
    return Store(to, sign | 0x7f800000u | static_cast<uint32_t>(payload));
  }
  const auto number = static_cast<float>(value);
  if (std::isfinite(value) && !std::isfinite(number)) {
    return OutOfRange(value, std::numeric_limits<float>::max(), start);
  }
  return Store(to, number);
}

Parsed<void> ElementReader::StoreNarrow(std::byte* to, double value, uint64_t start) {
  uint32_t bits = 0;
  if (std::isnan(value) && format_->nan_payload_bits() > 0) {
    HLOSCOPE_ASSIGN_OR_RETURN(uint64_t payload, Payload(value, format_->mantissa_bits, start));
    bits = format_->infinity() | static_cast<uint32_t>(payload);
    if (std::signbit(value)) bits |= format_->sign_mask();
  } else {
    // XLA rounds to f16 and bf16 by way of f32.
    double rounded = format_->bits == 16 ? static_cast<double>(static_cast<float>(value)) : value;
    bits = EncodeFloat(*format_, rounded);
    if (std::isnan(value) && (std::bit_cast<uint64_t>(value) & kNanMantissa) != kUsualNan) {
      return std::unexpected(
          BadLiteral(start, "nan of type " + std::string(info_.text) + " holds no payload"));
    }
    bool finite = std::isfinite(DecodeFloat(*format_, bits));
    if (std::isfinite(value) && !finite) {
      return OutOfRange(value, DecodeFloat(*format_, format_->max_finite()), start);
    }
  }
  if (format_->bits == 16) return Store(to, static_cast<uint16_t>(bits));
  return Store(to, static_cast<uint8_t>(bits));
}

Parsed<uint64_t> ElementReader::Payload(double nan, int mantissa_bits, uint64_t start) const {
  uint64_t payload = std::bit_cast<uint64_t>(nan) & kNanMantissa;
  if (payload == kUsualNan) return uint64_t{1} << (mantissa_bits - 1);
  const uint64_t most = (uint64_t{1} << mantissa_bits) - 1;
  if (payload <= most) return payload;
  char text[24];
  auto [end, error] = std::to_chars(text, text + sizeof text, most, 16);
  return std::unexpected(BadLiteral(start, "payload of nan is larger than 0x" +
                                               std::string(text, end) + ", the most that " +
                                               std::string(info_.text) + " holds"));
}

Parsed<void> ElementReader::OutOfRange(double value, float most, uint64_t start) const {
  std::string message = "value ";
  AppendDouble(message, value, true);
  message += " is out of range for " + std::string(info_.text) + ", which holds ";
  const bool is_scale = format_ != nullptr && format_->specials == FloatSpecials::kScale;
  AppendDouble(message, is_scale ? DecodeFloat(*format_, 0) : -most);
  message += " to ";
  AppendDouble(message, most);
  return std::unexpected(BadLiteral(start, std::move(message)));
}

}  // namespace hloscope::hlo
