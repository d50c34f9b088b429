// Kernels of random numbers. rng-bit-generator is bit-exact with XLA (hlo/builder/lib/prng.cc); rng
// and rng-get-and-update-state draw from the run's own seed.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <span>

#include "core/eval/machine/indices.h"
#include "core/eval/machine/kernels.h"
#include "core/eval/machine/strided_copy.h"
#include "core/eval/numbers/random_bits.h"
#include "core/eval/numbers/wide.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::RandomAlgorithm;
using hlo::Shape;

std::array<uint32_t, 2> Halves(uint64_t x) {
  return {static_cast<uint32_t>(x), static_cast<uint32_t>(x >> 32)};
}
uint64_t Whole(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }

// Writes the low bits of `value` as one element of `bytes` bytes.
void Put(std::byte* out, int64_t element, int bytes, uint64_t value) {
  std::memcpy(out + element * bytes, &value, static_cast<size_t>(bytes));
}

constexpr int64_t kGrain = 1 << 15;  // counters

// Calls put(i, first word, second word) for counters state + i, i in the range.
template <typename Put>
void ThreeFryRange(std::array<uint32_t, 2> key, uint64_t state, IndexRange range, const Put& put) {
  CounterBlock<2> block;
  for (int64_t begin = range.begin; begin < range.end; begin += kCountersAtOnce) {
    const int64_t count = std::min<int64_t>(kCountersAtOnce, range.end - begin);
    for (size_t i = 0; i < block[0].size(); ++i) {
      const auto words = Halves(state + static_cast<uint64_t>(begin) + i);
      block[0][i] = words[0];
      block[1][i] = words[1];
    }
    ThreeFry2x32(block, key);
    for (int64_t i = 0; i < count; ++i) {
      put(begin + i, block[0][static_cast<size_t>(i)], block[1][static_cast<size_t>(i)]);
    }
  }
}

// 64-bit elements are one counter each, in row-major order.
Result<uint64_t> ThreeFry64(Machine& machine, std::array<uint32_t, 2> key, uint64_t state,
                            int64_t count, std::byte* out) {
  HLOSCOPE_TRY(machine.ForRanges(count, kGrain, [&](IndexRange range) -> Status {
    ThreeFryRange(key, state, range, [&](int64_t i, uint32_t low, uint32_t high) {
      Put(out, i, 8, Whole(low, high));
    });
    return {};
  }));
  return state + static_cast<uint64_t>(count);
}

// Narrower elements come in pairs that share a counter: neighbours along the first even dimension,
// or, where there is none, along the largest one, whose last then stands alone.
size_t PairedDimension(std::span<const int64_t> sizes) {
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] % 2 == 0) return d;
  }
  size_t largest = 0;
  for (size_t d = 1; d < sizes.size(); ++d) {
    if (sizes[d] > sizes[largest]) largest = d;
  }
  return largest;
}

Result<uint64_t> ThreeFry32(Machine& machine, std::array<uint32_t, 2> key, uint64_t state,
                            const Shape& shape, std::byte* out) {
  std::vector<int64_t> sizes = Dimensions(shape);
  if (sizes.empty()) sizes = {1};
  const size_t paired = PairedDimension(sizes);
  const int64_t size = sizes[paired], half = (size + 1) / 2;
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < paired; ++d) outer *= sizes[d];
  for (size_t d = paired + 1; d < sizes.size(); ++d) inner *= sizes[d];
  const int bytes = hlo::StorageBytes(shape.element_type());
  const int64_t counters = outer * half * inner;
  if (ElementCount(shape) == 0) return state + static_cast<uint64_t>(counters);
  HLOSCOPE_TRY(machine.ForRanges(counters, kGrain, [&](IndexRange range) -> Status {
    ThreeFryRange(key, state, range, [&](int64_t i, uint32_t first, uint32_t second) {
      const int64_t row = i / inner / half * size + i / inner % half * 2;
      const int64_t element = row * inner + i % inner;
      Put(out, element, bytes, first);
      if (i / inner % half * 2 + 1 < size) Put(out, element + inner, bytes, second);
    });
    return {};
  }));
  return state + static_cast<uint64_t>(counters);
}

// Blocks of four words, counted by a 128-bit number; 64-bit elements take two words each. Returns
// the counter behind the last block.
Result<unsigned __int128> Philox(Machine& machine, std::array<uint32_t, 2> key,
                                 unsigned __int128 state, const Shape& shape, std::byte* out) {
  const int bytes = hlo::StorageBytes(shape.element_type());
  const int64_t words_each = bytes == 8 ? 2 : 1, count = ElementCount(shape);
  const int64_t blocks = (count * words_each + 3) / 4;
  HLOSCOPE_TRY(machine.ForRanges(blocks, kGrain, [&](IndexRange range) -> Status {
    CounterBlock<4> words;
    for (int64_t begin = range.begin; begin < range.end; begin += kCountersAtOnce) {
      for (size_t i = 0; i < words[0].size(); ++i) {
        const unsigned __int128 counter = state + static_cast<uint64_t>(begin) + i;
        const auto low = Halves(static_cast<uint64_t>(counter));
        const auto high = Halves(static_cast<uint64_t>(counter >> 64));
        words[0][i] = low[0];
        words[1][i] = low[1];
        words[2][i] = high[0];
        words[3][i] = high[1];
      }
      Philox4x32(words, key);
      const int64_t end = std::min(range.end, begin + kCountersAtOnce);
      for (int64_t b = begin; b < end; ++b) {
        const auto at = static_cast<size_t>(b - begin);
        for (size_t w = 0; w < 4; w += static_cast<size_t>(words_each)) {
          const int64_t element = (b * 4 + static_cast<int64_t>(w)) / words_each;
          if (element >= count) break;
          Put(out, element, bytes,
              bytes == 8 ? Whole(words[w][at], words[w + 1][at]) : words[w][at]);
        }
      }
    }
    return {};
  }));
  return state + static_cast<uint64_t>(blocks);
}

// Of integers narrower than a byte the low bits count.
void KeepLowBits(hlo::ElementType type, Buffer& buffer) {
  const int bits = hlo::BitWidth(type);
  if (!hlo::IsInteger(type) || bits >= 8) return;
  for (auto& element : std::span(buffer.as<uint8_t>(), buffer.size)) {
    element = static_cast<uint8_t>(hlo::IsSigned(type) ? SignExtend(element, bits)
                                                       : element & ((1 << bits) - 1));
  }
}

}  // namespace

Result<Value> RngBitGeneratorKernel(KernelCall& call) {
  const auto algorithm = static_cast<RandomAlgorithm>(
      call.module().GetInt(call.instruction(), AttributeKey::kRngAlgorithm));
  const Shape& state_shape = call.operand_shape(0);
  if (!call.shape().IsTuple() || call.shape().elements().size() != 2) {
    return Unsupported(call, "its result is not a pair of state and bits");
  }
  const Shape& shape = call.shape().elements()[1];
  const int64_t words = ElementCount(state_shape);
  if (state_shape.element_type() != hlo::ElementType::kU64 || words < 2 || words > 3 ||
      hlo::IsComplex(shape.element_type()) ||
      (hlo::IsFloat(shape.element_type()) && hlo::BitWidth(shape.element_type()) < 8)) {
    return Unsupported(call, "its state or element type is not supported");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer state, OwnCopy(call, 0));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer bits, call.machine.Allocate(shape));
  auto* s = state.as<uint64_t>();
  const auto key = Halves(s[0]);
  if (algorithm == RandomAlgorithm::kThreeFry) {
    HLOSCOPE_ASSIGN_OR_RETURN(
        s[1], hlo::BitWidth(shape.element_type()) == 64
                  ? ThreeFry64(call.machine, key, s[1], ElementCount(shape), bits.data())
                  : ThreeFry32(call.machine, key, s[1], shape, bits.data()));
  } else {  // the default algorithm is Philox, as on XLA:CPU and XLA:GPU
    const uint64_t low = s[1], high = words == 3 ? s[2] : s[0];
    HLOSCOPE_ASSIGN_OR_RETURN(
        const auto next, Philox(call.machine, key, static_cast<unsigned __int128>(high) << 64 | low,
                                shape, bits.data()));
    s[1] = static_cast<uint64_t>(next);
    if (words == 3) s[2] = static_cast<uint64_t>(next >> 64);
  }
  KeepLowBits(shape.element_type(), bits);
  return Value::Tuple({Value::Array(call.shape().elements()[0], std::move(state)),
                       Value::Array(shape, std::move(bits))});
}

// Uniform in [a, b) or normal with mean a and deviation b.
Result<Value> RngKernel(KernelCall& call) {
  const bool normal = call.module().GetInt(call.instruction(), AttributeKey::kDistribution) ==
                      static_cast<int64_t>(hlo::RandomDistribution::kNormal);
  HLOSCOPE_TRY(call.machine.CheckRandomState(hlo::Generator::kSeeded));
  const Shape& shape = call.shape();
  const hlo::ElementType type = shape.element_type();
  if (hlo::IsComplex(type)) return Unsupported(call, "it is not defined for complex numbers");
  double low, high;
  LoadAs<double>(type, call.operands[0].data(), &low, 1);
  LoadAs<double>(type, call.operands[1].data(), &high, 1);
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(shape));
  const int bytes = hlo::StorageBytes(type);
  auto unit = [&] { return static_cast<double>(call.machine.NextRandom() >> 11) * 0x1p-53; };
  for (int64_t i = 0; i < ElementCount(shape); ++i) {
    double value;
    if (normal) {
      const double radius = std::sqrt(-2 * std::log(1 - unit()));
      value = low + high * radius * std::cos(2 * std::numbers::pi * unit());
    } else {
      value = low + (high - low) * unit();
      if (!hlo::IsFloat(type)) value = std::floor(value);
    }
    StoreFrom<double>(type, &value, out.data() + i * bytes, 1);
    // Rounding to the type may reach the upper end, which is not part of the range.
    double stored;
    LoadAs<double>(type, out.data() + i * bytes, &stored, 1);
    if (!normal && stored >= high) StoreFrom<double>(type, &low, out.data() + i * bytes, 1);
  }
  return Value::Array(shape, std::move(out));
}

// The 128-bit state before, as two words, low one first; it grows by delta.
Result<Value> RngGetAndUpdateStateKernel(KernelCall& call) {
  HLOSCOPE_TRY(call.machine.CheckRandomState(hlo::Generator::kCounter));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(call.shape()));
  if (out.size != 16) return Unsupported(call, "its result is not u64[2]");
  unsigned __int128& state = call.machine.random_state();
  out.as<uint64_t>()[0] = static_cast<uint64_t>(state);
  out.as<uint64_t>()[1] = static_cast<uint64_t>(state >> 64);
  state += static_cast<uint64_t>(call.module().GetInt(call.instruction(), AttributeKey::kDelta));
  return Value::Array(call.shape(), std::move(out));
}

// Rounds |x| up with the probability its fraction says: where the random number, as a fraction of
// its whole range, lies below it. Saturates; NaN is 0.
Result<Value> StochasticConvertKernel(KernelCall& call) {
  const Shape& shape = call.shape();
  const hlo::ElementType from = call.operand_shape(0).element_type();
  const hlo::ElementType random = call.operand_shape(1).element_type();
  if (!hlo::IsSigned(shape.element_type()))
    return Unsupported(call, "only conversions to signed integers are supported");
  const int64_t count = ElementCount(shape);
  std::vector<double> x(static_cast<size_t>(count)), r(static_cast<size_t>(count));
  LoadAs<double>(from, call.operands[0].data(), x.data(), count);
  LoadAs<double>(random, call.operands[1].data(), r.data(), count);
  const double range = std::ldexp(1.0, hlo::BitWidth(random));
  for (size_t i = 0; i < x.size(); ++i) {
    const double whole = std::floor(std::abs(x[i]));
    const double fraction = std::abs(x[i]) - whole;
    x[i] = std::copysign(r[i] < std::floor(fraction * range) ? whole + 1 : whole, x[i]);
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(shape));
  StoreFrom<double>(shape.element_type(), x.data(), out.data(), count);
  return Value::Array(shape, std::move(out));
}

}  // namespace hloscope::eval
