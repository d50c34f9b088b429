// Kernel of fft: complex, real and inverse transforms over the last dimensions, computed in f64 and
// rounded once. Powers of two by halving, other lengths by Bluestein's chirp.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "core/eval/indices.h"
#include "core/eval/kernels.h"
#include "core/eval/strided_copy.h"
#include "core/eval/whole_arrays.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::FftType;

using Line = std::vector<Complex>;

constexpr int64_t kShort = 64;

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

// Σ x[j]·e^(∓2πi·jk/n) over lines of one length n, whose factors are computed once. In f64 an error
// of about log2(n) units in the last place of the line's largest value, a few times that where n is
// neither short nor a power of two.
class Transform {
 public:
  Transform(int64_t n, bool inverse) : n_(n), inverse_(inverse) {
    if (IsPowerOfTwo(n)) {
      roots_ = HalfCircle(n);
    } else if (n <= kShort) {
      for (int64_t k = 0; k < n; ++k) roots_.push_back(Root(k, n));
    } else {
      PrepareChirp();
    }
  }

  void operator()(Line& x) const {
    if (n_ <= 1) return;
    if (IsPowerOfTwo(n_)) return Halve(x, roots_, inverse_);
    return n_ <= kShort ? Short(x) : Chirp(x);
  }

 private:
  static bool IsPowerOfTwo(int64_t n) { return std::has_single_bit(static_cast<uint64_t>(n)); }

  Complex Root(int64_t k, int64_t n) const {
    const Complex root = RootOfUnity(k, n);
    return inverse_ ? root : std::conj(root);
  }

  // e^(2πi·k/n) for k below n/2.
  static Line HalfCircle(int64_t n) {
    Line roots;
    for (int64_t k = 0; k < n / 2; ++k) roots.push_back(RootOfUnity(k, n));
    return roots;
  }

  // For n a power of two, in place.
  static void Halve(Line& x, const Line& roots, bool inverse) {
    const size_t n = x.size();
    for (size_t i = 1, j = 0; i < n; ++i) {
      size_t bit = n >> 1;
      for (; (j & bit) != 0; bit >>= 1) j ^= bit;
      j ^= bit;
      if (i < j) std::swap(x[i], x[j]);
    }
    for (size_t width = 2; width <= n; width *= 2) {
      const size_t step = n / width;
      for (size_t begin = 0; begin < n; begin += width) {
        for (size_t k = 0; k < width / 2; ++k) {
          const Complex root = roots[k * step];
          const Complex even = x[begin + k];
          const Complex odd = Times(x[begin + k + width / 2], inverse ? root : std::conj(root));
          x[begin + k] = even + odd;
          x[begin + k + width / 2] = even - odd;
        }
      }
    }
  }

  // By the definition: exact zeros stay exact.
  void Short(Line& x) const {
    const size_t n = x.size();
    Line out(n);
    for (size_t k = 0; k < n; ++k) {
      for (size_t j = 0; j < n; ++j) out[k] += Times(x[j], roots_[j * k % n]);
    }
    x = std::move(out);
  }

  // jk = (j² + k² - (k-j)²)/2 turns the sum into a convolution of a power of two.
  void PrepareChirp() {
    const auto size = static_cast<size_t>(n_);
    spectrum_.resize(std::bit_ceil(2 * size - 1));
    roots_ = HalfCircle(static_cast<int64_t>(spectrum_.size()));
    for (size_t k = 0; k < size; ++k) {
      chirp_.push_back(Root(static_cast<int64_t>(k * k % (2 * size)), 2 * n_));
      spectrum_[k] = std::conj(chirp_[k]);
      if (k != 0) spectrum_[spectrum_.size() - k] = spectrum_[k];
    }
    Halve(spectrum_, roots_, false);
  }

  void Chirp(Line& x) const {
    const auto size = static_cast<size_t>(n_);
    Line a(spectrum_.size());
    for (size_t k = 0; k < size; ++k) a[k] = Times(x[k], chirp_[k]);
    Halve(a, roots_, false);
    for (size_t k = 0; k < a.size(); ++k) a[k] = Times(a[k], spectrum_[k]);
    Halve(a, roots_, true);
    for (size_t k = 0; k < size; ++k) {
      x[k] = Times(a[k] / static_cast<double>(a.size()), chirp_[k]);
    }
  }

  int64_t n_;
  bool inverse_;
  Line roots_;             // of the halving, or all n of them where n is short
  Line chirp_, spectrum_;  // e^(∓πi·k²/n), and the transform of its conjugate
};

constexpr int64_t kGrain = 1 << 14;  // elements

// An array of lines in the making.
struct Lines {
  std::vector<Complex> data;
  std::vector<int64_t> sizes;
};

// Changes every line along dimension `d` into one of `to_size` elements, by change(line).
template <typename Change>
Status AlongDimension(Machine& machine, Lines& lines, size_t d, int64_t to_size,
                      const Change& change) {
  const auto from_strides = RowMajorStrides(lines.sizes);
  std::vector<int64_t> to_sizes = lines.sizes, places = lines.sizes;
  to_sizes[d] = to_size;
  places[d] = 1;
  const auto to_strides = RowMajorStrides(to_sizes);
  int64_t count = 1;
  for (int64_t size : places) count *= size;
  std::vector<Complex> out(static_cast<size_t>(count * to_size));
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max(to_size, lines.sizes[d]));
  HLOSCOPE_TRY(machine.ForRanges(count, grain, [&](IndexRange range) -> Status {
    std::vector<int64_t> index = IndexAt(range.begin, places);
    for (int64_t i = range.begin; i < range.end; ++i, NextIndex(index, places)) {
      Line line(static_cast<size_t>(lines.sizes[d]));
      const Complex* from = lines.data.data() + Offset(index, from_strides);
      Complex* to = out.data() + Offset(index, to_strides);
      for (size_t k = 0; k < line.size(); ++k) {
        line[k] = from[static_cast<int64_t>(k) * from_strides[d]];
      }
      change(line);
      line.resize(static_cast<size_t>(to_size));
      for (size_t k = 0; k < line.size(); ++k) {
        to[static_cast<int64_t>(k) * to_strides[d]] = line[k];
      }
    }
    return {};
  }));
  lines.data = std::move(out);
  lines.sizes = std::move(to_sizes);
  return {};
}

// The whole spectrum of a real signal from its first half: the rest mirrors it, conjugated.
void CompleteSpectrum(Line& line, int64_t n) {
  line.resize(static_cast<size_t>(n));
  const auto size = static_cast<size_t>(n);
  for (size_t k = size / 2 + 1; k < size; ++k) line[k] = std::conj(line[size - k]);
  line[0] = line[0].real();
  if (n % 2 == 0) line[size / 2] = line[size / 2].real();
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
  HLOSCOPE_TRY(call.machine.Charge(count * static_cast<int64_t>(lengths.size())));
  const bool inverse = type == FftType::kIfft || type == FftType::kIrfft;
  const size_t first = lines.sizes.size() - lengths.size(), last = lines.sizes.size() - 1;
  std::optional<Transform> transform_line;
  auto transform = [&](Line& line) {
    (*transform_line)(line);
    if (!inverse) return;
    for (Complex& x : line) x /= static_cast<double>(line.size());
  };
  if (type == FftType::kRfft) {
    transform_line.emplace(lines.sizes[last], inverse);
    const auto change = [&](Line& line) {
      const size_t n = line.size();
      transform(line);
      line[0] = line[0].real();  // the signal is real
      if (n % 2 == 0) line[n / 2] = line[n / 2].real();
    };
    HLOSCOPE_TRY(AlongDimension(call.machine, lines, last, lengths.back() / 2 + 1, change));
  }
  for (size_t d = first; d <= last; ++d) {
    const bool real_dimension = d == last && (type == FftType::kRfft || type == FftType::kIrfft);
    if (real_dimension) continue;
    transform_line.emplace(lines.sizes[d], inverse);
    HLOSCOPE_TRY(AlongDimension(call.machine, lines, d, lines.sizes[d], transform));
  }
  if (type == FftType::kIrfft) {
    transform_line.emplace(lengths.back(), inverse);
    const auto change = [&](Line& line) {
      CompleteSpectrum(line, lengths.back());
      transform(line);
    };
    HLOSCOPE_TRY(AlongDimension(call.machine, lines, last, lengths.back(), change));
  }
  HLOSCOPE_TRY(StoreAll<Complex>(call.machine, call.shape().element_type(), lines.data.data(),
                                 buffer.data(), ElementCount(call.shape())));
  return Value::Array(call.shape(), std::move(buffer));
}

}  // namespace hloscope::eval
