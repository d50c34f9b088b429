// Isolated instructions: a platform that is wrong about one opcode is found out at that opcode.
#include "core/debug/run/isolate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <tuple>

#include "core/backends/make_platform.h"
#include "core/base/work_count.h"
#include "core/debug/pieces/pieces.h"
#include "core/debug/run/extract.h"
#include "core/debug/run/run_module.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/analysis/find_instruction.h"
#include "core/hlo/sharding/manual_region.h"
#include "core/hlo/sharding/topology.h"
#include "core/hlo/text/text.h"
#include "core/replay/inputs/inputs.h"

namespace hloscope::debug {
namespace {

using hlo::Literal;

constexpr std::string_view kModule = R"(HloModule m
fused {
  p = f32[8] parameter(0)
  t = f32[8] tanh(p)
  ROOT r = f32[8] add(t, p)
}
ENTRY e {
  x = f32[8] parameter(0)
  a = f32[8] multiply(x, x)
  wrong = f32[8] fusion(a), kind=kLoop, calls=fused
  b = f32[8] add(wrong, x)
  pair = (f32[8], f32[8]) tuple(a, b)
  second = f32[8] get-tuple-element(pair), index=1
  ROOT c = f32[8] negate(second)
}
)";

class OffByOne : public replay::RunStream {
 public:
  explicit OffByOne(replay::RunStream& to) : to_(to) {}
  void Take(replay::RunEvent event) override {
    if (auto* result = std::get_if<replay::LeafResult>(&event)) {
      const auto data = result->value->data<float>();
      std::vector<float> changed(data.begin(), data.end());
      changed[3] += 1;
      result->value = Literal::Of<float>(result->value->shape(), changed);
    }
    to_.Take(std::move(event));
  }

 private:
  replay::RunStream& to_;
};

bool HasTanh(const hlo::Module& module) {
  return std::ranges::any_of(module.instructions(), [](const hlo::Instruction& instruction) {
    return instruction.opcode == hlo::Opcode::kTanh;
  });
}

class WrongExecutable : public replay::Executable {
 public:
  explicit WrongExecutable(std::unique_ptr<replay::Executable> right) : right_(std::move(right)) {}
  Result<replay::RunResult> Run(std::span<const std::vector<Literal>> inputs,
                                const replay::RunOptions& options,
                                replay::RunStream& stream) override {
    OffByOne off(stream);
    return right_->Run(inputs, options, off);
  }

 private:
  std::unique_ptr<replay::Executable> right_;
};

// The interpreter, but wrong about every module that has a tanh.
class WrongAboutTanh : public replay::Platform {
 public:
  std::string_view name() const override { return "wrong"; }
  Result<std::unique_ptr<replay::Executable>> Load(std::shared_ptr<const hlo::Module> module,
                                                   const replay::RunOptions& options) override {
    const bool tanh = HasTanh(*module);
    HLOSCOPE_ASSIGN_OR_RETURN(auto right, right_->Load(std::move(module), options));
    if (tanh) right = std::make_unique<WrongExecutable>(std::move(right));
    return right;
  }

 private:
  std::unique_ptr<replay::Platform> right_ = *replay::MakePlatform("interpreter");
};

TEST(Isolate, OnlyTheGuiltyInstructionDiffers) {
  const auto parsed = hlo::ParseText(kModule);
  ASSERT_TRUE(parsed.ok());
  replay::InputOptions options;
  options.seed = 1;
  const auto made = replay::MakeInputs(*parsed.module, options);
  ASSERT_TRUE(made.has_value());
  const auto right = *replay::MakePlatform("interpreter");
  WrongAboutTanh wrong;
  IsolateRequest request;
  request.platform = &wrong;
  request.reference = right.get();
  std::vector<std::string> all, differing;
  const auto note = [&](const InstructionReport& report) {
    all.push_back(report.instruction);
    if (!report.differs()) return;
    differing.push_back(report.instruction);
    EXPECT_EQ(report.outputs[0].first_mismatch->index[0], 3);
  };
  ASSERT_TRUE(Isolation(*parsed.module, request).Run(made->literals, note).has_value());
  EXPECT_EQ(all, (std::vector<std::string>{"a", "wrong", "b", "c"}));
  EXPECT_EQ(differing, std::vector<std::string>{"wrong"});
  // Statistics of both sides where they are asked for.
  request.statistics = true;
  const auto look = [&](const InstructionReport& report) {
    if (report.instruction != "wrong") return;
    ASSERT_EQ(report.actual_statistics.size(), 1u);
    ASSERT_EQ(report.expected_statistics.size(), 1u);
    const auto &actual = report.actual_statistics[0], &expected = report.expected_statistics[0];
    EXPECT_EQ(actual.elements, 8);
    EXPECT_EQ(actual.first[0], expected.first[0]);
    EXPECT_FLOAT_EQ(static_cast<float>(actual.first[3].real()),
                    static_cast<float>(expected.first[3].real()) + 1);
  };
  ASSERT_TRUE(Isolation(*parsed.module, request).Run(made->literals, look).has_value());
  request.statistics = false;
  // The other way round the values are wrong, and still only the instruction itself differs.
  differing.clear();
  request.platform = right.get();
  request.reference = &wrong;
  ASSERT_TRUE(Isolation(*parsed.module, request).Run(made->literals, note).has_value());
  EXPECT_EQ(differing, std::vector<std::string>{"wrong"});
}

// f64 a millionth off: less than a rounding to f32 makes, and more than f64 may differ by.
class Roughly : public replay::Platform {
 public:
  std::string_view name() const override { return "rough"; }
  Result<std::unique_ptr<replay::Executable>> Load(std::shared_ptr<const hlo::Module> module,
                                                   const replay::RunOptions& options) override {
    HLOSCOPE_ASSIGN_OR_RETURN(auto right, right_->Load(std::move(module), options));
    return std::make_unique<RoughExecutable>(std::move(right));
  }

 private:
  class RoughExecutable : public replay::Executable {
   public:
    explicit RoughExecutable(std::unique_ptr<replay::Executable> right)
        : right_(std::move(right)) {}
    Result<replay::RunResult> Run(std::span<const std::vector<Literal>> inputs,
                                  const replay::RunOptions& options,
                                  replay::RunStream& stream) override {
      Off off(stream);
      return right_->Run(inputs, options, off);
    }

   private:
    class Off : public replay::RunStream {
     public:
      explicit Off(replay::RunStream& to) : to_(to) {}
      void Take(replay::RunEvent event) override {
        if (auto* result = std::get_if<replay::LeafResult>(&event)) {
          const auto data = result->value->data<double>();
          std::vector<double> changed(data.begin(), data.end());
          for (double& x : changed) x *= 1 + 1e-6;
          result->value = Literal::Of<double>(result->value->shape(), changed);
        }
        to_.Take(std::move(event));
      }

     private:
      replay::RunStream& to_;
    };
    std::unique_ptr<replay::Executable> right_;
  };
  std::unique_ptr<replay::Platform> right_ = *replay::MakePlatform("interpreter");
};

// What is rounded to f32 within a fusion or a call makes its result no more exact than that.
TEST(Isolate, WhatRoundsToSingleWithinIsComparedAsSuch) {
  const auto right = *replay::MakePlatform("interpreter");
  Roughly rough;
  IsolateRequest request;
  request.platform = &rough;
  request.reference = right.get();
  for (const bool rounds : {true, false}) {
    const std::string type = rounds ? "f32" : "f64";
    for (const std::string call :
         {"fusion(x), kind=kLoop, calls=inside", "call(x), to_apply=inside"}) {
      const auto parsed = hlo::ParseText(
          "HloModule m\ninside {\n  p = f64[8] parameter(0)\n  n = " + type +
          "[8] convert(p)\n  t = " + type +
          "[8] tanh(n)\n  ROOT w = f64[8] convert(t)\n}\nENTRY e {\n  x = f64[8] parameter(0)\n"
          "  ROOT r = f64[8] " +
          call + "\n}\n");
      ASSERT_TRUE(parsed.ok());
      const auto made = replay::MakeInputs(*parsed.module, {});
      ASSERT_TRUE(made.has_value());
      int compared = 0;
      const auto note = [&](const InstructionReport& report) {
        compared += report.compared;
        EXPECT_EQ(report.differs(), !rounds) << call;
      };
      ASSERT_TRUE(Isolation(*parsed.module, request).Run(made->literals, note).has_value());
      EXPECT_EQ(compared, 1);
    }
  }
}

// Each element that is taken out of a tuple counted the leaves of those before it. Allocations
// count as well.
TEST(Isolate, WorkGrowsAsTheElementsOfATuple) {
  const auto right = *replay::MakePlatform("interpreter");
  const auto work = [&](int elements) {
    std::string shape, taken, names;
    for (int k = 0; k < elements; ++k) {
      const std::string at = std::to_string(k);
      shape += k == 0 ? "f32[]" : ", f32[]";
      taken += "  g" + at + " = f32[] get-tuple-element(p), index=" + at + "\n";
      names += (k == 0 ? "g" : ", g") + at;
    }
    const auto parsed = hlo::ParseText(
        "HloModule m\nENTRY e {\n  p = (" + shape + ") parameter(0)\n" + taken +
        "  n = f32[] negate(g0)\n  ROOT r = (f32[], " + shape + ") tuple(n, " + names + ")\n}\n");
    EXPECT_TRUE(parsed.ok());
    const auto made = replay::MakeInputs(*parsed.module, {});
    EXPECT_TRUE(made.has_value());
    IsolateRequest request;
    request.platform = request.reference = right.get();
    const uint64_t before = WorkCount();
    EXPECT_TRUE(Isolation(*parsed.module, request)
                    .Run(made->literals, [](const InstructionReport&) {})
                    .has_value());
    return static_cast<double>(WorkCount() - before);
  };
  const double one = work(200), two = work(400), four = work(800);
  EXPECT_GT(one, 200);
  EXPECT_LT(four - two, 2.7 * (two - one));
}

// Wrong only where a tanh and an exponential are compiled together.
class WrongAboutPairs : public replay::Platform {
 public:
  std::string_view name() const override { return "wrong"; }
  Result<std::unique_ptr<replay::Executable>> Load(std::shared_ptr<const hlo::Module> module,
                                                   const replay::RunOptions& options) override {
    const auto has = [&](hlo::Opcode opcode) {
      return std::ranges::find(module->instructions(), opcode, &hlo::Instruction::opcode) !=
             module->instructions().end();
    };
    const bool is_wrong =
        has(hlo::Opcode::kTanh) && has(hlo::Opcode::kExp) && module->computations().size() == 1;
    ++loads;
    auto right = right_->Load(std::move(module), options);
    if (right.has_value() && is_wrong) return std::make_unique<WrongExecutable>(*std::move(right));
    return right;
  }
  int loads = 0;

 private:
  std::unique_ptr<replay::Platform> right_ = *replay::MakePlatform("interpreter");
};

// A chain that begins with an exponential; `tanh_at`: with a tanh so far behind, 0: with none.
std::string ChainOf(int length, int tanh_at) {
  std::string text =
      "HloModule m\nENTRY e {\n  p = f32[8] parameter(0)\n  x0 = f32[8] exponential(p)\n";
  for (int k = 1; k <= length; ++k) {
    text += "  " + std::string(k == length ? "ROOT " : "") + "x" + std::to_string(k) +
            " = f32[8] " + (k == tanh_at ? "tanh" : "negate") + "(x" + std::to_string(k - 1) +
            ")\n";
  }
  return text + "}\n";
}

TEST(Isolate, PiecesGrowUntilTheyDifferAndNoFurther) {
  const auto right = *replay::MakePlatform("interpreter");
  const auto grow = [&](const std::string& text) {
    const auto parsed = hlo::ParseText(text);
    EXPECT_TRUE(parsed.ok());
    WrongAboutPairs wrong;
    IsolateRequest request;
    request.platform = &wrong;
    request.reference = right.get();
    Isolation isolation(*parsed.module, request);
    const std::vector<Literal> inputs = {
        Literal::Dense(hlo::Shape::Array(hlo::ElementType::kF32, {8}), std::vector<std::byte>(32))};
    // Joined with others they may differ: what counts is what each does alone.
    EXPECT_TRUE(isolation
                    .Run(inputs,
                         [](const InstructionReport& report) {
                           EXPECT_FALSE(report.differs()) << report.instruction;
                         })
                    .has_value());
    return isolation.GrowPieces();
  };
  const auto found = grow(ChainOf(12, 3));
  ASSERT_TRUE(found.has_value() && found->has_value());
  EXPECT_EQ((*found)->instruction, "x3");
  EXPECT_EQ((*found)->together_with, (std::vector<std::string>{"x0", "x1", "x2"}));
  // What grows too large is an error, and no answer that all was tried.
  const auto large = grow(ChainOf(1500, 0));
  ASSERT_FALSE(large.has_value());
  EXPECT_EQ(large.error().message, "their parts are many times the module");
}

// Where not all values are kept they are computed again, and what could not be tried is said.
TEST(Isolate, PiecesGrowWhereValuesAreNotKept) {
  const auto right = *replay::MakePlatform("interpreter");
  const auto grow = [&](const std::string& text, int64_t keep_bytes) {
    const auto parsed = hlo::ParseText(text);
    EXPECT_TRUE(parsed.ok());
    WrongAboutPairs wrong;
    IsolateRequest request;
    request.platform = &wrong;
    request.reference = right.get();
    request.keep_bytes = keep_bytes;
    Isolation isolation(*parsed.module, request);
    const std::vector<Literal> inputs = {
        Literal::Dense(hlo::Shape::Array(hlo::ElementType::kF32, {8}), std::vector<std::byte>(32))};
    EXPECT_TRUE(isolation.Run(inputs, [](const InstructionReport&) {}).has_value());
    return isolation.GrowPieces();
  };
  // The exponential is the last of a window of 64, the tanh is in the next one.
  std::string text = "HloModule m\nENTRY e {\n  p = f32[8] parameter(0)\n";
  for (int k = 0; k < 200; ++k) {
    const std::string of = k == 0 ? "p" : fmt::format("x{}", k - 1);
    const std::string_view opcode = k == 63 ? "exponential" : k == 66 ? "tanh" : "negate";
    text += fmt::format("  {}x{} = f32[8] {}({})\n", k == 199 ? "ROOT " : "", k, opcode, of);
  }
  text += "}\n";
  const auto all = grow(text, int64_t{1} << 31), some = grow(text, 40 * 32);
  ASSERT_TRUE(all.has_value() && all->has_value());
  ASSERT_TRUE(some.has_value()) << some.error().message;
  ASSERT_TRUE(some->has_value());
  EXPECT_EQ((*some)->instruction, (*all)->instruction);
  EXPECT_EQ((*some)->instruction, "x66");
  EXPECT_EQ((*some)->together_with, (*all)->together_with);
  // Without the values no answer is given that all was tried.
  const auto none = grow(text, 0);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().message, "values of some take more than the 0 bytes that are kept");
}

// A piece that a depth does not make larger is not run again.
TEST(Isolate, NoPieceRunsTwice) {
  const auto right = *replay::MakePlatform("interpreter");
  const auto parsed = hlo::ParseText(ChainOf(3, 0));
  ASSERT_TRUE(parsed.ok());
  WrongAboutPairs counted;
  IsolateRequest request;
  request.platform = &counted;
  request.reference = right.get();
  std::vector<std::string> progress;
  request.on_progress = [&](const replay::RunProgress& told) { progress.push_back(told.what); };
  Isolation isolation(*parsed.module, request);
  const std::vector<Literal> inputs = {
      Literal::Dense(hlo::Shape::Array(hlo::ElementType::kF32, {8}), std::vector<std::byte>(32))};
  ASSERT_TRUE(isolation.Run(inputs, [](const InstructionReport&) {}).has_value());
  progress.clear();
  counted.loads = 0;
  const auto found = isolation.GrowPieces();
  ASSERT_TRUE(found.has_value() && !found->has_value());
  // Of the four instructions three grow to depth 1, two to 2, one to 4 and none to 8: one module
  // each.
  EXPECT_EQ(counted.loads, 3);
  EXPECT_EQ(progress, std::vector<std::string>(4, "levels of operands with each instruction"));
}

// A difference that is larger than a bound only behind more levels than pieces have sends the
// search for pieces through the whole module; where its time is over there, what was compared
// before holds.
TEST(Isolate, AnAnswerOutlivesTheSearchForPieces) {
  // The exponentials differ in their last bits, and each sum doubles that.
  std::string text =
      "HloModule m\nENTRY e {\n  p = f32[64] parameter(0)\n  x0 = f32[64] exponential(p)\n";
  constexpr int kLength = 40;
  for (int k = 1; k <= kLength; ++k) {
    text += fmt::format("  {}x{} = f32[64] add(x{}, x{})\n", k == kLength ? "ROOT " : "", k, k - 1,
                        k - 1);
  }
  const auto parsed = hlo::ParseText(text + "}\n");
  ASSERT_TRUE(parsed.ok());
  RunSpec spec;
  spec.test.name = "cpu";
  spec.reference.name = "interpreter";
  spec.compare.bounds = {.absolute = 1.0, .relative = 0.0};
  spec.compare.isolate = true;
  const auto run = [&](bool is_late) {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(is_late ? 4 : 600);
    spec.budget.deadline = deadline;
    RunSinks sinks;
    bool has_grown = false;
    sinks.on_progress = [&](const replay::RunProgress& told) {
      if (!told.what.starts_with("levels of operands")) return;
      has_grown = true;
      if (is_late) std::this_thread::sleep_until(deadline + std::chrono::milliseconds(10));
    };
    const RunReport report = RunModule(parsed.module, spec, sinks);
    EXPECT_TRUE(has_grown);
    EXPECT_EQ(report.status, RunStatus::kDiffers);
    EXPECT_FALSE(report.error) << report.error->message;
    EXPECT_FALSE(report.first_divergent);
    EXPECT_EQ(report.outputs.size(), 1u);
    EXPECT_TRUE(report.outputs[0].compared && !report.outputs[0].comparison.equal());
    return report.warnings;
  };
  const auto said = [](const std::vector<std::string>& warnings, std::string_view what) {
    return std::ranges::any_of(warnings,
                               [&](const std::string& one) { return one.starts_with(what); });
  };
  EXPECT_TRUE(said(run(false), "no instruction differs alone or together with its producers"));
  EXPECT_TRUE(said(run(true),
                   "no instruction differs alone; not all were tried together with "
                   "their producers: the deadline"));
}

// Expected results that no reference gives are no difference that instructions explain.
TEST(Isolate, WrongExpectedResultsAreNotSearchedFor) {
  const auto parsed = hlo::ParseText(ChainOf(12, 0));
  ASSERT_TRUE(parsed.ok());
  const std::string path =
      (std::filesystem::temp_directory_path() / ("hloscope_grow_" + std::to_string(::getpid())))
          .string() +
      ".npz";
  const Literal zeros =
      Literal::Dense(hlo::Shape::Array(hlo::ElementType::kF32, {8}), std::vector<std::byte>(32));
  ASSERT_TRUE(dump::WriteTensors(path, dump::TensorNames::kOutputs, {&zeros, 1}).has_value());
  for (const std::string reference : {"interpreter", ""}) {
    RunSpec spec;
    spec.reference.name = reference;
    spec.compare.expect = {path};
    spec.compare.isolate = true;
    const RunReport report = RunModule(parsed.module, spec, RunSinks{});
    EXPECT_EQ(report.status, RunStatus::kDiffers);
    EXPECT_FALSE(report.first_divergent);
    for (const std::string& one : report.warnings) {
      EXPECT_FALSE(one.starts_with("no instruction differs")) << reference << ": " << one;
    }
  }
  std::filesystem::remove(path);
}

// A manual region (shard_map) as the partitioner writes it, and as Shardy does.
constexpr std::string_view kRegion = R"(HloModule m, num_partitions=4

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY e {
  x = f32[8] parameter(0)
  y = f32[8] negate(x)
  whole = f32[8] custom-call(y), custom_call_target="Sharding", sharding={devices=[4]<=[4]}
  in = f32[2] custom-call(whole), custom_call_target="SPMDFullToShardShape", sharding={manual}
  square = f32[2] multiply(in, in)
  sum = f32[2] all-reduce(square), replica_groups={{0,1,2,3}}, channel_id=1, use_global_device_ids=true, to_apply=add
  own = f32[2] custom-call(sum), custom_call_target="Sharding", sharding={manual}
  out = f32[8] custom-call(own), custom_call_target="SPMDShardToFullShape", sharding={devices=[4]<=[4]}
  ROOT n = f32[8] negate(out)
}
)";
constexpr std::string_view kShardyRegion =
    R"(HloModule m, num_partitions=4, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["i"=4]>}}

body {
  p = f32[2] parameter(0)
  ROOT next = f32[2] collective-permute(p), channel_id=1, source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
}

ENTRY e {
  x = f32[8] parameter(0)
  in = f32[2] custom-call(x), custom_call_target="xla.sdy.GlobalToLocalShape", custom_call_has_side_effect=true, frontend_attributes={xla.sdy.in_shardings="#sdy.sharding_per_value<[<@mesh, [{\"i\"}]>]>",xla.sdy.manual_axes="#sdy<manual_axes{\"i\"}>"}
  local = f32[2] call(in), to_apply=body
  out = f32[8] custom-call(local), custom_call_target="xla.sdy.LocalToGlobalShape", custom_call_has_side_effect=true, frontend_attributes={xla.sdy.manual_axes="#sdy<manual_axes{\"i\"}>",xla.sdy.out_shardings="#sdy.sharding_per_value<[<@mesh, [{\"i\"}]>]>"}
  ROOT n = f32[8] negate(out)
}
)";

// Its values are each device's own, and no platform takes its shard boundaries apart.
TEST(Isolate, AManualRegionRunsWithWhatLeavesIt) {
  using Names = std::vector<std::string>;
  for (const auto& [text, names, inside] :
       {std::tuple{kRegion, Names{"y", "whole", "out", "n"}, Names{"in", "square", "sum", "own"}},
        std::tuple{kShardyRegion, Names{"out", "n"}, Names{"in", "local"}}}) {
    const auto parsed = hlo::ParseText(text);
    ASSERT_TRUE(parsed.ok());
    const auto made = replay::MakeInputs(*parsed.module, {});
    ASSERT_TRUE(made.has_value());
    const auto right = *replay::MakePlatform("interpreter"), cpu = *replay::MakePlatform("cpu");
    IsolateRequest request;
    request.platform = cpu.get();
    request.reference = right.get();
    Names all;
    const auto note = [&](const InstructionReport& report) {
      all.push_back(report.instruction);
      EXPECT_FALSE(report.error) << report.error->message;
      EXPECT_TRUE(report.compared && !report.differs()) << report.instruction;
      const bool is_region = report.instruction == "out";
      EXPECT_EQ(report.together_with, is_region ? inside : Names());
    };
    ASSERT_TRUE(Isolation(*parsed.module, request).Run(made->literals, note).has_value());
    EXPECT_EQ(all, names);
  }
}

// A piece of it is for all devices and takes whole arrays; one inside is partitioned already.
TEST(Extract, OfAManualRegion) {
  const auto parsed = hlo::ParseText(kRegion);
  ASSERT_TRUE(parsed.ok());
  const auto extract = [&](std::string_view name) {
    return ExtractModule(*parsed.module, hlo::FindInstruction(*parsed.module, name), 0);
  };
  const auto whole = extract("out");
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->instructions, 6u);
  ASSERT_EQ(whole->parameters.size(), 1u);
  EXPECT_EQ(parsed.module->name(whole->parameters[0]), "y");
  EXPECT_TRUE(hlo::TopologyOf(*whole->module, 64).unpartitioned);
  const auto inside = extract("sum");
  ASSERT_TRUE(inside.has_value());
  EXPECT_FALSE(hlo::TopologyOf(*inside->module, 64).unpartitioned);
  EXPECT_EQ(inside->module->header().num_partitions, 4);
  const auto boundary = extract("in");
  ASSERT_FALSE(boundary.has_value());
  EXPECT_EQ(boundary.error().message,
            "in is a shard boundary: it takes another form of array than it gives");
}

// As our own compiler leaves it: each partition computes all values by itself.
TEST(Extract, OfAModuleWhoseValuesAreOwn) {
  const auto parsed = hlo::ParseText(
      R"(HloModule m, num_partitions=2, frontend_attributes={hloscope.own_values="true"}

ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] negate(x)
  p = f32[4] collective-permute(y), channel_id=1, source_target_pairs={{0,1},{1,0}}
  ROOT n = f32[4] negate(p)
}
)");
  ASSERT_TRUE(parsed.ok());
  ASSERT_TRUE(hlo::TopologyOf(*parsed.module, 64).unpartitioned);
  const auto out = ExtractModule(*parsed.module, hlo::FindInstruction(*parsed.module, "p"), 0);
  ASSERT_TRUE(out.has_value());
  EXPECT_FALSE(hlo::AreValuesOwn(*out->module));
  EXPECT_FALSE(hlo::TopologyOf(*out->module, 64).unpartitioned);
  EXPECT_EQ(out->module->header().num_partitions, 2);
}

// What needs no value of the run is computed in the new module.
TEST(Extract, KeepsWhatIsOfConstants) {
  const auto parsed = hlo::ParseText(R"(HloModule m
ENTRY e {
  x = f32[6] parameter(0)
  c = f32[6] custom-call(x), custom_call_target="xla_ffi_python_cpu_callback"
  one = f32[] constant(1)
  two = f32[] add(one, one)
  twos = f32[6] broadcast(two), dimensions={}
  range = f32[6] iota(), iota_dimension=0
  factors = f32[6] multiply(twos, range)
  ROOT sum = f32[6] add(c, factors)
}
)");
  ASSERT_TRUE(parsed.ok());
  const auto root = hlo::FindInstruction(*parsed.module, "sum");
  const auto cut = ExtractModule(*parsed.module, root, 0);
  ASSERT_TRUE(cut.has_value());
  EXPECT_EQ(cut->parameters.size(), 2u);
  const auto kept = ExtractModule(*parsed.module, root, 0, Metadata::kKept, OfConstants::kKept);
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->instructions, 6u);
  ASSERT_EQ(kept->parameters.size(), 1u);
  EXPECT_EQ(parsed.module->name(kept->parameters[0]), "c");
}

// XLA wants nothing but elements of what returns a tuple, such as its top-k.
TEST(Isolate, ResultsThatAreTuplesAreTakenByElements) {
  const auto parsed = hlo::ParseText(R"(HloModule m
ENTRY e {
  x = f32[8] parameter(0)
  ROOT k = (f32[2], s32[2]) topk(x), k=2, largest=true
}
)");
  ASSERT_TRUE(parsed.ok());
  const Piece piece = CutPiece(*parsed.module, hlo::FindInstruction(*parsed.module, "k"), 0);
  const JoinedPieces joined = JoinPieces(*parsed.module, {&piece, 1});
  const hlo::InstructionId k = hlo::FindInstruction(*joined.module, "k");
  for (uint32_t i = 0; i < joined.module->instructions().size(); ++i) {
    const hlo::InstructionId id(i);
    for (const hlo::InstructionId operand : joined.module->operands(id)) {
      if (operand != k) continue;
      EXPECT_EQ((*joined.module)[id].opcode, hlo::Opcode::kGetTupleElement);
    }
  }
}

// A callback has no value: nothing says that it ran, or was equal.
TEST(Isolate, WhatGivesNoValueIsNotCompared) {
  const auto parsed = hlo::ParseText(R"(HloModule m
ENTRY e {
  x = f32[8] parameter(0)
  c = () custom-call(x), custom_call_target="xla_ffi_python_cpu_callback", custom_call_has_side_effect=true
  ROOT n = f32[8] negate(x)
}
)");
  ASSERT_TRUE(parsed.ok());
  const auto made = replay::MakeInputs(*parsed.module, {});
  ASSERT_TRUE(made.has_value());
  const auto right = *replay::MakePlatform("interpreter"), same = *replay::MakePlatform("cpu");
  IsolateRequest request;
  request.platform = same.get();
  request.reference = right.get();
  std::vector<std::string> all;
  const auto note = [&](const InstructionReport& report) { all.push_back(report.instruction); };
  ASSERT_TRUE(Isolation(*parsed.module, request).Run(made->literals, note).has_value());
  EXPECT_EQ(all, std::vector<std::string>{"n"});
}

class DeadExecutable : public replay::Executable {
 public:
  Result<replay::RunResult> Run(std::span<const std::vector<Literal>>, const replay::RunOptions&,
                                replay::RunStream&) override {
    return std::unexpected(Error{ErrorClass::kCrashed, "the worker died of signal 11", {}, {}});
  }
};

// Modules with a tanh end their worker.
class DiesOfTanh : public replay::Platform {
 public:
  std::string_view name() const override { return "dies"; }
  Result<std::unique_ptr<replay::Executable>> Load(std::shared_ptr<const hlo::Module> module,
                                                   const replay::RunOptions& options) override {
    if (HasTanh(*module)) return std::make_unique<DeadExecutable>();
    return lives_->Load(std::move(module), options);
  }

 private:
  std::unique_ptr<replay::Platform> lives_ = *replay::MakePlatform("interpreter");
};

TEST(Isolate, ADeathLosesOneInstructionAndWhatNeedsIt) {
  const auto parsed = hlo::ParseText(kModule);
  ASSERT_TRUE(parsed.ok());
  const auto made = replay::MakeInputs(*parsed.module, {});
  ASSERT_TRUE(made.has_value());
  DiesOfTanh platform;
  IsolateRequest request;
  request.platform = &platform;
  std::vector<std::pair<std::string, ErrorClass>> lost;
  std::vector<std::string> ran;
  const auto note = [&](const InstructionReport& report) {
    if (report.error) {
      lost.emplace_back(report.instruction, report.error->error_class);
    } else {
      ran.push_back(report.instruction);
    }
  };
  ASSERT_TRUE(Isolation(*parsed.module, request).Run(made->literals, note).has_value());
  EXPECT_EQ(ran, std::vector<std::string>{"a"});
  const decltype(lost) expected = {{"wrong", ErrorClass::kCrashed},
                                   {"b", ErrorClass::kUnsupported},
                                   {"c", ErrorClass::kUnsupported}};
  EXPECT_EQ(lost, expected);
}

}  // namespace
}  // namespace hloscope::debug
