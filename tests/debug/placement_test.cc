// Places and transfers, one instruction a row.
#include "core/analysis/place/placement.h"

#include <gtest/gtest.h>

#include "tests/hlo/parsed.h"

namespace hloscope::debug {
namespace {

struct Row {
  std::string_view line;  // of an instruction `i` on f32[4] x and y
  analysis::Target target;
  std::string_view place, reason, library;
};

const Row kRows[] = {
    {"i = f32[4] add(x, y)", analysis::Target::kGpu, "device_kernel", "", ""},
    {"i = f32[4] bitcast(x)", analysis::Target::kGpu, "no_code", "", ""},
    {"i = f32[4] copy(x)", analysis::Target::kGpu, "copy", "", ""},
    {"i = f32[4] all-reduce(x), to_apply=sum", analysis::Target::kGpu, "collective", "", ""},
    {"i = f32[4] custom-call(x), custom_call_target=\"__cublas$lt$matmul\"", analysis::Target::kGpu,
     "library_call", "", "cuBLAS"},
    {"i = f32[4] custom-call(x), custom_call_target=\"__cudnn$fmhaSoftmax\"",
     analysis::Target::kGpu, "library_call", "", "cuDNN"},
    {"i = f32[4] custom-call(x), custom_call_target=\"xla.gpu.ext.cub_sort_unassigned\"",
     analysis::Target::kGpu, "library_call", "", "CUB"},
    {"i = f32[4] custom-call(x), custom_call_target=\"lapack_spotrf_ffi\"", analysis::Target::kCpu,
     "library_call", "", "LAPACK"},
    {"i = f32[4] custom-call(x), custom_call_target=\"nobody_knows\"", analysis::Target::kGpu,
     "library_call", "", "custom call"},
    {"i = f32[4] custom-call(x), custom_call_target=\"xla_ffi_python_gpu_callback\"",
     analysis::Target::kGpu, "host", "host_callback", ""},
    {"i = f32[4] custom-call(x), custom_call_target=\"MoveToHost\"", analysis::Target::kGpu,
     "host_memory", "host_memory_asked", ""},
    {"i = f32[4] add(x, y), frontend_attributes={_xla_compute_type=\"host\"}",
     analysis::Target::kGpu, "host", "host_compute_asked", ""},
    {"i = f32[4] add(x, y), backend_config={\"device_type\":\"DEVICE_TYPE_HOST\"}",
     analysis::Target::kGpu, "host", "host_device_type", ""},
    {"i = f32[4,4] dot(m, m), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     analysis::Target::kCpu, "library_call", "", "Eigen"},
    {"i = f32[4] dot(m, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     analysis::Target::kCpu, "device_kernel", "", ""},
    {"k = s32[4,4] convert(m)\n  i = s32[4,4] dot(k, k), lhs_contracting_dims={1}, "
     "rhs_contracting_dims={0}",
     analysis::Target::kCpu, "library_call", "", "Eigen"},
    {"k = s32[4,4] convert(m)\n  l = s32[4] convert(x)\n  i = s32[4] dot(k, l), "
     "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     analysis::Target::kCpu, "device_kernel", "", ""},
    {"k = u32[4,4] convert(m)\n  i = u32[4,4] dot(k, k), lhs_contracting_dims={1}, "
     "rhs_contracting_dims={0}",
     analysis::Target::kCpu, "device_kernel", "", ""},
    {"k = pred[4,4] convert(m)\n  i = pred[4,4] dot(k, k), lhs_contracting_dims={1}, "
     "rhs_contracting_dims={0}",
     analysis::Target::kCpu, "device_kernel", "", ""},
    {"k = c64[4,4] convert(m)\n  l = c64[4] convert(x)\n  i = c64[4] dot(k, l), "
     "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     analysis::Target::kCpu, "library_call", "", "Eigen"},
    {"i = f32[4] sort(x), dimensions={0}, to_apply=less", analysis::Target::kCpu, "library_call",
     "", "XLA runtime"},
    {"i = f32[4] sort(x), dimensions={0}, to_apply=less", analysis::Target::kGpu, "device_kernel",
     "", ""},
    {"i = f32[4] fusion(x), kind=kLoop, calls=fused", analysis::Target::kGpu, "device_kernel", "",
     ""},
};

std::string ModuleWith(std::string_view line, bool scheduled) {
  return std::string("HloModule m") + (scheduled ? ", is_scheduled=true" : "") + R"(
sum { p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT r = f32[] add(p, q) }
less { p2 = f32[] parameter(0)
  q2 = f32[] parameter(1)
  ROOT r2 = pred[] compare(p2, q2), direction=LT }
fused { p3 = f32[4] parameter(0)
  ROOT inner = f32[4] tanh(p3) }
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  m = f32[4,4] parameter(2)
  )" + std::string(line) +
         "\n  ROOT t = tuple(i)\n}";
}

analysis::PlacedInstruction Find(const hlo::Module& module, const analysis::Placement& placement,
                                 std::string_view name) {
  for (uint32_t k = 0; k < module.instructions().size(); ++k) {
    if (module.name(hlo::InstructionId(k)) == name) return placement.instructions[k];
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(Placement, OfEachKindOfInstruction) {
  for (const Row& row : kRows) {
    auto module = hlo::Parsed(ModuleWith(row.line, true));
    ASSERT_NE(module, nullptr);
    analysis::PlacedInstruction placed =
        Find(*module, analysis::FindPlacement(*module, row.target), "i");
    EXPECT_EQ(KeyOf(placed.place), row.place) << row.line;
    EXPECT_EQ(KeyOf(placed.reason), row.reason) << row.line;
    EXPECT_EQ(placed.library, row.library) << row.line;
  }
}

TEST(Placement, InsideAFusionAndBeforeCompilation) {
  auto fused = hlo::Parsed(ModuleWith("i = f32[4] fusion(x), kind=kLoop, calls=fused", true));
  EXPECT_EQ(Find(*fused, analysis::FindPlacement(*fused), "inner").place,
            analysis::Place::kInKernel);
  auto early = hlo::Parsed(R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  ROOT i = f32[4] tanh(x)
})");
  analysis::Placement placement = analysis::FindPlacement(*early, analysis::Target::kGpu);
  EXPECT_FALSE(placement.compiled);
  EXPECT_EQ(Find(*early, placement, "i").place, analysis::Place::kUndecided);
}

TEST(Placement, TakesWhatThunksSay) {
  auto module = hlo::Parsed(ModuleWith("i = f32[4] fusion(x), kind=kLoop, calls=fused", true));
  analysis::Placement placement = analysis::FindPlacement(*module, analysis::Target::kGpu);
  dump::ThunkSequence thunks;
  thunks.thunks.resize(2);
  thunks.thunks[0].kind = thunks.thunks[1].kind = "kCopy";
  thunks.thunks[0].instruction = thunks.thunks[1].instruction = "i";
  analysis::TakeThunks(*module, thunks, placement);
  EXPECT_EQ(Find(*module, placement, "i").place, analysis::Place::kCopy);
  EXPECT_EQ(placement.counts[static_cast<size_t>(analysis::Place::kDeviceKernel)], 0);
  thunks.thunks[1].kind = "kKernel";  // a copy and a kernel: as it was
  analysis::Placement mixed = analysis::FindPlacement(*module, analysis::Target::kGpu);
  analysis::TakeThunks(*module, thunks, mixed);
  EXPECT_EQ(Find(*module, mixed, "i").place, analysis::Place::kDeviceKernel);
}

// The program asked for the host, the compiler wrote a kernel all the same.
TEST(Placement, WhatHasAKernelIsNotOnTheHost) {
  auto module =
      hlo::Parsed(ModuleWith("i = f32[4] fusion(x), kind=kLoop, calls=fused, "
                             "frontend_attributes={_xla_compute_type=\"host\"}",
                             true));
  analysis::Placement placement = analysis::FindPlacement(*module, analysis::Target::kGpu);
  ASSERT_EQ(Find(*module, placement, "i").place, analysis::Place::kHost);
  ASSERT_NE(placement.bytes, 0);
  dump::KernelTable kernels;
  kernels.kernels.resize(1);
  kernels.kernels[0].instructions = {"i"};
  analysis::TakeKernels(*module, kernels, placement);
  EXPECT_EQ(Find(*module, placement, "i").place, analysis::Place::kDeviceKernel);
  EXPECT_EQ(Find(*module, placement, "i").reason, hlo::FallbackReason::kNone);
  EXPECT_EQ(placement.counts[static_cast<size_t>(analysis::Place::kHost)], 0);
  EXPECT_TRUE(placement.transfers.empty());
  EXPECT_EQ(placement.bytes, 0);
}

// XLA:CPU leaves large dots to Eigen and compiles small ones.
TEST(Placement, ADotWithAKernelIsNoLibraryCall) {
  auto module = hlo::Parsed(ModuleWith(
      "i = f32[4,4] dot(m, m), lhs_contracting_dims={1}, rhs_contracting_dims={0}", true));
  analysis::Placement placement = analysis::FindPlacement(*module, analysis::Target::kCpu);
  ASSERT_EQ(Find(*module, placement, "i").place, analysis::Place::kLibraryCall);
  dump::KernelTable kernels;
  analysis::TakeKernels(*module, kernels, placement);
  EXPECT_EQ(Find(*module, placement, "i").place, analysis::Place::kLibraryCall);
  kernels.kernels.resize(1);
  kernels.kernels[0].instructions = {"i"};
  analysis::TakeKernels(*module, kernels, placement);
  EXPECT_EQ(Find(*module, placement, "i").place, analysis::Place::kDeviceKernel);
  EXPECT_EQ(Find(*module, placement, "i").library, "");
}

TEST(Placement, OfCallsThatAreOneKernel) {
  auto module = hlo::Parsed(ModuleWith(
      "i = f32[4] call(x), to_apply=fused, frontend_attributes={xla_cpu_small_call=\"true\"}",
      true));
  analysis::Placement placement = analysis::FindPlacement(*module, analysis::Target::kCpu);
  EXPECT_EQ(Find(*module, placement, "i").place, analysis::Place::kDeviceKernel);
  EXPECT_EQ(Find(*module, placement, "inner").place, analysis::Place::kInKernel);
}

constexpr std::string_view kLoop = R"(HloModule m, is_scheduled=true
body {
  p = (s32[], f32[16]) parameter(0)
  n = s32[] get-tuple-element(p), index=0
  v = f32[16] get-tuple-element(p), index=1
  there = f32[16]{0:S(5)} copy(v)
  back = f32[16]{0} copy(there)
  ROOT r = tuple(n, back)
}
condition {
  p2 = (s32[], f32[16]) parameter(0)
  n2 = s32[] get-tuple-element(p2), index=0
  five = s32[] constant(5)
  ROOT less = pred[] compare(n2, five), direction=LT
}
ENTRY e {
  x = (s32[], f32[16]) parameter(0)
  ROOT w = (s32[], f32[16]) while(x), condition=condition, body=body, backend_config={BACKEND}
})";

std::string LoopWith(std::string_view config) {
  std::string text(kLoop);
  text.replace(text.find("BACKEND"), 7, config);
  return text;
}

TEST(Transfers, AreWeightedByKnownTripCounts) {
  auto module = hlo::Parsed(LoopWith(R"("known_trip_count":{"n":"5"})"));
  analysis::Placement placement = analysis::FindPlacement(*module, analysis::Target::kGpu);
  ASSERT_EQ(placement.transfers.size(), 2u);
  EXPECT_EQ(placement.transfers[0].direction, analysis::TransferDirection::kToHost);
  EXPECT_EQ(placement.transfers[1].direction, analysis::TransferDirection::kToDevice);
  EXPECT_EQ(placement.transfers[1].bytes, 64);
  EXPECT_EQ(placement.transfers[1].executions, 5);
  EXPECT_EQ(placement.bytes, 2 * 64 * 5);
}

TEST(Transfers, OfUnknownCountAreNotAddedUp) {
  auto module = hlo::Parsed(LoopWith(R"("other":1)"));
  analysis::Placement placement = analysis::FindPlacement(*module, analysis::Target::kGpu);
  ASSERT_EQ(placement.transfers.size(), 2u);
  EXPECT_EQ(placement.transfers[0].executions, -1);
  EXPECT_EQ(placement.bytes, 0);
  EXPECT_EQ(placement.unknown_transfers, 2);
}

TEST(Transfers, OfCallbacksGoBothWaysAndNowhereOnACpu) {
  auto module = hlo::Parsed(ModuleWith(
      "i = f32[4] custom-call(x, y), custom_call_target=\"xla_python_gpu_callback\"", true));
  analysis::Placement gpu = analysis::FindPlacement(*module, analysis::Target::kGpu);
  ASSERT_EQ(gpu.transfers.size(), 2u);
  EXPECT_EQ(gpu.transfers[0].bytes, 32);
  EXPECT_EQ(gpu.transfers[1].bytes, 16);
  EXPECT_TRUE(analysis::FindPlacement(*module, analysis::Target::kCpu).transfers.empty());
}

TEST(Transfers, OfHugeShapesDoNotOverflow) {
  auto module = hlo::Parsed(R"(HloModule m, is_scheduled=true
ENTRY e {
  x = f32[1152921504606846976] parameter(0)
  ROOT i = f32[1152921504606846976]{0:S(5)} copy(x)
})");
  ASSERT_NE(module, nullptr);
  analysis::Placement placement = analysis::FindPlacement(*module, analysis::Target::kGpu);
  ASSERT_EQ(placement.transfers.size(), 1u);
  EXPECT_EQ(placement.bytes == 0, placement.transfers[0].bytes < 0);
}

}  // namespace
}  // namespace hloscope::debug
