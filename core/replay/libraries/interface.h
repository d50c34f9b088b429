// What of NVIDIA's libraries we use, declared by ourselves: a build needs no CUDA. Names and
// numbers are those of the libraries' reference manuals; tests/replay/cuda_api_test.cc holds them
// against CUDA's own headers where there are some.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hloscope::replay::libraries {

enum class DeviceLibrary : uint8_t {
#define DEVICE_LIBRARY(name, ...) name,
#include "core/replay/libraries/libraries.def"
#undef DEVICE_LIBRARY
};

// cudaDataType
inline constexpr int kR32 = 0, kR64 = 1, kR16 = 2, kS8 = 3, kC32 = 4, kC64 = 5, kS32 = 10,
                     kBf16 = 14;
// cublasComputeType_t: no less than the type says, so no tf32 for f32.
inline constexpr int kCompute32 = 68, kCompute64 = 70, kComputeS32 = 72;
// cublasOperation_t, cublasFillMode_t, cublasSideMode_t, cublasDiagType_t
inline constexpr int kAsIs = 0, kTransposed = 1, kAdjoint = 2;
inline constexpr int kLowerTriangle = 0, kUpperTriangle = 1;
inline constexpr int kLeft = 0, kRight = 1;
inline constexpr int kAnyDiagonal = 0, kUnitDiagonal = 1;
// cublasLtMatmulDescAttributes_t
inline constexpr int kLtTransposeA = 3, kLtTransposeB = 4;
// cublasLtMatrixLayoutAttribute_t
inline constexpr int kLtBatchCount = 5, kLtBatchStride = 6;
// cublasLtMatmulPreferenceAttributes_t
inline constexpr int kLtMostWorkspace = 1, kLtReductions = 3, kLtAlignmentA = 5, kLtAlignmentB = 6,
                     kLtAlignmentC = 7, kLtAlignmentD = 8;
// cublasLtReductionScheme_t: partial sums are added in the type that products are summed up in.
inline constexpr uint32_t kLtSumsAreExact = 2;
// cufftType, directions
inline constexpr int kFftC2C = 0x29, kFftR2C = 0x2a, kFftZ2Z = 0x69, kFftD2Z = 0x6a;
inline constexpr int kFftForward = -1, kFftInverse = 1;

struct LtAlgorithm {
  std::array<uint64_t, 8> data;
};
struct LtChoice {
  LtAlgorithm algorithm;
  size_t workspace_bytes;
  int answer;
  float waves;
  std::array<int, 4> reserved;
};

// Of one library; those of others are null.
struct Functions {
#define DEVICE_FUNCTION(of, name, symbol, ...) int (*name)(__VA_ARGS__) = nullptr;
#include "core/replay/libraries/functions.def"
#undef DEVICE_FUNCTION
};

}  // namespace hloscope::replay::libraries
