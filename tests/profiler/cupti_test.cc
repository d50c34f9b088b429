// CUPTI's records: decoded, collected from a fake libcupti, attributed, written as a trace.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "core/base/file.h"
#include "core/base/jobs.h"
#include "profiler/cupti/attach_metrics.h"
#include "profiler/cupti/buffer_log.h"
#include "profiler/cupti/collector.h"
#include "profiler/cupti/launch_ranges.h"
#include "profiler/cupti/to_xspace.h"
#include "profiler/profile.h"
#include "profiler/ptx_lines.h"
#include "tests/base/paths.h"
#include "tests/base/sanitized.h"
#include "tests/base/scratch.h"
#include "tests/fake_cupti/fake_cupti.h"

#if __has_include(<cupti.h>)
#include <cupti.h>
#define HLOSCOPE_SAME_FIELD(own, theirs, field, their_field) \
  static_assert(offsetof(hloscope::profiler::cupti::own, field) == offsetof(theirs, their_field))
HLOSCOPE_SAME_FIELD(KernelRecord, CUpti_ActivityKernel9, start, start);
HLOSCOPE_SAME_FIELD(KernelRecord, CUpti_ActivityKernel9, device_id, deviceId);
HLOSCOPE_SAME_FIELD(KernelRecord, CUpti_ActivityKernel9, grid, gridX);
HLOSCOPE_SAME_FIELD(KernelRecord, CUpti_ActivityKernel9, static_shared_memory, staticSharedMemory);
HLOSCOPE_SAME_FIELD(KernelRecord, CUpti_ActivityKernel9, correlation_id, correlationId);
HLOSCOPE_SAME_FIELD(KernelRecord, CUpti_ActivityKernel9, name, name);
HLOSCOPE_SAME_FIELD(KernelRecord, CUpti_ActivityKernel9, graph_node_id, graphNodeId);
HLOSCOPE_SAME_FIELD(KernelRecord, CUpti_ActivityKernel9, graph_id, graphId);
HLOSCOPE_SAME_FIELD(MemcpyRecord, CUpti_ActivityMemcpy5, bytes, bytes);
HLOSCOPE_SAME_FIELD(MemcpyRecord, CUpti_ActivityMemcpy5, correlation_id, correlationId);
HLOSCOPE_SAME_FIELD(MemcpyRecord, CUpti_ActivityMemcpy5, graph_id, graphId);
HLOSCOPE_SAME_FIELD(MemcpyPeerRecord, CUpti_ActivityMemcpyPtoP4, destination_device_id,
                    dstDeviceId);
HLOSCOPE_SAME_FIELD(MemcpyPeerRecord, CUpti_ActivityMemcpyPtoP4, graph_id, graphId);
HLOSCOPE_SAME_FIELD(MemsetRecord, CUpti_ActivityMemset4, memory_kind, memoryKind);
HLOSCOPE_SAME_FIELD(MemsetRecord, CUpti_ActivityMemset4, graph_id, graphId);
HLOSCOPE_SAME_FIELD(SynchronizationRecord, CUpti_ActivitySynchronization, stream_id, streamId);
HLOSCOPE_SAME_FIELD(OverheadRecord, CUpti_ActivityOverhead, end, end);
HLOSCOPE_SAME_FIELD(GraphRecord, CUpti_ActivityGraphTrace, stream_id, streamId);
HLOSCOPE_SAME_FIELD(ExternalCorrelationRecord, CUpti_ActivityExternalCorrelation, correlation_id,
                    correlationId);
HLOSCOPE_SAME_FIELD(CallRecord, CUpti_ActivityAPI, correlation_id, correlationId);
HLOSCOPE_SAME_FIELD(MarkerRecord, CUpti_ActivityMarker2, timestamp, timestamp);
HLOSCOPE_SAME_FIELD(MarkerRecord, CUpti_ActivityMarker2, process_id, objectId);
HLOSCOPE_SAME_FIELD(MarkerRecord, CUpti_ActivityMarker2, name, name);
static_assert(sizeof(hloscope::profiler::cupti::MarkerRecord) == sizeof(CUpti_ActivityMarker2) &&
              hloscope::profiler::cupti::kRangeBegins == CUPTI_ACTIVITY_FLAG_MARKER_START &&
              hloscope::profiler::cupti::kRangeEnds == CUPTI_ACTIVITY_FLAG_MARKER_END &&
              CUPTI_ACTIVITY_KIND_MARKER == 12);
#endif

#if __has_include(<cupti_range_profiler.h>)
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
// The last field of each and those between that others could push away.
HLOSCOPE_SAME_FIELD(NoParams, CUpti_Profiler_Initialize_Params, reserved, pPriv);
HLOSCOPE_SAME_FIELD(NoParams, CUpti_Profiler_DeInitialize_Params, reserved, pPriv);
HLOSCOPE_SAME_FIELD(ChipNameParams, CUpti_Device_GetChipName_Params, chip_name, pChipName);
HLOSCOPE_SAME_FIELD(AvailabilityParams, CUpti_Profiler_GetCounterAvailability_Params, image,
                    pCounterAvailabilityImage);
HLOSCOPE_SAME_FIELD(HostParams, CUpti_Profiler_Host_Deinitialize_Params, host, pHostObject);
HLOSCOPE_SAME_FIELD(HostInitializeParams, CUpti_Profiler_Host_Initialize_Params, availability,
                    pCounterAvailabilityImage);
HLOSCOPE_SAME_FIELD(HostInitializeParams, CUpti_Profiler_Host_Initialize_Params, host, pHostObject);
HLOSCOPE_SAME_FIELD(MetricParams, CUpti_Profiler_Host_GetMetricProperties_Params, name,
                    pMetricName);
HLOSCOPE_SAME_FIELD(MetricParams, CUpti_Profiler_Host_GetMetricProperties_Params, type, metricType);
HLOSCOPE_SAME_FIELD(AddMetricsParams, CUpti_Profiler_Host_ConfigAddMetrics_Params, count,
                    numMetrics);
HLOSCOPE_SAME_FIELD(ConfigSizeParams, CUpti_Profiler_Host_GetConfigImageSize_Params, config_bytes,
                    configImageSize);
HLOSCOPE_SAME_FIELD(ConfigParams, CUpti_Profiler_Host_GetConfigImage_Params, config, pConfigImage);
HLOSCOPE_SAME_FIELD(PassesParams, CUpti_Profiler_Host_GetNumOfPasses_Params, passes, numOfPasses);
HLOSCOPE_SAME_FIELD(EvaluateParams, CUpti_Profiler_Host_EvaluateToGpuValues_Params, range,
                    rangeIndex);
HLOSCOPE_SAME_FIELD(EvaluateParams, CUpti_Profiler_Host_EvaluateToGpuValues_Params, values,
                    pMetricValues);
HLOSCOPE_SAME_FIELD(EnableParams, CUpti_RangeProfiler_Enable_Params, profiler,
                    pRangeProfilerObject);
HLOSCOPE_SAME_FIELD(RangeParams, CUpti_RangeProfiler_Disable_Params, profiler,
                    pRangeProfilerObject);
HLOSCOPE_SAME_FIELD(RangeParams, CUpti_RangeProfiler_Start_Params, profiler, pRangeProfilerObject);
HLOSCOPE_SAME_FIELD(SetConfigParams, CUpti_RangeProfiler_SetConfig_Params, data, pCounterDataImage);
HLOSCOPE_SAME_FIELD(SetConfigParams, CUpti_RangeProfiler_SetConfig_Params, replay, replayMode);
HLOSCOPE_SAME_FIELD(SetConfigParams, CUpti_RangeProfiler_SetConfig_Params, most_ranges,
                    maxRangesPerPass);
HLOSCOPE_SAME_FIELD(SetConfigParams, CUpti_RangeProfiler_SetConfig_Params, least_nesting_level,
                    minNestingLevel);
HLOSCOPE_SAME_FIELD(SetConfigParams, CUpti_RangeProfiler_SetConfig_Params, target_nesting_level,
                    targetNestingLevel);
HLOSCOPE_SAME_FIELD(StopParams, CUpti_RangeProfiler_Stop_Params, is_all_submitted,
                    isAllPassSubmitted);
HLOSCOPE_SAME_FIELD(DecodeParams, CUpti_RangeProfiler_DecodeData_Params, dropped,
                    numOfRangeDropped);
HLOSCOPE_SAME_FIELD(DataSizeParams, CUpti_RangeProfiler_GetCounterDataSize_Params, most_nodes,
                    maxNumRangeTreeNodes);
HLOSCOPE_SAME_FIELD(DataSizeParams, CUpti_RangeProfiler_GetCounterDataSize_Params, data_bytes,
                    counterDataSize);
HLOSCOPE_SAME_FIELD(DataInitializeParams, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
                    data, pCounterData);
HLOSCOPE_SAME_FIELD(DataInfoParams, CUpti_RangeProfiler_GetCounterDataInfo_Params, ranges,
                    numTotalRanges);
static_assert(hloscope::profiler::cupti::kRangeProfilerType == CUPTI_PROFILER_TYPE_RANGE_PROFILER &&
              hloscope::profiler::cupti::kAutoRange == CUPTI_AutoRange &&
              hloscope::profiler::cupti::kKernelReplay == CUPTI_KernelReplay &&
              hloscope::profiler::cupti::kInvalidMetricName == CUPTI_ERROR_INVALID_METRIC_NAME);
#endif

#if __has_include(<cupti_pcsampling.h>)
#include <cupti_pcsampling.h>
#define HLOSCOPE_SAME_SIZE(own, theirs) \
  static_assert(sizeof(hloscope::profiler::cupti::own) == sizeof(theirs))
HLOSCOPE_SAME_FIELD(SamplingParams, CUpti_PCSamplingEnableParams, context, ctx);
HLOSCOPE_SAME_FIELD(SamplingParams, CUpti_PCSamplingDisableParams, context, ctx);
HLOSCOPE_SAME_FIELD(SamplingParams, CUpti_PCSamplingStartParams, context, ctx);
HLOSCOPE_SAME_FIELD(SamplingParams, CUpti_PCSamplingStopParams, context, ctx);
HLOSCOPE_SAME_FIELD(SamplingDataParams, CUpti_PCSamplingGetDataParams, data, pcSamplingData);
HLOSCOPE_SAME_FIELD(StallCountParams, CUpti_PCSamplingGetNumStallReasonsParams, count,
                    numStallReasons);
HLOSCOPE_SAME_FIELD(StallsParams, CUpti_PCSamplingGetStallReasonsParams, indices, stallReasonIndex);
HLOSCOPE_SAME_FIELD(StallsParams, CUpti_PCSamplingGetStallReasonsParams, names, stallReasons);
HLOSCOPE_SAME_FIELD(SamplingConfigParams, CUpti_PCSamplingConfigurationInfoParams, attributes,
                    pPCSamplingConfigurationInfo);
HLOSCOPE_SAME_SIZE(SamplingAttribute, CUpti_PCSamplingConfigurationInfo);
HLOSCOPE_SAME_FIELD(SamplingAttribute, CUpti_PCSamplingConfigurationInfo, status, attributeStatus);
HLOSCOPE_SAME_FIELD(SamplingAttribute, CUpti_PCSamplingConfigurationInfo, number, attributeData);
HLOSCOPE_SAME_FIELD(SamplingAttribute, CUpti_PCSamplingConfigurationInfo, stalls.indices,
                    attributeData.stallReasonData.pStallReasonIndex);
HLOSCOPE_SAME_SIZE(StallSamples, CUpti_PCSamplingStallReason);
HLOSCOPE_SAME_SIZE(PcData, CUpti_PCSamplingPCData);
HLOSCOPE_SAME_FIELD(PcData, CUpti_PCSamplingPCData, offset, pcOffset);
HLOSCOPE_SAME_FIELD(PcData, CUpti_PCSamplingPCData, function, functionName);
HLOSCOPE_SAME_FIELD(PcData, CUpti_PCSamplingPCData, stalls, stallReason);
HLOSCOPE_SAME_FIELD(PcData, CUpti_PCSamplingPCData, correlation, correlationId);
HLOSCOPE_SAME_SIZE(SamplingData, CUpti_PCSamplingData);
HLOSCOPE_SAME_FIELD(SamplingData, CUpti_PCSamplingData, dropped_samples, droppedSamples);
HLOSCOPE_SAME_FIELD(SamplingData, CUpti_PCSamplingData, remaining_pcs, remainingNumPcs);
HLOSCOPE_SAME_FIELD(SamplingData, CUpti_PCSamplingData, data, pPcData);
HLOSCOPE_SAME_FIELD(SamplingData, CUpti_PCSamplingData, is_device_full, hardwareBufferFull);
HLOSCOPE_SAME_FIELD(FindLineParams, CUpti_GetSassToSourceCorrelationParams, function, functionName);
HLOSCOPE_SAME_FIELD(FindLineParams, CUpti_GetSassToSourceCorrelationParams, line, lineNumber);
HLOSCOPE_SAME_FIELD(FindLineParams, CUpti_GetSassToSourceCorrelationParams, offset, pcOffset);
HLOSCOPE_SAME_FIELD(FindLineParams, CUpti_GetSassToSourceCorrelationParams, folder, dirName);
static_assert(hloscope::profiler::cupti::kSamplesOverflow == CUPTI_ERROR_OUT_OF_MEMORY &&
              hloscope::profiler::cupti::kStallNameBytes == CUPTI_STALL_REASON_STRING_SIZE &&
              hloscope::profiler::cupti::kContinuousSampling ==
                  CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS &&
              hloscope::profiler::cupti::kParsedSamples ==
                  CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED &&
              hloscope::profiler::cupti::kSamplingPeriod ==
                  CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD &&
              hloscope::profiler::cupti::kStallReasons ==
                  CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON &&
              hloscope::profiler::cupti::kCollectionMode ==
                  CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE &&
              hloscope::profiler::cupti::kStartStopControl ==
                  CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL &&
              hloscope::profiler::cupti::kOutputFormat ==
                  CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_OUTPUT_DATA_FORMAT &&
              hloscope::profiler::cupti::kWorkerPeriod ==
                  CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_WORKER_THREAD_PERIODIC_SLEEP_SPAN &&
              hloscope::profiler::cupti::kSamplingBuffer ==
                  CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER);
#endif

namespace hloscope::profiler::cupti {
namespace {

std::string FakeCuptiPath() { return FakeDriverFolder() + "/libcupti.so.13"; }

class CuptiTest : public testing::Test {
 protected:
  CuptiTest() {
    void* const library = dlopen(FakeCuptiPath().c_str(), RTLD_NOW | RTLD_LOCAL);
    auto* const get = reinterpret_cast<decltype(&FakeCupti)>(dlsym(library, "FakeCupti"));
    fake_ = get();
    *fake_ = {};
    get();
  }

  static Result<std::shared_ptr<const Library>> Open() { return Library::Open({FakeCuptiPath()}); }
  static std::unique_ptr<Collector> Start(const CollectorOptions& options = {}) {
    const auto library = Open();
    EXPECT_TRUE(library.has_value()) << library.error().ToString();
    auto collector = Collector::Start(*library, options);
    EXPECT_TRUE(collector.has_value()) << collector.error().ToString();
    return *std::move(collector);
  }
  static Collected Stop(Collector& collector) {
    auto collected = collector.Stop();
    EXPECT_TRUE(collected.has_value()) << collected.error().ToString();
    return *std::move(collected);
  }

  // What is recorded on a machine with a GPU is read again anywhere.
  static void ExpectLogged(const std::string& path, const Collected& collected) {
    const auto file = FileView::Open(path, Limits());
    ASSERT_TRUE(file.has_value()) << file.error().ToString();
    ActivityLog begun;
    begun.takes_calls = collected.log.takes_calls;
    const auto log = ReadBufferLog(std::as_bytes(std::span(file->bytes())), std::move(begun));
    ASSERT_TRUE(log.has_value()) << log.error().ToString();
    EXPECT_EQ(log->records, collected.log.records);
    EXPECT_EQ(log->external, collected.log.external);
    ASSERT_EQ(log->activities.size(), collected.log.activities.size());
    for (size_t i = 0; i < log->activities.size(); ++i) {
      EXPECT_EQ(log->activities[i].name, collected.log.activities[i].name);
      EXPECT_EQ(log->activities[i].start, collected.log.activities[i].start);
    }
  }

  static Origins KnownOrigins() {
    return {[](uint64_t external) -> std::optional<Origin> {
      constexpr std::array kNames = {"add", "dot", "in_graph"};
      if (external < 1 || external > kNames.size()) return std::nullopt;
      return Origin{"m", kNames[external - 1], 3};
    }};
  }
  static std::shared_ptr<const Profile> Read(std::string bytes) {
    Jobs alone(1);
    auto read = ReadProfile(FileView::FromBytes("trace", std::move(bytes)), Limits(), alone);
    EXPECT_TRUE(read.has_value()) << read.error().ToString();
    return read.has_value() ? *read : nullptr;
  }

  fake_cupti::Control* fake_ = nullptr;
};

TEST_F(CuptiTest, EveryRecordIsAttributedOnTwoStreamsAndInGraphs) {
  const Scratch scratch;
  setenv("HLOSCOPE_CUPTI_LOG", scratch.Path("cupti.bin").c_str(), 1);
  const auto collector = Start();
  const uint64_t begin = fake_->now;
  collector->Push(1);
  fake_->kernel("k_add", 0, 7, begin + 100, begin + 300, 0);
  fake_->fill(8, begin + 110, begin + 120, 64);
  collector->Pop();
  collector->Push(2);
  fake_->kernel("k_dot", 0, 8, begin + 200, begin + 450, 0);  // at the same time as the first
  fake_->copy(7, begin + 300, begin + 360, 4096);
  collector->Pop();
  collector->Push(9);  // the launch of a graph
  fake_->kernel("k_node", 0, 7, begin + 500, begin + 600, 77);
  collector->Pop();
  fake_->synchronize(begin + 50, begin + 700);
  fake_->overhead(begin + 10, begin + 20);
  Collected collected = Stop(*collector);
  unsetenv("HLOSCOPE_CUPTI_LOG");
  ExpectLogged(scratch.Path("cupti.bin"), collected);
  EXPECT_EQ(collected.log.dropped, 0);
  EXPECT_TRUE(collected.log.unknown.empty());
  collected.log.nodes[77] = 3;
  TraceCounts counts;
  const auto profile =
      Read(WriteXSpace(collected.log, KnownOrigins(), collected.origin_ns, &counts));
  EXPECT_EQ(counts.on_device, 5);
  EXPECT_EQ(counts.attributed, 5);
  const EventStore& store = *profile->store;
  EXPECT_EQ(store.size(), 7u);
  std::map<std::string, std::string> by_kernel;
  int64_t overlapping = 0;
  for (uint32_t i = 0; i < store.size(); ++i) {
    const EventId e(i);
    const OperationId operation = store.operation(e);
    if (!operation.valid()) continue;
    by_kernel[std::string(store.text(store.name(e)))] =
        store.text(store.operations()[operation.index].name);
    EXPECT_EQ(store.operations()[operation.index].program, 3);
    if (store.text(store.name(e)) == "k_add") {
      EXPECT_EQ(store.start(e), 100'000);
      EXPECT_EQ(store.duration(e), 200'000);
      const auto arguments = store.Arguments(e);
      const auto details = std::ranges::find(arguments, "kernel_details", &Argument::name);
      ASSERT_NE(details, arguments.end());
      EXPECT_EQ(std::get<std::string>(details->value),
                "regs:40 static_shared:1024 dynamic_shared:64 grid:12,1,1 block:128,1,1");
    }
    if (store.text(store.name(e)) == "k_dot") overlapping += store.start(e) < 300'000 ? 1 : 0;
  }
  EXPECT_EQ(overlapping, 1);
  EXPECT_EQ(by_kernel, (std::map<std::string, std::string>{{"copy host to device", "dot"},
                                                           {"fill", "add"},
                                                           {"k_add", "add"},
                                                           {"k_dot", "dot"},
                                                           {"k_node", "in_graph"}}));
}

TEST_F(CuptiTest, RecordsWithoutCorrelationAreCounted) {
  const auto collector = Start();
  fake_->kernel("alone", 1, 7, fake_->now, fake_->now + 5, 0);
  const Collected collected = Stop(*collector);
  TraceCounts counts;
  WriteXSpace(collected.log, KnownOrigins(), collected.origin_ns, &counts);
  EXPECT_EQ(counts.on_device, 1);
  EXPECT_EQ(counts.attributed, 0);
}

// As XLA's own kernels are, and the module that has them comes along.
TEST_F(CuptiTest, KernelsWithoutCorrelationAreMatchedByName) {
  const auto collector = Start();
  fake_->kernel("loop_add", 0, 7, fake_->now, fake_->now + 5, 0);
  fake_->kernel("other", 0, 7, fake_->now, fake_->now + 5, 0);
  const Collected collected = Stop(*collector);
  Origins origins;
  origins.of_kernel = [](std::string_view kernel) -> std::optional<Origin> {
    if (kernel != "loop_add") return std::nullopt;
    return Origin{"m", "loop.add", 4};
  };
  TraceCounts counts;
  const std::vector<TracedModule> modules = {{"m", "bytes of a module", 4}};
  const auto profile =
      Read(WriteXSpace(collected.log, origins, collected.origin_ns, &counts, modules));
  EXPECT_EQ(counts.on_device, 2);
  EXPECT_EQ(counts.attributed, 1);
  ASSERT_EQ(profile->modules.size(), 1u);
  EXPECT_EQ(profile->modules[0].program, 4);
  EXPECT_EQ(profile->modules[0].name, "m");
  EXPECT_EQ(profile->modules[0].hlo_proto, "bytes of a module");
}

TEST_F(CuptiTest, FullBuffersAreHandedOverAndNothingIsLost) {
  const auto collector = Start({.buffer_bytes = 1000});
  for (uint64_t i = 0; i < 500; ++i) fake_->kernel("k", 0, 7, i * 10, i * 10 + 5, 0);
  const Collected collected = Stop(*collector);
  EXPECT_EQ(collected.log.activities.size(), 500u);
  EXPECT_EQ(collected.log.dropped, 0);
}

// Both happen on threads that launch: neither waits for the decoding of a buffer.
TEST_F(CuptiTest, BuffersAreGivenAndNodesNotedWhileAnotherIsDecoded) {
  static fake_cupti::Control* fake = nullptr;
  fake = fake_;
  const auto collector = Start();
  fake_->kernel("k", 0, 7, 1, 2, 0);
  fake_->on_next_record = [] {
    std::thread([] {
      fake->ask();
      fake->node(5, 0);
      fake->node(6, 5);
    }).join();
  };
  const Collected collected = Stop(*collector);
  EXPECT_EQ(collected.log.activities.size(), 1u);
  EXPECT_TRUE(collected.log.nodes.empty());  // nothing was pushed on that thread
}

TEST_F(CuptiTest, NodesAreOfWhatWasPushedWhenTheyWereMade) {
  const auto collector = Start();
  collector->Push(3);
  fake_->node(5, 0);
  collector->Pop();
  fake_->node(6, 5);
  fake_->node(7, 0);
  EXPECT_EQ(Stop(*collector).log.nodes, (std::map<uint64_t, uint64_t>{{5, 3}, {6, 3}}));
}

TEST_F(CuptiTest, DroppedAndLeftOutRecordsAreCounted) {
  auto collector = Start({.buffer_bytes = 100});  // a kernel does not fit
  for (int i = 0; i < 4; ++i) fake_->kernel("k", 0, 7, 1, 2, 0);
  Collected collected = Stop(*collector);
  EXPECT_EQ(collected.log.dropped, 4);
  const auto profile = Read(WriteXSpace(collected.log, {}, collected.origin_ns));
  ASSERT_NE(profile, nullptr);
  ASSERT_EQ(profile->warnings.size(), 1u);
  EXPECT_EQ(profile->warnings[0], "CUPTI dropped 4 records: its buffers were full");
  collector.reset();
  collector = Start({.most = {.device = 3, .host = 1}});
  fake_->overhead(1, 2);
  fake_->overhead(1, 2);
  collector->Push(2);
  for (int i = 0; i < 5; ++i) fake_->kernel("k", 0, 7, 1, 2, 0);
  fake_->copy(7, 1, 2, 64);
  fake_->synchronize(1, 2);
  collector->Pop();
  collected = Stop(*collector);
  EXPECT_EQ(collected.log.left_out, (std::map<Work, int64_t>{{Work::kKernel, 2},
                                                             {Work::kCopy, 1},
                                                             {Work::kSynchronization, 1},
                                                             {Work::kOverhead, 1}}));
  TraceCounts counts;
  const auto rest = Read(WriteXSpace(collected.log, KnownOrigins(), collected.origin_ns, &counts));
  EXPECT_EQ(counts.on_device, 3);  // calls of the driver take none of their room
  EXPECT_EQ(counts.attributed, 3);
  ASSERT_EQ(rest->warnings.size(), 1u);
  EXPECT_EQ(rest->warnings[0],
            "left out, more than a recording keeps: 2 kernels, 1 copy, 1 "
            "synchronisation, 1 record of overhead");
}

// CUPTI reports what was pushed for a call in a buffer of its own, before or after what that
// caused.
TEST_F(CuptiTest, WhatIsKeptKeepsWhatWasPushedForIt) {
  ActivityLog log;
  log.most.device = 2;
  const auto kernel = [&](uint32_t correlation) {
    KernelRecord record{};
    record.kind = RecordKind::kConcurrentKernel;
    record.correlation_id = correlation;
    DecodeRecord(&record, &TextHere, log);
  };
  const auto external = [&](uint32_t correlation) {
    const ExternalCorrelationRecord record{RecordKind::kExternalCorrelation, 3, 100 + correlation,
                                           correlation, 0};
    DecodeRecord(&record, &TextHere, log);
  };
  external(1);
  for (uint32_t i = 1; i <= 4; ++i) kernel(i);
  for (uint32_t i = 2; i <= 4; ++i) external(i);
  EXPECT_EQ(log.activities.size(), 2u);
  EXPECT_EQ(log.external, (std::map<uint32_t, uint64_t>{{1, 101}, {2, 102}}));
  EXPECT_EQ(log.LeftOutText(), "2 kernels");
}

TEST_F(CuptiTest, MetricsGoToTheKernelsOfTheSameInstructionInOrder) {
  const auto collector = Start();
  const uint64_t begin = fake_->now;
  for (const auto& [number, at] : {std::pair(1, 300), {2, 100}, {1, 200}, {3, 400}}) {
    collector->Push(static_cast<uint64_t>(number));
    fake_->kernel("k", 0, 7, begin + static_cast<uint64_t>(at),
                  begin + static_cast<uint64_t>(at) + 50, 0);
    collector->Pop();
  }
  Collected collected = Stop(*collector);
  std::vector<MeasuredLaunch> launches;
  for (const auto& [number, bytes] : {std::pair(1, 10), {1, 20}, {2, 30}, {3, 40}, {3, 50}}) {
    launches.push_back({static_cast<uint64_t>(number), {.dram_read_bytes = bytes, .sm_use = 0.5}});
  }
  AttachMetrics(collected.log, launches);
  const auto profile = Read(WriteXSpace(collected.log, KnownOrigins(), collected.origin_ns));
  const EventStore& store = *profile->store;
  std::map<int64_t, double> by_start;
  for (uint32_t i = 0; i < store.size(); ++i) {
    const auto metrics = MetricsOf(store.Arguments(EventId(i)));
    if (!metrics) continue;
    by_start[store.start(EventId(i)) / 1000] = metrics->dram_read_bytes.value_or(-1);
    EXPECT_EQ(metrics->sm_use, 0.5);
    EXPECT_FALSE(metrics->tensor_use.has_value());
  }
  EXPECT_EQ(by_start, (std::map<int64_t, double>{{100, 30}, {200, 10}, {300, 20}}));
  ASSERT_EQ(profile->warnings.size(), 1u);
  EXPECT_TRUE(profile->warnings[0].starts_with("1 instruction without metrics: "));
}

TEST(KernelMetricsTest, SharesOfSeveralLaunchesCountForTheirTime) {
  MetricSums sums;
  sums.Add({.dram_read_bytes = 10, .sm_use = 1.0}, 300);
  sums.Add({.dram_read_bytes = 20, .sm_use = 0.0}, 100);
  const KernelMetrics all = sums.all();
  EXPECT_EQ(sums.launches(), 2);
  EXPECT_EQ(all.dram_read_bytes, 30);
  EXPECT_EQ(all.sm_use, 0.75);
  EXPECT_FALSE(all.achieved_occupancy.has_value());
}

TEST_F(CuptiTest, LinesGoToTheLongestKernelOfAnInstruction) {
  const auto collector = Start();
  const uint64_t begin = fake_->now;
  for (const auto& [number, at, length] : {std::tuple(1, 300, 40), {1, 100, 50}, {2, 200, 10}}) {
    collector->Push(static_cast<uint64_t>(number));
    const uint64_t start = begin + static_cast<uint64_t>(at);
    fake_->kernel("k", 0, 7, start, start + static_cast<uint64_t>(length), 0);
    collector->Pop();
  }
  Collected collected = Stop(*collector);
  PtxLines lines;
  lines.Add(LineCounting::kSamples, {"k", 12, "add.f32 %f1, %f2, %f3;", 5, {{"wait", 3}}});
  lines.Add(LineCounting::kSamples, {"k", 12, {}, 2, {{"wait", 1}, {"selected", 1}}});
  lines.Add(LineCounting::kSamples, {"k", 9, "x;\u00e4", 1, {}});
  AttachLines(collected.log, {{1, lines}, {3, lines}});
  const auto profile = Read(WriteXSpace(collected.log, KnownOrigins(), collected.origin_ns));
  const EventStore& store = *profile->store;
  int64_t events = 0;
  for (uint32_t i = 0; i < store.size(); ++i) {
    const auto found = PtxLinesOf(store.Arguments(EventId(i)));
    if (!found) continue;
    ++events;
    EXPECT_EQ(store.start(EventId(i)) / 1000, 100);
    EXPECT_EQ(found->counting(), LineCounting::kSamples);
    EXPECT_EQ(found->total(), 8u);
    const auto hottest = found->Hottest();
    ASSERT_EQ(hottest.size(), 2u);
    EXPECT_EQ(hottest[0]->line, 12u);
    EXPECT_EQ(hottest[0]->count, 7u);
    EXPECT_EQ(hottest[0]->text, "add.f32 %f1, %f2, %f3;");
    EXPECT_EQ(hottest[0]->MostStalls()[0], (std::pair<std::string_view, uint64_t>("wait", 4)));
    EXPECT_EQ(hottest[1]->text, "x;\u00e4");
  }
  EXPECT_EQ(events, 1);
  ASSERT_EQ(profile->warnings.size(), 1u);
  EXPECT_TRUE(profile->warnings[0].starts_with("1 instruction with samples but without "));
}

TEST(PtxLinesTest, ExecutionsAndSamplesAreNotSummed) {
  PtxLines lines;
  lines.Add(LineCounting::kExecuted, {"k", 1, "a", 100, {}});
  lines.Add(LineCounting::kSamples, {"k", 2, "b", 3, {}});
  lines.Add(LineCounting::kExecuted, {"k", 1, "a", 100, {}});
  EXPECT_EQ(lines.total(), 3u);
  EXPECT_EQ(lines.counting(), LineCounting::kSamples);
  // What is no row is passed over.
  const Argument damaged{std::string(kExecutedLinesArgument),
                         std::string("k\t1\t2\t\ttext\tof it\nk\tx\t2\n\n\t\t\nk\t3\t-1\t\t")};
  const auto read = PtxLinesOf(std::span(&damaged, 1));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->total(), 2u);
  EXPECT_EQ(read->Hottest()[0]->text, "text\tof it");
}

TEST(PtxLinesTest, LinesCountFromTheEntry) {
  const std::string text =
      "// k\n.visible .entry other(\n)\n{\n}\n.visible .entry k(\n)\n{\n\tret;\n}";
  const KernelText lines(text);
  EXPECT_EQ(lines.FirstOf("k"), 6u);
  EXPECT_EQ(lines.FirstOf("missing"), 0u);
  EXPECT_EQ(lines.LineOf("k", 6, 9).line, 4u);
  EXPECT_EQ(lines.LineOf("k", 6, 9).text, "ret;");
  EXPECT_EQ(lines.LineOf("k", 6, 5).line, 0u);
  EXPECT_EQ(lines.LineOf("k", 6, 99).line, 0u);
}

TEST_F(CuptiTest, UnknownKindsAreCounted) {
  const auto collector = Start();
  fake_->kernel("k", 0, 7, 1, 2, 0);
  fake_->unknown();
  const Collected collected = Stop(*collector);
  EXPECT_EQ(collected.log.unknown, (std::map<uint32_t, int64_t>{{25, 1}}));
  EXPECT_EQ(collected.log.activities.size(), 1u);
}

TEST_F(CuptiTest, VersionsThatCannotBeReadAreRefusedWithTheFix) {
  for (const uint32_t version : {17u, 140000u, 5000u}) {
    fake_->version = version;
    const auto library = Open();
    ASSERT_FALSE(library.has_value()) << version;
    EXPECT_EQ(library.error().error_class, ErrorClass::kEnvironment);
    EXPECT_NE(library.error().message.find("whose records cannot be read"), std::string::npos);
    EXPECT_NE(library.error().hint.find("nvidia-cuda-cupti"), std::string::npos);
  }
  for (const uint32_t version : {19u, 26u, 28u, 130000u, 130100u}) {
    fake_->version = version;
    EXPECT_TRUE(Open().has_value()) << version;
  }
}

TEST_F(CuptiTest, RefusalsSayWhyAndHowToGoOn) {
  const auto library = Open();
  ASSERT_TRUE(library.has_value());
  fake_->subscribe_result = 12;
  auto refused = Collector::Start(*library);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("another profiler is attached"), std::string::npos);
  EXPECT_NE(refused.error().hint.find("end the other profiler"), std::string::npos);
  fake_->subscribe_result = 0;
  fake_->enable_result = 35;
  refused = Collector::Start(*library);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("ERR_NVGPUCTRPERM"), std::string::npos);
  EXPECT_NE(refused.error().hint.find("NVreg_RestrictProfilingToAdminUsers=0"), std::string::npos);
  // A kind that is not there is not the end.
  fake_->enable_result = 27;
  fake_->refused_kind = 17;
  auto collector = Collector::Start(*library);
  ASSERT_TRUE(collector.has_value()) << collector.error().ToString();
  EXPECT_FALSE(Collector::Start(*library).has_value());  // one at a time
  const Collected collected = Stop(**collector);
  ASSERT_EQ(collected.log.warnings.size(), 1u);
  EXPECT_EQ(collected.log.warnings[0], "this CUPTI does not record activities of kind 17");
}

TEST_F(CuptiTest, ALibraryWithoutTheFunctionsIsNamed) {
  const auto library = Library::OpenFile("libz.so.1");
  ASSERT_FALSE(library.has_value());
  EXPECT_NE(library.error().message.find("libz.so.1 lacks cuptiGetVersion"), std::string::npos)
      << library.error().message;
}

// In a process of its own, where none is loaded.
TEST(CuptiLibrary, OneOfNoUseHidesNoOther) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto open = [] {
    const auto library = Library::Open({"libz.so.1", FakeCuptiPath()});
    return library.has_value() && (*library)->path() == FakeCuptiPath() ? 0 : 1;
  };
  EXPECT_EXIT(_exit(open()), testing::ExitedWithCode(0), "");
}

// Copies: what the loader has once, it has under one name.
std::string CopyInto(const Scratch& scratch, const std::string& file, const std::string& name) {
  std::filesystem::copy_file(file, scratch.Path(name),
                             std::filesystem::copy_options::overwrite_existing);
  return scratch.Path(name);
}

TEST(CuptiLibrary, TheNextIsTakenWhereOneRefusesTheDriver) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto open = [](const char* refuses, const char* taken) {
    setenv("CUDA_FAKE_CUPTI", refuses, 1);
    const Scratch scratch;
    const std::vector<std::string> files = {CopyInto(scratch, FakeCuptiPath(), "libcupti.so.13"),
                                            CopyInto(scratch, FakeCuptiPath(), "libcupti.so.12")};
    const auto library = Library::Open(files);
    return library.has_value() && (*library)->path() == scratch.Path(taken) ? 0 : 1;
  };
  EXPECT_EXIT(_exit(open("refuses=13", "libcupti.so.12")), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(_exit(open("refuses=12", "libcupti.so.13")), testing::ExitedWithCode(0), "");
}

TEST(CuptiLibrary, TheLibraryOfItsMetricsIsTakenFromItsFolder) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto open = [] {
    const Scratch scratch;
    const std::string cupti = CopyInto(scratch, FakeCuptiPath(), "libcupti.so.13");
    CopyInto(scratch, FakeDriverFolder() + "/../fake_nvperf/libnvperf_host.so",
             "libnvperf_host.so");
    const auto is_there = [] {
      return dlopen("libnvperf_host.so", RTLD_NOW | RTLD_NOLOAD) != nullptr;
    };
    const bool was_there = is_there();
    const auto library = Library::Open({cupti});
    return library.has_value() && !was_there && is_there() ? 0 : 1;
  };
  EXPECT_EXIT(_exit(open()), testing::ExitedWithCode(0), "");
}

#ifdef REAL_CUPTI_FOLDER
// NVIDIA's own, in a folder of their own as in a wheel, by a loader that has no other place to look
// at. No GPU is needed.
TEST(RealCupti, DISABLED_InAProcessOfItsOwn) {
  const auto library = Library::OpenFile(std::string(getenv("WHEEL")) + "/libcupti.so.13");
  ASSERT_TRUE(library.has_value()) << library.error().ToString();
  ASSERT_NE((*library)->range(), nullptr);
  auto host = ParamsTo(&HostInitializeParams::host);
  host.profiler_type = kRangeProfilerType;
  host.chip_name = "GH100";
  EXPECT_EQ((*library)->range()->host_initialize(&host), 0);
}

TEST(RealCupti, KnowsItsMetricsFromAWheel) {
  // It opens libnvperf_host with RTLD_DEEPBIND.
  if (kSanitized) GTEST_SKIP() << "no sanitizer works in libraries with symbols of their own";
  const Scratch scratch;
  for (const char* name : {"libcupti.so.13", "libnvperf_host.so"}) {
    std::filesystem::create_symlink(std::string(REAL_CUPTI_FOLDER "/") + name, scratch.Path(name));
  }
  const std::string command =
      "WHEEL=" + scratch.Path("") +
      " LD_LIBRARY_PATH= /lib64/ld-linux-x86-64.so.2 --inhibit-cache " +
      std::filesystem::read_symlink("/proc/self/exe").string() +
      " --gtest_also_run_disabled_tests --gtest_filter=RealCupti.DISABLED_InAProcessOfItsOwn";
  EXPECT_EQ(std::system(command.c_str()), 0);
}
#endif

// Raw buffers, without any library.
class Buffer {
 public:
  template <typename T>
  void Add(RecordKind kind, T record, size_t size) {
    record.kind = kind;
    const size_t at = bytes_.size();
    bytes_.resize(at + size);
    std::memcpy(&bytes_[at], &record, std::min(size, sizeof(T)));
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

TEST(CuptiBuffers, AreReadByTheSizesOfTheirVersion) {
  for (const auto& [version, size] :
       {std::pair(26u, size_t{208}), std::pair(130001u, size_t{216})}) {
    Buffer buffer;
    KernelRecord kernel{};
    kernel.name = reinterpret_cast<const char*>(uintptr_t{0x1234});
    kernel.start = 5;
    kernel.end = 9;
    buffer.Add(RecordKind::kConcurrentKernel, kernel, size);
    buffer.Add(RecordKind::kMemcpy, MemcpyRecord{}, 96);
    ActivityLog log;
    const auto text_at = [](const char* address) {
      return address == reinterpret_cast<const char*>(uintptr_t{0x1234}) ? "named" : "?";
    };
    const Status read = DecodeBuffer(buffer.bytes(), version, text_at, log);
    ASSERT_TRUE(read.has_value()) << read.error().ToString();
    ASSERT_EQ(log.activities.size(), 2u);
    EXPECT_EQ(log.activities[0].name, "named");
    EXPECT_EQ(log.activities[0].end, 9u);
    EXPECT_EQ(log.activities[1].work, Work::kCopy);
    // Cut off anywhere it says so, and reads nothing past the end.
    for (size_t cut = 1; cut < buffer.bytes().size(); ++cut) {
      if (cut == size) continue;
      ActivityLog part;
      EXPECT_FALSE(DecodeBuffer(buffer.bytes().first(cut), version, text_at, part).has_value());
    }
  }
  ActivityLog log;
  EXPECT_FALSE(DecodeBuffer({}, 17, &TextHere, log).has_value());
  const std::array<std::byte, 8> nonsense = {std::byte{200}};
  EXPECT_FALSE(DecodeBuffer(nonsense, 130000, &TextHere, log).has_value());
}

// Recorded as CUPTI reports it: calls and ranges of two threads, in no order of time.
TEST(CuptiRanges, SayWhichInstructionALaunchIsOf) {
  Buffer buffer;
  const auto mark = [&](uint32_t thread, uint64_t time, uint32_t id, const char* name) {
    MarkerRecord record{};
    record.flags = name != nullptr ? kRangeBegins : kRangeEnds;
    record.timestamp = time;
    record.id = id;
    record.thread_id = thread;
    record.name = name;
    buffer.Add(RecordKind::kMarker, record, sizeof record);
  };
  const auto launch = [&](uint32_t thread, uint64_t time, uint32_t correlation, const char* kernel,
                          uint64_t node = 0) {
    CallRecord call{};
    call.start = time;
    call.end = time + 1;
    call.thread_id = thread;
    call.correlation_id = correlation;
    buffer.Add(RecordKind::kDriver, call, sizeof call);
    KernelRecord record{};
    record.start = time + 100;
    record.end = time + 110;
    record.correlation_id = correlation;
    record.name = kernel;
    record.graph_node_id = node;
    buffer.Add(RecordKind::kConcurrentKernel, record, 216);
  };
  launch(1, 15, 1, "gemm_of_a_library");
  launch(1, 35, 2, "other");              // between thunks
  launch(2, 15, 3, "gemm_of_a_library");  // the other thread is in another thunk
  launch(1, 45, 4, "fusion_1", 77);       // a node of a graph: its name says more
  launch(1, 46, 5, "unnamed", 78);
  mark(1, 1, 1, "XlaModule:#hlo_module=jit_f,program_id=7#");
  mark(1, 30, 2, nullptr);
  mark(1, 10, 2, "Thunk:#hlo_op=dot.1#");
  mark(1, 40, 4, "Thunk:#hlo_op=command_buffer#");
  mark(2, 10, 3, "Thunk:#hlo_op=dot.2,hlo_module=jit_g#");
  mark(1, 50, 4, nullptr);
  mark(1, 60, 1, nullptr);
  ActivityLog log;
  const Status read = DecodeBuffer(buffer.bytes(), 130000, &TextHere, log);
  ASSERT_TRUE(read.has_value()) << read.error().ToString();
  EXPECT_EQ(log.ranges.size(), 7u);
  EXPECT_TRUE(log.unknown.empty());
  const LaunchRanges ranges(log);
  const auto told = [&](uint32_t correlation) {
    const auto origin = ranges.Of(correlation);
    return origin ? origin->module + " " + origin->instruction : std::string("none");
  };
  EXPECT_EQ(told(1), "jit_f dot.1");
  EXPECT_EQ(ranges.Of(1)->program, 7);
  EXPECT_EQ(told(2), "none");
  EXPECT_EQ(told(3), "jit_g dot.2");
  EXPECT_EQ(told(4), "jit_f command_buffer");

  Origins origins;
  origins.of_call = [&](uint32_t correlation) { return ranges.Of(correlation); };
  origins.of_kernel = [](std::string_view kernel) -> std::optional<Origin> {
    if (kernel != "fusion_1") return std::nullopt;
    return Origin{"jit_f", "fusion.1", 7};
  };
  TraceCounts counts;
  const std::string trace = WriteXSpace(log, origins, 0, &counts);
  EXPECT_EQ(counts.on_device, 5);
  EXPECT_EQ(counts.attributed, 4);
  for (const char* op : {"dot.1", "dot.2", "fusion.1", "command_buffer"}) {
    EXPECT_NE(trace.find(op), std::string::npos) << op;
  }
  // Beyond what a recording keeps they are counted.
  ActivityLog small;
  small.most.calls = 3;
  ASSERT_TRUE(DecodeBuffer(buffer.bytes(), 130000, &TextHere, small).has_value());
  EXPECT_TRUE(small.ranges.empty());
  EXPECT_EQ(small.left_out[Work::kRange], 7);
}

}  // namespace
}  // namespace hloscope::profiler::cupti
