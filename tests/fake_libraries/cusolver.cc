// cuSOLVER's functions that we call, strict about what they are given: factors in f64.
#include "tests/fake_libraries/cusolver.h"

namespace fake_cusolver {

fake_libraries::Handles& All() {
  static fake_libraries::Handles* const all = new fake_libraries::Handles;
  return *all;
}

std::vector<fake_libraries::Number> ReadAll(int type, const void* at, int64_t count) {
  const size_t size = fake_libraries::SizeOf(type);
  const std::byte* const bytes = fake_libraries::Bytes(at, static_cast<size_t>(count) * size);
  std::vector<fake_libraries::Number> out;
  for (int64_t i = 0; bytes != nullptr && i < count; ++i) {
    out.push_back(fake_libraries::Read(type, bytes + static_cast<size_t>(i) * size));
  }
  return out;
}

bool WriteAll(int type, const std::vector<fake_libraries::Number>& numbers, void* at) {
  const size_t size = fake_libraries::SizeOf(type);
  std::byte* const bytes = fake_libraries::Bytes(at, numbers.size() * size);
  if (bytes == nullptr) return false;
  for (size_t i = 0; i < numbers.size(); ++i) {
    fake_libraries::Write(type, numbers[i], bytes + i * size);
  }
  return true;
}

int Submit(void* solver, void* work, size_t bytes, int* info, const std::function<int()>& run) {
  const auto all = [=] {
    std::byte* const told = fake_libraries::Bytes(info, sizeof(int));
    std::byte* const own = fake_libraries::Bytes(work, bytes);
    if (told == nullptr || own == nullptr) return;
    std::memset(own, 0xee, bytes);
    const int failed = run();
    std::memcpy(told, &failed, sizeof failed);
  };
  const int answer =
      fake_libraries::Submit(static_cast<Solver*>(solver)->stream, "fake_factor", all);
  return answer == 0 ? 0 : kExecutionFailed;
}

}  // namespace fake_cusolver

namespace {

using fake_cusolver::All;
using fake_cusolver::kHostWork;
using fake_cusolver::kInvalidValue;
using fake_cusolver::kNotInitialized;
using fake_cusolver::kWork;
using fake_cusolver::Solver;
using fake_libraries::Fault;
using fake_libraries::Number;

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
  return fake_cusolver::Submit(handle, work, bytes, info, [=] {
    std::vector<Number> x = fake_cusolver::ReadAll(type, a, n * n);
    if (x.empty()) return -1;
    const int failed = Factor(x, n, triangle == 1);
    return fake_cusolver::WriteAll(type, x, a) ? failed : -1;
  });
}

}  // extern "C"
