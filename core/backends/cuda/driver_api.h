// What of the CUDA driver's interface we use, declared by ourselves: a build needs no CUDA. Names
// and numbers are those of the CUDA Driver API reference manual; tests/replay/cuda_api_test.cc
// holds them against CUDA's own cuda.h where there is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hloscope::replay::cuda {

using Answer = int;        // CUresult
using DeviceNumber = int;  // CUdevice
using Address = uint64_t;  // CUdeviceptr
using ContextHandle = struct CUctx_st*;
using ModuleHandle = struct CUmod_st*;
using FunctionHandle = struct CUfunc_st*;
using StreamHandle = struct CUstream_st*;
using EventHandle = struct CUevent_st*;
using GraphHandle = struct CUgraph_st*;
using GraphExecHandle = struct CUgraphExec_st*;
using NodeHandle = struct CUgraphNode_st*;
using LinkHandle = struct CUlinkState_st*;

inline constexpr Answer kSuccess = 0;
inline constexpr Answer kOutOfMemory = 2;
inline constexpr Answer kNotReady = 600;

// CUdevice_attribute
inline constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76;
// CUjit_option
inline constexpr int kErrorLog = 5, kErrorLogBytes = 6, kLineInfo = 13;
inline constexpr int kPtxInput = 1;                // CU_JIT_INPUT_PTX
inline constexpr unsigned kNonBlockingStream = 1;  // CU_STREAM_NON_BLOCKING
inline constexpr unsigned kTiming = 0;             // CU_EVENT_DEFAULT
inline constexpr unsigned kNoTiming = 2;           // CU_EVENT_DISABLE_TIMING
inline constexpr int kCaptureThread = 1;           // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

// CUDA_MEMCPY2D: `height` rows of `width` bytes, each `pitch` behind the last.
struct RowsEnd {
  size_t x = 0, y = 0;
  int memory_type = 2;  // CU_MEMORYTYPE_DEVICE
  const void* host = nullptr;
  Address device = 0;
  void* array = nullptr;
  size_t pitch = 0;
};
struct RowsCopy {
  RowsEnd from, to;
  size_t width = 0, height = 0;
};
// CU_DEVICE_ATTRIBUTE_MAX_PITCH of every device so far.
inline constexpr int64_t kMaxPitch = 0x7fffffff;

// CUgraphNodeParams of a conditional node.
struct NodeParameters {
  int type = 13;  // CU_GRAPH_NODE_TYPE_CONDITIONAL
  int reserved[3] = {};
  struct {
    uint64_t condition = 0;
    int kind = 1;       // CU_GRAPH_COND_TYPE_WHILE
    unsigned size = 1;  // graphs
    GraphHandle* graphs = nullptr;
    ContextHandle context = nullptr;
  } conditional;
  uint64_t padding[25] = {};
  uint64_t reserved_at_end = 0;
};
inline constexpr unsigned kSetCaptureDependencies = 1;  // CU_STREAM_SET_CAPTURE_DEPENDENCIES

// Versions are 1000 · major + 10 · minor.
inline constexpr int kMinVersion = 12000;
inline constexpr int kConditionalNodesVersion = 12040;
// Compute capability × 10 that our code is written for at least.
inline constexpr int kMinCapability = 80;

// The library's functions, by the symbols that it has them under.
struct Functions {
#define CUDA_FUNCTION(name, symbol, ...) Answer (*name)(__VA_ARGS__) = nullptr;
#include "core/backends/cuda/driver_functions.def"
#include "core/backends/cuda/driver_newer_functions.def"  // null where the driver has them not
#undef CUDA_FUNCTION
};

}  // namespace hloscope::replay::cuda
