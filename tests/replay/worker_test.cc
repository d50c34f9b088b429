// Workers: the same results as in this process, every way to die, and nothing left behind.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "core/base/child_process.h"
#include "core/base/machine_memory.h"
#include "core/debug/run/run_module.h"
#include "core/hlo/module_image.h"
#include "core/hlo/text/text.h"
#include "core/replay/workers/worker_environment.h"
#include "core/replay/workers/worker_evidence.h"
#include "core/replay/workers/worker_platform.h"
#include "tests/base/paths.h"
#include "tests/base/sanitized.h"
#include "tests/base/scratch.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;
using std::chrono::milliseconds;
using ModulePointer = std::shared_ptr<const hlo::Module>;

constexpr std::string_view kAdd = R"(HloModule add
ENTRY e {
  x = f32[4] parameter(0)
  ROOT y = f32[4] add(x, x)
})";

ModulePointer Parse(std::string_view text) {
  hlo::ParseResult parsed = hlo::ParseText(text);
  EXPECT_TRUE(parsed.ok());
  return parsed.module;
}

// While it lives, workers that start commit this fault.
class Fault {
 public:
  explicit Fault(const std::string& what) { setenv("HLOSCOPE_WORKER_FAULT", what.c_str(), 1); }
  ~Fault() { unsetenv("HLOSCOPE_WORKER_FAULT"); }
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;
};

std::shared_ptr<WorkerPool> MakePool(std::string evidence = {}) {
  WorkerPoolOptions options;
  options.program = ProgramPath();
  options.evidence_folder = std::move(evidence);
  return std::make_shared<WorkerPool>(std::move(options));
}

class Collector : public RunStream {
 public:
  void Take(RunEvent event) override {
    if (auto* result = std::get_if<LeafResult>(&event)) values.push_back(std::move(result->value));
    if (auto* warning = std::get_if<RunWarning>(&event)) warnings.push_back(warning->text);
    if (auto* value = std::get_if<CapturedValue>(&event)) captured.push_back(std::move(*value));
  }
  std::vector<CapturedValue> captured;
  std::vector<Result<Literal>> values;
  std::vector<std::string> warnings;
};

std::vector<std::vector<Literal>> FourFloats(float first = 1) {
  const float data[] = {first, 2, 3, 4};
  return {{Literal::Of<float>(hlo::Shape::Array(hlo::ElementType::kF32, {4}), data)}};
}

size_t OpenDescriptors() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    count += entry.path().empty() ? 0 : 1;
  }
  return count;
}

size_t MappedMemoryFiles() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:hloscope") != std::string::npos) ++count;
  }
  return count;
}

// A process of ours that lives or is never reaped. A killed one may need seconds to give back its
// memory (a sanitized one has terabytes mapped) and is reaped when the next process is started.
bool HasChildren() {
  constexpr int kMaxLooks = 600;
  const auto some = [] { return waitid(P_ALL, 0, nullptr, WEXITED | WNOHANG | WNOWAIT) == 0; };
  for (int look = 0; look < kMaxLooks && some(); ++look) {
    auto next = ChildProcess::Spawn({"/bin/true", {"true"}, {}, {}});
    if (!next.has_value() || !next->Wait(std::chrono::seconds(10))) return true;
    std::this_thread::sleep_for(milliseconds(50));
  }
  return some();
}

// The process id of the one child.
pid_t OnlyChild() {
  std::ifstream file("/proc/self/task/" + std::to_string(getpid()) + "/children");
  pid_t pid = 0;
  file >> pid;
  return pid;
}

debug::RunSpec InPool(std::shared_ptr<WorkerPool> pool) {
  debug::RunSpec request;
  request.execution.workers = std::move(pool);
  return request;
}

// The modules of a folder's files, cases separated as in the golden tests.
std::vector<ModulePointer> ModulesOf(const std::string& folder) {
  std::vector<ModulePointer> modules;
  for (const auto& entry : std::filesystem::directory_iterator(SourcePath("tests/") + folder)) {
    if (entry.path().extension() != ".hlo") continue;
    std::ifstream file(entry.path());
    std::string text;
    const auto add = [&] {
      hlo::ParseResult parsed = hlo::ParseText(text);
      if (parsed.ok()) modules.push_back(std::move(parsed.module));
      text.clear();
    };
    for (std::string line; std::getline(file, line);) {
      line == "// -----" ? add() : static_cast<void>(text += line + "\n");
    }
    add();
  }
  return modules;
}

void ExpectSame(const debug::RunReport& a, const debug::RunReport& b) {
  EXPECT_EQ(ToString(a.status), ToString(b.status));
  EXPECT_EQ(a.warnings, b.warnings);
  EXPECT_EQ(a.error ? a.error->ToString() : "", b.error ? b.error->ToString() : "");
  ASSERT_EQ(a.outputs.size(), b.outputs.size());
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    EXPECT_EQ(a.outputs[i].value, b.outputs[i].value) << i;
    EXPECT_EQ(a.outputs[i].value.shape(), b.outputs[i].value.shape()) << i;
    EXPECT_EQ(a.outputs[i].missing ? a.outputs[i].missing->ToString() : "",
              b.outputs[i].missing ? b.outputs[i].missing->ToString() : "");
  }
  ASSERT_EQ(a.first_nonfinite.has_value(), b.first_nonfinite.has_value());
  if (!a.first_nonfinite) return;
  EXPECT_EQ(a.first_nonfinite->instruction, b.first_nonfinite->instruction);
  EXPECT_EQ(a.first_nonfinite->index, b.first_nonfinite->index);
  EXPECT_EQ(a.first_nonfinite->value, b.first_nonfinite->value);
  EXPECT_EQ(a.first_nonfinite->path.size(), b.first_nonfinite->path.size());
  EXPECT_EQ(a.first_nonfinite->infinity_from, b.first_nonfinite->infinity_from);
  ASSERT_EQ(a.first_nonfinite->operands.size(), b.first_nonfinite->operands.size());
  for (size_t i = 0; i < a.first_nonfinite->operands.size(); ++i) {
    EXPECT_EQ(a.first_nonfinite->operands[i].value, b.first_nonfinite->operands[i].value);
  }
}

TEST(Worker, GivesWhatThisProcessGives) {
  const auto pool = MakePool();
  const auto modules = ModulesOf("golden");
  ASSERT_GT(modules.size(), 100u);
  for (size_t i = 0; i < modules.size(); i += kThreadSanitized ? 10 : 1) {
    const ModulePointer& module = modules[i];
    SCOPED_TRACE(std::string(module->name()));
    debug::RunSpec request;
    request.budget.seconds = 600;  // sanitizers on a busy machine
    request.load.fill_elided = 3;
    request.compare.precise = module->instructions().size() % 2 == 0;
    const debug::RunReport here = debug::RunModule(module, request);
    request.execution.workers = pool;
    ExpectSame(here, debug::RunModule(module, request));
  }
}

TEST(Worker, FindsTheSameNan) {
  const auto pool = MakePool();
  for (const ModulePointer& module : ModulesOf("nan_origin")) {
    for (const auto kind : {debug::NonFiniteKind::kNan, debug::NonFiniteKind::kInfinity}) {
      debug::RunSpec request;
      request.compare.find = kind;
      const debug::RunReport here = debug::RunModule(module, request);
      request.execution.workers = pool;
      ExpectSame(here, debug::RunModule(module, request));
    }
  }
}

TEST(Worker, IsolatesTheSame) {
  const auto pool = MakePool();
  size_t instructions = 0;
  for (const ModulePointer& module : ModulesOf("nan_origin")) {
    std::vector<debug::InstructionReport> reports[2];
    for (const bool in_worker : {false, true}) {
      debug::RunSpec request = InPool(in_worker ? pool : nullptr);
      request.compare.isolate = true;
      request.reference.name = "interpreter";
      debug::RunSinks sinks;
      sinks.on_instruction = [&](const debug::InstructionReport& report) {
        reports[in_worker ? 1 : 0].push_back(report);
      };
      debug::RunModule(module, request, sinks);
    }
    ASSERT_EQ(reports[0].size(), reports[1].size());
    instructions += reports[0].size();
    for (size_t i = 0; i < reports[0].size(); ++i) {
      EXPECT_EQ(reports[0][i].instruction, reports[1][i].instruction);
      EXPECT_EQ(reports[0][i].compared, reports[1][i].compared);
      EXPECT_EQ(reports[0][i].differs(), reports[1][i].differs());
    }
  }
  EXPECT_GT(instructions, 30u);
}

TEST(Worker, OneProcessForManyModules) {
  const auto pool = MakePool();
  const auto platform = *MakeWorkerPlatform("interpreter", pool);
  std::set<pid_t> pids;
  for (int i = 0; i < 50; ++i) {
    const auto executable = platform->Load(Parse(kAdd), {});
    ASSERT_TRUE(executable.has_value());
    Collector sink;
    ASSERT_TRUE((*executable)->Run(FourFloats(), {}, sink).has_value());
    pids.insert(OnlyChild());
  }
  EXPECT_EQ(pids.size(), 1u);
}

TEST(Worker, LargeInputsAndResultsTravel) {
  const auto platform = *MakeWorkerPlatform("interpreter", MakePool());
  const auto executable = platform->Load(Parse(R"(HloModule big
ENTRY e {
  x = s32[3000000] parameter(0)
  y = s8[7] parameter(1)
  s = s32[3000000] add(x, x)
  ROOT t = (s32[3000000], s8[7]) tuple(s, y)
})"),
                                         {});
  ASSERT_TRUE(executable.has_value());
  std::vector<int32_t> data(3'000'000);
  const int8_t small[7] = {1, 2, 3, 4, 5, 6, 7};
  for (int round = 0; round < 3; ++round) {
    // The third time the inputs are the same objects as before.
    if (round < 2) std::iota(data.begin(), data.end(), round);
    static std::vector<std::vector<Literal>> inputs;
    if (round < 2) {
      inputs = {{Literal::Of<int32_t>(hlo::Shape::Array(hlo::ElementType::kS32, {3'000'000}), data),
                 Literal::Of<int8_t>(hlo::Shape::Array(hlo::ElementType::kS8, {7}), small)}};
    }
    Collector sink;
    ASSERT_TRUE((*executable)->Run(inputs, {}, sink).has_value());
    ASSERT_EQ(sink.values.size(), 2u);
    const auto sums = sink.values[0]->data<int32_t>();
    for (size_t i = 0; i < sums.size(); i += 99'999) EXPECT_EQ(sums[i], 2 * data[i]);
    EXPECT_EQ(sink.values[1]->data<int8_t>()[6], 7);
  }
  EXPECT_LE(MappedMemoryFiles(), 1u);  // the page of the worker that still lives
}

// A run that fails does not leave the worker with inputs that the next takes for its own.
TEST(Worker, InputsOfAFailedRunAreSentAgain) {
  const auto platform = *MakeWorkerPlatform("interpreter", MakePool());
  constexpr int64_t kElements = 100'000;
  const auto executable = platform->Load(Parse(R"(HloModule big
ENTRY e {
  x = s32[100000] parameter(0)
  ROOT s = s32[100000] add(x, x)
})"),
                                         {});
  ASSERT_TRUE(executable.has_value());
  const auto inputs_of = [&](int32_t value) {
    const std::vector<int32_t> data(kElements, value);
    return std::vector<std::vector<Literal>>{
        {Literal::Of<int32_t>(hlo::Shape::Array(hlo::ElementType::kS32, {kElements}), data)}};
  };
  Collector first;
  ASSERT_TRUE((*executable)->Run(inputs_of(1), {}, first).has_value());
  const auto inputs = inputs_of(2);
  RunOptions refused;
  refused.capture.search = {"no such search", ""};
  Collector none, second;
  ASSERT_FALSE((*executable)->Run(inputs, refused, none).has_value());
  ASSERT_TRUE((*executable)->Run(inputs, {}, second).has_value());
  EXPECT_EQ(second.values.at(0)->data<int32_t>()[0], 4);
}

TEST(Worker, FeedsAskTheParent) {
  const auto platform = *MakeWorkerPlatform("interpreter", MakePool());
  const auto executable = platform->Load(Parse(R"(HloModule feeds
ENTRY e {
  t = token[] after-all()
  i = (f32[4], token[]) infeed(t)
  x = f32[4] get-tuple-element(i), index=0
  u = token[] get-tuple-element(i), index=1
  o = token[] outfeed(x, u), outfeed_shape=f32[4]
  ROOT y = f32[4] add(x, x)
})"),
                                         {});
  ASSERT_TRUE(executable.has_value());
  std::vector<Literal> given;
  RunOptions options;
  options.feeds.take_infeed = [](const hlo::Shape&) -> Result<Literal> {
    return FourFloats(5)[0][0];
  };
  options.feeds.give_outfeed = [&](const Literal& array) -> Status {
    return given.push_back(array), Status();
  };
  Collector sink;
  const std::vector<std::vector<Literal>> none(1);
  ASSERT_TRUE((*executable)->Run(none, options, sink).has_value());
  ASSERT_EQ(given.size(), 1u);
  EXPECT_EQ(given[0].data<float>()[0], 5);
  EXPECT_EQ(sink.values[0]->data<float>()[0], 10);
  options.feeds.take_infeed = [](const hlo::Shape&) -> Result<Literal> {
    return InputError("no more");
  };
  Collector again;
  const auto failed = (*executable)->Run(none, options, again);
  const bool said = failed.has_value()
                        ? !again.values[0].has_value() &&
                              again.values[0].error().message.find("no more") != std::string::npos
                        : failed.error().message.find("no more") != std::string::npos;
  EXPECT_TRUE(said);
}

// Every death in every stage: said with its kind and its stage, the module kept, and the next run
// gives its result.
TEST(Worker, EveryCrashIsReported) {
  const struct {
    std::string what, text;
  } kDeaths[] = {
      {"SEGV", "signal 11 (SIGSEGV)"},       {"ABRT", "signal 6 (SIGABRT)"},
      {"FPE", "signal 8 (SIGFPE)"},          {"BUS", "signal 7 (SIGBUS)"},
      {"KILL", "signal 9 (SIGKILL)"},        {"exit0", "ended with exit status 0"},
      {"exit7", "ended with exit status 7"}, {"close", "interpreter worker"},
      {"garbage", "malformed message"},
  };
  for (const std::string stage : {"start", "load", "verify", "compile", "run", "read-back"}) {
    for (const auto& death : kDeaths) {
      SCOPED_TRACE(death.what + " at " + stage);
      const Scratch scratch;
      const auto pool = MakePool(scratch.Path("died"));
      {
        const Fault fault(death.what + "@" + stage);
        const auto report = debug::RunModule(Parse(kAdd), InPool(pool));
        EXPECT_EQ(report.status, debug::RunStatus::kDied);
        ASSERT_TRUE(report.error.has_value());
        EXPECT_EQ(report.error->error_class, ErrorClass::kCrashed);
        const std::string text = report.error->ToString();
        EXPECT_NE(text.find(death.text), std::string::npos) << text;
        const std::string where = stage == "read-back" ? "read back" : stage;
        EXPECT_NE(text.find("at " + where), std::string::npos) << text;
        EXPECT_NE(text.find(scratch.Path("died")), std::string::npos) << text;
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.Path("died")), {}), 1);
      }
      EXPECT_EQ(debug::RunModule(Parse(kAdd), InPool(pool)).status, debug::RunStatus::kRan);
    }
  }
  EXPECT_FALSE(HasChildren());
}

TEST(Worker, WhatItPrintedComesWithItsDeath) {
  const Fault fault("ABRT@run");
  const auto report = debug::RunModule(Parse(kAdd), InPool(MakePool()));
  ASSERT_TRUE(report.error.has_value());
  EXPECT_NE(report.error->message.find("committing a fault on purpose"), std::string::npos);
}

TEST(Worker, LastWords) {
  EXPECT_EQ(LastWords(""), "");
  EXPECT_EQ(LastWords("a\n\nb\nc\nd\n"), "b | c | d");
  EXPECT_EQ(LastWords("W1121 noise\nF1121 01:02:03 file.cc:1] Check failed: x\n"
                      "*** Check failure stack trace: ***\n    @ 0x7f f()\n    @ 0x7e g()\n"),
            "F1121 01:02:03 file.cc:1] Check failed: x");
  EXPECT_EQ(LastWords("terminate called after throwing 'x'\n  what():  it broke\nAborted\n"),
            "  what():  it broke");
  EXPECT_EQ(LastWords("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_LE(LastWords(std::string(100'000, 'x')).size(), 600u);
}

TEST(Worker, OneIterationIsLostAlone) {
  const Fault fault("SEGV@run#3");  // of every worker: iterations 2, 5 and 8
  debug::RunSpec request = InPool(MakePool());
  request.repeats.iterations = 10;
  const auto report = debug::RunModule(Parse(kAdd), request);
  EXPECT_EQ(report.status, debug::RunStatus::kDied);
  EXPECT_EQ(report.timing.run_us.size(), 7u);
  ASSERT_TRUE(report.error.has_value());
  EXPECT_TRUE(report.error->message.starts_with("iteration 2: ")) << report.error->message;
  ASSERT_EQ(report.warnings.size(), 2u);
  EXPECT_TRUE(report.warnings[0].starts_with("iteration 5 died: "));
  EXPECT_TRUE(report.warnings[1].starts_with("iteration 8 died: "));
  ASSERT_EQ(report.outputs.size(), 1u);
  EXPECT_FALSE(report.outputs[0].missing.has_value());
}

TEST(Worker, OneRepetitionIsLostAlone) {
  const Fault fault("ABRT@run#4");
  debug::RunSpec request = InPool(MakePool());
  request.repeats.runs = 6;
  const auto report = debug::RunModule(Parse(kAdd), request);
  EXPECT_EQ(report.status, debug::RunStatus::kDied);
  EXPECT_EQ(report.timing.run_us.size(), 5u);
  EXPECT_FALSE(report.repeat->differing_run.has_value());
}

// The worker hangs for good, so that only the parent can end the run.
TEST(Worker, DeadlineIsKeptByTheParent) {
  for (const std::string stage : {"start", "compile", "run", "read-back"}) {
    const Fault fault("hang@" + stage);
    debug::RunSpec request = InPool(MakePool());
    request.budget.seconds = 0.3;
    const auto report = debug::RunModule(Parse(kAdd), request);
    EXPECT_EQ(report.status, debug::RunStatus::kDied);
    EXPECT_EQ(report.error->error_class, ErrorClass::kDeadlineExceeded);
    EXPECT_NE(report.error->message.find("passed"), std::string::npos);
  }
}

TEST(Worker, MemoryIsKeptByTheParent) {
  for (const std::string stage : {"compile", "run"}) {
    const Fault fault("allocate@" + stage);
    debug::RunSpec request = InPool(MakePool());
    request.budget.memory_bytes = int64_t{64} << 20;
    const auto report = debug::RunModule(Parse(kAdd), request);
    EXPECT_EQ(report.status, debug::RunStatus::kDied);
    EXPECT_EQ(report.error->error_class, ErrorClass::kResourceExhausted);
    EXPECT_NE(report.error->message.find("the limit is 67108864 bytes"), std::string::npos)
        << report.error->message;
  }
}

TEST(Worker, StoppingEndsARunThatHangs) {
  const Fault fault("hang@run");
  std::stop_source stop;
  std::jthread later([&] {
    std::this_thread::sleep_for(milliseconds(200));
    stop.request_stop();
  });
  const auto report = debug::RunModule(Parse(kAdd), InPool(MakePool()), stop.get_token());
  EXPECT_EQ(report.status, debug::RunStatus::kDied);
  EXPECT_EQ(report.error->error_class, ErrorClass::kCancelled);
  EXPECT_NE(report.error->message.find("cancelled"), std::string::npos);
}

// One that dies between jobs is nobody's loss.
TEST(Worker, ACrashWhileIdleIsNotReported) {
  if (kSanitized) GTEST_SKIP() << "start, end and memory of sanitized workers are not theirs";
  const auto platform = *MakeWorkerPlatform("interpreter", MakePool());
  const auto executable = *platform->Load(Parse(kAdd), {});
  for (int i = 0; i < 5; ++i) {
    kill(OnlyChild(), SIGKILL);
    while (kill(OnlyChild(), 0) == 0 &&
           waitid(P_ALL, 0, nullptr, WEXITED | WNOHANG | WNOWAIT) != 0) {
    }
    std::this_thread::sleep_for(milliseconds(20));
    Collector sink;
    ASSERT_TRUE(executable->Run(FourFloats(), {}, sink).has_value());
    EXPECT_EQ(sink.values.at(0)->data<float>()[0], 2);
  }
}

// Killed at random moments: each run gives the right result or says that it died.
TEST(Worker, RandomKills) {
  if (kSanitized) GTEST_SKIP() << "start, end and memory of sanitized workers are not theirs";
  const auto platform = *MakeWorkerPlatform("interpreter", MakePool());
  std::mt19937 random(3);
  std::atomic<bool> over = false;
  std::jthread killer([&] {
    while (!over) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 8000));
      if (const pid_t child = OnlyChild(); child > 0) kill(child, SIGKILL);
    }
  });
  int right = 0, died = 0;
  std::unique_ptr<Executable> executable;
  // Until enough of both has been seen.
  constexpr int kEnough = 25, kMaxRuns = 100'000;
  int i = 0;
  for (; i < kMaxRuns && (right < kEnough || died < kEnough); ++i) {
    if (executable == nullptr) {
      auto loaded = platform->Load(Parse(kAdd), {});
      if (!loaded.has_value()) {
        EXPECT_EQ(loaded.error().error_class, ErrorClass::kCrashed) << loaded.error().message;
        ++died;
        continue;
      }
      executable = *std::move(loaded);
    }
    Collector sink;
    const auto run = executable->Run(FourFloats(static_cast<float>(i)), {}, sink);
    if (!run.has_value()) {
      EXPECT_EQ(run.error().error_class, ErrorClass::kCrashed) << run.error().message;
      ++died;
      continue;
    }
    EXPECT_EQ(sink.values.at(0)->data<float>()[0], 2 * static_cast<float>(i));
    ++right;
  }
  over = true;
  killer.join();
  EXPECT_EQ(right + died, i);
  EXPECT_GE(right, kEnough);
  EXPECT_GE(died, kEnough);
}

TEST(Worker, NothingIsLeft) {
  if (kSanitized) GTEST_SKIP() << "start, end and memory of sanitized workers are not theirs";
  const ModulePointer module = Parse(kAdd);
  debug::RunModule(module, InPool(MakePool()));  // what is made once is made
  const size_t descriptors = OpenDescriptors();
  const size_t maps = MappedMemoryFiles();
  const int64_t before = ResidentBytesOf("self").value_or(0);
  {
    const auto pool = MakePool();
    const Fault fault("SEGV@run#7");
    for (int i = 0; i < 200; ++i) debug::RunModule(module, InPool(pool));
  }
  EXPECT_EQ(OpenDescriptors(), descriptors);
  EXPECT_EQ(MappedMemoryFiles(), maps);
  EXPECT_FALSE(HasChildren());
  EXPECT_LT(ResidentBytesOf("self").value_or(0) - before, int64_t{8} << 20);
}

TEST(Worker, ManyThreadsShareAPool) {
  const auto platform = *MakeWorkerPlatform("interpreter", MakePool());
  std::vector<std::jthread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const auto executable = platform->Load(Parse(kAdd), {});
        ASSERT_TRUE(executable.has_value());
        Collector sink;
        ASSERT_TRUE((*executable)->Run(FourFloats(static_cast<float>(t)), {}, sink).has_value());
        if (sink.values.at(0)->data<float>()[0] == 2 * static_cast<float>(t)) ++right;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(right, 120);
}

TEST(Worker, UnknownPlatformsStartNothing) {
  const auto platform = MakeWorkerPlatform("no such thing", MakePool());
  ASSERT_FALSE(platform.has_value());
  EXPECT_EQ(platform.error().error_class, ErrorClass::kInput);
  EXPECT_FALSE(HasChildren());
}

TEST(Worker, AnotherProgramIsNotAWorker) {
  WorkerPoolOptions options;
  options.program = "/bin/cat";
  const auto pool = std::make_shared<WorkerPool>(options);
  const auto report = debug::RunModule(Parse(kAdd), InPool(pool));
  EXPECT_EQ(report.status, debug::RunStatus::kDied);
  options.program = "/no/such/program";
  const auto none = debug::RunModule(Parse(kAdd), InPool(std::make_shared<WorkerPool>(options)));
  EXPECT_EQ(none.status, debug::RunStatus::kError);
  EXPECT_NE(none.error->message.find("/no/such/program"), std::string::npos);
}

TEST(WorkerEnvironment, HasWhatTheUserSetForTheWorker) {
  setenv("NVTX_INJECTION64_PATH", "/a/tool.so", 1);
  setenv("UNKNOWN_TO_WORKERS", "1", 1);
  // What profilers and NVIDIA's libraries are set up by.
  const std::vector<std::string> of_tools = {"NV_COMPUTE_SANITIZER_PROCESS_TREE",
                                             "NSYS_PROFILING_SESSION_ID",
                                             "QUADD_INJECTION_PROXY",
                                             "CUBLASLT_LOG_LEVEL",
                                             "CUBLAS_WORKSPACE_CONFIG",
                                             "CUDNN_LOGLEVEL_DBG",
                                             "FI_PROVIDER",
                                             "UCX_TLS"};
  for (const std::string& name : of_tools) setenv(name.c_str(), "1", 1);
  setenv("LD_PRELOAD", "", 1);
  const std::vector<std::string> environment = CleanEnvironment({"OWN=1"});
  const std::set<std::string> all(environment.begin(), environment.end());
  unsetenv("NVTX_INJECTION64_PATH");
  unsetenv("UNKNOWN_TO_WORKERS");
  for (const std::string& name : of_tools) {
    unsetenv(name.c_str());
    EXPECT_TRUE(all.contains(name + "=1")) << name;
  }
  unsetenv("LD_PRELOAD");
  EXPECT_TRUE(all.contains("LD_PRELOAD="));
  EXPECT_TRUE(all.contains("NVTX_INJECTION64_PATH=/a/tool.so"));
  EXPECT_TRUE(all.contains("OWN=1"));
  EXPECT_FALSE(all.contains("UNKNOWN_TO_WORKERS=1"));
}

TEST(WorkerEvidence, KeepsABoundedNumber) {
  const Scratch scratch;
  const std::string folder = scratch.Path("a/b/died");
  for (int i = 0; i < 30; ++i) {
    const std::string text =
        "HloModule m" + std::to_string(i) + "\nENTRY e { ROOT c = f32[] constant(1) }";
    const std::string path = KeepEvidence(*Parse(text), folder);
    EXPECT_TRUE(std::filesystem::exists(path));
    EXPECT_EQ(KeepEvidence(*Parse(text), folder), path);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 20);
  EXPECT_EQ(KeepEvidence(*Parse(kAdd), ""), "");
  EXPECT_EQ(KeepEvidence(*Parse(kAdd), "/proc/no/such/place"), "");
}

// What a worker could send: no bytes harm who reads them.
TEST(WorkerProtocol, GarbageIsReadSafely) {
  std::mt19937_64 random(5);
  const auto inputs = FourFloats();
  ValueWriter writer(FrameKind::kEvent);
  writer.PutLiteral(inputs[0][0]);
  writer.PutResult(Literal::Tuple({inputs[0][0], Literal::Token(), inputs[0][0]}));
  writer.PutValue(runtime::Value::Tuple(
      {runtime::Value::Array(inputs[0][0]),
       runtime::Value::Missing(Error{ErrorClass::kUnsupported, "why", {}, {}})}));
  const OutgoingFrame& sent = writer.Finish();
  std::string data;
  for (const auto& part : sent.parts) {
    data.append(reinterpret_cast<const char*>(part.data()), part.size());
    data.resize(AlignedUp(data.size()));
  }
  const auto owner = std::make_shared<const std::string>(data);
  for (int round = 0; round < 20'000; ++round) {
    Frame frame{sent.kind, sent.head, {std::as_bytes(std::span(*owner)), owner}};
    if (round > 0) {
      for (int k = 0; k < 3; ++k) {
        frame.head[random() % frame.head.size()] = static_cast<char>(random() % 32);
      }
      if (round % 3 == 0) frame.head.resize(random() % frame.head.size());
    }
    ValueReader in(frame);
    const Literal literal = in.GetLiteral();
    const auto result = in.GetResult();
    const runtime::Value value = in.GetValue();
    if (round == 0) {
      ASSERT_TRUE(in.ok());
      EXPECT_EQ(literal, inputs[0][0]);
      EXPECT_EQ(result->elements().size(), 3u);
      EXPECT_EQ(value.elements()[1].error().message, "why");
    }
    // Whatever was accepted is whole.
    if (in.ok() && literal.shape().IsArray() && !literal.elided()) {
      EXPECT_EQ(static_cast<size_t>(literal.shape().ByteSize().value_or(-1)),
                literal.bytes().size());
    }
  }
}

}  // namespace
}  // namespace hloscope::replay
