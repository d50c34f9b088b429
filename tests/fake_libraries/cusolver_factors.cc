// The made-up cuSOLVER's LU, QR and eigenvalues, on the evaluator's LAPACK in f64.
#include "core/eval/library_calls/lapack.h"
#include "tests/fake_libraries/cusolver.h"

namespace {

using fake_cusolver::All;
using fake_cusolver::kHostWork;
using fake_cusolver::kInvalidValue;
using fake_cusolver::kNotInitialized;
using fake_cusolver::kWork;
using fake_cusolver::ReadAll;
using fake_cusolver::WriteAll;
using fake_libraries::Fault;
using fake_libraries::Number;

namespace lapack = hloscope::eval::lapack;

constexpr int kNothingRead = -100;

bool IsComplex(int type) { return type == fake_libraries::kC32 || type == fake_libraries::kC64; }
int RealOf(int type) {
  switch (type) {
    case fake_libraries::kC32:
      return fake_libraries::kR32;
    case fake_libraries::kC64:
      return fake_libraries::kR64;
    default:
      return type;
  }
}
std::vector<double> RealParts(const std::vector<Number>& numbers) {
  std::vector<double> out;
  for (const Number& x : numbers) out.push_back(x.real());
  return out;
}
std::vector<Number> Numbers(const std::vector<double>& parts) {
  return {parts.begin(), parts.end()};
}

// Calls routine(data of f64 or c128) on a matrix, and leaves there what it makes of it.
template <typename Routine>
void InPlace(std::vector<Number>& a, bool is_complex, const Routine& routine) {
  if (is_complex) return routine(a.data());
  std::vector<double> real = RealParts(a);
  routine(real.data());
  a = Numbers(real);
}

int Planned(const char* function, void* handle, void* options, bool is_sound, size_t* bytes,
            size_t* host_bytes) {
  if (const int fault = Fault(function); fault != 0) return fault;
  if (!All().Has(handle) || !All().Has(options)) return kNotInitialized;
  if (!is_sound) return kInvalidValue;
  *bytes = kWork;
  *host_bytes = kHostWork;
  return 0;
}

int Refused(const char* function, void* handle, void* options, bool is_sound, size_t bytes,
            const void* host_work, size_t host_bytes) {
  if (const int fault = Fault(function); fault != 0) return fault;
  if (!All().Has(handle) || !All().Has(options)) return kNotInitialized;
  const bool has_room = bytes >= kWork && host_bytes >= kHostWork && host_work != nullptr;
  return is_sound && has_room ? 0 : kInvalidValue;
}

// The first columns of Q, of `type`.
int FormQ(const char* function, void* handle, int type, int m, int n, int k, void* a, int ld,
          const void* tau, void* work, int elements, int* info) {
  if (const int fault = Fault(function); fault != 0) return fault;
  if (!All().Has(handle)) return kNotInitialized;
  if (n > m || k > n || ld != m || elements < n) return kInvalidValue;
  const size_t bytes = static_cast<size_t>(elements) * fake_libraries::SizeOf(type);
  return fake_cusolver::Submit(handle, work, bytes, info, [=] {
    std::vector<Number> x = ReadAll(type, a, int64_t{m} * n), t = ReadAll(type, tau, k);
    if (x.empty() || t.empty()) return kNothingRead;
    int failed = 0;
    if (IsComplex(type)) {
      failed = lapack::Orgqr<Number>(m, n, k, x.data(), t.data());
    } else {
      std::vector<double> real = RealParts(x);
      failed = lapack::Orgqr<double>(m, n, k, real.data(), RealParts(t).data());
      x = Numbers(real);
    }
    return WriteAll(type, x, a) ? failed : kNothingRead;
  });
}
int FormQBytes(const char* function, void* handle, int m, int n, int k, int ld, int* elements) {
  if (const int fault = Fault(function); fault != 0) return fault;
  if (!All().Has(handle)) return kNotInitialized;
  if (n > m || k > n || ld != m) return kInvalidValue;
  *elements = 32 * n;
  return 0;
}

}  // namespace

extern "C" {

int cusolverDnXgetrf_bufferSize(void* handle, void* options, int64_t m, int64_t n, int type,
                                const void*, int64_t ld, int sum, size_t* bytes,
                                size_t* host_bytes) {
  return Planned("cusolverDnXgetrf_bufferSize", handle, options,
                 m > 0 && n > 0 && ld == m && sum == type, bytes, host_bytes);
}
int cusolverDnXgetrf(void* handle, void* options, int64_t m, int64_t n, int type, void* a,
                     int64_t ld, int64_t* pivots, int sum, void* work, size_t bytes,
                     void* host_work, size_t host_bytes, int* info) {
  const bool is_sound = m > 0 && n > 0 && ld == m && sum == type;
  if (const int refused =
          Refused("cusolverDnXgetrf", handle, options, is_sound, bytes, host_work, host_bytes)) {
    return refused;
  }
  return fake_cusolver::Submit(handle, work, bytes, info, [=] {
    std::vector<Number> x = ReadAll(type, a, m * n);
    const auto less = static_cast<size_t>(std::min(m, n));
    auto* const told = fake_libraries::Bytes(pivots, less * sizeof(int64_t));
    if (x.empty() || told == nullptr) return kNothingRead;
    std::vector<int> rows(less);
    int failed = 0;
    InPlace(x, IsComplex(type), [&](auto* data) {
      failed = lapack::Getrf(static_cast<int>(m), static_cast<int>(n), data, rows.data());
    });
    const std::vector<int64_t> wide(rows.begin(), rows.end());
    std::memcpy(told, wide.data(), less * sizeof(int64_t));
    return WriteAll(type, x, a) ? failed : kNothingRead;
  });
}

int cusolverDnXgeqrf_bufferSize(void* handle, void* options, int64_t m, int64_t n, int type,
                                const void*, int64_t ld, int tau_type, const void*, int sum,
                                size_t* bytes, size_t* host_bytes) {
  return Planned("cusolverDnXgeqrf_bufferSize", handle, options,
                 m > 0 && n > 0 && ld == m && sum == type && tau_type == type, bytes, host_bytes);
}
int cusolverDnXgeqrf(void* handle, void* options, int64_t m, int64_t n, int type, void* a,
                     int64_t ld, int tau_type, void* tau, int sum, void* work, size_t bytes,
                     void* host_work, size_t host_bytes, int* info) {
  const bool is_sound = m > 0 && n > 0 && ld == m && sum == type && tau_type == type;
  if (const int refused =
          Refused("cusolverDnXgeqrf", handle, options, is_sound, bytes, host_work, host_bytes)) {
    return refused;
  }
  return fake_cusolver::Submit(handle, work, bytes, info, [=] {
    std::vector<Number> x = ReadAll(type, a, m * n);
    if (x.empty()) return kNothingRead;
    std::vector<Number> factors(static_cast<size_t>(std::min(m, n)));
    const int rows = static_cast<int>(m), columns = static_cast<int>(n);
    int failed = 0;
    if (IsComplex(type)) {
      failed = lapack::Geqrf<Number>(rows, columns, x.data(), factors.data());
    } else {
      std::vector<double> real = RealParts(x), real_factors(factors.size());
      failed = lapack::Geqrf<double>(rows, columns, real.data(), real_factors.data());
      x = Numbers(real);
      factors = Numbers(real_factors);
    }
    return WriteAll(type, x, a) && WriteAll(type, factors, tau) ? failed : kNothingRead;
  });
}

int cusolverDnXsyevd_bufferSize(void* handle, void* options, int vectors, int triangle, int64_t n,
                                int type, const void*, int64_t ld, int value_type, const void*,
                                int sum, size_t* bytes, size_t* host_bytes) {
  return Planned("cusolverDnXsyevd_bufferSize", handle, options,
                 vectors == 1 && triangle >= 0 && triangle <= 1 && n > 0 && ld == n &&
                     sum == type && value_type == RealOf(type),
                 bytes, host_bytes);
}
int cusolverDnXsyevd(void* handle, void* options, int vectors, int triangle, int64_t n, int type,
                     void* a, int64_t ld, int value_type, void* values, int sum, void* work,
                     size_t bytes, void* host_work, size_t host_bytes, int* info) {
  const bool is_sound = vectors == 1 && triangle >= 0 && triangle <= 1 && n > 0 && ld == n &&
                        sum == type && value_type == RealOf(type);
  if (const int refused =
          Refused("cusolverDnXsyevd", handle, options, is_sound, bytes, host_work, host_bytes)) {
    return refused;
  }
  return fake_cusolver::Submit(handle, work, bytes, info, [=] {
    std::vector<Number> x = ReadAll(type, a, n * n);
    if (x.empty()) return kNothingRead;
    std::vector<double> found(static_cast<size_t>(n));
    int failed = 0;
    InPlace(x, IsComplex(type), [&](auto* data) {
      failed = lapack::Syevd(true, triangle == 0, static_cast<int>(n), data, found.data());
    });
    return WriteAll(type, x, a) && WriteAll(value_type, Numbers(found), values) ? failed
                                                                                : kNothingRead;
  });
}

#define FAKE_FORM_Q(symbol, type)                                                              \
  int symbol##_bufferSize(void* handle, int m, int n, int k, const void*, int ld, const void*, \
                          int* elements) {                                                     \
    return FormQBytes(#symbol "_bufferSize", handle, m, n, k, ld, elements);                   \
  }                                                                                            \
  int symbol(void* handle, int m, int n, int k, void* a, int ld, const void* tau, void* work,  \
             int elements, int* info) {                                                        \
    return FormQ(#symbol, handle, type, m, n, k, a, ld, tau, work, elements, info);            \
  }
FAKE_FORM_Q(cusolverDnSorgqr, fake_libraries::kR32)
FAKE_FORM_Q(cusolverDnDorgqr, fake_libraries::kR64)
FAKE_FORM_Q(cusolverDnCungqr, fake_libraries::kC32)
FAKE_FORM_Q(cusolverDnZungqr, fake_libraries::kC64)
#undef FAKE_FORM_Q

}  // extern "C"
