// Kernel of fft: complex, real and inverse transforms over the last dimensions, computed in f64 and
// rounded once. Powers of two by halving, other lengths by Bluestein's chirp.
#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <numbers>
#include <optional>
#include <utility>

#include "core/eval/loops/whole_arrays.h"
#include "core/eval/machine/indices.h"
#include "core/eval/machine/kernels.h"
#include "core/eval/machine/strided_copy.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::FftType;

using Line = std::vector<Complex>;

constexpr int64_t kShort = 64;
constexpr int64_t kGrain = 1 << 14;  // elements

// e^(2πi·k/n). Quarter turns are exact, the rest is taken from the first eighth of the circle.
Complex RootOfUnity(int64_t k, int64_t n) {
  const int64_t quarter = 4 * (k % n) / n, rest = 4 * (k % n) % n;  // rest/n of a quarter turn
  const bool beyond_eighth = 2 * rest > n;
  const double angle = std::numbers::pi / 2 * static_cast<double>(beyond_eighth ? n - rest : rest) /
                       static_cast<double>(n);
  double x = std::cos(angle), y = std::sin(angle);
  if (beyond_eighth) std::swap(x, y);
  switch (quarter) {
    case 0:
      return {x, y};
    case 1:
      return {-y, x};
    case 2:
      return {-x, -y};
    default:
      return {y, -x};
  }
}

Complex Times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// Runs body(range) over [0, n) at once; or on all threads of a machine.
struct Alone {
  template <typename Body>
  Status operator()(int64_t n, const Body& body) const {
    return body(IndexRange{0, n});
  }
};
struct OnAllThreads {
  Machine& machine;
  template <typename Body>
  Status operator()(int64_t n, const Body& body) const {
    return machine.ForRanges(n, kGrain, body);
  }
};

// Everything about transforms of one length and direction, computed once for all lines.
class Plan {
 public:
  Plan(int64_t n, bool inverse) : n_(n), inverse_(inverse) {
    if (n <= 1) return;
    if (std::has_single_bit(static_cast<uint64_t>(n))) {
      for (int64_t width = 2; width <= n; width *= 2) stages_.push_back(Roots(width, width / 2));
    } else if (n <= kShort) {
      stages_.push_back(Roots(n, n));
    } else {
      MakeChirp();
    }
  }

  // Σ x[j]·e^(∓2πi·jk/n), in place.
  template <typename Executor>
  Status Transform(Line& x, const Executor& execute) const {
    if (n_ <= 1) return {};
    if (!chirp_.empty()) return TransformByChirp(x, execute);
    if (std::has_single_bit(static_cast<uint64_t>(n_))) return TransformPowerOfTwo(x, execute);
    TransformShort(x);
    return {};
  }

 private:
  // The first `count` powers of the root of unity of order n.
  Line Roots(int64_t n, int64_t count) const {
    Line roots(static_cast<size_t>(count));
    for (int64_t k = 0; k < count; ++k) {
      const Complex root = RootOfUnity(k, n);
      roots[static_cast<size_t>(k)] = inverse_ ? root : std::conj(root);
    }
    return roots;
  }

  template <typename Executor>
  Status TransformPowerOfTwo(Line& x, const Executor& execute) const {
    const auto n = static_cast<size_t>(n_);
    for (size_t i = 1, j = 0; i < n; ++i) {
      size_t bit = n >> 1;
      for (; (j & bit) != 0; bit >>= 1) j ^= bit;
      j ^= bit;
      if (i < j) std::swap(x[i], x[j]);
    }
    for (const Line& roots : stages_) {
      HLOSCOPE_TRY(execute(n_ / 2, [&](IndexRange range) -> Status {
        Butterflies(x.data(), roots, range);
        return {};
      }));
    }
    return {};
  }

  // Butterflies [range) of the stage with these roots, which joins transforms as long as them.
  static void Butterflies(Complex* x, const Line& roots, IndexRange range) {
    const auto half = static_cast<int64_t>(roots.size());
    for (int64_t i = range.begin; i < range.end;) {
      const int64_t first = i % half, count = std::min(half - first, range.end - i);
      Complex* even = x + (i - first) * 2 + first;
      Complex* odd = even + half;
      const Complex* root = roots.data() + first;
      for (int64_t k = 0; k < count; ++k) {
        const Complex left = even[k], right = Times(odd[k], root[k]);
        even[k] = left + right;
        odd[k] = left - right;
      }
      i += count;
    }
  }

  // By the definition: exact zeros stay exact.
  void TransformShort(Line& x) const {
    const size_t n = x.size();
    Line out(n);
    for (size_t k = 0; k < n; ++k) {
      for (size_t j = 0; j < n; ++j) out[k] += Times(x[j], stages_[0][j * k % n]);
    }
    x = std::move(out);
  }

  // Any length: jk = (j² + k² - (k-j)²)/2 turns the sum into a convolution of a power of two.
  void MakeChirp() {
    const auto n = static_cast<size_t>(n_);
    const size_t padded = std::bit_ceil(2 * n - 1);
    chirp_.resize(n);
    filter_.resize(padded);
    for (int64_t k = 0; k < n_; ++k) {
      const Complex root = RootOfUnity(k * k % (2 * n_), 2 * n_);
      const auto at = static_cast<size_t>(k);
      chirp_[at] = inverse_ ? root : std::conj(root);
      filter_[at] = std::conj(chirp_[at]);
      if (k != 0) filter_[padded - at] = filter_[at];
    }
    forward_ = std::make_unique<Plan>(static_cast<int64_t>(padded), false);
    back_ = std::make_unique<Plan>(static_cast<int64_t>(padded), true);
    (void)forward_->Transform(filter_, Alone{});
  }

  template <typename Executor>
  Status TransformByChirp(Line& x, const Executor& execute) const {
    const size_t n = x.size(), padded = filter_.size();
    Line a(padded);
    for (size_t k = 0; k < n; ++k) a[k] = Times(x[k], chirp_[k]);
    HLOSCOPE_TRY(forward_->Transform(a, execute));
    for (size_t k = 0; k < padded; ++k) a[k] = Times(a[k], filter_[k]);
    HLOSCOPE_TRY(back_->Transform(a, execute));
    for (size_t k = 0; k < n; ++k) {
      x[k] = Times(a[k] / static_cast<double>(padded), chirp_[k]);
    }
    return {};
  }

  int64_t n_;
  bool inverse_;
  std::vector<Line> stages_;  // roots of each stage
  Line chirp_, filter_;
  std::unique_ptr<Plan> forward_, back_;  // of the chirp's convolution
};

// An array of lines in the making.
struct Lines {
  std::vector<Complex> data;
  std::vector<int64_t> sizes;
};

// Changes every line along dimension `d` into one of `to_size` elements. change(line, execute) does
// it to one, sharing out loops through `execute`.
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
  const auto transform = [&](std::span<const int64_t> index, const auto& execute) -> Status {
    Line line(static_cast<size_t>(lines.sizes[d]));
    const Complex* from = lines.data.data() + Offset(index, from_strides);
    Complex* to = out.data() + Offset(index, to_strides);
    for (Complex& x : line) {
      x = *from;
      from += from_strides[d];
    }
    HLOSCOPE_TRY(change(line, execute));
    line.resize(static_cast<size_t>(to_size));
    for (const Complex& x : line) {
      *to = x;
      to += to_strides[d];
    }
    return {};
  };
  Status done;
  if (line_count == 1) {
    done = transform(IndexAt(0, places), OnAllThreads{machine});
  } else {
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max(to_size, lines.sizes[d]));
    done = machine.ForRanges(line_count, grain, [&](IndexRange range) -> Status {
      std::vector<int64_t> index = IndexAt(range.begin, places);
      for (int64_t i = range.begin; i < range.end; ++i, NextIndex(index, places)) {
        HLOSCOPE_TRY(transform(index, Alone{}));
      }
      return {};
    });
  }
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
template <typename Executor>
Status Scaled(const Plan& plan, bool inverse, Line& line, const Executor& execute) {
  HLOSCOPE_TRY(plan.Transform(line, execute));
  if (!inverse) return {};
  for (Complex& x : line) x /= static_cast<double>(line.size());
  return {};
}

// The last lengths.size() dimensions: a real one first or last of all.
Status Transform(Machine& machine, FftType type, std::span<const int64_t> lengths, Lines& lines) {
  const bool inverse = type == FftType::kIfft || type == FftType::kIrfft;
  const size_t rank = lines.sizes.size(), first = rank - lengths.size(), last = rank - 1;
  if (type == FftType::kRfft) {
    const Plan plan(lines.sizes[last], inverse);
    const auto change = [&](Line& line, const auto& execute) -> Status {
      const size_t n = line.size();
      HLOSCOPE_TRY(Scaled(plan, inverse, line, execute));
      line[0] = line[0].real();  // the signal is real
      if (n % 2 == 0) line[n / 2] = line[n / 2].real();
      return {};
    };
    HLOSCOPE_TRY(AlongDimension(machine, lines, last, lengths.back() / 2 + 1, change));
  }
  for (size_t d = first; d <= last; ++d) {
    const bool real_dimension = d == last && (type == FftType::kRfft || type == FftType::kIrfft);
    if (real_dimension) continue;
    const Plan plan(lines.sizes[d], inverse);
    const auto change = [&](Line& line, const auto& execute) {
      return Scaled(plan, inverse, line, execute);
    };
    HLOSCOPE_TRY(AlongDimension(machine, lines, d, lines.sizes[d], change));
  }
  if (type != FftType::kIrfft) return {};
  const Plan plan(lengths.back(), inverse);
  return AlongDimension(machine, lines, last, lengths.back(),
                        [&](Line& line, const auto& execute) -> Status {
                          CompleteSpectrum(line, lengths.back());
                          return Scaled(plan, inverse, line, execute);
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
