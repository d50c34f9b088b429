// Instruction descriptors.
#include "core/ptx/machine/instruction_descriptor.h"

#include "core/ptx/tensor/steps.h"

namespace hloscope::ptx {
namespace {

constexpr int kRowBytes = 32;

uint32_t Field(uint32_t descriptor, int at, int bits) {
  return descriptor >> at & ((1u << bits) - 1);
}

bool IsScaled(const Instruction& in) {
  return in.operation == Operation::kTensorMultiplyScaled ||
         in.operation == Operation::kTensorMultiplyScaledFromMemory;
}

// Of kind::f8f6f4 and kind::mxf8f6f4.
std::optional<Element> NarrowElement(uint32_t format) {
  switch (format) {
    case 0:
      return Element::kE4m3;
    case 1:
      return Element::kE5m2;
    case 3:
      return Element::kE2m3;
    case 4:
      return Element::kE3m2;
    case 5:
      return Element::kE2m1;
    default:
      return std::nullopt;
  }
}

std::optional<Element> ElementIn(Kind kind, uint32_t format) {
  switch (kind) {
    case Kind::kF16:
      if (format <= 1) return format == 0 ? Element::kF16 : Element::kBf16;
      return std::nullopt;
    case Kind::kTf32:
      if (format == 2) return Element::kTf32;
      return std::nullopt;
    case Kind::kF8f6f4:
      return NarrowElement(format);
    default:
      if (format <= 1) return format == 0 ? Element::kU8 : Element::kS8;
      return std::nullopt;
  }
}

// What of a block-scaled product is not that of others.
bool ScaleProduct(const Instruction& in, uint32_t descriptor, TensorProduct& p,
                  const char*& refused) {
  const ScaledKind kind = ModifierScaledKind(in);
  const bool is_mxf8f6f4 = kind == ScaledKind::kMxf8f6f4;
  p.is_ue4m3 = Field(descriptor, 23, 1) == 0;
  p.block = ScaleBlockOf(kind, ModifierScaleVector(in), p.is_ue4m3);
  p.form.d = Element::kF32;
  p.form.m = static_cast<int>(Field(descriptor, 27, 2) * 128);
  p.form.k = is_mxf8f6f4 ? kRowBytes : 2 * kRowBytes;
  p.a_scale_byte = Field(descriptor, 29, 2);
  p.b_scale_byte = Field(descriptor, 4, 2);
  if (p.block == 0) {
    refused = "tcgen05.mma with scale factors of this format for so many elements";
    return false;
  }
  if (!is_mxf8f6f4 && (p.a_transposed || p.b_transposed || Field(descriptor, 31, 1) != 0)) {
    refused = "tcgen05.mma of e2m1 with transposed matrices, or 96 elements along k";
    return false;
  }
  const auto factors = static_cast<uint32_t>(p.form.k / p.block);
  if (p.a_scale_byte % factors != 0 || p.b_scale_byte % factors != 0) {
    refused = "the scale factors of a row start at a byte that is not a multiple of their number";
    return false;
  }
  return true;
}

bool SumProduct(const Instruction& in, uint32_t descriptor, TensorProduct& p,
                const char*& refused) {
  const bool is_integer = ModifierKind(in) == Kind::kI8;
  const uint32_t sums = Field(descriptor, 4, 2);
  p.form.d = is_integer ? Element::kS32 : sums == 1 ? Element::kF32 : Element::kF16;
  if (sums != (is_integer ? 2u : p.form.d == Element::kF32 ? 1u : 0u)) {
    refused = "tcgen05.mma with sums of this type";
    return false;
  }
  p.form.m = static_cast<int>(Field(descriptor, 24, 5) * 16);
  p.form.k = kRowBytes / BytesOf(p.form.a);
  p.form.saturate = Field(descriptor, 3, 1) != 0;
  return true;
}

}  // namespace

std::optional<TensorProduct> TensorProductOf(const Instruction& in, uint32_t descriptor,
                                             uint32_t target, const char*& refused) {
  const bool is_scaled = IsScaled(in);
  const bool is_e2m1 = HoldsPairs(in);
  const auto element = [&](int at, int bits) -> std::optional<Element> {
    const uint32_t format = Field(descriptor, at, bits);
    if (is_e2m1) return format == 1 ? std::optional(Element::kE2m1) : std::nullopt;
    return is_scaled ? NarrowElement(format) : ElementIn(ModifierKind(in), format);
  };
  const auto a = element(7, 3), b = element(10, is_e2m1 ? 2 : 3);
  if (!a.has_value() || !b.has_value()) {
    refused = "tcgen05.mma of these types of a and b is not executed";
    return std::nullopt;
  }
  if (Field(descriptor, 2, 1) != 0 || (!is_scaled && Field(descriptor, 0, 2) != 0)) {
    refused = "tcgen05.mma of sparse matrices is not executed";
    return std::nullopt;
  }
  TensorProduct p;
  p.form = {TensorUnit::kTcgen05, 0, static_cast<int>(Field(descriptor, 17, 6) * 8), 0, *a, *b,
            Element::kF32};
  p.form.sm = static_cast<int>(target);
  p.a_negative = Field(descriptor, 13, 1) != 0;
  p.b_negative = Field(descriptor, 14, 1) != 0;
  p.a_transposed = Field(descriptor, 15, 1) != 0;
  p.b_transposed = Field(descriptor, 16, 1) != 0;
  if (is_scaled ? !ScaleProduct(in, descriptor, p, refused)
                : !SumProduct(in, descriptor, p, refused)) {
    return std::nullopt;
  }
  const bool has_rows = p.form.m == 128 || (p.form.m == 64 && !is_scaled);
  const int step = p.form.m == 64 || is_scaled ? 8 : 16;
  if (!has_rows || p.form.n < step || p.form.n > 256 || p.form.n % step != 0) {
    refused = is_scaled
                  ? "block-scaled tcgen05.mma of this shape: m is 128, n up to 256 in steps of 8"
                  : "tcgen05.mma of this shape: m is 64 or 128, n up to 256 in steps of 8 or 16";
    return std::nullopt;
  }
  return p;
}

int ScaleBlockOf(ScaledKind kind, ScaleVector vector, bool is_ue4m3) {
  const bool is_16 = vector == ScaleVector::k4 || vector == ScaleVector::kBlock16;
  switch (kind) {
    case ScaledKind::kMxf8f6f4:
      return !is_ue4m3 && !is_16 && vector != ScaleVector::k2 ? 32 : 0;
    case ScaledKind::kMxf4:
      return !is_ue4m3 && !is_16 && vector != ScaleVector::k1 ? 32 : 0;
    default:
      if (is_16) return 16;
      return !is_ue4m3 && (vector == ScaleVector::k2 || vector == ScaleVector::kBlock32) ? 32 : 0;
  }
}

TileForm UsualTensorForm(const Instruction& in, uint32_t target) {
  if (IsScaled(in)) {
    return {TensorUnit::kTcgen05,
            128,
            128,
            kRowBytes,
            Element::kE4m3,
            Element::kE4m3,
            Element::kF32,
            false,
            static_cast<int>(target)};
  }
  const Kind kind = ModifierKind(in);
  const Element a = kind == Kind::kF16      ? Element::kF16
                    : kind == Kind::kTf32   ? Element::kTf32
                    : kind == Kind::kF8f6f4 ? Element::kE4m3
                                            : Element::kS8;
  return {TensorUnit::kTcgen05,
          128,
          128,
          kRowBytes / BytesOf(a),
          a,
          a,
          kind == Kind::kI8 ? Element::kS32 : Element::kF32,
          false,
          static_cast<int>(target)};
}

}  // namespace hloscope::ptx
