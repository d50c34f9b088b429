// cuBLASLt's functions that we call, strict about what they are given: products summed up in f64.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/fake_libraries/common.h"
#include "tests/fake_libraries/numbers.h"

extern "C" int cuStreamSynchronize(void* stream);

namespace {

using fake_libraries::Bytes;
using fake_libraries::Fault;
using fake_libraries::Handles;
using fake_libraries::Number;

constexpr int kNotInitialized = 1, kInvalidValue = 7, kNotSupported = 15, kExecutionFailed = 13;
constexpr uint64_t kMark = 0xc0ffee;
constexpr size_t kWorkspace = 4096;

Handles& All() {
  static Handles* const all = new Handles;
  return *all;
}

struct Product {
  int sum = 0, scale = 0;
  int32_t transpose_a = 0, transpose_b = 0;
};
struct Layout {
  int type = 0;
  int64_t rows = 0, columns = 0, ld = 0, stride = 0;
  int32_t count = 1;

  // Elements from the first to behind the last.
  int64_t Extent() const { return (count - 1) * stride + (columns - 1) * ld + rows; }
  int64_t At(int64_t batch, int64_t row, int64_t column) const {
    return batch * stride + column * ld + row;
  }
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t reductions = 7;
  std::array<uint32_t, 4> alignments{256, 256, 256, 256};
};

// Who is who: a call with a wrong handle is refused.
template <typename T>
T* Find(void* handle) {
  return All().Has(handle) ? static_cast<T*>(handle) : nullptr;
}
template <typename T>
int Drop(void* handle) {
  if (!All().Remove(handle)) return kInvalidValue;
  delete static_cast<T*>(handle);
  return 0;
}
template <typename T>
int Set(T& to, const void* from, size_t size) {
  if (size != sizeof to) return kInvalidValue;
  std::memcpy(&to, from, size);
  return 0;
}

struct Call {
  Product product;
  Layout a, b, c;
  const void *a_at = nullptr, *b_at = nullptr;
  void* c_at = nullptr;

  int64_t m() const { return c.rows; }
  int64_t n() const { return c.columns; }
  int64_t k() const { return product.transpose_a != 0 ? a.rows : a.columns; }

  bool IsSound() const {
    const auto [a_rows, a_columns] =
        product.transpose_a != 0 ? std::pair(a.columns, a.rows) : std::pair(a.rows, a.columns);
    const auto [b_rows, b_columns] =
        product.transpose_b != 0 ? std::pair(b.columns, b.rows) : std::pair(b.rows, b.columns);
    for (const Layout* each : {&a, &b, &c}) {
      if (each->rows < 1 || each->columns < 1 || each->ld < each->rows || each->count != c.count) {
        return false;
      }
    }
    return a_rows == m() && b_columns == n() && a_columns == b_rows && a.type == b.type &&
           (c.count == 1 || c.stride > 0);
  }
  // Types and forms that there are products of.
  bool IsSupported() const {
    constexpr std::array<std::array<int, 4>, 9> kKnown = {{{0, 0, 68, 0},
                                                           {1, 1, 70, 1},
                                                           {2, 2, 68, 0},
                                                           {2, 0, 68, 0},
                                                           {14, 14, 68, 0},
                                                           {14, 0, 68, 0},
                                                           {4, 4, 68, 4},
                                                           {5, 5, 70, 5},
                                                           {3, 10, 72, 10}}};
    const std::array<int, 4> asked = {a.type, c.type, product.sum, product.scale};
    if (std::ranges::find(kKnown, asked) == kKnown.end()) return false;
    // Of s8 only rows by columns, four at a time.
    return a.type != fake_libraries::kS8 || (product.transpose_a == 1 && product.transpose_b == 0 &&
                                             a.ld % 4 == 0 && b.ld % 4 == 0 && m() % 4 == 0);
  }

  void Run() const {
    const auto bytes = [](const Layout& layout) {
      return static_cast<size_t>(layout.Extent()) * fake_libraries::SizeOf(layout.type);
    };
    const std::byte* const left = Bytes(a_at, bytes(a));
    const std::byte* const right = Bytes(b_at, bytes(b));
    std::byte* const out = Bytes(c_at, bytes(c));
    if (left == nullptr || right == nullptr || out == nullptr) return;
    const auto read = [](const Layout& layout, const std::byte* from, int64_t at) {
      const size_t size = fake_libraries::SizeOf(layout.type);
      return fake_libraries::Read(layout.type, from + static_cast<size_t>(at) * size);
    };
    std::vector<Number> line(static_cast<size_t>(k()));
    for (int64_t batch = 0; batch < c.count; ++batch) {
      for (int64_t j = 0; j < n(); ++j) {
        for (int64_t p = 0; p < k(); ++p) {
          line[static_cast<size_t>(p)] =
              read(b, right, product.transpose_b != 0 ? b.At(batch, j, p) : b.At(batch, p, j));
        }
        for (int64_t i = 0; i < m(); ++i) {
          Number sum = 0;
          for (int64_t p = 0; p < k(); ++p) {
            const int64_t at = product.transpose_a != 0 ? a.At(batch, p, i) : a.At(batch, i, p);
            sum += read(a, left, at) * line[static_cast<size_t>(p)];
          }
          const size_t size = fake_libraries::SizeOf(c.type);
          fake_libraries::Write(c.type, sum, out + static_cast<size_t>(c.At(batch, i, j)) * size);
        }
      }
    }
  }
};

struct Algorithm {
  std::array<uint64_t, 8> data;
};
struct Choice {
  Algorithm algorithm;
  size_t workspace;
  int answer;
  float waves;
  std::array<int, 4> reserved;
};

template <typename T, typename... Args>
int Make(const char* function, void** out, const Args&... args) {
  if (const int fault = Fault(function); fault != 0) return fault;
  *out = All().Add(new T{args...});
  return 0;
}

}  // namespace

extern "C" {

int cublasLtGetProperty(int part, int* value) {
  if (const int fault = Fault("cublasLtGetProperty"); fault != 0) return fault;
  *value = part == 0 ? fake_libraries::Property("cublasLt.major", 13) : 0;
  return 0;
}
int cublasLtCreate(void** handle) { return Make<int>("cublasLtCreate", handle); }
int cublasLtDestroy(void* handle) { return Drop<int>(handle); }
int cublasLtMatmulDescCreate(void** out, int sum, int scale) {
  return Make<Product>("cublasLtMatmulDescCreate", out, sum, scale);
}
int cublasLtMatmulDescSetAttribute(void* product, int name, const void* value, size_t size) {
  auto* const it = Find<Product>(product);
  if (it == nullptr || (name != 3 && name != 4)) return kInvalidValue;
  return Set(name == 3 ? it->transpose_a : it->transpose_b, value, size);
}
int cublasLtMatmulDescDestroy(void* product) { return Drop<Product>(product); }
int cublasLtMatrixLayoutCreate(void** out, int type, uint64_t rows, uint64_t columns, int64_t ld) {
  return Make<Layout>("cublasLtMatrixLayoutCreate", out, type, static_cast<int64_t>(rows),
                      static_cast<int64_t>(columns), ld);
}
int cublasLtMatrixLayoutSetAttribute(void* layout, int name, const void* value, size_t size) {
  auto* const it = Find<Layout>(layout);
  if (it == nullptr || (name != 5 && name != 6)) return kInvalidValue;
  return name == 5 ? Set(it->count, value, size) : Set(it->stride, value, size);
}
int cublasLtMatrixLayoutDestroy(void* layout) { return Drop<Layout>(layout); }
int cublasLtMatmulPreferenceCreate(void** out) {
  return Make<Preference>("cublasLtMatmulPreferenceCreate", out);
}
int cublasLtMatmulPreferenceSetAttribute(void* preference, int name, const void* value,
                                         size_t size) {
  auto* const it = Find<Preference>(preference);
  if (it == nullptr) return kInvalidValue;
  if (name == 1) return Set(it->workspace, value, size);
  if (name == 3) return Set(it->reductions, value, size);
  if (name < 5 || name > 8) return kInvalidValue;
  return Set(it->alignments[static_cast<size_t>(name - 5)], value, size);
}
int cublasLtMatmulPreferenceDestroy(void* preference) { return Drop<Preference>(preference); }

int cublasLtMatmulAlgoGetHeuristic(void* handle, void* product, void* a, void* b, void* c, void* d,
                                   void* preference, int most, Choice* choices, int* count) {
  if (const int fault = Fault("cublasLtMatmulAlgoGetHeuristic"); fault != 0) return fault;
  if (Find<int>(handle) == nullptr) return kNotInitialized;
  *count = 0;
  if (most < 1 || Find<Layout>(d) != Find<Layout>(c)) return kInvalidValue;
  for (void* each : {product, a, b, c, preference}) {
    if (!All().Has(each)) return kInvalidValue;
  }
  const Call call{*Find<Product>(product), *Find<Layout>(a), *Find<Layout>(b), *Find<Layout>(c)};
  if (!call.IsSound()) return kInvalidValue;
  const auto& wanted = *Find<Preference>(preference);
  if (!call.IsSupported() || wanted.workspace < kWorkspace) return kNotSupported;
  const int known = fake_libraries::Property("cublasLt.algorithms", 1);
  for (int i = 0; i < std::min(known, most); ++i) {
    const bool is_unfit = i < fake_libraries::Property("cublasLt.unfit", 0);
    choices[i] = {.algorithm = {{kMark, static_cast<uint64_t>(i)}},
                  .workspace = kWorkspace,
                  .answer = is_unfit ? kNotSupported : 0,
                  .waves = 1,
                  .reserved = {}};
  }
  // Nothing may be said to lie better than the plan's buffers do.
  for (const uint32_t alignment : wanted.alignments) {
    if (alignment > 64) return kInvalidValue;
  }
  *count = std::min(known, most);
  return 0;
}

int cublasLtMatmul(void* handle, void* product, const void* alpha, const void* a, void* a_layout,
                   const void* b, void* b_layout, const void* beta, const void* c, void* c_layout,
                   void* d, void* d_layout, const Algorithm* algorithm, void* workspace,
                   size_t workspace_size, void* stream) {
  if (const int fault = Fault("cublasLtMatmul"); fault != 0) return fault;
  if (Find<int>(handle) == nullptr) return kNotInitialized;
  for (void* each : {product, a_layout, b_layout, c_layout}) {
    if (!All().Has(each)) return kInvalidValue;
  }
  const Call call{*Find<Product>(product),
                  *Find<Layout>(a_layout),
                  *Find<Layout>(b_layout),
                  *Find<Layout>(c_layout),
                  a,
                  b,
                  d};
  const auto factor = [&](const void* at) {
    return fake_libraries::Read(call.product.scale, static_cast<const std::byte*>(at));
  };
  if (!call.IsSound() || c != d || c_layout != d_layout || factor(alpha) != Number(1) ||
      factor(beta) != Number(0) || algorithm->data[0] != kMark || workspace_size < kWorkspace ||
      reinterpret_cast<uint64_t>(workspace) % 256 != 0) {
    return kInvalidValue;
  }
  const uint64_t number = algorithm->data[1] + 1;
  if (fake_libraries::Property("cublasLt.refused", 0) == static_cast<int>(number)) {
    return kNotSupported;
  }
  const std::string name = number == 1 ? "fake_product" : "fake_product_" + std::to_string(number);
  // Which no stream allows that is recorded.
  if (fake_libraries::Property("cublasLt.waits", 0) != 0) cuStreamSynchronize(stream);
  const int answer = fake_libraries::Submit(stream, name.c_str(), [=] {
    // It is its own: whoever left something there finds it spoiled.
    if (std::byte* const own = Bytes(workspace, workspace_size); own != nullptr) {
      std::memset(own, 0xee, workspace_size);
      call.Run();
    }
  });
  return answer == 0 ? 0 : kExecutionFailed;
}

}  // extern "C"
