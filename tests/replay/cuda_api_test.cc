// Our own declarations of the CUDA driver's interface and of NVIDIA's libraries held against
// CUDA's, where they are installed.
#include <cuda.h>
#include <gtest/gtest.h>
#if __has_include(<cublasLt.h>) && __has_include(<cublas_v2.h>) && __has_include(<cufft.h>) && \
    __has_include(<cusolverDn.h>) && __has_include(<cudnn_graph.h>) && __has_include(<nccl.h>)
#define HLOSCOPE_HAS_LIBRARIES
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cudnn_graph.h>
#include <cufft.h>
#include <cusolverDn.h>
#include <nccl.h>
#endif

#include <type_traits>

#include "core/backends/cuda/driver_api.h"
#include "core/backends/libraries/interface.h"

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
#include "core/backends/cuda/driver_functions.def"
#if CUDA_VERSION >= 13000
#include "core/backends/cuda/driver_newer_functions.def"
#endif
#undef CUDA_FUNCTION

#define CUDA_ERROR(number, name, ...) static_assert(number == ::name);
#include "core/backends/cuda/driver_errors.def"
#undef CUDA_ERROR

static_assert(kSuccess == CUDA_SUCCESS && kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY &&
              kNotReady == CUDA_ERROR_NOT_READY);
static_assert(sizeof(RowsCopy) == sizeof(CUDA_MEMCPY2D));
static_assert(offsetof(RowsCopy, from) + offsetof(RowsEnd, device) ==
              offsetof(CUDA_MEMCPY2D, srcDevice));
static_assert(offsetof(RowsCopy, from) + offsetof(RowsEnd, memory_type) ==
              offsetof(CUDA_MEMCPY2D, srcMemoryType));
static_assert(offsetof(RowsCopy, to) + offsetof(RowsEnd, device) ==
              offsetof(CUDA_MEMCPY2D, dstDevice));
static_assert(offsetof(RowsCopy, to) + offsetof(RowsEnd, pitch) ==
              offsetof(CUDA_MEMCPY2D, dstPitch));
static_assert(offsetof(RowsCopy, width) == offsetof(CUDA_MEMCPY2D, WidthInBytes));
static_assert(offsetof(RowsCopy, height) == offsetof(CUDA_MEMCPY2D, Height));
static_assert(RowsEnd().memory_type == CU_MEMORYTYPE_DEVICE);
static_assert(kCapabilityMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(kCapabilityMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(kErrorLog == CU_JIT_ERROR_LOG_BUFFER);
static_assert(kErrorLogBytes == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
static_assert(kLineInfo == CU_JIT_GENERATE_LINE_INFO);
static_assert(kPtxInput == CU_JIT_INPUT_PTX);
static_assert(kNonBlockingStream == CU_STREAM_NON_BLOCKING);
static_assert(kNoTiming == CU_EVENT_DISABLE_TIMING);
static_assert(kCaptureThread == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
#if CUDA_VERSION >= 13000
static_assert(kSetCaptureDependencies == CU_STREAM_SET_CAPTURE_DEPENDENCIES);
static_assert(sizeof(NodeParameters) == sizeof(CUgraphNodeParams));
static_assert(NodeParameters().type == CU_GRAPH_NODE_TYPE_CONDITIONAL);
static_assert(NodeParameters().conditional.kind == CU_GRAPH_COND_TYPE_WHILE);
static_assert(offsetof(NodeParameters, conditional) == offsetof(CUgraphNodeParams, conditional));
static_assert(sizeof(NodeParameters::conditional) == sizeof(CUDA_CONDITIONAL_NODE_PARAMS));
static_assert(offsetof(NodeParameters, conditional.graphs) ==
              offsetof(CUgraphNodeParams, conditional.phGraph_out));
static_assert(offsetof(NodeParameters, conditional.context) ==
              offsetof(CUgraphNodeParams, conditional.ctx));
static_assert(offsetof(NodeParameters, reserved_at_end) == offsetof(CUgraphNodeParams, reserved2));
#endif

#ifdef HLOSCOPE_HAS_LIBRARIES
#define DEVICE_FUNCTION(library, name, symbol, ...) \
  static_assert(Fits<decltype(libraries::Functions::name), decltype(&::symbol)>::value, #symbol);
#include "core/backends/libraries/functions.def"
#undef DEVICE_FUNCTION
#define DEVICE_ANSWER(library, number, name, ...) static_assert(number == ::name);
#include "core/backends/libraries/answers.def"
#undef DEVICE_ANSWER
#define DEVICE_LIBRARY(library, name, word, beginning, major, minor, property, purpose, own) \
  static_assert(Fits<int (*)(int, int*), decltype(&::property)>::value ||                    \
                    Fits<int (*)(int*), decltype(&::property)>::value,                       \
                #property);
#include "core/backends/libraries/libraries.def"
#undef DEVICE_LIBRARY

using namespace libraries;  // NOLINT: names of one kind beside names of the other
static_assert(kR32 == CUDA_R_32F && kR64 == CUDA_R_64F && kR16 == CUDA_R_16F && kS8 == CUDA_R_8I);
static_assert(kC32 == CUDA_C_32F && kC64 == CUDA_C_64F && kS32 == CUDA_R_32I &&
              kBf16 == CUDA_R_16BF);
static_assert(kCompute32 == CUBLAS_COMPUTE_32F && kCompute64 == CUBLAS_COMPUTE_64F &&
              kComputeS32 == CUBLAS_COMPUTE_32I);
static_assert(sizeof(NcclName) == sizeof(ncclUniqueId) && sizeof(NcclName) == NCCL_UNIQUE_ID_BYTES);
static_assert(kNcclS8 == ncclInt8 && kNcclU8 == ncclUint8 && kNcclS32 == ncclInt32 &&
              kNcclU32 == ncclUint32 && kNcclS64 == ncclInt64 && kNcclU64 == ncclUint64);
static_assert(kNcclF16 == ncclFloat16 && kNcclF32 == ncclFloat32 && kNcclF64 == ncclFloat64 &&
              kNcclBf16 == ncclBfloat16);
static_assert(kNcclSum == ncclSum && kNcclProduct == ncclProd && kNcclMaximum == ncclMax &&
              kNcclMinimum == ncclMin);
static_assert(kAsIs == CUBLAS_OP_N && kTransposed == CUBLAS_OP_T && kAdjoint == CUBLAS_OP_C);
static_assert(kLowerTriangle == CUBLAS_FILL_MODE_LOWER && kUpperTriangle == CUBLAS_FILL_MODE_UPPER);
static_assert(kLeft == CUBLAS_SIDE_LEFT && kRight == CUBLAS_SIDE_RIGHT);
static_assert(kAnyDiagonal == CUBLAS_DIAG_NON_UNIT && kUnitDiagonal == CUBLAS_DIAG_UNIT);
static_assert(kLtTransposeA == CUBLASLT_MATMUL_DESC_TRANSA &&
              kLtTransposeB == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(kLtBatchCount == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT &&
              kLtBatchStride == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(kLtMostWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES &&
              kLtReductions == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK &&
              kLtAlignmentA == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
              kLtAlignmentB == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES &&
              kLtAlignmentC == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES &&
              kLtAlignmentD == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES &&
              kLtSumsAreExact == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
static_assert(kFftC2C == CUFFT_C2C && kFftR2C == CUFFT_R2C && kFftZ2Z == CUFFT_Z2Z &&
              kFftD2Z == CUFFT_D2Z && kFftForward == CUFFT_FORWARD && kFftInverse == CUFFT_INVERSE);
static_assert(kDnnFloat == CUDNN_DATA_FLOAT && kDnnDouble == CUDNN_DATA_DOUBLE &&
              kDnnHalf == CUDNN_DATA_HALF && kDnnBf16 == CUDNN_DATA_BFLOAT16);
static_assert(kDnnConvolution == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR &&
              kDnnEngine == CUDNN_BACKEND_ENGINE_DESCRIPTOR &&
              kDnnConfiguration == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR &&
              kDnnHeuristic == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR &&
              kDnnPlan == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR &&
              kDnnForward == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR &&
              kDnnGraph == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR &&
              kDnnPack == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR &&
              kDnnTensor == CUDNN_BACKEND_TENSOR_DESCRIPTOR);
static_assert(kDnnHandle == CUDNN_TYPE_HANDLE && kDnnDataType == CUDNN_TYPE_DATA_TYPE &&
              kDnnInt64 == CUDNN_TYPE_INT64 && kDnnFloatType == CUDNN_TYPE_FLOAT &&
              kDnnDoubleType == CUDNN_TYPE_DOUBLE && kDnnPointer == CUDNN_TYPE_VOID_PTR &&
              kDnnConvolutionModeType == CUDNN_TYPE_CONVOLUTION_MODE &&
              kDnnHeuristicModeType == CUDNN_TYPE_HEUR_MODE &&
              kDnnNote == CUDNN_TYPE_NUMERICAL_NOTE &&
              kDnnDescriptor == CUDNN_TYPE_BACKEND_DESCRIPTOR);
static_assert(kDnnConvolutionSum == CUDNN_ATTR_CONVOLUTION_COMP_TYPE &&
              kDnnConvolutionMode == CUDNN_ATTR_CONVOLUTION_CONV_MODE &&
              kDnnConvolutionDilations == CUDNN_ATTR_CONVOLUTION_DILATIONS &&
              kDnnConvolutionStrides == CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES &&
              kDnnConvolutionHigh == CUDNN_ATTR_CONVOLUTION_POST_PADDINGS &&
              kDnnConvolutionLow == CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS &&
              kDnnConvolutionSpace == CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
static_assert(kDnnHeuristicMode == CUDNN_ATTR_ENGINEHEUR_MODE &&
              kDnnHeuristicGraph == CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH &&
              kDnnHeuristicResults == CUDNN_ATTR_ENGINEHEUR_RESULTS &&
              kDnnConfigurationEngine == CUDNN_ATTR_ENGINECFG_ENGINE &&
              kDnnPlanHandle == 400 &&  // CUDNN_ATTR_EXECUTION_PLAN_HANDLE, of older versions
              kDnnPlanConfiguration == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG &&
              kDnnPlanWorkspace == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
static_assert(kDnnForwardAlpha == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA &&
              kDnnForwardBeta == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA &&
              kDnnForwardWindow == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC &&
              kDnnForwardFilter == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W &&
              kDnnForwardInput == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X &&
              kDnnForwardResult == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y &&
              kDnnGraphHandle == 800 &&  // CUDNN_ATTR_OPERATIONGRAPH_HANDLE, of older versions
              kDnnGraphOperations == CUDNN_ATTR_OPERATIONGRAPH_OPS);
static_assert(kDnnTensorAlignment == CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT &&
              kDnnTensorType == CUDNN_ATTR_TENSOR_DATA_TYPE &&
              kDnnTensorSizes == CUDNN_ATTR_TENSOR_DIMENSIONS &&
              kDnnTensorStrides == CUDNN_ATTR_TENSOR_STRIDES &&
              kDnnTensorUid == CUDNN_ATTR_TENSOR_UNIQUE_ID &&
              kDnnPackUids == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS &&
              kDnnPackPointers == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS &&
              kDnnPackWorkspace == CUDNN_ATTR_VARIANT_PACK_WORKSPACE &&
              kDnnEngineNumber == CUDNN_ATTR_ENGINE_GLOBAL_INDEX &&
              kDnnEngineNotes == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
static_assert(kDnnCrossCorrelation == CUDNN_CROSS_CORRELATION &&
              kDnnFallback == CUDNN_HEUR_MODE_FALLBACK && kDnnBest == CUDNN_HEUR_MODE_A);
static_assert(kDnnTensorCore == CUDNN_NUMERICAL_NOTE_TENSOR_CORE &&
              kDnnDownConverts == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS &&
              kDnnShortSums == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION &&
              kDnnByFft == CUDNN_NUMERICAL_NOTE_FFT &&
              kDnnNotDeterministic == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC &&
              kDnnWinograd == CUDNN_NUMERICAL_NOTE_WINOGRAD);
static_assert(sizeof(LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(LtChoice) == sizeof(cublasLtMatmulHeuristicResult_t) &&
              offsetof(LtChoice, workspace_bytes) ==
                  offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) &&
              offsetof(LtChoice, answer) == offsetof(cublasLtMatmulHeuristicResult_t, state));
#endif

TEST(CudaApi, IsDeclaredAsCudaDoes) {
  static_assert(!Fits<int (*)(int), int (*)(int*)>::value);
  SUCCEED();
}

}  // namespace
}  // namespace hloscope::replay::cuda
