// Capture plans and the stream of events: the same from this process and from a worker.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "core/backends/make_platform.h"
#include "core/replay/capture/nonfinite_search.h"
#include "core/replay/workers/worker_platform.h"
#include "core/replay/workers/worker_protocol.h"
#include "tests/base/paths.h"
#include "tests/hlo/parsed.h"
#include "tests/replay/events.h"

namespace hloscope::replay {
namespace {

using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;

// A loop of three turns around a fusion.
constexpr std::string_view kLoop = R"(HloModule loop
fused {
  p = f32[2] parameter(0)
  t = f32[2] tanh(p)
  ROOT inside = f32[2] add(t, p)
}
body {
  s = (s32[], f32[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[2] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  step = f32[2] fusion(x), kind=kLoop, calls=fused
  ROOT r = (s32[], f32[2]) tuple(next, step)
}
condition {
  c = (s32[], f32[2]) parameter(0)
  n = s32[] get-tuple-element(c), index=0
  three = s32[] constant(3)
  ROOT less = pred[] compare(n, three), direction=LT
}
ENTRY e {
  a = f32[2] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], f32[2]) tuple(zero, a)
  loop = (s32[], f32[2]) while(start), condition=condition, body=body
  last = f32[2] get-tuple-element(loop), index=1
  ROOT out = f32[2] multiply(last, last)
})";

std::vector<std::vector<Literal>> TwoFloats() {
  const float data[] = {0.5f, -2};
  return {{Literal::Of<float>(hlo::Shape::Array(hlo::ElementType::kF32, {2}), data)}};
}

std::string TextOf(const RunEvent& event) {
  ValueWriter out(FrameKind::kEvent);
  PutEvent(out, event);
  const OutgoingFrame& frame = out.Finish();
  std::string text = frame.head;
  for (const auto& part : frame.parts) {
    text.append(reinterpret_cast<const char*>(part.data()), part.size());
  }
  return text;
}

class Capture : public ::testing::Test {
 protected:
  // The events of one run here; those of a run in a worker are held to be the same.
  Events Run(const CapturePlan& plan) {
    RunOptions options;
    options.capture = plan;
    Events here, there;
    const auto local = (*MakePlatform("interpreter"))->Load(module_, {});
    result_ = (*local)->Run(inputs_, options, here);
    WorkerPoolOptions pool;
    pool.program = ProgramPath();
    const auto workers = std::make_shared<WorkerPool>(pool);
    const auto remote = (*MakeWorkerPlatform("interpreter", workers))->Load(module_, {});
    const auto away = (*remote)->Run(inputs_, options, there);
    EXPECT_EQ(result_.has_value(), away.has_value());
    EXPECT_EQ(here.all.size(), there.all.size());
    for (size_t i = 0; i < std::min(here.all.size(), there.all.size()); ++i) {
      EXPECT_EQ(TextOf(here.all[i]), TextOf(there.all[i])) << i;
    }
    return here;
  }

  std::shared_ptr<const Module> module_ = hlo::Parsed(kLoop);
  std::vector<std::vector<Literal>> inputs_ = TwoFloats();
  Result<RunResult> result_;
};

TEST_F(Capture, FusionBoundariesHaveKeysOfTheirOwn) {
  CapturePlan plan;
  plan.stage = StageFingerprint(*module_);
  plan.items.push_back({.scope = CaptureScope::kFusionBoundaries});
  const Events events = Run(plan);
  ASSERT_TRUE(result_.has_value());
  std::multiset<std::string> names;
  std::set<std::pair<uint32_t, int64_t>> keys;
  for (const CapturedValue* value : events.Of<CapturedValue>()) {
    EXPECT_EQ(value->key.stage, plan.stage);
    names.insert(std::string(module_->name(value->key.instruction)));
    const int64_t turn = value->key.path.empty() ? -1 : value->key.path[0].iteration;
    if (value->key.leaf == 0) {
      EXPECT_TRUE(keys.emplace(value->key.instruction.index, turn).second);
    }
  }
  EXPECT_EQ(names.count("step"), 3u);  // once each turn
  EXPECT_EQ(names.count("less"), 4u);
  EXPECT_EQ(names.count("loop"), 2u);  // two leaves
  EXPECT_EQ(names.count("out"), 1u);
  EXPECT_EQ(names.count("inside"), 0u);
  EXPECT_EQ(names.count("r"), 0u);
  EXPECT_EQ(events.Of<LeafResult>().size(), 1u);
}

TEST_F(Capture, OneInstructionInEveryForm) {
  std::vector<CapturedForm> forms;
  for (const CaptureForm form :
       {CaptureForm::kBytes, CaptureForm::kHash, CaptureForm::kStatistics}) {
    CapturePlan plan;
    plan.results = CaptureForm::kNone;
    plan.items.push_back({.form = form, .instructions = {hlo::Named(*module_, "inside")}});
    const Events events = Run(plan);
    EXPECT_TRUE(events.Of<LeafResult>().empty());
    const auto values = events.Of<CapturedValue>();
    ASSERT_EQ(values.size(), 3u);
    EXPECT_EQ(values[2]->key.path.size(), 2u);  // the loop, and the fusion in it
    EXPECT_EQ(values[2]->key.path[0].iteration, 2);
    forms.push_back(values[2]->value);
  }
  const auto& bytes = std::get<Literal>(forms[0]);
  const auto& numbers = std::get<ValueStatistics>(forms[2]);
  EXPECT_EQ(std::get<uint64_t>(forms[1]), std::get<uint64_t>(FormOf(bytes, CaptureForm::kHash)));
  EXPECT_EQ(numbers.elements, 2);
  EXPECT_EQ(numbers.low, bytes.data<float>()[1]);
  EXPECT_EQ(numbers.high, bytes.data<float>()[0]);
  EXPECT_EQ(numbers.first[0].real(), bytes.data<float>()[0]);
  EXPECT_EQ(numbers.first[1].real(), bytes.data<float>()[1]);
}

TEST(ValueStatisticsTest, OfComplexElementsAreThoseOfTheirAbsoluteValues) {
  using C = std::complex<float>;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const C data[] = {{3, -4}, {0, 1}, {0, 0}, {1, kNan}, {0, -kInf}, {kInf, kNan}};
  const auto numbers =
      StatisticsOf(Literal::Of<C>(hlo::Shape::Array(hlo::ElementType::kC64, {6}), data));
  EXPECT_EQ(numbers.elements, 6);
  EXPECT_EQ(numbers.low, 0);
  EXPECT_EQ(numbers.high, 5);
  EXPECT_EQ(numbers.mean, 2);
  EXPECT_DOUBLE_EQ(numbers.rms, std::sqrt(26.0 / 3));
  EXPECT_EQ(numbers.nans, 2);
  EXPECT_EQ(numbers.infinities, 1);
  EXPECT_EQ(numbers.zeros, 1);
  EXPECT_EQ(numbers.first[0], std::complex<double>(3, -4));
}

// |z| may be beyond double where both parts are finite.
TEST_F(Capture, StatisticsOfLargeComplexNumbersCountNoInfinity) {
  using C = std::complex<double>;
  const C data[] = {{1.5e308, 1.5e308}, {1, 0}};
  const auto numbers =
      StatisticsOf(Literal::Of<C>(hlo::Shape::Array(hlo::ElementType::kC128, {2}), data));
  EXPECT_EQ(numbers.infinities, 0);
  EXPECT_EQ(numbers.nans, 0);
  EXPECT_EQ(numbers.low, 1);
}

TEST_F(Capture, ResultsInEveryForm) {
  CapturePlan plan;
  plan.results = CaptureForm::kHash;
  const Events events = Run(plan);
  const auto values = events.Of<CapturedValue>();
  ASSERT_EQ(values.size(), 1u);
  EXPECT_EQ(values[0]->key.instruction, module_->entry().root);
  EXPECT_TRUE(std::holds_alternative<uint64_t>(values[0]->value));
}

TEST_F(Capture, EndsAfterTheRequestedExecution) {
  CapturePlan plan;
  plan.results = CaptureForm::kNone;
  plan.items.push_back({.instructions = {hlo::Named(*module_, "x"), hlo::Named(*module_, "step")}});
  plan.until = {hlo::Named(*module_, "step"), 1};
  const Events events = Run(plan);
  ASSERT_TRUE(result_.has_value());
  EXPECT_TRUE(result_->ended_by_plan);
  EXPECT_EQ(result_->executions, 2);
  ASSERT_EQ(events.Of<CapturedValue>().size(), 2u);  // the newest of each alone
  for (const CapturedValue* value : events.Of<CapturedValue>()) {
    EXPECT_EQ(value->key.path[0].iteration, 1);
  }
  plan.until->execution = 3;
  EXPECT_TRUE(Run(plan).Of<CapturedValue>().empty());
  EXPECT_FALSE(result_->ended_by_plan);
  EXPECT_EQ(result_->executions, 3);
}

// Partitions share what is global: each is told its value, and the first what is inside.
TEST_F(Capture, SharedWorkIsReportedInProgramOrder) {
  module_ = hlo::Parsed(R"(HloModule shared, num_partitions=4
sum {
  l = f32[] parameter(0)
  m = f32[] parameter(1)
  ROOT n = f32[] add(l, m)
}
twice {
  p = f32[2] parameter(0)
  ROOT inside = f32[2] add(p, p)
}
ENTRY e {
  a = f32[2] parameter(0), sharding={replicated}
  to = f32[2] custom-call(a), custom_call_target="SPMDFullToShardShape", sharding={manual}
  own = f32[2] all-reduce(to), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=sum
  back = f32[2] custom-call(own), custom_call_target="SPMDShardToFullShape", sharding={replicated}
  first = f32[2] call(a), to_apply=twice
  second = f32[2] call(first), to_apply=twice
  ROOT out = (f32[2], f32[2]) tuple(back, second)
})");
  const InstructionId inside = hlo::Named(*module_, "inside");
  CapturePlan plan;
  plan.items.push_back({.instructions = {inside, hlo::Named(*module_, "first")}});
  const Events events = Run(plan);
  ASSERT_TRUE(result_.has_value()) << result_.error().ToString();
  std::multiset<int64_t> devices;
  std::vector<float> insides;
  for (const CapturedValue* value : events.Of<CapturedValue>()) {
    if (value->key.instruction != inside) {
      devices.insert(value->key.device);
      continue;
    }
    EXPECT_EQ(value->key.device, 0);
    insides.push_back(std::get<Literal>(value->value).data<float>()[0]);
  }
  EXPECT_EQ(devices, (std::multiset<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(insides, (std::vector<float>{1, 2}));
  plan.until = {inside, 1};
  const Events last = Run(plan);
  EXPECT_TRUE(result_->ended_by_plan);
  for (const CapturedValue* value : last.Of<CapturedValue>()) {
    if (value->key.instruction != inside) continue;
    EXPECT_EQ(std::get<Literal>(value->value).data<float>()[0], 2);
  }
}

TEST_F(Capture, SearchesReportTheirFindings) {
  const float data[] = {1, INFINITY};
  inputs_ = {{Literal::Of<float>(hlo::Shape::Array(hlo::ElementType::kF32, {2}), data)}};
  module_ = hlo::Parsed(R"(HloModule nan
ENTRY e {
  a = f32[2] parameter(0)
  ROOT wrong = f32[2] subtract(a, a)
})");
  CapturePlan plan;
  plan.search = NonFiniteSearchRequest(NonFiniteKind::kNan);
  const Events events = Run(plan);
  ASSERT_EQ(events.Of<SearchFinding>().size(), 1u);
  const auto found = ReadNonFiniteFound(*module_, *events.Of<SearchFinding>()[0]);
  ASSERT_TRUE(found.has_value());
  ASSERT_TRUE(found->first.has_value());
  EXPECT_EQ(found->first->instruction, hlo::Named(*module_, "wrong"));
  EXPECT_EQ(found->first->element, 1);
  EXPECT_EQ(found->infinity_from, hlo::Named(*module_, "a"));
}

TEST_F(Capture, WhatThereIsNotIsSaid) {
  CapturePlan plan;
  plan.items.push_back({.instructions = {InstructionId(1000u)}});
  EXPECT_TRUE(Run(plan).all.empty());
  ASSERT_FALSE(result_.has_value());
  EXPECT_EQ(result_.error().error_class, ErrorClass::kInput);
  plan.items.clear();
  plan.search = {"no such search", ""};
  Run(plan);
  EXPECT_NE(result_.error().message.find("no such search"), std::string::npos);
  plan.search = {"nonfinite", "malformed"};
  Run(plan);
  EXPECT_NE(result_.error().message.find("malformed"), std::string::npos);
}

// A platform that gives results only says so by its name.
// Every step of a device, by the instruction's name, as "name path"; the path's iterations
// included.
std::vector<std::string> StepTexts(const Module& module, const runtime::DeviceRecording& told) {
  std::vector<std::string> texts;
  for (const runtime::RecordedStep& step : told.steps) {
    std::string text(module.name(step.instruction));
    for (uint32_t path = step.path; path != 0; path = told.paths[path].parent) {
      text += " " + std::string(module.name(told.paths[path].caller)) + "[" +
              std::to_string(told.paths[path].iteration) + "]";
    }
    texts.push_back(text);
  }
  return texts;
}

// What a worker tells of kLoop where that many steps are recorded.
Events Recorded(const std::shared_ptr<const Module>& module, int64_t steps,
                std::string_view platform = "interpreter", bool loop_steps = false) {
  WorkerPoolOptions pool;
  pool.program = ProgramPath();
  RunOptions options;
  options.record.steps = steps;
  options.record.loop_steps = loop_steps;
  options.load.object_cache = false;
  Events events;
  const auto remote =
      (*MakeWorkerPlatform(platform, std::make_shared<WorkerPool>(pool)))->Load(module, options);
  EXPECT_TRUE((*remote)->Run(TwoFloats(), options, events).has_value());
  return events;
}

TEST(Recording, StepsHaveTheirCallsAndChangeNothing) {
  const auto module = hlo::Parsed(kLoop);
  const Events plain = Recorded(module, 0);
  const Events recorded = Recorded(module, 1000);
  ASSERT_EQ(plain.Of<TraceSteps>().size(), 0u);
  ASSERT_EQ(recorded.Of<TraceSteps>().size(), 1u);
  EXPECT_EQ(TextOf(RunEvent(*plain.Of<LeafResult>()[0])),
            TextOf(RunEvent(*recorded.Of<LeafResult>()[0])));
  const runtime::DeviceRecording& told = recorded.Of<TraceSteps>()[0]->steps;
  const std::vector<std::string> texts = StepTexts(*module, told);
  EXPECT_EQ(std::ranges::count(texts, "loop"), 1);
  for (const char* text : {"t step[0] loop[2]", "step loop[2]", "less loop[3]", "out"}) {
    EXPECT_EQ(std::ranges::count(texts, text), 1) << text;
  }
  EXPECT_EQ(std::ranges::count(texts, "step loop[3]"), 0);
  EXPECT_TRUE(told.sums.empty());
  EXPECT_EQ(told.lost, 0);
}

TEST(Recording, StepsBeyondTheRoomForThemAreSummed) {
  const auto module = hlo::Parsed(kLoop);
  const Events recorded = Recorded(module, 12);
  const runtime::DeviceRecording& told = recorded.Of<TraceSteps>()[0]->steps;
  std::map<std::string, int64_t> counts;
  int64_t self = 0;
  for (const runtime::RecordedStep& step : told.steps) {
    ++counts[std::string(module->name(step.instruction))];
  }
  for (const runtime::SummedSteps& sum : told.sums) {
    counts[std::string(module->name(told.steps[sum.step].instruction))] += sum.count - 1;
    self += told.steps[sum.step].duration_ns;
    EXPECT_LE(sum.min_ns, sum.max_ns);
    EXPECT_LE(told.steps[sum.step].duration_ns, sum.total_ns);
  }
  EXPECT_FALSE(told.sums.empty());
  EXPECT_EQ(counts["t"], 3);
  EXPECT_EQ(counts["less"], 4);
  EXPECT_EQ(counts["out"], 1);
  const auto loop = std::ranges::find_if(told.steps, [&](const runtime::RecordedStep& step) {
    return step.path == 0 && module->name(step.instruction) == "loop";
  });
  ASSERT_NE(loop, told.steps.end());
  EXPECT_LE(self, loop->duration_ns);
}

// A loop that is compiled as one function is one step, as it is where nobody records; what is in it
// is told where that is asked for. Both ways have the same bits.
TEST(Recording, LoopsOfCompiledCodeAreTimedAsTheyRun) {
  const auto module = hlo::Parsed(kLoop);
  const Events plain = Recorded(module, 0, "cpu"), whole = Recorded(module, 1000, "cpu"),
               inside = Recorded(module, 1000, "cpu", true);
  const auto counts = [](const Events& events) {
    std::map<std::string, size_t> steps;  // by whether they are in a loop
    const TraceSteps* told = events.Of<TraceSteps>().at(0);
    for (const runtime::RecordedStep& step : told->steps.steps) {
      ++steps[step.path == 0 ? "entry" : "loop"];
    }
    return steps;
  };
  EXPECT_EQ(counts(whole)["loop"], 0u);
  EXPECT_GE(counts(whole)["entry"], 1u);
  EXPECT_GE(counts(inside)["loop"], 6u);  // condition and body of three turns, one condition more
  for (const Events* recorded : {&whole, &inside}) {
    EXPECT_EQ(TextOf(RunEvent(*plain.Of<LeafResult>()[0])),
              TextOf(RunEvent(*recorded->Of<LeafResult>()[0])));
  }
  // What ran is what runs: the same number of kernels.
  EXPECT_EQ(plain.Of<RunExecuted>().at(0)->kernels, whole.Of<RunExecuted>().at(0)->kernels);
  EXPECT_GT(inside.Of<RunExecuted>().at(0)->kernels, whole.Of<RunExecuted>().at(0)->kernels);
}

TEST(Platforms, SayWhatTheyCannotCapture) {
  CapturePlan plan;
  plan.results = CaptureForm::kStatistics;
  for (const PlatformRow& row : PlatformRows()) EXPECT_TRUE(CheckCapture(row, plan).has_value());
  plan.items.push_back({.scope = CaptureScope::kAll});
  for (const PlatformRow& row : PlatformRows()) {
    const Status served = CheckCapture(row, plan);
    EXPECT_EQ(served.has_value(), row.Has(kCaptures));
    if (served.has_value()) continue;
    EXPECT_EQ(served.error().error_class, ErrorClass::kUnsupported);
    EXPECT_TRUE(served.error().message.starts_with(row.name));
  }
}

// The table alone knows them by name.
TEST(Platforms, HaveTheNamesOfRunHloModule) {
  const auto meant = [](std::string_view name) { return std::string(MeantPlatform(name)); };
  for (const PlatformRow& row : PlatformRows()) EXPECT_EQ(meant(row.name), row.name);
  EXPECT_EQ(meant("CPU"), PluginPlatform(Devices::kHost)->name);
  EXPECT_EQ(meant("Host"), PluginPlatform(Devices::kHost)->name);
  EXPECT_EQ(meant("host"), PluginPlatform(Devices::kHost)->name);
  EXPECT_EQ(meant("CUDA"), PluginPlatform(Devices::kGpu)->name);
  EXPECT_EQ(meant("GPU"), PluginPlatform(Devices::kGpu)->name);
  EXPECT_EQ(meant("Interpreter"), ReferencePlatform().name);
  EXPECT_EQ(meant("TPU"), "TPU");
  EXPECT_EQ(meant(""), "");
}

TEST(Platforms, AreNamedNowhereElse) {
  namespace fs = std::filesystem;
  const std::string root = SourcePath();
  for (const std::string room : {"/core", "/app", "/viewer", "/profiler"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root + room)) {
      const std::string extension = entry.path().extension();
      const bool source = extension == ".cc" || extension == ".h" || extension == ".def";
      // The examples that help shows are what people type.
      const std::string file = entry.path().filename();
      if (!source || file == "platforms.def" || file == "commands.def") continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      for (const PlatformRow& row : PlatformRows()) {
        if (row.name == "cpu" || row.name == "gpu") continue;  // XLA calls devices so, too
        const std::string name =
            row.Has(kNeedsPlugin) ? std::string(row.name) : '"' + std::string(row.name) + '"';
        EXPECT_EQ(text.str().find(name), std::string::npos) << entry.path() << " names " << name;
      }
    }
  }
}

std::vector<RunEvent> EveryEvent() {
  const Literal array = TwoFloats()[0][0];
  const ValueKey key{7, 1, {{InstructionId(3u), 2}}, InstructionId(5u), 1};
  return {LeafResult{1, 2, array},
          LeafResult{0, 0, std::unexpected(Error{ErrorClass::kUnsupported, "why", {}, "fix"})},
          CapturedValue{key, array},
          CapturedValue{key, uint64_t{9}},
          CapturedValue{key, ValueStatistics{4, 1, 1, 1, -2, 3, 0.5, 1.5}},
          CapturedValue{key, Error{ErrorClass::kCrashed, "gone", {}, {}}},
          SearchFinding{"name", "fields", {runtime::Value::Array(array)}},
          RunWarning{"text"},
          RunExecuted{2,
                      1,
                      5,
                      6,
                      3,
                      {{"sort", 3, "unsupported opcode"}},
                      {{"dot", "library 1.2", "too small", 4}}},
          RunFallback{"i", "op", "reason", "detail", 12, 0.5},
          TraceSlice{"kernel", "stream 1", 10, 20},
          TraceSteps{1,
                     {{{}, {0, InstructionId(3u), 2}},
                      {{InstructionId(5u), 1, 10, 20}, {{}, 0, 30, 1}},
                      {{0, 100, 18, 1, 2}},
                      {{12, 4096}},
                      7,
                      8},
                     0,
                     nullptr,
                     {InstructionId(2u)},
                     {{"fusion_1", "a.ptx", 10, {4, 2, 1}, {128, 1, 1}, 512, 64}},
                     {{0, 0, profiler::ModelBound::kMemory, 1.5, 1.25, {.warp_instructions = 9}}},
                     "GPU"},
          TraceSamples{"memory", "bytes", {{3, 0.5}, {4, 1.5}}},
          TraceFile{"bytes"},
          RunFinding{"race", "written twice", "fusion.1", "fusion_1",
                     RunFinding::Side{"a.ptx", "st.shared.b32", 7, 2, {1, 0, 0}, {33, 0, 0}},
                     RunFinding::Side{"a.ptx", "ld.shared.b32", 9, 2, {1, 0, 0}, {1, 0, 0}},
                     "shared memory", 12, 3},
          RunProgress{"instructions", 3, 7},
          RunFault{key, Error{ErrorClass::kInternal, "race", {}, {}}}};
}

Frame Received(const RunEvent& event, std::shared_ptr<std::string>& data) {
  ValueWriter out(FrameKind::kEvent);
  PutEvent(out, event);
  const OutgoingFrame& sent = out.Finish();
  data = std::make_shared<std::string>();
  for (const auto& part : sent.parts) {
    data->append(reinterpret_cast<const char*>(part.data()), part.size());
    data->resize(AlignedUp(data->size()));
  }
  return {sent.kind, sent.head, {std::as_bytes(std::span(*data)), data}};
}

TEST(RunEvents, TravelWhole) {
  std::set<size_t> seen;
  for (const RunEvent& event : EveryEvent()) {
    std::shared_ptr<std::string> data;
    const Frame frame = Received(event, data);
    ValueReader in(frame);
    const std::optional<RunEvent> back = GetEvent(in);
    ASSERT_TRUE(back.has_value()) << event.index();
    EXPECT_EQ(TextOf(*back), TextOf(event)) << event.index();
    seen.insert(event.index());
  }
  EXPECT_EQ(seen.size(), std::variant_size_v<RunEvent>);
}

TEST(RunEvents, GarbageIsReadSafely) {
  std::mt19937_64 random(11);
  for (const RunEvent& event : EveryEvent()) {
    std::shared_ptr<std::string> data;
    const Frame whole = Received(event, data);
    for (int round = 0; round < 2000; ++round) {
      Frame frame = whole;
      for (int k = 0; k < 3; ++k) {
        frame.head[random() % frame.head.size()] = static_cast<char>(random());
      }
      if (round % 3 == 0) frame.head.resize(random() % frame.head.size());
      ValueReader in(frame);
      const std::optional<RunEvent> back = GetEvent(in);
      EXPECT_EQ(back.has_value(), in.ok());
    }
  }
}

template <typename T>
void Change(T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = !value;
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(1 - static_cast<int>(value));
  } else if constexpr (std::is_arithmetic_v<T>) {
    ++value;
  } else if constexpr (std::is_same_v<T, std::string>) {
    value += "x";
  } else if constexpr (std::is_same_v<T, Limits>) {
    ++value.run_deadline_seconds;
  } else if constexpr (std::is_same_v<T, std::chrono::steady_clock::time_point>) {
    value += std::chrono::seconds(1);
  } else if constexpr (std::is_same_v<T, CaptureUntil>) {
    Change(value.execution);
  } else if constexpr (std::is_same_v<T, SearchRequest>) {
    Change(value.request);
  } else if constexpr (requires { value.emplace_back(); }) {
    value.emplace_back();
  } else {
    Change(value.emplace());
  }
}

std::string Sent(const RunOptions& options) {
  ValueWriter out(FrameKind::kRun);
  PutOptions(out, options);
  return out.Finish().head;
}

// Every member, but what stays where the caller is: a change of it arrives.
TEST(RunOptions, TravelWhole) {
  RunOptions options;
  auto& [limits, budget, platform, load, checks, record, environment, rng_seed, capture, feeds] =
      options;
  auto& [threads, memory_bytes, seconds, deadline, stop] = budget;
  auto& [name, python, run_passes, xla_flags] = platform;
  auto& [fill_elided, module_file, gpu_target, object_cache, autotune_mode, choices] = load;
  auto& [races, uninitialised, shuffle] = checks;
  auto& [steps, kernel_metrics, pc_sampling, loop_steps] = record;
  auto& [stage, results, items, until, search] = capture;
  std::string before = Sent(options);
  int changed = 0;
  const auto change = [&](auto& member) {
    Change(member);
    const std::string head = Sent(options);
    EXPECT_NE(head, before) << changed;
    const Frame frame{static_cast<uint32_t>(FrameKind::kRun), head, {}};
    ValueReader in(frame);
    const RunOptions back = GetOptions(in);
    ASSERT_TRUE(in.ok()) << changed;
    EXPECT_EQ(Sent(back), head) << changed;
    before = head;
    ++changed;
  };
  const auto each = [&](auto&... members) { (change(members), ...); };
  each(limits, threads, memory_bytes, seconds, deadline, name, python, run_passes, xla_flags,
       fill_elided, module_file, gpu_target, object_cache, autotune_mode, choices, races,
       uninitialised, shuffle, steps, kernel_metrics, pc_sampling, loop_steps, rng_seed, stage,
       results, items, until, search);
  each(items[0].scope, items[0].form, items[0].instructions);
  EXPECT_EQ(changed, 31);
}

}  // namespace
}  // namespace hloscope::replay
