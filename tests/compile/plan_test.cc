// Tests of plans: which copies are left, what shares memory, and that nothing is overwritten while
// it is wanted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "core/base/file.h"
#include "core/compile/compile.h"
#include "core/compile/plan/check_plan.h"
#include "core/compile/plan/plan_archive.h"
#include "core/dump/load.h"
#include "tests/base/paths.h"
#include "tests/hlo/parsed.h"

namespace hloscope::compile {
namespace {

// A loop whose body and what it carries beside a counter are given.
std::shared_ptr<const Plan> LoopPlan(const std::string& carried, const std::string& body,
                                     const std::string& initial) {
  const std::string state = "(s32[], " + carried + ")";
  const std::string text = fmt::format(R"(HloModule m
condition {{
  s = {0} parameter(0)
  n = s32[] get-tuple-element(s), index=0
  end = s32[] constant(5)
  ROOT go = pred[] compare(n, end), direction=LT
}}
body {{
  s = {0} parameter(0)
  n = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(n, one)
{1}
}}
ENTRY e {{
  zero = s32[] constant(0)
  x = f32[8] parameter(0)
  y = f32[8] parameter(1)
{2}
  ROOT w = {0} while(i), condition=condition, body=body
}})",
                                       state, body, initial);
  const auto compiled = Compile(hlo::Parsed(text), {});
  EXPECT_TRUE(compiled.has_value());
  if (!compiled) return nullptr;
  EXPECT_NE(compiled->plan, nullptr) << compiled->why_no_plan;
  return compiled->plan;
}

int64_t Copies(const Plan& plan, SequenceNumber sequence, int64_t least_bytes) {
  return std::ranges::count_if(plan.sequences[sequence], [&](const PlannedStep& step) {
    return step.kind == StepKind::kCopy && plan.buffers[step.results[0]].bytes >= least_bytes;
  });
}

const PlannedStep& LoopOf(const Plan& plan) {
  return *std::ranges::find(plan.sequences[0], StepKind::kWhile, &PlannedStep::kind);
}

constexpr int64_t kArray = 32;  // bytes of f32[8]

TEST(Plan, AnUpdateInPlaceOfWhatALoopCarriesCopiesNothing) {
  const auto plan = LoopPlan("f32[8]", R"(
  a = f32[8] get-tuple-element(s), index=1
  v = f32[] convert(n)
  block = f32[1] reshape(v)
  updated = f32[8] dynamic-update-slice(a, block, n)
  ROOT r = (s32[], f32[8]) tuple(next, updated))",
                             "  i = (s32[], f32[8]) tuple(zero, x)");
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(Copies(*plan, LoopOf(*plan).sequences[1], kArray), 0) << ToText(*plan);
  EXPECT_EQ(Copies(*plan, 0, kArray), 1) << "the parameter is not to be overwritten";
  EXPECT_TRUE(LoopOf(*plan).is_one_function);
}

// A turn writes a row of the stack and reads one of what is scanned, whatever lies around them.
TEST(Plan, ALoopThatStacksManySmallResultsIsOneFunction) {
  const std::string state = "f32[5,100000], f32[5,100000]";
  const auto plan = LoopPlan(state, R"(
  a = f32[5,100000] get-tuple-element(s), index=1
  b = f32[5,100000] get-tuple-element(s), index=2
  row = f32[1,8] dynamic-slice(b, n, one), dynamic_slice_sizes={1,8}
  made = f32[1,8] cosine(row)
  updated = f32[5,100000] dynamic-update-slice(a, made, n, one)
  ROOT r = (s32[], f32[5,100000], f32[5,100000]) tuple(next, updated, b))",
                             R"(
  z = f32[5,100000] parameter(2)
  i = (s32[], f32[5,100000], f32[5,100000]) tuple(zero, z, z))");
  ASSERT_NE(plan, nullptr);
  EXPECT_TRUE(LoopOf(*plan).is_one_function) << ToText(*plan);
}

int64_t CopiesOfATurn(const Plan& plan) {
  int64_t copies = 0;
  for (const SequenceNumber s : LoopOf(plan).sequences) {
    ForEachStep(plan, s, [&](const PlannedStep& step) {
      copies += step.kind == StepKind::kCopy && plan.buffers[step.results[0]].bytes >= kArray;
    });
  }
  return copies;
}

// What a turn computes of the element at the same place is written over it.
TEST(Plan, ElementwiseUpdatesOfWhatALoopCarriesCopyNothing) {
  struct Case {
    const char *carried, *body, *initial;
    int64_t copies;
  };
  const char* const kOne = "  i = (s32[], f32[8]) tuple(zero, x)";
  const char* const kTwo = "  i = (s32[], f32[8], f32[8]) tuple(zero, x, y)";
  const Case cases[] = {
      {"f32[8]", R"(  a = f32[8] get-tuple-element(s), index=1
  d = f32[8] multiply(a, a)
  c = f32[8] cosine(d)
  ROOT r = (s32[], f32[8]) tuple(next, c))",
       kOne, 0},
      // Of a product's parts, which are read otherwise, and what was there.
      {"f32[4,8], f32[4]", R"(  a = f32[4,8] get-tuple-element(s), index=1
  k = f32[4] get-tuple-element(s), index=2
  l = f32[4] cosine(k)
  o = f32[4,8] broadcast(l), dimensions={0}
  sum = f32[4,8] add(a, o)
  ROOT r = (s32[], f32[4,8], f32[4]) tuple(next, sum, l))",
       R"(  z = f32[4,8] parameter(2)
  v = f32[4] parameter(3)
  i = (s32[], f32[4,8], f32[4]) tuple(zero, z, v))",
       0},
      // Both are read where both are written.
      {"f32[8], f32[8]", R"(  a = f32[8] get-tuple-element(s), index=1
  b = f32[8] get-tuple-element(s), index=2
  c = f32[8] add(a, b)
  d = f32[8] subtract(b, a)
  ROOT r = (s32[], f32[8], f32[8]) tuple(next, c, d))",
       kTwo, 0},
      // Another element is read after it would have been written.
      {"f32[8]", R"(  a = f32[8] get-tuple-element(s), index=1
  b = f32[8] reverse(a), dimensions={0}
  c = f32[8] add(a, b)
  ROOT r = (s32[], f32[8]) tuple(next, c))",
       kOne, 1},
  };
  for (const Case& each : cases) {
    const auto plan = LoopPlan(each.carried, each.body, each.initial);
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(CopiesOfATurn(*plan), each.copies) << ToText(*plan);
    EXPECT_TRUE(CheckPlan(*plan));
  }
}

TEST(Plan, WhatALoopLeavesAsItIsIsNotCopied) {
  const auto plan = LoopPlan("f32[8], f32[8]", R"(
  a = f32[8] get-tuple-element(s), index=1
  b = f32[8] get-tuple-element(s), index=2
  sum = f32[8] add(a, b)
  ROOT r = (s32[], f32[8], f32[8]) tuple(next, sum, b))",
                             "  i = (s32[], f32[8], f32[8]) tuple(zero, x, y)");
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(Copies(*plan, 0, kArray), 1) << ToText(*plan);
  EXPECT_EQ(plan->buffers[plan->results[2]].place, Place::kParameter);
}

TEST(Plan, WhatChangesPlacesIsPutAside) {
  const auto plan = LoopPlan("f32[8], f32[8]", R"(
  a = f32[8] get-tuple-element(s), index=1
  b = f32[8] get-tuple-element(s), index=2
  ROOT r = (s32[], f32[8], f32[8]) tuple(next, b, a))",
                             "  i = (s32[], f32[8], f32[8]) tuple(zero, x, y)");
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(Copies(*plan, LoopOf(*plan).sequences[1], kArray), 3) << ToText(*plan);
}

TEST(Plan, WhatIsMadeForALoopIsMadeWhereItCarriesIt) {
  const auto plan = LoopPlan("f32[8]", R"(
  a = f32[8] get-tuple-element(s), index=1
  c = f32[8] cosine(a)
  ROOT r = (s32[], f32[8]) tuple(next, c))",
                             "  made = f32[8] multiply(x, y)\n"
                             "  i = (s32[], f32[8]) tuple(zero, made)");
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(Copies(*plan, 0, kArray), 0) << ToText(*plan);
}

TEST(Plan, WhatOnlyRunsInstructionByInstructionHasAReason) {
  const auto compiled = Compile(hlo::Parsed(R"(HloModule m
ENTRY e {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[4] rng(a, b), distribution=rng_uniform
})"),
                                {});
  ASSERT_TRUE(compiled.has_value());
  EXPECT_EQ(compiled->plan, nullptr);
  EXPECT_EQ(compiled->why_no_plan, "it has effects");
}

// No two arena buffers that are wanted at the same time overlap, and the arena is not much larger
// than what is wanted at once.
void CheckMemory(const Plan& plan) {
  std::vector<const PlannedBuffer*> arena;
  for (const PlannedBuffer& b : plan.buffers) {
    if (b.place == Place::kArena && b.last >= 0 && b.bytes > 0) arena.push_back(&b);
  }
  for (size_t i = 0; i < arena.size(); ++i) {
    const PlannedBuffer& a = *arena[i];
    EXPECT_EQ(a.at % kBufferAlignment, 0);
    EXPECT_LE(a.at + a.bytes, plan.arena_bytes);
    for (size_t k = 0; k < i; ++k) {
      const PlannedBuffer& b = *arena[k];
      const bool at_once = a.first <= b.last && b.first <= a.last;
      EXPECT_FALSE(at_once && a.at < b.at + b.bytes && b.at < a.at + a.bytes) << i << ' ' << k;
    }
  }
  const auto padding = static_cast<int64_t>(arena.size()) * kBufferAlignment;
  EXPECT_LE(plan.arena_bytes, plan.live_bytes + plan.live_bytes / 4 + padding);
}

std::optional<Plan> ReadBack(const std::shared_ptr<const hlo::Module>& module,
                             const std::string& image) {
  Plan plan;
  plan.module = module;
  ByteReader in(std::as_bytes(std::span(image)));
  in(plan);
  if (!in.ok() || !in.empty() || !CheckPlan(plan)) return std::nullopt;
  return plan;
}

TEST(Plan, ImagesAreReadBackAndBrokenOnesLeadNowhereElse) {
  const auto plan = LoopPlan("f32[8]", R"(  v = f32[8] get-tuple-element(s), index=1
  w = f32[8] negate(v)
  ROOT r = (s32[], f32[8]) tuple(next, w))",
                             "  i = (s32[], f32[8]) tuple(zero, x)");
  ByteWriter out;
  out(*plan);
  const std::string image = std::move(out).Take();
  const auto read = ReadBack(plan->module, image);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(ToText(*read), ToText(*plan));
  for (size_t size = 0; size < image.size(); ++size) {
    EXPECT_FALSE(ReadBack(plan->module, image.substr(0, size)).has_value()) << size;
  }
  int refused = 0;
  for (size_t i = 0; i < 8 * image.size(); ++i) {
    std::string flipped = image;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ 1 << i % 8);
    const auto broken = ReadBack(plan->module, flipped);
    if (!broken) ++refused;
    if (broken) ToText(*broken);
  }
  EXPECT_GT(refused, 500);
}

// 20 computations that each branch to the next one twice are a million of them.
TEST(Plan, BranchesThatComeToTooManyStepsAreNotPlanned) {
  std::string text =
      "HloModule m\nb0 { v0 = (pred[], f32[8]) parameter(0) "
      "ROOT r0 = f32[8] get-tuple-element(v0), index=1 }\n";
  for (int i = 1; i <= 20; ++i) {
    text += fmt::format(
        "{0} {{ v{1} = (pred[], f32[8]) parameter(0) p{1} = pred[] get-tuple-element(v{1}), "
        "index=0 ROOT r{1} = f32[8] conditional(p{1}, v{1}, v{1}), true_computation=b{2}, "
        "false_computation=b{2} }}\n",
        i == 20 ? "ENTRY e" : fmt::format("b{}", i), i, i - 1);
  }
  const auto module = hlo::Parsed(text);
  const auto plan = MakePlan(module, module->entry_id(), {});
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().error_class, ErrorClass::kUnsupported);
  EXPECT_EQ(plan.error().message, "loops and branches have too many steps");
}

// A cache holds plans of every kind to their modules.
TEST(Plan, EveryPlanPassesItsCheck) {
  int64_t planned = 0;
  for (const char* folder : {"tests/golden", "tests/nan_origin", "tests/passes"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(SourcePath(folder))) {
      if (entry.path().extension() != ".hlo") continue;
      SCOPED_TRACE(entry.path().string());
      const auto loaded = dump::LoadSoundModule(entry.path().string(), {});
      if (!loaded) continue;
      for (const bool collectives : {false, true}) {
        CompileOptions how;
        how.plan_collectives = collectives;
        const auto compiled = Compile(loaded->module, how);
        if (!compiled || compiled->plan == nullptr) continue;
        ++planned;
        EXPECT_TRUE(CheckPlan(*compiled->plan));
      }
    }
  }
  EXPECT_GE(planned, 20);
}

TEST(Plan, SamplesFitTheirMemory) {
  int64_t planned = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SourcePath("samples"))) {
    const std::string path = entry.path().string();
    if (!path.ends_with("before_optimizations.txt")) continue;
    SCOPED_TRACE(path);
    const auto loaded = dump::LoadModule(path, {});
    ASSERT_TRUE(loaded.has_value());
    const auto compiled = Compile(loaded->module, {});
    ASSERT_TRUE(compiled.has_value());
    if (compiled->plan == nullptr) continue;
    ++planned;
    CheckMemory(*compiled->plan);
    EXPECT_TRUE(CheckPlan(*compiled->plan));
  }
  EXPECT_GE(planned, 5);
}

}  // namespace
}  // namespace hloscope::compile
