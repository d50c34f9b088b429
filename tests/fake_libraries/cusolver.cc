// cuSOLVER's functions that we call, strict about what they are given: factors in f64.
#include <vector>

#include "tests/fake_libraries/common.h"
#include "tests/fake_libraries/numbers.h"

namespace {

using fake_libraries::Bytes;
using fake_libraries::Fault;
using fake_libraries::Handles;
using fake_libraries::Number;

constexpr int kNotInitialized = 1, kInvalidValue = 3, kExecutionFailed = 6;
constexpr size_t kWork = 2048, kHostWork = 64;

Handles& All() {
  static Handles* const all = new Handles;
  return *all;
}
struct Solver {
  void* stream = nullptr;
};

template <typename T>
int Drop(void* handle) {
  if (!All().Remove(handle)) return kNotInitialized;
  delete static_cast<T*>(handle);
  return 0;
}

// A = Uᴴ·U or L·Lᴴ of the triangle that is named; the other one is left as it is. The number of the
// first column without a root, from 1.
int Factor(std::vector<Number>& a, int64_t n, bool is_upper) {
  // Column by column; an upper factor is the adjoint of a lower one.
  const auto at = [&](int64_t row, int64_t column) -> Number& {
    return is_upper ? a[static_cast<size_t>(row * n + column)]
                    : a[static_cast<size_t>(column * n + row)];
  };
  for (int64_t j = 0; j < n; ++j) {
    double pivot = at(j, j).real();
    for (int64_t k = 0; k < j; ++k) pivot -= std::norm(at(j, k));
    if (!(pivot > 0)) return static_cast<int>(j) + 1;
    const double root = std::sqrt(pivot);
    at(j, j) = root;
    for (int64_t i = j + 1; i < n; ++i) {
      Number sum = at(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= at(i, k) * std::conj(at(j, k));
      at(i, j) = sum / root;
    }
  }
  return 0;
}

}  // namespace

extern "C" {

int cusolverGetProperty(int part, int* value) {
  if (const int fault = Fault("cusolverGetProperty"); fault != 0) return fault;
  *value = part == 0 ? fake_libraries::Property("cusolver.major", 12) : 0;
  return 0;
}
int cusolverDnCreate(void** handle) {
  if (const int fault = Fault("cusolverDnCreate"); fault != 0) return fault;
  *handle = All().Add(new Solver);
  return 0;
}
int cusolverDnDestroy(void* handle) { return Drop<Solver>(handle); }
int cusolverDnSetStream(void* handle, void* stream) {
  if (!All().Has(handle)) return kNotInitialized;
  static_cast<Solver*>(handle)->stream = stream;
  return 0;
}
int cusolverDnCreateParams(void** options) {
  if (const int fault = Fault("cusolverDnCreateParams"); fault != 0) return fault;
  *options = All().Add(new int);
  return 0;
}
int cusolverDnDestroyParams(void* options) { return Drop<int>(options); }
int cusolverDnXpotrf_bufferSize(void* handle, void* options, int triangle, int64_t n, int type,
                                const void*, int64_t ld, int sum, size_t* bytes,
                                size_t* host_bytes) {
  if (const int fault = Fault("cusolverDnXpotrf_bufferSize"); fault != 0) return fault;
  if (!All().Has(handle) || !All().Has(options)) return kNotInitialized;
  if (triangle < 0 || triangle > 1 || n < 1 || ld < n || sum != type) return kInvalidValue;
  *bytes = kWork;
  *host_bytes = kHostWork;
  return 0;
}
int cusolverDnXpotrf(void* handle, void* options, int triangle, int64_t n, int type, void* a,
                     int64_t ld, int sum, void* work, size_t bytes, void* host_work,
                     size_t host_bytes, int* info) {
  if (const int fault = Fault("cusolverDnXpotrf"); fault != 0) return fault;
  if (!All().Has(handle) || !All().Has(options)) return kNotInitialized;
  if (ld != n || sum != type || bytes < kWork || host_bytes < kHostWork || host_work == nullptr) {
    return kInvalidValue;
  }
  const auto run = [=] {
    const auto count = static_cast<size_t>(n * n);
    const size_t size = fake_libraries::SizeOf(type);
    std::byte* const matrix = Bytes(a, count * size);
    std::byte* const told = Bytes(info, sizeof(int));
    std::byte* const own = Bytes(work, bytes);
    if (matrix == nullptr || told == nullptr || own == nullptr) return;
    std::memset(own, 0xee, bytes);
    std::vector<Number> x(count);
    for (size_t i = 0; i < count; ++i) x[i] = fake_libraries::Read(type, matrix + i * size);
    const int failed = Factor(x, n, triangle == 1);
    for (size_t i = 0; i < count; ++i) fake_libraries::Write(type, x[i], matrix + i * size);
    std::memcpy(told, &failed, sizeof failed);
  };
  const int answer =
      fake_libraries::Submit(static_cast<Solver*>(handle)->stream, "made_up_factor", run);
  return answer == 0 ? 0 : kExecutionFailed;
}

}  // extern "C"
