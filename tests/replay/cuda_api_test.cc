// Our own declarations of the CUDA driver's interface held against CUDA's, where they are installed.
#include <cuda.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "core/replay/cuda/driver_api.h"

namespace hloscope::replay::cuda {
namespace {

// Values travel alike: as large, and both addresses or both not.
template <typename Ours, typename Theirs>
constexpr bool kAlike =
    sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;

template <typename Ours, typename Theirs>
struct Fits : std::false_type {};
template <typename R, typename... Ours, typename S, typename... Theirs>
  requires(sizeof...(Ours) == sizeof...(Theirs))
struct Fits<R (*)(Ours...), S (*)(Theirs...)>
    : std::bool_constant<kAlike<R, S> && (kAlike<Ours, Theirs> && ...)> {};

#define CUDA_FUNCTION(name, symbol, ...) \
  static_assert(Fits<decltype(Functions::name), decltype(&::symbol)>::value, #symbol);
#include "core/replay/cuda/driver_functions.def"
#undef CUDA_FUNCTION

#define CUDA_ERROR(number, name, ...) static_assert(number == ::name);
#include "core/replay/cuda/driver_errors.def"
#undef CUDA_ERROR

static_assert(kSuccess == CUDA_SUCCESS && kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(kCapabilityMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(kCapabilityMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(kErrorLog == CU_JIT_ERROR_LOG_BUFFER);
static_assert(kErrorLogBytes == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
static_assert(kNonBlockingStream == CU_STREAM_NON_BLOCKING);
static_assert(kNoTiming == CU_EVENT_DISABLE_TIMING);
static_assert(kCaptureThread == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);

TEST(CudaApi, IsDeclaredAsCudaDoes) {
  static_assert(!Fits<int (*)(int), int (*)(int*)>::value);
  SUCCEED();
}

}  // namespace
}  // namespace hloscope::replay::cuda
