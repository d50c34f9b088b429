// Textbook substitution, in the order of sums that the reference evaluator has. Only the triangle
// that is asked for is read.
#include "core/linking/runtime/linear_algebra.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

namespace {

template <typename T>
struct Wide {
  using Type = double;
};
template <typename T>
struct Wide<std::complex<T>> {
  using Type = std::complex<double>;
};

double Conjugate(double x) { return x; }
std::complex<double> Conjugate(std::complex<double> x) { return std::conj(x); }
double RealOf(double x) { return x; }
double RealOf(std::complex<double> x) { return x.real(); }

// L of A = L·Lᴴ in the lower triangle, in place; false where A is not positive definite.
template <typename W>
bool Factor(W* a, int64_t n) {
  bool is_positive = true;
  for (int64_t j = 0; j < n; ++j) {
    W* row = a + j * n;
    double pivot = RealOf(row[j]);
    for (int64_t k = 0; k < j; ++k) pivot -= RealOf(row[k] * Conjugate(row[k]));
    is_positive &= pivot > 0;
    const double root = std::sqrt(pivot);
    row[j] = root;
    for (int64_t i = j + 1; i < n; ++i) {
      W sum = a[i * n + j];
      for (int64_t k = 0; k < j; ++k) sum -= a[i * n + k] * Conjugate(row[k]);
      a[i * n + j] = sum / root;
    }
  }
  return is_positive;
}

template <typename T>
void Cholesky(const HloscopeTriangular& form, const T* in, T* out, typename Wide<T>::Type* work) {
  using W = typename Wide<T>::Type;
  const int64_t n = form.n;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      work[i * n + j] = form.is_lower ? W(in[i * n + j]) : Conjugate(W(in[j * n + i]));
    }
  }
  const bool is_positive = Factor(work, n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const bool is_inside = form.is_lower ? j <= i : i <= j;
      W value = std::numeric_limits<double>::quiet_NaN();
      if (is_positive) {
        value = !is_inside ? W() : form.is_lower ? work[i * n + j] : Conjugate(work[j * n + i]);
      }
      out[i * n + j] = T(value);
    }
  }
}

// Solves op(T)·x = b for `width` vectors side by side, in place; element k of vector v is
// x[k·width + v]. op(T) is lower triangular if `is_forward`.
template <typename W, typename Element>
void Substitute(int64_t n, bool is_forward, bool is_unit, const Element& t, W* x, int64_t width) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = is_forward ? step : n - 1 - step;
    W* to = x + i * width;
    const int64_t begin = is_forward ? 0 : i + 1, end = is_forward ? i : n;
    for (int64_t k = begin; k < end; ++k) {
      const W factor = t(i, k);
      const W* from = x + k * width;
      for (int64_t v = 0; v < width; ++v) to[v] -= factor * from[v];
    }
    if (is_unit) continue;
    const W pivot = t(i, i);
    for (int64_t v = 0; v < width; ++v) to[v] = to[v] / pivot;
  }
}

// Vectors [first, first + width) of one system: columns of b, or rows where T is on the right:
// x·op(T) = b is op(T)ᵀ·xᵀ = bᵀ.
template <typename T>
void SolveBlock(const HloscopeTriangular& form, const T* a, const T* b, T* out,
                typename Wide<T>::Type* work, int64_t first, int64_t width) {
  using W = typename Wide<T>::Type;
  const int64_t n = form.n;
  const bool is_swapped = (form.is_transposed != 0) == (form.is_left != 0);
  const auto element = [&](int64_t i, int64_t k) {
    const W value = W(is_swapped ? a[k * n + i] : a[i * n + k]);
    return form.is_conjugated ? Conjugate(value) : value;
  };
  const auto place = [&](int64_t k, int64_t v) {
    return form.is_left ? k * form.vectors + first + v : (first + v) * n + k;
  };
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t v = 0; v < width; ++v) work[k * width + v] = W(b[place(k, v)]);
  }
  Substitute(n, (form.is_lower != 0) != is_swapped, form.has_unit_diagonal != 0, element, work,
             width);
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t v = 0; v < width; ++v) out[place(k, v)] = T(work[k * width + v]);
  }
}

template <typename T>
void CholeskyOf(const HloscopeTriangular& form, const std::byte* in, std::byte* out,
                std::byte* scratch, int64_t begin, int64_t end) {
  const int64_t count = form.n * form.n;
  for (int64_t i = begin; i < end; ++i) {
    Cholesky(form, reinterpret_cast<const T*>(in) + i * count,
             reinterpret_cast<T*>(out) + i * count,
             reinterpret_cast<typename Wide<T>::Type*>(scratch) + i * count);
  }
}

template <typename T>
void SolveOf(const HloscopeTriangular& form, const std::byte* a, const std::byte* b, std::byte* out,
             std::byte* scratch, int64_t begin, int64_t end) {
  const int64_t blocks = (form.vectors - 1) / kHloscopeVectors + 1;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t system = i / blocks, first = i % blocks * kHloscopeVectors;
    const int64_t at = system * form.vectors * form.n;
    SolveBlock(form, reinterpret_cast<const T*>(a) + system * form.n * form.n,
               reinterpret_cast<const T*>(b) + at, reinterpret_cast<T*>(out) + at,
               reinterpret_cast<typename Wide<T>::Type*>(scratch) + at + first * form.n, first,
               std::min(form.vectors - first, kHloscopeVectors));
  }
}

}  // namespace

void hloscope_cholesky(const HloscopeTriangular* form, const std::byte* in, std::byte* out,
                       std::byte* scratch, int64_t begin, int64_t end) {
  switch (form->type) {
    case kHloscopeF32:
      return CholeskyOf<float>(*form, in, out, scratch, begin, end);
    case kHloscopeF64:
      return CholeskyOf<double>(*form, in, out, scratch, begin, end);
    case kHloscopeC64:
      return CholeskyOf<std::complex<float>>(*form, in, out, scratch, begin, end);
    case kHloscopeC128:
      return CholeskyOf<std::complex<double>>(*form, in, out, scratch, begin, end);
  }
}

void hloscope_triangular_solve(const HloscopeTriangular* form, const std::byte* a,
                               const std::byte* b, std::byte* out, std::byte* scratch,
                               int64_t begin, int64_t end) {
  switch (form->type) {
    case kHloscopeF32:
      return SolveOf<float>(*form, a, b, out, scratch, begin, end);
    case kHloscopeF64:
      return SolveOf<double>(*form, a, b, out, scratch, begin, end);
    case kHloscopeC64:
      return SolveOf<std::complex<float>>(*form, a, b, out, scratch, begin, end);
    case kHloscopeC128:
      return SolveOf<std::complex<double>>(*form, a, b, out, scratch, begin, end);
  }
}
