// Recorded runs of the platform gpu over the made-up driver and the made-up CUPTI: everything that
// the device did is an instruction's, and what cannot be recorded is said.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>

#include "core/backends/cuda/handles.h"
#include "core/backends/make_platform.h"
#include "core/backends/pjrt/plugin_recorder.h"
#include "core/backends/plugins/library_files.h"
#include "core/base/file.h"
#include "core/base/jobs.h"
#include "core/replay/host_fallbacks.h"
#include "core/replay/platform.h"
#include "profiler/cupti/collector.h"
#include "profiler/cupti/range_profiler.h"
#include "profiler/cupti/to_xspace.h"
#include "profiler/kernel_metrics.h"
#include "profiler/profile.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/fake_cupti/fake_cupti.h"
#include "tests/hlo/parsed.h"
#include "tests/replay/events.h"

// Which the platform does not call.
extern "C" int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes,
                               hloscope::replay::cuda::StreamHandle stream);

namespace hloscope::replay {
namespace {

using hlo::Literal;
using profiler::EventId;
using profiler::EventStore;

constexpr const char* kStraight = R"(HloModule straight
ENTRY e {
  a = f32[8,8] parameter(0)
  b = f32[8,8] parameter(1)
  d = f32[8,8] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  p = f32[8,8] multiply(d, b)
  ROOT r = f32[8,8] add(p, a)
}
)";
constexpr const char* kHostFallback = R"(HloModule handed
ENTRY e {
  a = f32[8,8] parameter(0)
  b = f32[8,8] parameter(1)
  c = f32[8,8] add(a, b)
  z = f32[8] constant({0, 0, 0, 0, 0, 0, 0, 0})
  s = f32[8,8] custom-call(a, z, c), custom_call_target="cusolver_ormqr_ffi"
  ROOT r = f32[8,8] multiply(s, a)
}
)";
constexpr const char* kLoop = R"(HloModule loop
body {
  s = (s32[], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[8,8] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[8,8] add(x, x)
  ROOT t = (s32[], f32[8,8]) tuple(j, y)
}
cond {
  s = (s32[], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  a = f32[8,8] parameter(0)
  b = f32[8,8] parameter(1)
  zero = s32[] constant(0)
  z = f32[8,8] add(a, b)
  s = (s32[], f32[8,8]) tuple(zero, z)
  w = (s32[], f32[8,8]) while(s), condition=cond, body=body
  ROOT r = f32[8,8] get-tuple-element(w), index=1
}
)";
constexpr const char* kReplicas = R"(HloModule replicas, replica_count=2
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y)
}
ENTRY e {
  a = f32[8,8] parameter(0)
  b = f32[8,8] parameter(1)
  m = f32[8,8] multiply(a, b)
  g = f32[8,8] all-reduce(m), to_apply=sum
  ROOT r = f32[8,8] multiply(g, b)
}
)";

void SetFaults(const char* driver, const char* cupti) {
  setenv("CUDA_FAKE", driver, 1);
  setenv("CUDA_FAKE_CUPTI", cupti, 1);
  fake_cuda_restart();
  *FakeCupti() = {};
  FakeCupti();
}

// What one run told.
struct Recorded {
  std::shared_ptr<const profiler::Profile> trace;
  std::vector<std::string> warnings, on_host;
};

// So many recorded runs of a module on the platform gpu.
std::vector<Recorded> Record(const char* text, int runs, int64_t steps = 1 << 16,
                             bool metrics = false, bool lines = false) {
  const auto module = hlo::Parsed(text);
  std::vector<float> values(64);
  std::iota(values.begin(), values.end(), 1.0f);
  const auto shape = hlo::Shape::Array(hlo::ElementType::kF32, {8, 8});
  const std::vector<std::vector<Literal>> inputs(
      static_cast<size_t>(module->header().replica_count),
      {Literal::Of<float>(shape, values), Literal::Of<float>(shape, values)});
  RunOptions options;
  options.record.steps = steps;
  options.record.kernel_metrics = metrics;
  options.record.pc_sampling = lines;
  std::vector<Recorded> all;
  const auto loaded = (*MakePlatform("gpu"))->Load(module, options);
  EXPECT_TRUE(loaded.has_value()) << loaded.error().ToString();
  for (int i = 0; loaded.has_value() && i < runs; ++i) {
    Events events;
    const auto ran = (*loaded)->Run(inputs, options, events);
    EXPECT_TRUE(ran.has_value()) << ran.error().ToString();
    Recorded& recorded = all.emplace_back();
    for (const RunWarning* each : events.Of<RunWarning>()) recorded.warnings.push_back(each->text);
    for (const TraceSlice* each : events.Of<TraceSlice>()) {
      if (each->lane == kFallbackLane) recorded.on_host.push_back(each->name);
    }
    const auto files = events.Of<TraceFile>();
    EXPECT_EQ(files.size(), 1u);
    if (files.empty()) continue;
    EXPECT_GT(files[0]->start_ns, 0);
    Jobs alone(1);
    auto read = profiler::ReadProfile(FileView::FromBytes("trace", std::string(files[0]->bytes)),
                                      Limits(), alone);
    EXPECT_TRUE(read.has_value()) << read.error().ToString();
    if (read.has_value()) recorded.trace = *read;
  }
  return all;
}

struct Counts {
  std::map<std::string, int64_t> by_instruction;  // kernels
  int64_t on_device = 0, attributed = 0, in_graphs = 0, kernels = 0, copies = 0, host = 0,
          unattributed_host = 0;
  int64_t overlapping = 0;  // kernels that begin while one of another stream runs
  std::set<std::string> streams;
};

Counts CountsOf(const Recorded& recorded) {
  Counts counts;
  const EventStore& store = *recorded.trace->store;
  struct Span {
    uint32_t lane;
    int64_t begin, end;
  };
  std::vector<Span> kernels;
  for (const profiler::Row& row : store.rows()) {
    const profiler::Lane& lane = store.lanes()[row.lane.index];
    const bool is_device = store.groups()[lane.group].is_device;
    for (uint32_t i = row.first_event; i < row.first_event + row.event_count; ++i) {
      const EventId e(i);
      const bool has_one = store.operation(e).valid();
      if (!is_device) {
        ++counts.host;
        const bool is_overhead = store.text(lane.name).starts_with("overhead");
        counts.unattributed_host += has_one || is_overhead ? 0 : 1;
        continue;
      }
      ++counts.on_device;
      counts.attributed += has_one ? 1 : 0;
      counts.streams.emplace(store.text(lane.name));
      bool is_kernel = false;
      for (const profiler::Argument& argument : store.Arguments(e)) {
        is_kernel |= argument.name == "kernel_details";
        counts.copies += argument.name == "memcpy_details" ? 1 : 0;
        counts.in_graphs += argument.name == "cuda_graph_node_id" ? 1 : 0;
      }
      counts.kernels += is_kernel ? 1 : 0;
      if (is_kernel) {
        kernels.push_back({row.lane.index, store.start(e), store.start(e) + store.duration(e)});
      }
      if (is_kernel && has_one) {
        ++counts.by_instruction[std::string(
            store.text(store.operations()[store.operation(e).index].name))];
      }
    }
  }
  for (const Span& one : kernels) {
    counts.overlapping += std::ranges::any_of(kernels, [&](const Span& other) {
      return other.lane != one.lane && other.begin <= one.begin && one.begin < other.end;
    });
  }
  return counts;
}

TEST(GpuProfile, EveryRecordIsAnInstructions) {
  SetFaults("", "");
  for (const char* text : {kStraight, kHostFallback, kLoop, kReplicas}) {
    const uint64_t before = fake_cuda_launches();
    int64_t kernels = 0;
    for (const Recorded& recorded : Record(text, 3)) {
      ASSERT_NE(recorded.trace, nullptr) << text;
      const Counts counts = CountsOf(recorded);
      EXPECT_GT(counts.kernels, 0) << text;
      EXPECT_EQ(counts.on_device, counts.kernels + counts.copies) << text;
      EXPECT_EQ(counts.attributed, counts.on_device) << text;
      EXPECT_GT(counts.host, 0) << text;
      EXPECT_EQ(counts.unattributed_host, 0) << text;
      EXPECT_TRUE(recorded.trace->warnings.empty()) << recorded.trace->warnings[0];
      EXPECT_TRUE(recorded.warnings.empty()) << recorded.warnings[0];
      kernels += counts.kernels;
    }
    EXPECT_EQ(static_cast<uint64_t>(kernels), fake_cuda_launches() - before) << text;
  }
}

TEST(GpuProfile, KernelsInGraphsAreTheirInstructions) {
  for (const char* driver : {"", "nodes_at_end=1"}) {
    SetFaults(driver, "");
    const auto runs = Record(kStraight, 3);
    ASSERT_EQ(runs.size(), 3u);
    const Counts first = CountsOf(runs[0]);
    EXPECT_EQ(first.in_graphs, 0);
    for (size_t i = 1; i < 3; ++i) {
      const Counts again = CountsOf(runs[i]);
      EXPECT_EQ(again.in_graphs, again.kernels);
      EXPECT_EQ(again.by_instruction, first.by_instruction) << driver;
    }
    EXPECT_TRUE(first.by_instruction.contains("d"));
  }
}

// Launches, a copy and a memset of two instructions on two streams, while kernels last longer than
// the host is busy with them.
TEST(GpuProfile, StreamsOverlapAndKeepTheirInstructions) {
  SetFaults("kernel_us=1000000", "");
  const auto device = cuda::Device::Open();
  ASSERT_TRUE(device.has_value()) << device.error().ToString();
  const cuda::Driver& driver = (*device)->driver();
  const auto module = cuda::LoadPtx(
      *device, ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n");
  ASSERT_TRUE(module.has_value()) << module.error().ToString();
  cuda::FunctionHandle function = nullptr;
  ASSERT_EQ(driver->ModuleGetFunction(&function, module->get(), "k"), 0);
  const auto memory = cuda::AllocateOnDevice(*device, 64);
  ASSERT_TRUE(memory.has_value());
  using profiler::cupti::Origin;
  const auto library = profiler::cupti::Library::Open({});
  ASSERT_TRUE(library.has_value()) << library.error().ToString();
  const auto collector = profiler::cupti::Collector::Start(*library);
  ASSERT_TRUE(collector.has_value()) << collector.error().ToString();
  std::vector<cuda::Stream> streams;
  for (uint64_t i = 1; i <= 2; ++i) {
    streams.push_back(*cuda::MakeStream(*device));
    cuda::StreamHandle const stream = streams.back().get();
    (*collector)->Push(i);
    EXPECT_EQ(driver->LaunchKernel(function, 3, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr), 0);
    EXPECT_EQ(cuMemsetD8Async(memory->get(), 1, 64, stream), 0);
    EXPECT_EQ(driver->CopyOnDevice(memory->get() + 32, memory->get(), 32, stream), 0);
    (*collector)->Pop();
  }
  // A memset in a graph is whose it was when it was recorded.
  cuda::StreamHandle const stream = streams.back().get();
  cuda::GraphHandle graph = nullptr;
  cuda::GraphExecHandle exec = nullptr;
  ASSERT_EQ(driver->StreamBeginCapture(stream, cuda::kCaptureThread), 0);
  (*collector)->Push(3);
  EXPECT_EQ(cuMemsetD8Async(memory->get(), 2, 48, stream), 0);
  (*collector)->Pop();
  ASSERT_EQ(driver->StreamEndCapture(stream, &graph), 0);
  ASSERT_EQ(driver->GraphInstantiate(&exec, graph, 0), 0);
  EXPECT_EQ(driver->GraphLaunch(exec, stream), 0);
  for (const cuda::Stream& each : streams) EXPECT_EQ(driver->StreamSynchronize(each.get()), 0);
  EXPECT_EQ(driver->GraphExecDestroy(exec), 0);
  EXPECT_EQ(driver->GraphDestroy(graph), 0);
  const auto collected = (*collector)->Stop();
  ASSERT_TRUE(collected.has_value());
  EXPECT_EQ(collected->log.activities.size(), 7u + 2 + 1);  // both waited for, and the flushing
  const auto in_graph = std::ranges::find_if(
      collected->log.activities, [](const auto& activity) { return activity.graph_node != 0; });
  ASSERT_NE(in_graph, collected->log.activities.end());
  EXPECT_EQ(in_graph->work, profiler::cupti::Work::kFill);
  EXPECT_EQ(in_graph->bytes, 48u);
  EXPECT_EQ(collected->log.nodes.at(in_graph->graph_node), 3u);
  profiler::cupti::TraceCounts traced;
  Recorded recorded;
  Jobs alone(1);
  recorded.trace = *profiler::ReadProfile(
      FileView::FromBytes(
          "trace", profiler::cupti::WriteXSpace(collected->log,
                                                {[](uint64_t number) -> std::optional<Origin> {
                                                  return Origin{"m", number == 1 ? "one" : "two"};
                                                }},
                                                collected->origin_ns, &traced)),
      Limits(), alone);
  EXPECT_EQ(traced.attributed, 7);
  const Counts counts = CountsOf(recorded);
  EXPECT_EQ(counts.streams.size(), 2u);
  EXPECT_GT(counts.overlapping, 0);
  EXPECT_EQ(counts.by_instruction, (std::map<std::string, int64_t>{{"one", 1}, {"two", 1}}));
}

TEST(GpuProfile, WhatIsHandedOverHasALaneOfTheHost) {
  SetFaults("", "");
  const auto runs = Record(kHostFallback, 2);
  for (const Recorded& recorded : runs) {
    EXPECT_EQ(recorded.on_host, std::vector<std::string>{"s"});
    EXPECT_TRUE(recorded.warnings.empty());
  }
}

TEST(GpuProfile, RecordsThatAreMissingAreCounted) {
  SetFaults("", "record%5=1");
  auto runs = Record(kStraight, 1);
  ASSERT_EQ(runs[0].trace->warnings.size(), 1u);
  EXPECT_TRUE(runs[0].trace->warnings[0].starts_with("CUPTI dropped "))
      << runs[0].trace->warnings[0];
  EXPECT_NE(runs[0].trace->warnings[0], "CUPTI dropped 0 records: its buffers were full");
  SetFaults("", "late=1");
  runs = Record(kStraight, 1);
  ASSERT_EQ(runs[0].trace->warnings.size(), 1u);
  EXPECT_EQ(runs[0].trace->warnings[0],
            "2 of 2 kernels have no record: CUPTI did not deliver them in time");
  SetFaults("", "");
  runs = Record(kStraight, 1, 2);
  ASSERT_EQ(runs[0].trace->warnings.size(), 1u);
  EXPECT_TRUE(runs[0].trace->warnings[0].starts_with("left out, more than a recording keeps: "))
      << runs[0].trace->warnings[0];
  const Counts counts = CountsOf(runs[0]);
  EXPECT_EQ(counts.on_device, 2);
  EXPECT_EQ(counts.attributed, 2);
}

TEST(GpuProfile, HostFallbacksAreReportedOnce) {
  constexpr const char* kTwice = R"(HloModule twice, replica_count=2
ENTRY e {
  a = f32[8,8] parameter(0)
  b = f32[8,8] parameter(1)
  c = f32[8,8] add(a, b)
  z = f32[8] constant({0, 0, 0, 0, 0, 0, 0, 0})
  s = f32[8,8] custom-call(a, z, c), custom_call_target="cusolver_ormqr_ffi"
  m = f32[8,8] multiply(s, a)
  t = f32[8,8] custom-call(a, z, m), custom_call_target="cusolver_ormqr_ffi"
  ROOT r = f32[8,8] multiply(t, a)
}
)";
  SetFaults("", "");
  for (Recorded& recorded : Record(kTwice, 3)) {
    std::ranges::sort(recorded.on_host);
    EXPECT_EQ(recorded.on_host, (std::vector<std::string>{"s", "s", "t", "t"}));
  }
  // What the evaluator tells of is told once, too.
  constexpr const char* kDrawn = R"(HloModule drawn
ENTRY e {
  a = f32[8,8] parameter(0)
  b = f32[8,8] parameter(1)
  corner = f32[1,1] slice(a), slice={[0:1], [0:1]}
  low = f32[] reshape(corner)
  high = f32[] constant(100)
  n = f32[8,8] rng(low, high), distribution=rng_uniform
  m = f32[8,8] multiply(n, b)
  ROOT r = f32[8,8] add(m, a)
}
)";
  for (const Recorded& recorded : Record(kDrawn, 2)) {
    EXPECT_EQ(recorded.on_host, std::vector<std::string>{"n"});
  }
  for (const Recorded& recorded : Record(kTwice, 2, 1)) {
    EXPECT_EQ(recorded.on_host.size(), 1u);
    const auto& warnings = recorded.trace->warnings;
    EXPECT_NE(std::ranges::find(warnings,
                                "left out, more than a recording keeps: 3 instructions "
                                "on the host, in place of the device"),
              warnings.end());
  }
}

TEST(GpuProfile, WithoutCuptiEventsOfTheDriverTime) {
  const struct {
    const char *faults, *why, *fix;
  } rows[] = {
      {"version=17", "whose records cannot be read", "nvidia-cuda-cupti"},
      {"cuptiSubscribe=12", "another profiler is attached", "end the other profiler"},
      {"cuptiSubscribe=15", "could not be initialised", "doctor"},
      {"cuptiActivityEnable=35", "ERR_NVGPUCTRPERM", "NVreg_RestrictProfilingToAdminUsers=0"},
      {"cuptiActivityEnable=43", "MIG", "a whole GPU"},
  };
  for (const auto& row : rows) {
    SetFaults("", row.faults);
    const auto runs = Record(kStraight, 2);
    ASSERT_EQ(runs.size(), 2u);
    ASSERT_EQ(runs[0].warnings.size(), 1u) << row.faults;
    EXPECT_NE(runs[0].warnings[0].find(row.why), std::string::npos) << runs[0].warnings[0];
    EXPECT_NE(runs[0].warnings[0].find(row.fix), std::string::npos) << runs[0].warnings[0];
    EXPECT_TRUE(runs[1].warnings.empty());  // once
    for (const Recorded& recorded : runs) {
      EXPECT_EQ(recorded.trace->warnings, runs[0].warnings) << row.faults;
      const Counts counts = CountsOf(recorded);
      EXPECT_EQ(counts.kernels, 2) << row.faults;
      EXPECT_GT(counts.copies, 0) << row.faults;
      EXPECT_EQ(counts.attributed, counts.on_device) << row.faults;
      EXPECT_EQ(counts.in_graphs, 0) << row.faults;
    }
  }
  FakeCudaLeft left{};
  fake_cuda_left(&left);
  EXPECT_EQ(left.events + left.streams + left.graph_execs, 0);
}

// Whoever has CUPTI for a while does not have it for ever.
TEST(GpuProfile, APassingRefusalPasses) {
  SetFaults("", "cuptiSubscribe:1=39,cuptiSubscribe:3=39");
  const auto runs = Record(kStraight, 4);
  ASSERT_EQ(runs.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(runs[i].warnings.size(), i == 0 ? 1u : 0u) << i;
    EXPECT_EQ(runs[i].trace->warnings.size(), i % 2 == 0 ? 1u : 0u) << i;
    const Counts counts = CountsOf(runs[i]);
    EXPECT_EQ(counts.kernels, 2) << i;
    EXPECT_EQ(counts.attributed, counts.on_device) << i;
    EXPECT_EQ(counts.in_graphs, i % 2 == 0 ? 0 : counts.kernels) << i;
  }
}

// An hour behind the first event a float has steps of 250 us.
TEST(GpuProfile, TimesOfEventsAreExactHoweverLateTheyAre) {
  SetFaults("event_us=100,event_gap_s=3600", "cuptiSubscribe=39");
  const auto runs = Record(kLoop, 1);
  ASSERT_EQ(runs.size(), 1u);
  const EventStore& store = *runs[0].trace->store;
  constexpr int64_t kApart = 100'000'000, kNear = 100'000;  // ps
  std::optional<int64_t> first;
  int64_t kernels = 0;
  for (uint32_t i = 0; i < store.size(); ++i) {
    const EventId e(i);
    const auto arguments = store.Arguments(e);
    if (std::ranges::find(arguments, "kernel_details", &profiler::Argument::name) ==
        arguments.end()) {
      continue;
    }
    ++kernels;
    EXPECT_NEAR(static_cast<double>(store.duration(e)), kApart, kNear);
    if (!first) first = store.start(e);
    const int64_t off = (store.start(e) - *first + kApart / 2) % kApart - kApart / 2;
    EXPECT_LE(std::abs(off), kNear);
  }
  EXPECT_GT(kernels, 5);
}

// Of every kernel of a run; those without any are left out.
std::vector<profiler::KernelMetrics> MetricsIn(const Recorded& recorded) {
  std::vector<profiler::KernelMetrics> all;
  const EventStore& store = *recorded.trace->store;
  for (uint32_t i = 0; i < store.size(); ++i) {
    const auto metrics = profiler::MetricsOf(store.Arguments(EventId(i)));
    if (metrics) all.push_back(*metrics);
  }
  return all;
}
bool Warns(const Recorded& recorded, std::string_view text) {
  return std::ranges::any_of(recorded.trace->warnings, [&](const std::string& warning) {
    return warning.find(text) != std::string::npos;
  });
}

TEST(GpuProfile, CountersOfKernelsAreReadInOneMoreRun) {
  for (const char* cupti : {"", "cuptiSubscribe=39"}) {
    for (const char* text : {kStraight, kHostFallback, kLoop, kReplicas}) {
      SetFaults("", cupti);
      const uint64_t before = fake_cuda_launches();
      int64_t kernels = 0;
      for (const Recorded& recorded : Record(text, 2, 1 << 16, true)) {
        const Counts counts = CountsOf(recorded);
        kernels += counts.kernels;
        EXPECT_EQ(counts.attributed, counts.on_device) << text;
        EXPECT_EQ(recorded.trace->warnings.size(), *cupti == '\0' ? 0u : 1u) << text;
        const auto metrics = MetricsIn(recorded);
        EXPECT_EQ(std::ssize(metrics), counts.kernels) << text;
        for (const profiler::KernelMetrics& each : metrics) {
          for (const auto& row : profiler::kMetricRows) {
            ASSERT_TRUE((each.*row.field).has_value()) << row.name;
            if (row.kind == profiler::MetricKind::kShare) {
              EXPECT_LE(*(each.*row.field), 1.0);
            }
          }
          EXPECT_GT(*each.dram_read_bytes, 0) << text;
          EXPECT_GT(*each.achieved_occupancy, 0) << text;
          // What a kernel of these writes is an array of 8x8 numbers, or one of the loop.
          EXPECT_TRUE(*each.dram_written_bytes == 256 || text == kLoop) << *each.dram_written_bytes;
        }
      }
      EXPECT_EQ(static_cast<uint64_t>(2 * kernels), fake_cuda_launches() - before) << text;
    }
  }
  FakeCudaLeft left{};
  fake_cuda_left(&left);
  EXPECT_EQ(left.events + left.streams + left.graph_execs, 0);
}

TEST(GpuProfile, RefusedCountersAreReportedAndTheRunContinues) {
  const struct {
    const char *faults, *why, *fix;
  } rows[] = {
      {"cuptiRangeProfilerEnable=35", "ERR_NVGPUCTRPERM", "NVreg_RestrictProfilingToAdminUsers=0"},
      {"cuptiProfilerGetCounterAvailability=35", "ERR_NVGPUCTRPERM", "CAP_SYS_ADMIN"},
      {"cuptiRangeProfilerStart=35", "ERR_NVGPUCTRPERM", "CAP_SYS_ADMIN"},
      {"cuptiProfilerInitialize=43", "MIG", "a whole GPU"},
      {"cuptiProfilerHostInitialize=46", "the definition of its metrics", "doctor"},
      {"cuptiRangeProfilerStop=999", "ending to count", "doctor"},
      {"cuptiProfilerHostEvaluateToGpuValues:2+=7", "evaluating metrics", "doctor"},
      {"cuptiProfilerHostGetMetricProperties=17", "none of the metrics", "as new as the GPU"},
  };
  for (const auto& row : rows) {
    SetFaults("", row.faults);
    for (const Recorded& recorded : Record(kStraight, 2, 1 << 16, true)) {
      EXPECT_TRUE(Warns(recorded, "counters of kernels were not measured: ")) << row.faults;
      EXPECT_TRUE(Warns(recorded, row.why)) << row.faults;
      EXPECT_TRUE(Warns(recorded, row.fix)) << row.faults;
      const Counts counts = CountsOf(recorded);
      EXPECT_EQ(counts.kernels, 2) << row.faults;
      EXPECT_EQ(counts.attributed, counts.on_device) << row.faults;
      EXPECT_TRUE(MetricsIn(recorded).empty()) << row.faults;
      // A later run is not the worse for it: everything was given back.
      SetFaults("", "");
    }
    const auto after = Record(kStraight, 1, 1 << 16, true);
    EXPECT_EQ(MetricsIn(after[0]).size(), 2u) << row.faults;
  }
}

TEST(GpuProfile, MissingCountersAreReported) {
  SetFaults("", "cuptiProfilerHostGetMetricProperties:4=17");
  auto runs = Record(kStraight, 1, 1 << 16, true);
  EXPECT_TRUE(Warns(runs[0], "tensor_use is not measured: this GPU has no metric sm__pipe_tensor"));
  auto metrics = MetricsIn(runs[0]);
  ASSERT_EQ(metrics.size(), 2u);
  EXPECT_FALSE(metrics[0].tensor_use.has_value());
  EXPECT_TRUE(metrics[0].achieved_occupancy.has_value());
  // Which of the two it is nobody knows.
  SetFaults("", "ranges=1");
  runs = Record(kStraight, 1, 1 << 16, true);
  EXPECT_TRUE(MetricsIn(runs[0]).empty());
  EXPECT_TRUE(Warns(runs[0], "2 kernels without counters: "));
  EXPECT_TRUE(Warns(runs[0], "CUPTI dropped the counters of 1 kernel: "));
  // The kernels of the second run fail.
  SetFaults("kernel:3=719", "");
  runs = Record(kStraight, 1, 1 << 16, true);
  EXPECT_TRUE(Warns(runs[0], "counters of kernels were not measured: "));
  EXPECT_EQ(CountsOf(runs[0]).kernels, 2);
  SetFaults("", "");
}

// By event that has any.
std::vector<profiler::PtxLines> LinesIn(const Recorded& recorded) {
  std::vector<profiler::PtxLines> all;
  const EventStore& store = *recorded.trace->store;
  for (uint32_t i = 0; i < store.size(); ++i) {
    const auto lines = profiler::PtxLinesOf(store.Arguments(EventId(i)));
    if (lines) all.push_back(*lines);
  }
  return all;
}

TEST(GpuProfile, LinesOfPtxAreSampledInOneMoreRun) {
  for (const bool metrics : {false, true}) {
    for (const char* cupti : {"", "cuptiSubscribe=39", "pcs=1"}) {
      for (const char* text : {kStraight, kHostFallback, kLoop, kReplicas}) {
        SetFaults("", cupti);
        const uint64_t before = fake_cuda_launches();
        int64_t kernels = 0;
        for (const Recorded& recorded : Record(text, 2, 1 << 16, metrics, true)) {
          const Counts counts = CountsOf(recorded);
          kernels += counts.kernels;
          EXPECT_EQ(recorded.trace->warnings.size(), *cupti != 'c' ? 0u : 1u) << text;
          EXPECT_EQ(std::ssize(MetricsIn(recorded)), metrics ? counts.kernels : 0) << text;
          const auto all = LinesIn(recorded);
          // One event of each instruction, of each device.
          EXPECT_EQ(std::ssize(all), std::ssize(counts.by_instruction)) << text;
          for (const profiler::PtxLines& lines : all) {
            EXPECT_EQ(lines.counting(), profiler::LineCounting::kSamples);
            EXPECT_GT(lines.total(), 0u);
            bool stores = false;
            for (const profiler::PtxLine* line : lines.InOrder()) {
              EXPECT_GT(line->line, 0u) << text;
              EXPECT_FALSE(line->kernel.empty());
              // An instruction, no directive.
              EXPECT_TRUE(line->text.ends_with(';') || line->text.ends_with('}')) << line->text;
              EXPECT_FALSE(line->text.starts_with('.')) << line->text;
              stores |= line->text.contains("st.global");
              uint64_t stalls = 0;
              for (const auto& [word, count] : line->stalls) {
                EXPECT_TRUE(word == "selected" || word == "long_scoreboard") << word;
                stalls += count;
              }
              EXPECT_EQ(stalls, line->count);
            }
            EXPECT_TRUE(stores) << text;
          }
        }
        EXPECT_EQ(static_cast<uint64_t>((metrics ? 3 : 2) * kernels), fake_cuda_launches() - before)
            << text;
      }
    }
  }
  FakeCudaLeft left{};
  fake_cuda_left(&left);
  EXPECT_EQ(left.events + left.streams + left.graph_execs, 0);
}

TEST(GpuProfile, RefusedSamplingIsReportedAndTheRunContinues) {
  const struct {
    const char *faults, *why, *fix;
  } rows[] = {
      {"cuptiPCSamplingEnable=35", "ERR_NVGPUCTRPERM", "NVreg_RestrictProfilingToAdminUsers=0"},
      {"cuptiPCSamplingEnable=27", "does not support it", "another GPU"},
      {"cuptiPCSamplingEnable=43", "MIG", "a whole GPU"},
      {"cuptiPCSamplingEnable=12", "another profiler", "end the other profiler"},
      {"cuptiPCSamplingGetStallReasons=1", "stall reasons", "doctor"},
      {"cuptiPCSamplingSetConfigurationAttribute=7", "how to sample", "doctor"},
      {"cuptiPCSamplingStart=35", "ERR_NVGPUCTRPERM", "CAP_SYS_ADMIN"},
      {"cuptiPCSamplingStop:2+=999", "ending to sample", "doctor"},
      {"cuptiPCSamplingGetData:2+=7", "reading samples", "doctor"},
      {"cuptiGetSassToSourceCorrelation:3+=999", "the line of ", "doctor"},
  };
  for (const auto& row : rows) {
    SetFaults("", row.faults);
    for (const Recorded& recorded : Record(kStraight, 2, 1 << 16, false, true)) {
      EXPECT_TRUE(Warns(recorded, "lines of PTX were not sampled: ")) << row.faults;
      EXPECT_TRUE(Warns(recorded, row.why)) << row.faults;
      EXPECT_TRUE(Warns(recorded, row.fix)) << row.faults;
      const Counts counts = CountsOf(recorded);
      EXPECT_EQ(counts.kernels, 2) << row.faults;
      EXPECT_EQ(counts.attributed, counts.on_device) << row.faults;
      EXPECT_TRUE(LinesIn(recorded).empty()) << row.faults;
    }
    // A later run is not the worse for it: everything was given back.
    SetFaults("", "");
    const auto after = Record(kStraight, 1, 1 << 16, false, true);
    EXPECT_EQ(LinesIn(after[0]).size(), 2u) << row.faults;
  }
}

TEST(GpuProfile, SamplesThatAreLostAreCounted) {
  const struct {
    const char *faults, *why;
    size_t told;
  } rows[] = {
      {"dropped_samples=5", "the GPU dropped 10 samples of program counters: ", 2},
      {"device_full=1", "2 kernels without samples: the GPU's buffer for them was full", 0},
      {"late_samples=7", "7 samples of program counters came too late", 2},
      {"slow_samples=3,dropped_samples=5", "the GPU dropped 10 samples of program counters: ", 2},
      {"old_sampling=1,dropped_samples=5", "the GPU dropped 10 samples of program counters: ", 2},
      {"no_samples=1", "2 instructions without samples: they ran shorter than 1024 clocks", 0},
  };
  for (const auto& row : rows) {
    SetFaults("", row.faults);
    const auto runs = Record(kStraight, 1, 1 << 16, false, true);
    EXPECT_TRUE(Warns(runs[0], row.why)) << row.faults;
    EXPECT_EQ(LinesIn(runs[0]).size(), row.told) << row.faults;
  }
  SetFaults("cuLinkComplete=218", "");
  const auto module = hlo::Parsed(kStraight);
  RunOptions options;
  options.record.pc_sampling = true;
  EXPECT_FALSE((*MakePlatform("gpu"))->Load(module, options).has_value());
  SetFaults("", "");
}

// More kernels than counters are kept of at a time.
TEST(GpuProfile, CountersAreReadInTime) {
  SetFaults("", "");
  const auto device = cuda::Device::Open();
  ASSERT_TRUE(device.has_value()) << device.error().ToString();
  const cuda::Driver& driver = (*device)->driver();
  const auto module = cuda::LoadPtx(
      *device, ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n");
  cuda::FunctionHandle function = nullptr;
  ASSERT_EQ(driver->ModuleGetFunction(&function, module->get(), "k"), 0);
  const auto stream = cuda::MakeStream(*device);
  const auto library = profiler::cupti::Library::Open({});
  ASSERT_TRUE(library.has_value()) << library.error().ToString();
  auto counters = profiler::cupti::RangeProfiler::Start(
      *library, {.context = (*device)->context(), .most_ranges = 2});
  ASSERT_TRUE(counters.has_value()) << counters.error().ToString();
  EXPECT_EQ((*counters)->passes(), 3u);
  for (unsigned warps = 1; warps <= 5; ++warps) {
    (*counters)->BeforeLaunch();
    EXPECT_EQ(driver->LaunchKernel(function, 1, 1, 1, 32 * warps, 1, 1, 0, stream->get(), nullptr,
                                   nullptr),
              0);
  }
  const auto measured = (*counters)->Finish();
  ASSERT_TRUE(measured.has_value()) << measured.error().ToString();
  ASSERT_EQ(measured->size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_DOUBLE_EQ((*measured)[i].achieved_occupancy.value_or(-1),
                     static_cast<double>(i + 1) / 64);
  }
  EXPECT_TRUE((*counters)->warnings().empty());
}

TEST(GpuProfile, CuptiOfTheCudaOfTheDriverIsTriedFirst) {
  for (const auto& [driver, name] :
       {std::pair(12040, "libcupti.so.12"), std::pair(13000, "libcupti.so.13")}) {
    const std::vector<std::string> files = CuptiFiles(driver);
    ASSERT_GE(files.size(), 2u);
    EXPECT_TRUE(files[0].ends_with(name)) << files[0];
  }
}

TEST(GpuProfile, WithoutGraphNodesKernelsAreNotAttributed) {
  SetFaults("", "cuptiEnableCallback=1");
  const auto runs = Record(kStraight, 2);
  const Counts counts = CountsOf(runs[1]);
  EXPECT_EQ(counts.in_graphs, counts.kernels);
  EXPECT_TRUE(counts.by_instruction.empty());
  ASSERT_EQ(runs[1].trace->warnings.size(), 1u);
  EXPECT_NE(runs[1].trace->warnings[0].find("does not report graph nodes"), std::string::npos);
}

TEST(PluginProfile, KernelsAreOfTheRangeThatXlaOpened) {
  SetFaults("", "");
  const auto module = hlo::Parsed(kStraight);
  for (const bool tells_ranges : {true, false}) {
    pjrt::PluginRecorder recorder(module);
    Events events;
    recorder.Begin(events);
    const auto& fake = *FakeCupti();
    const auto mark = [&](uint32_t id, const char* name) {
      if (tells_ranges) fake.mark(id, name);
    };
    mark(1, "XlaModule:#hlo_module=straight#");
    mark(2, "Thunk:#hlo_op=d#");
    fake.kernel("ampere_sgemm_of_a_library", 0, 1, 2'000'000, 2'000'100, 0);
    mark(2, nullptr);
    fake.kernel("p", 0, 1, 2'000'200, 2'000'300, 0);
    mark(3, "Thunk:#hlo_op=of_another_program#");
    fake.kernel("nobodys", 0, 1, 2'000'400, 2'000'500, 0);
    mark(3, nullptr);
    mark(1, nullptr);
    recorder.End(events);
    const auto traces = events.Of<TraceFile>();
    ASSERT_EQ(traces.size(), 1u);
    Jobs alone(1);
    const auto trace = profiler::ReadProfile(
        FileView::FromBytes("trace", std::string(traces[0]->bytes)), Limits(), alone);
    ASSERT_TRUE(trace.has_value()) << trace.error().ToString();
    const Counts counts = CountsOf({*trace, {}, {}});
    EXPECT_EQ(counts.kernels, 3);
    EXPECT_EQ(counts.host, 1);  // overhead: calls were asked for to find ranges only
    std::map<std::string, int64_t> expected = {{"p", 1}};
    if (tells_ranges) expected["d"] = 1;
    EXPECT_EQ(counts.by_instruction, expected);
    const bool says_so = std::ranges::any_of((*trace)->warnings, [](const std::string& warning) {
      return warning.starts_with(
          "no NVTX ranges were reported: kernels are matched by their names");
    });
    EXPECT_EQ(says_so, !tells_ranges);
  }
}

}  // namespace
}  // namespace hloscope::replay
