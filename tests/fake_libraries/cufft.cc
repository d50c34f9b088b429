// cuFFT's functions that we call, strict about what they are given: sums in f64.
#include <map>
#include <numbers>
#include <vector>

#include "tests/fake_libraries/common.h"
#include "tests/fake_libraries/numbers.h"

namespace {

using fake_libraries::Bytes;
using fake_libraries::Fault;
using fake_libraries::Number;

constexpr int kInvalidPlan = 1, kInvalidValue = 4, kExecFailed = 6, kNoWorkspace = 13;
constexpr int kC2C = 0x29, kR2C = 0x2a, kZ2Z = 0x69, kD2Z = 0x6a;
constexpr size_t kWork = 512;

struct Plan {
  bool allocates = true;
  int type = 0;
  std::vector<int64_t> lengths;
  int64_t arrays = 0;
  void *stream = nullptr, *work = nullptr;
};
std::map<int, Plan>& Plans() {
  static auto* const plans = new std::map<int, Plan>;
  return *plans;
}

// Σ x[j]·w^(j·k) in place; `n` elements `stride` apart.
void TransformLine(Number* x, int64_t n, int64_t stride, double sign) {
  if (n == 1) return;
  std::vector<Number> out(static_cast<size_t>(n));
  const auto root = [&](int64_t k, int64_t of) {
    return std::polar(
        1.0, sign * 2 * std::numbers::pi * static_cast<double>(k % of) / static_cast<double>(of));
  };
  if (n % 2 == 0) {
    TransformLine(x, n / 2, 2 * stride, sign);
    TransformLine(x + stride, n / 2, 2 * stride, sign);
    for (int64_t k = 0; k < n / 2; ++k) {
      const Number even = x[2 * k * stride], odd = root(k, n) * x[(2 * k + 1) * stride];
      out[static_cast<size_t>(k)] = even + odd;
      out[static_cast<size_t>(k + n / 2)] = even - odd;
    }
  } else {
    for (int64_t k = 0; k < n; ++k) {
      for (int64_t j = 0; j < n; ++j) out[static_cast<size_t>(k)] += x[j * stride] * root(j * k, n);
    }
  }
  for (int64_t k = 0; k < n; ++k) x[k * stride] = out[static_cast<size_t>(k)];
}

void Transform(std::vector<Number>& x, const std::vector<int64_t>& lengths, double sign) {
  const auto total = static_cast<int64_t>(x.size());
  int64_t stride = 1;
  for (size_t d = lengths.size(); d-- > 0; stride *= lengths[d]) {
    const int64_t block = stride * lengths[d];
    for (int64_t first = 0; first < total; first += block) {
      for (int64_t i = 0; i < stride; ++i) {
        TransformLine(x.data() + first + i, lengths[d], stride, sign);
      }
    }
  }
}

void Run(const Plan& plan, const void* in, void* out, int direction) {
  const bool is_real = plan.type == kR2C || plan.type == kD2Z;
  const bool is_double = plan.type == kZ2Z || plan.type == kD2Z;
  const int in_type = is_double ? (is_real ? fake_libraries::kR64 : fake_libraries::kC64)
                                : (is_real ? fake_libraries::kR32 : fake_libraries::kC32);
  const int out_type = is_double ? fake_libraries::kC64 : fake_libraries::kC32;
  const size_t in_size = fake_libraries::SizeOf(in_type),
               out_size = fake_libraries::SizeOf(out_type);
  size_t elements = 1;
  for (const int64_t length : plan.lengths) elements *= static_cast<size_t>(length);
  const auto line = static_cast<size_t>(plan.lengths.back());
  const size_t kept = is_real ? line / 2 + 1 : line;
  const auto arrays = static_cast<size_t>(plan.arrays);
  const std::byte* from = Bytes(in, arrays * elements * in_size);
  std::byte* to = Bytes(out, arrays * elements / line * kept * out_size);
  std::byte* const work = Bytes(plan.work, kWork);
  if (from == nullptr || to == nullptr || work == nullptr) return;
  std::memset(work, 0xee, kWork);
  for (size_t array = 0; array < arrays; ++array) {
    std::vector<Number> x(elements);
    for (Number& each : x) {
      each = fake_libraries::Read(in_type, from);
      from += in_size;
    }
    Transform(x, plan.lengths, direction);
    for (size_t i = 0; i < elements; ++i) {
      if (i % line >= kept) continue;
      fake_libraries::Write(out_type, x[i], to);
      to += out_size;
    }
  }
}

int Execute(const char* function, int plan, int type, void* in, void* out, int direction) {
  if (const int fault = Fault(function); fault != 0) return fault;
  const auto found = Plans().find(plan);
  if (found == Plans().end() || found->second.type != type) return kInvalidPlan;
  const Plan& it = found->second;
  if (it.work == nullptr) return kNoWorkspace;
  if (in == out || (direction != 1 && direction != -1)) return kInvalidValue;
  const int answer =
      fake_libraries::Submit(it.stream, "fake_transform",
                             [copy = it, in, out, direction] { Run(copy, in, out, direction); });
  return answer == 0 ? 0 : kExecFailed;
}

}  // namespace

extern "C" {

int cufftGetProperty(int part, int* value) {
  if (const int fault = Fault("cufftGetProperty"); fault != 0) return fault;
  *value = part == 0 ? fake_libraries::Property("cufft.major", 12) : 0;
  return 0;
}
int cufftCreate(int* plan) {
  if (const int fault = Fault("cufftCreate"); fault != 0) return fault;
  static int next = 0;
  *plan = next++;
  Plans()[*plan] = {};
  return 0;
}
int cufftDestroy(int plan) { return Plans().erase(plan) == 1 ? 0 : kInvalidPlan; }
int cufftSetAutoAllocation(int plan, int allocates) {
  if (!Plans().contains(plan)) return kInvalidPlan;
  Plans()[plan].allocates = allocates != 0;
  return 0;
}
int cufftMakePlanMany64(int plan, int rank, long long* lengths, long long* in_sizes, long long,
                        long long, long long* out_sizes, long long, long long, int type,
                        long long arrays, size_t* bytes) {
  if (const int fault = Fault("cufftMakePlanMany64"); fault != 0) return fault;
  if (!Plans().contains(plan)) return kInvalidPlan;
  Plan& it = Plans()[plan];
  if (it.allocates || rank < 1 || rank > 3 || in_sizes != nullptr || out_sizes != nullptr ||
      arrays < 1) {
    return kInvalidValue;
  }
  it.type = type;
  it.lengths.assign(lengths, lengths + rank);
  it.arrays = arrays;
  *bytes = kWork;
  return 0;
}
int cufftSetStream(int plan, void* stream) {
  if (!Plans().contains(plan)) return kInvalidPlan;
  Plans()[plan].stream = stream;
  return 0;
}
int cufftSetWorkArea(int plan, void* work) {
  if (const int fault = Fault("cufftSetWorkArea"); fault != 0) return fault;
  if (!Plans().contains(plan)) return kInvalidPlan;
  Plans()[plan].work = work;
  return 0;
}
int cufftExecC2C(int plan, void* in, void* out, int direction) {
  return Execute("cufftExecC2C", plan, kC2C, in, out, direction);
}
int cufftExecZ2Z(int plan, void* in, void* out, int direction) {
  return Execute("cufftExecZ2Z", plan, kZ2Z, in, out, direction);
}
int cufftExecR2C(int plan, void* in, void* out) {
  return Execute("cufftExecR2C", plan, kR2C, in, out, -1);
}
int cufftExecD2Z(int plan, void* in, void* out) {
  return Execute("cufftExecD2Z", plan, kD2Z, in, out, -1);
}

}  // extern "C"
