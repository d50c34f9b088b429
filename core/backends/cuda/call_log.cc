// Functions that call those of the driver and write what came of it.
#include "core/backends/cuda/call_log.h"

#include <fmt/format.h>

#include <chrono>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

namespace hloscope::replay::cuda {
namespace {

// Sizes are smaller, addresses of the device are not.
constexpr uint64_t kFirstAddress = uint64_t{1} << 32;

std::FILE* log_file = nullptr;
std::mutex log_mutex;

template <typename T>
std::string Shown(T value) {
  if constexpr (std::same_as<T, const char*>) {
    return value == nullptr ? "*" : value;
  } else if constexpr (std::integral<T>) {
    if (static_cast<uint64_t>(value) >= kFirstAddress) return "*";
    return std::to_string(value);
  } else {
    return "*";
  }
}

// One for each function: `Function` is a type of its own.
template <typename Function, typename... Args>
struct Logged {
  static inline Answer (*real)(Args...) = nullptr;
  static inline const char* symbol = "";

  static Answer Call(Args... args) {
    const auto start = std::chrono::steady_clock::now();
    const Answer answer = real(args...);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    std::string line = fmt::format("{} {} {:.1f}", symbol, answer, time.count());
    ((line += ' ' + Shown(args)), ...);
    line += '\n';
    const std::lock_guard lock(log_mutex);
    std::fwrite(line.data(), 1, line.size(), log_file);
    std::fflush(log_file);  // the process may die in the next call
    return answer;
  }
};

}  // namespace

void LogCalls(Functions& functions) {
  const char* const path = std::getenv("HLOSCOPE_CUDA_LOG");
  if (path == nullptr || *path == '\0') return;
  log_file = std::fopen(path, "a");
  if (log_file == nullptr) return;
#define CUDA_FUNCTION(name, function, ...)     \
  if (functions.name != nullptr) {             \
    struct Function;                           \
    using One = Logged<Function, __VA_ARGS__>; \
    One::real = functions.name;                \
    One::symbol = #function;                   \
    functions.name = &One::Call;               \
  }
#include "core/backends/cuda/driver_functions.def"
#include "core/backends/cuda/driver_newer_functions.def"
#undef CUDA_FUNCTION
}

}  // namespace hloscope::replay::cuda
