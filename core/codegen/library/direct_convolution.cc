#include "core/codegen/library/direct_convolution.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>

#include "core/hlo/float_types.h"

namespace hloscope::codegen {

namespace {

constexpr int64_t kBlock = 64;  // elements, of which the compiler makes vectors

template <typename Bits>
bool AreFinite(const std::byte* elements, int64_t count, Bits exponent) {
  std::array<Bits, kBlock> block{};
  for (int64_t at = 0; at < count; at += kBlock) {
    const auto size = static_cast<size_t>(std::min(kBlock, count - at));
    std::memcpy(block.data(), elements + at * static_cast<int64_t>(sizeof(Bits)),
                size * sizeof(Bits));
    Bits found = 0;
    for (const Bits bits : block) {
      found = static_cast<Bits>(found | ((bits & exponent) == exponent ? 1 : 0));
    }
    if (found != 0) return false;
  }
  return true;
}

// The next index in row-major order; false behind the last.
bool Next(std::span<int64_t> index, std::span<const int64_t> sizes) {
  for (size_t d = index.size(); d-- > 0;) {
    if (++index[d] < sizes[d]) return true;
    index[d] = 0;
  }
  return false;
}

int64_t Offset(std::span<const int64_t> index, std::span<const int64_t> strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
  return offset;
}

float Load(hlo::ElementType type, const std::byte* from) {
  if (type == hlo::ElementType::kBF16) {
    uint16_t bits = 0;
    std::memcpy(&bits, from, sizeof bits);
    return std::bit_cast<float>(uint32_t{bits} << 16);
  }
  float x = 0;
  std::memcpy(&x, from, sizeof x);
  return x;
}

class Direct {
 public:
  Direct(const ConvolutionForm& form, const std::byte* input, const float* packed,
         std::byte* output)
      : form_(form),
        input_(input),
        packed_(packed),
        output_(output),
        rows_(form.weights.sizes[2]),
        columns_(form.weights.sizes[1]),
        taps_(Spatial(form.weights.sizes, 3)),
        places_(Spatial(form.output.sizes, 2)),
        input_strides_(Spatial(form.input.strides, 2)),
        sums_(static_cast<size_t>(columns_)) {}

  void Run(int64_t batch) {
    if (form_.output.ElementCount() == 0) return;
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t group = 0; group < form_.groups(); ++group) {
        std::vector<int64_t> at(places_.size());
        do {
          std::ranges::fill(sums_, 0.0f);
          Sum(n, group, at);
          Write(n, group, at);
        } while (Next(at, places_));
      }
    }
  }

 private:
  static std::span<const int64_t> Spatial(const std::vector<int64_t>& numbers, size_t first) {
    return std::span(numbers).subspan(first);
  }

  // Where the input has the element under a tap, without batch and features; -1: it has none.
  int64_t OffsetOf(std::span<const int64_t> at, std::span<const int64_t> tap) const {
    int64_t offset = 0;
    for (size_t s = 0; s < at.size(); ++s) {
      const hlo::WindowDimension& w = form_.window[s];
      const int64_t place = at[s] * w.stride + tap[s] * w.window_dilation - w.padding_low;
      if (place < 0 || place % w.base_dilation != 0) return -1;
      if (place / w.base_dilation >= form_.input.sizes[s + 2]) return -1;
      offset += place / w.base_dilation * input_strides_[s];
    }
    return offset;
  }

  void Sum(int64_t n, int64_t group, std::span<const int64_t> at) {
    std::vector<int64_t> tap(taps_.size());
    const float* weights = packed_ + group * (form_.weights.ElementCount() / form_.groups());
    do {
      const int64_t offset = OffsetOf(at, tap);
      for (int64_t row = 0; offset >= 0 && row < rows_; ++row) {
        const int64_t feature = group * rows_ + row;
        const int64_t place =
            n * form_.input.strides[0] + feature * form_.input.strides[1] + offset;
        const float x = Load(form_.input.type, input_ + place * form_.input.bytes());
        const float* y = weights + row * columns_;
        for (int64_t c = 0; c < columns_; ++c) sums_[static_cast<size_t>(c)] += x * y[c];
      }
      weights += rows_ * columns_;
    } while (Next(tap, taps_));
  }

  void Write(int64_t n, int64_t group, std::span<const int64_t> at) {
    const ArrayForm& out = form_.output;
    const int64_t first = n * out.strides[0] + Offset(at, Spatial(out.strides, 2));
    for (int64_t c = 0; c < columns_; ++c) {
      const int64_t place = first + (group * columns_ + c) * out.strides[1];
      hlo::EncodeFloats(out.type, std::span(&sums_[static_cast<size_t>(c)], 1),
                        {output_ + place * out.bytes(), static_cast<size_t>(out.bytes())});
    }
  }

  const ConvolutionForm& form_;
  const std::byte* input_;
  const float* packed_;
  std::byte* output_;
  int64_t rows_, columns_;  // input and output features of a group
  std::span<const int64_t> taps_, places_, input_strides_;
  std::vector<float> sums_;
};

}  // namespace

bool AreFinite(hlo::ElementType type, const std::byte* elements, int64_t count) {
  return type == hlo::ElementType::kBF16 ? AreFinite<uint16_t>(elements, count, 0x7f80)
                                         : AreFinite<uint32_t>(elements, count, 0x7f800000);
}

void PackWeights(const ConvolutionForm& form, const std::byte* weights, float* packed) {
  const ArrayForm& from = form.weights;
  // Groups, spatial, input feature, output feature.
  std::vector<int64_t> sizes = {from.sizes[0]}, strides = {from.strides[0]};
  const auto add = [&](size_t d) {
    sizes.push_back(from.sizes[d]);
    strides.push_back(from.strides[d]);
  };
  for (size_t d = 3; d < from.sizes.size(); ++d) add(d);
  add(2);
  add(1);
  if (from.ElementCount() == 0) return;
  std::vector<int64_t> at(sizes.size());
  do {
    *packed++ = Load(from.type, weights + Offset(at, strides) * from.bytes());
  } while (Next(at, sizes));
}

void ConvolveDirectly(const ConvolutionForm& form, const std::byte* input, const float* packed,
                      std::byte* output, int64_t batch) {
  Direct(form, input, packed, output).Run(batch);
}

}  // namespace hloscope::codegen
