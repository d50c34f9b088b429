// Kernel of fft: complex, real and inverse transforms over the last dimensions, computed in f64 and
// rounded once.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/eval/kernels/fourier_plan.h"
#include "core/eval/loops/whole_arrays.h"
#include "core/eval/machine/indices.h"
#include "core/eval/machine/kernels.h"
#include "core/eval/machine/strided_copy.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::FftType;

using Line = std::vector<Complex>;

constexpr int64_t kGrain = 1 << 14;  // elements

// An array of lines in the making.
struct Lines {
  std::vector<Complex> data;
  std::vector<int64_t> sizes;
};

// Changes every line along dimension `d` into one of `to_size` elements; change(line) does it to
// one.
template <typename Change>
Status AlongDimension(Machine& machine, Lines& lines, size_t d, int64_t to_size,
                      const Change& change) {
  const auto from_strides = RowMajorStrides(lines.sizes);
  std::vector<int64_t> to_sizes = lines.sizes, places = lines.sizes;
  to_sizes[d] = to_size;
  places[d] = 1;
  const auto to_strides = RowMajorStrides(to_sizes);
  int64_t line_count = 1;
  for (int64_t size : places) line_count *= size;
  std::vector<Complex> out(static_cast<size_t>(line_count * to_size));
  const auto transform = [&](std::span<const int64_t> index) {
    Line line(static_cast<size_t>(lines.sizes[d]));
    const Complex* from = lines.data.data() + Offset(index, from_strides);
    Complex* to = out.data() + Offset(index, to_strides);
    for (Complex& x : line) {
      x = *from;
      from += from_strides[d];
    }
    change(line);
    line.resize(static_cast<size_t>(to_size));
    for (const Complex& x : line) {
      *to = x;
      to += to_strides[d];
    }
  };
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max(to_size, lines.sizes[d]));
  const Status done = machine.ForRanges(line_count, grain, [&](IndexRange range) -> Status {
    std::vector<int64_t> index = IndexAt(range.begin, places);
    for (int64_t i = range.begin; i < range.end; ++i, NextIndex(index, places)) transform(index);
    return {};
  });
  lines.data = std::move(out);
  lines.sizes = std::move(to_sizes);
  return done;
}

// The whole spectrum of a real signal from its first half: the rest mirrors it, conjugated.
void CompleteSpectrum(Line& line, int64_t n) {
  line.resize(static_cast<size_t>(n));
  const auto size = static_cast<size_t>(n);
  for (size_t k = size / 2 + 1; k < size; ++k) line[k] = std::conj(line[size - k]);
  line[0] = line[0].real();
  if (n % 2 == 0) line[size / 2] = line[size / 2].real();
}

// A plan's transform, the inverse one divided by the length.
void Scaled(const FourierPlan& plan, bool inverse, Line& line) {
  plan.Transform(line.data(), inverse);
  if (!inverse) return;
  for (Complex& x : line) x /= static_cast<double>(line.size());
}

// The last lengths.size() dimensions: a real one first or last of all.
Status Transform(Machine& machine, FftType type, std::span<const int64_t> lengths, Lines& lines) {
  const bool inverse = type == FftType::kIfft || type == FftType::kIrfft;
  const size_t rank = lines.sizes.size(), first = rank - lengths.size(), last = rank - 1;
  if (type == FftType::kRfft) {
    const FourierPlan plan(lines.sizes[last]);
    HLOSCOPE_TRY(AlongDimension(machine, lines, last, lengths.back() / 2 + 1, [&](Line& line) {
      const size_t n = line.size();
      Scaled(plan, inverse, line);
      line[0] = line[0].real();  // the signal is real
      if (n % 2 == 0) line[n / 2] = line[n / 2].real();
    }));
  }
  for (size_t d = first; d <= last; ++d) {
    const bool real_dimension = d == last && (type == FftType::kRfft || type == FftType::kIrfft);
    if (real_dimension) continue;
    const FourierPlan plan(lines.sizes[d]);
    HLOSCOPE_TRY(AlongDimension(machine, lines, d, lines.sizes[d],
                                [&](Line& line) { Scaled(plan, inverse, line); }));
  }
  if (type != FftType::kIrfft) return {};
  const FourierPlan plan(lengths.back());
  return AlongDimension(machine, lines, last, lengths.back(), [&](Line& line) {
    CompleteSpectrum(line, lengths.back());
    Scaled(plan, inverse, line);
  });
}

}  // namespace

Result<Value> FftKernel(KernelCall& call) {
  const auto& instruction = call.instruction();
  const auto type = static_cast<FftType>(call.module().GetInt(instruction, AttributeKey::kFftType));
  const auto lengths = call.module().GetInts(instruction, AttributeKey::kFftLength);
  const hlo::Shape& in = call.operand_shape(0);
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(call.shape()));
  const int64_t count = ElementCount(in);
  if (buffer.size == 0 || count == 0 || lengths.empty()) {
    std::fill_n(buffer.data(), buffer.size, std::byte{0});
    if (buffer.size != 0 && lengths.empty()) return call.operands[0];
    return Value::Array(call.shape(), std::move(buffer));
  }
  Lines lines{std::vector<Complex>(static_cast<size_t>(count)), Dimensions(in)};
  HLOSCOPE_TRY(LoadAll<Complex>(call.machine, in.element_type(), call.operands[0].data(),
                                lines.data.data(), count));
  HLOSCOPE_TRY(Transform(call.machine, type, lengths, lines));
  HLOSCOPE_TRY(StoreAll<Complex>(call.machine, call.shape().element_type(), lines.data.data(),
                                 buffer.data(), ElementCount(call.shape())));
  return Value::Array(call.shape(), std::move(buffer));
}

}  // namespace hloscope::eval
