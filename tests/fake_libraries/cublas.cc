// cuBLAS's functions that we call, strict about what they are given: systems solved in f64.
#include <vector>

#include "tests/fake_libraries/common.h"
#include "tests/fake_libraries/numbers.h"

namespace {

using fake_libraries::Bytes;
using fake_libraries::Fault;
using fake_libraries::Handles;
using fake_libraries::Number;

constexpr int kNotInitialized = 1, kInvalidValue = 7, kExecutionFailed = 13;

Handles& All() {
  static Handles* const all = new Handles;
  return *all;
}
struct Blas {
  void *stream = nullptr, *work = nullptr;
  size_t work_bytes = 0;
};

struct System {
  int side, triangle, op, diagonal, m, n, type;
  const void* a;
  void* b;
  Blas blas;

  int64_t Unknowns() const { return side == 0 ? m : n; }

  void Run() const {
    const size_t size = fake_libraries::SizeOf(type);
    const auto k = static_cast<size_t>(Unknowns());
    const auto rows = static_cast<size_t>(m), columns = static_cast<size_t>(n);
    const std::byte* const matrix = Bytes(a, k * k * size);
    std::byte* const sides = Bytes(b, rows * columns * size);
    std::byte* const own = Bytes(blas.work, blas.work_bytes);
    if (matrix == nullptr || sides == nullptr || own == nullptr) return;
    std::memset(own, 0xee, blas.work_bytes);
    // op(A)[i, j] of the triangle that counts.
    const auto of_a = [&](size_t i, size_t j) {
      const auto [row, column] = op == 0 ? std::pair(i, j) : std::pair(j, i);
      if (row == column && diagonal == 1) return Number(1);
      if (triangle == 0 ? row < column : row > column) return Number(0);
      const Number x = fake_libraries::Read(type, matrix + (column * k + row) * size);
      return op == 2 ? std::conj(x) : x;
    };
    // From the left: line j is column j of B; from the right X·A = B, Aᵀ·Xᵀ = Bᵀ.
    const bool is_left = side == 0;
    const bool is_lower = ((triangle == 0) == (op == 0)) == is_left;
    const auto coefficient = [&](size_t i, size_t j) { return is_left ? of_a(i, j) : of_a(j, i); };
    for (size_t line = 0; line < (is_left ? columns : rows); ++line) {
      const auto place = [&](size_t i) {
        return sides + (is_left ? line * rows + i : i * rows + line) * size;
      };
      std::vector<Number> x(k);
      for (size_t step = 0; step < k; ++step) {
        const size_t i = is_lower ? step : k - 1 - step;
        Number sum = fake_libraries::Read(type, place(i));
        for (size_t before = 0; before < step; ++before) {
          const size_t j = is_lower ? before : k - 1 - before;
          sum -= coefficient(i, j) * x[j];
        }
        x[i] = sum / coefficient(i, i);
      }
      for (size_t i = 0; i < k; ++i) fake_libraries::Write(type, x[i], place(i));
    }
  }
};

int Solve(const char* function, int type, void* handle, int side, int triangle, int op,
          int diagonal, int m, int n, const void* alpha, const void* a, int lda, void* b, int ldb) {
  if (const int fault = Fault(function); fault != 0) return fault;
  if (!All().Has(handle)) return kNotInitialized;
  const Blas blas = *static_cast<Blas*>(handle);
  const System system{side, triangle, op, diagonal, m, n, type, a, b, blas};
  if (fake_libraries::Read(type, static_cast<const std::byte*>(alpha)) != Number(1) ||
      lda != system.Unknowns() || ldb != m || blas.work == nullptr) {
    return kInvalidValue;
  }
  const int answer = fake_libraries::Submit(blas.stream, "fake_solve", [=] { system.Run(); });
  return answer == 0 ? 0 : kExecutionFailed;
}

}  // namespace

extern "C" {

int cublasGetProperty(int part, int* value) {
  if (const int fault = Fault("cublasGetProperty"); fault != 0) return fault;
  *value = part == 0 ? fake_libraries::Property("cublas.major", 13) : 0;
  return 0;
}
int cublasCreate_v2(void** handle) {
  if (const int fault = Fault("cublasCreate"); fault != 0) return fault;
  *handle = All().Add(new Blas);
  return 0;
}
int cublasDestroy_v2(void* handle) {
  if (!All().Remove(handle)) return kNotInitialized;
  delete static_cast<Blas*>(handle);
  return 0;
}
int cublasSetStream_v2(void* handle, void* stream) {
  if (!All().Has(handle)) return kNotInitialized;
  // Memory that was given for another stream is not kept.
  *static_cast<Blas*>(handle) = {stream, nullptr, 0};
  return 0;
}
int cublasSetWorkspace_v2(void* handle, void* work, size_t bytes) {
  if (const int fault = Fault("cublasSetWorkspace"); fault != 0) return fault;
  if (!All().Has(handle)) return kNotInitialized;
  if (reinterpret_cast<uint64_t>(work) % 256 != 0) return kInvalidValue;
  static_cast<Blas*>(handle)->work = work;
  static_cast<Blas*>(handle)->work_bytes = bytes;
  return 0;
}

#define SOLVE(letter, type)                                                                      \
  int cublas##letter##trsm_v2(void* handle, int side, int triangle, int op, int diagonal, int m, \
                              int n, const void* alpha, const void* a, int lda, void* b,         \
                              int ldb) {                                                         \
    return Solve("cublas" #letter "trsm", fake_libraries::type, handle, side, triangle, op,      \
                 diagonal, m, n, alpha, a, lda, b, ldb);                                         \
  }
SOLVE(S, kR32)
SOLVE(D, kR64)
SOLVE(C, kC32)
SOLVE(Z, kC64)
#undef SOLVE

}  // extern "C"
