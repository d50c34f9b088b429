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
#include "core/backends/libraries/libraries.def"
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
// cusolverEigMode_t
inline constexpr int kEigenVectors = 1;
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

// cudnnDataType_t
inline constexpr int kDnnFloat = 0, kDnnDouble = 1, kDnnHalf = 2, kDnnBf16 = 9;
// cudnnBackendDescriptorType_t
inline constexpr int kDnnConvolution = 1, kDnnEngine = 2, kDnnConfiguration = 3, kDnnHeuristic = 4,
                     kDnnPlan = 5, kDnnForward = 10, kDnnGraph = 15, kDnnPack = 16, kDnnTensor = 17;
// cudnnBackendAttributeType_t
inline constexpr int kDnnHandle = 0, kDnnDataType = 1, kDnnInt64 = 3, kDnnFloatType = 4,
                     kDnnDoubleType = 5, kDnnPointer = 6, kDnnConvolutionModeType = 7,
                     kDnnHeuristicModeType = 8, kDnnNote = 11, kDnnDescriptor = 15;
// cudnnBackendAttributeName_t, by descriptor
inline constexpr int kDnnConvolutionSum = 100, kDnnConvolutionMode = 101,
                     kDnnConvolutionDilations = 102, kDnnConvolutionStrides = 103,
                     kDnnConvolutionHigh = 104, kDnnConvolutionLow = 105,
                     kDnnConvolutionSpace = 106;
inline constexpr int kDnnHeuristicMode = 200, kDnnHeuristicGraph = 201, kDnnHeuristicResults = 202;
inline constexpr int kDnnConfigurationEngine = 300;
inline constexpr int kDnnPlanHandle = 400, kDnnPlanConfiguration = 401, kDnnPlanWorkspace = 402;
inline constexpr int kDnnForwardAlpha = 700, kDnnForwardBeta = 701, kDnnForwardWindow = 702,
                     kDnnForwardFilter = 703, kDnnForwardInput = 704, kDnnForwardResult = 705;
inline constexpr int kDnnGraphHandle = 800, kDnnGraphOperations = 801;
inline constexpr int kDnnTensorAlignment = 900, kDnnTensorType = 901, kDnnTensorSizes = 902,
                     kDnnTensorStrides = 903, kDnnTensorUid = 906;
inline constexpr int kDnnPackUids = 1000, kDnnPackPointers = 1001, kDnnPackWorkspace = 1003;
inline constexpr int kDnnEngineNumber = 1301, kDnnEngineNotes = 1303;
// cudnnConvolutionMode_t, cudnnBackendHeurMode_t
inline constexpr int kDnnCrossCorrelation = 1, kDnnFallback = 2, kDnnBest = 3;
// cudnnBackendNumericalNote_t
inline constexpr int kDnnTensorCore = 0, kDnnDownConverts = 1, kDnnShortSums = 2, kDnnByFft = 3,
                     kDnnNotDeterministic = 4, kDnnWinograd = 5;

// ncclDataType_t, ncclRedOp_t
inline constexpr int kNcclS8 = 0, kNcclU8 = 1, kNcclS32 = 2, kNcclU32 = 3, kNcclS64 = 4,
                     kNcclU64 = 5, kNcclF16 = 6, kNcclF32 = 7, kNcclF64 = 8, kNcclBf16 = 9;
inline constexpr int kNcclSum = 0, kNcclProduct = 1, kNcclMaximum = 2, kNcclMinimum = 3;

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

// ncclUniqueId: what processes find one another by.
struct NcclName {
  std::array<char, 128> bytes;
};

// Of one library; those of others are null.
struct Functions {
#define DEVICE_FUNCTION(of, name, symbol, ...) int (*name)(__VA_ARGS__) = nullptr;
#include "core/backends/libraries/functions.def"
#undef DEVICE_FUNCTION
};

}  // namespace hloscope::replay::libraries
