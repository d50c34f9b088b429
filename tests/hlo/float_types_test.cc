// The narrow float types: formats, decoding, encoding.
#include "core/hlo/float_types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace hloscope::hlo {
namespace {

const float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(FloatTypes, EveryNumberSurvivesARoundTrip) {
  for (const FloatFormat& f : kFloatFormats) {
    for (uint32_t bits = 0; bits < 1u << f.bits; ++bits) {
      float value = DecodeFloat(f, bits);
      EXPECT_EQ(std::isnan(value), f.IsNan(bits)) << ToString(f.type) << " " << bits;
      if (std::isnan(value)) continue;
      EXPECT_EQ(EncodeFloat(f, value), bits) << ToString(f.type) << " " << value;
    }
  }
}

TEST(FloatTypes, MidpointsGoToEven) {
  for (const FloatFormat& f : kFloatFormats) {
    if (f.specials == FloatSpecials::kScale) continue;
    for (uint32_t bits = 0; bits < f.max_finite(); ++bits) {
      double low = DecodeFloat(f, bits), high = DecodeFloat(f, bits + 1), middle = (low + high) / 2;
      EXPECT_EQ(EncodeFloat(f, middle), bits + (bits & 1)) << ToString(f.type) << " " << middle;
      EXPECT_EQ(EncodeFloat(f, std::nextafter(middle, low)), bits);
      EXPECT_EQ(EncodeFloat(f, std::nextafter(middle, high)), bits + 1);
    }
  }
}

TEST(FloatTypes, EdgesOfEachFormat) {
  struct Case {
    ElementType type;
    double value;
    uint32_t bits;
  };
  const Case cases[] = {
      {ElementType::kF16, 65504, 0x7bff},      {ElementType::kF16, 65520, 0x7c00},
      {ElementType::kF16, kNan, 0x7e00},       {ElementType::kBF16, 3.4e38, 0x7f80},
      {ElementType::kBF16, -kNan, 0xffc0},     {ElementType::kF8E5M2, 57344, 0x7b},
      {ElementType::kF8E5M2, 61440, 0x7c},     {ElementType::kF8E4M3FN, 464, 0x7e},
      {ElementType::kF8E4M3FN, 465, 0x7f},     {ElementType::kF8E4M3FN, -kInf, 0xff},
      {ElementType::kF8E4M3, 248, 0x78},       {ElementType::kF8E3M4, 15.5, 0x6f},
      {ElementType::kF8E4M3FNUZ, -0.0, 0},     {ElementType::kF8E4M3FNUZ, 1e-9, 0},
      {ElementType::kF8E4M3FNUZ, -1e-9, 0},    {ElementType::kF8E4M3FNUZ, kInf, 0x80},
      {ElementType::kF8E5M2FNUZ, 57344, 0x7f}, {ElementType::kF8E4M3B11FNUZ, 30, 0x7f},
      {ElementType::kF8E4M3B11FNUZ, 31, 0x80}, {ElementType::kF8E8M0FNU, 1, 127},
      {ElementType::kF8E8M0FNU, 3, 129},       {ElementType::kF8E8M0FNU, 0, 255},
      {ElementType::kF8E8M0FNU, -1, 255},      {ElementType::kF8E8M0FNU, 1e-300, 0},
      {ElementType::kF8E8M0FNU, 6e-39, 1},     {ElementType::kF8E8M0FNU, 2.56e38, 255},
      {ElementType::kF6E2M3FN, 1000, 0x1f},    {ElementType::kF6E3M2FN, -kInf, 0x3f},
      {ElementType::kF6E3M2FN, -kNan, 0},      {ElementType::kF4E2M1FN, kNan, 8},
      {ElementType::kF4E2M1FN, 0.25, 0},       {ElementType::kF4E2M1FN, -0.26, 9},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(EncodeFloat(*FindFloatFormat(c.type), c.value), c.bits)
        << ToString(c.type) << " " << c.value;
  }
}

TEST(FloatTypes, ArraysAndElementsAgree) {
  const std::vector<float> values = {0.f, -1.5f, 3.25f, 448.f, 1e-3f, kInf, kNan};
  for (const FloatFormat& f : kFloatFormats) {
    std::vector<std::byte> bytes(values.size() * static_cast<size_t>(StorageBytes(f.type)));
    std::vector<float> back(values.size());
    EncodeFloats(f.type, values, bytes);
    DecodeFloats(f.type, bytes, back);
    for (size_t i = 0; i < values.size(); ++i) {
      float expected = DecodeFloat(f, EncodeFloat(f, values[i]));
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(back[i]));
      } else {
        EXPECT_EQ(back[i], expected) << ToString(f.type) << " " << values[i];
      }
    }
  }
}

TEST(FloatTypes, F16FromDoubleRoundsTwice) {
  // Just above the middle of 1 and the next f16; as f32 it is the middle itself.
  EXPECT_EQ(F16(1.0004882812500002).bits, 0x3c00);
  EXPECT_EQ(EncodeFloat(F16::kFormat, 1.0004882812500002), 0x3c01u);
}

}  // namespace
}  // namespace hloscope::hlo
