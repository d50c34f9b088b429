// Alignment, pass changes and lineage on small modules, one kind of pass a row.
#include "core/analysis/align/alignment.h"

#include <gtest/gtest.h>

#include "core/analysis/align/lineage.h"
#include "core/analysis/align/pass_changes.h"
#include "tests/hlo/parsed.h"

namespace hloscope::debug {
namespace {

using hlo::InstructionId;
using hlo::Module;

// "origin reason" of an instruction after, or "-".
std::string OriginOf(const Module& before, const Module& after, std::string_view name) {
  analysis::Alignment alignment = analysis::Align(before, after);
  auto links = alignment.Origins(hlo::Named(after, name));
  if (links.empty()) return "-";
  return std::string(before.name(links[0].before)) + " " + std::string(KeyOf(links[0].reason));
}

struct Case {
  std::string_view what, before, after, instruction, origin;
};

constexpr std::string_view kPlain = R"(HloModule m
ENTRY e {
  x = f32[8] parameter(0)
  a = f32[8] tanh(x), metadata={op_name="f/tanh" source_file="f.py" source_line=3}
  b = f32[8] negate(a), metadata={op_name="f/neg" source_file="f.py" source_line=4}
  ROOT c = f32[8] multiply(b, x), metadata={op_name="f/mul" source_file="f.py" source_line=5}
})";

constexpr std::string_view kFused = R"(HloModule m
fused {
  p = f32[8] parameter(0)
  a.1 = f32[8] tanh(p), metadata={op_name="f/tanh" source_file="f.py" source_line=3}
  b.1 = f32[8] negate(a.1), metadata={op_name="f/neg" source_file="f.py" source_line=4}
  ROOT c.1 = f32[8] multiply(b.1, p), metadata={op_name="f/mul" source_file="f.py" source_line=5}
}
ENTRY e {
  x = f32[8] parameter(0)
  ROOT loop_fusion = f32[8] fusion(x), kind=kLoop, calls=fused
})";

constexpr std::string_view kCalledTwice = R"(HloModule m
body {
  p = f32[8] parameter(0)
  s = f32[8] sine(p), metadata={op_name="sin"}
  ROOT n = f32[8] negate(s), metadata={op_name="neg"}
}
ENTRY e {
  x = f32[8] parameter(0)
  first = f32[8] call(x), to_apply=body, metadata={op_name="f"}
  second = f32[8] call(first), to_apply=body, metadata={op_name="g"}
  ROOT r = f32[8] add(first, second)
})";

constexpr std::string_view kInlined = R"(HloModule m
ENTRY e {
  x = f32[8] parameter(0)
  sine.1 = f32[8] sine(x), metadata={op_name="f/sin"}
  negate.1 = f32[8] negate(sine.1), metadata={op_name="f/neg"}
  sine.2 = f32[8] sine(negate.1), metadata={op_name="g/sin"}
  negate.2 = f32[8] negate(sine.2), metadata={op_name="g/neg"}
  ROOT r = f32[8] add(negate.1, negate.2)
})";

const Case kCases[] = {
    {"the same", kPlain, kPlain, "b", "b same"},
    {"fused", kPlain, kFused, "b.1", "b neighbours"},
    {"the fusion gives its root's value", kPlain, kFused, "loop_fusion", "c fusion_root"},
    {"a parameter stands for its operand", kPlain, kFused, "p", "x neighbours"},
    {"inlined, the first call", kCalledTwice, kInlined, "sine.1", "s neighbours"},
    {"inlined, the second call", kCalledTwice, kInlined, "sine.2", "s neighbours"},
    {"a copy takes the place of its operand", kPlain, R"(HloModule m
ENTRY e {
  x = f32[8] parameter(0)
  a = f32[8] tanh(x), metadata={op_name="f/tanh" source_file="f.py" source_line=3}
  b = f32[8] negate(a), metadata={op_name="f/neg" source_file="f.py" source_line=4}
  copy.7 = f32[8] copy(b)
  ROOT c = f32[8] multiply(copy.7, x), metadata={op_name="f/mul" source_file="f.py" source_line=5}
})",
     "copy.7", "b replaced"},
    {"expanded into other opcodes", kPlain, R"(HloModule m
ENTRY e {
  x = f32[8] parameter(0)
  a = f32[8] tanh(x), metadata={op_name="f/tanh" source_file="f.py" source_line=3}
  zero = f32[] constant(0)
  zeros = f32[8] broadcast(zero), dimensions={}
  s = f32[8] subtract(zeros, a), metadata={op_name="f/neg" source_file="f.py" source_line=4}
  ROOT c = f32[8] multiply(s, x), metadata={op_name="f/mul" source_file="f.py" source_line=5}
})",
     "s", "b replaced"},
    {"renumbered names do not fool it", kPlain, R"(HloModule m
ENTRY e {
  c = f32[8] parameter(0)
  b = f32[8] tanh(c), metadata={op_name="f/tanh" source_file="f.py" source_line=3}
  a = f32[8] negate(b), metadata={op_name="f/neg" source_file="f.py" source_line=4}
  ROOT x = f32[8] multiply(a, c), metadata={op_name="f/mul" source_file="f.py" source_line=5}
})",
     "a", "b neighbours"},
    {"nothing of another program", kPlain, R"(HloModule m
ENTRY e {
  ROOT i = s32[4] iota(), iota_dimension=0
})",
     "i", "c replaced"},
};

TEST(Alignment, FindsWhereInstructionsComeFrom) {
  for (const Case& c : kCases) {
    EXPECT_EQ(OriginOf(*hlo::Parsed(c.before), *hlo::Parsed(c.after), c.instruction), c.origin)
        << c.what;
  }
}

TEST(Alignment, LinksStandBestFirstAndLeadBothWays) {
  auto before = hlo::Parsed(kPlain), after = hlo::Parsed(kFused);
  analysis::Alignment alignment = analysis::Align(*before, *after);
  InstructionId c = hlo::Named(*before, "c");
  auto results = alignment.Results(c);
  ASSERT_EQ(results.size(), 2u);  // the multiply and the fusion
  EXPECT_GE(results[0].confidence, results[1].confidence);
  EXPECT_EQ(alignment.SameAfter(c), hlo::Named(*after, "c.1"));
  EXPECT_EQ(alignment.SameBefore(hlo::Named(*after, "loop_fusion")), InstructionId());
}

// Three rounds that are alike, of a function that all call: a file prints the fusion of the last
// round first.
TEST(Alignment, PairsWhatIsAlikeByItsPlaceInTheProgram) {
  const auto before = hlo::Parsed(R"(HloModule m
silu {
  p = f32[8] parameter(0)
  ROOT l = f32[8] logistic(p), metadata={op_name="jit(f)/jit(silu)/logistic"}
}
ENTRY e {
  x = f32[8] parameter(0)
  a1 = f32[8] call(x), to_apply=silu
  m1 = f32[8] multiply(a1, a1), metadata={op_name="jit(f)/mul"}
  a2 = f32[8] call(m1), to_apply=silu
  m2 = f32[8] multiply(a2, a2), metadata={op_name="jit(f)/mul"}
  a3 = f32[8] call(m2), to_apply=silu
  m3 = f32[8] multiply(a3, a3), metadata={op_name="jit(f)/mul"}
  ROOT r = f32[8] sine(m3), metadata={op_name="jit(f)/sin"}
})");
  const auto after = hlo::Parsed(R"(HloModule m, is_scheduled=true
fused.3 {
  q3 = f32[8] parameter(0)
  l3 = f32[8] logistic(q3), metadata={op_name="jit(f)/jit(silu)/logistic"}
  ROOT t3 = f32[8] multiply(l3, l3), metadata={op_name="jit(f)/mul"}
}
fused.2 {
  q2 = f32[8] parameter(0)
  l2 = f32[8] logistic(q2), metadata={op_name="jit(f)/jit(silu)/logistic"}
  ROOT t2 = f32[8] multiply(l2, l2), metadata={op_name="jit(f)/mul"}
}
fused.1 {
  q1 = f32[8] parameter(0)
  l1 = f32[8] logistic(q1), metadata={op_name="jit(f)/jit(silu)/logistic"}
  ROOT t1 = f32[8] multiply(l1, l1), metadata={op_name="jit(f)/mul"}
}
ENTRY e {
  x = f32[8] parameter(0)
  f1 = f32[8] fusion(x), kind=kLoop, calls=fused.1
  c1 = f32[8] cosine(f1)
  f2 = f32[8] fusion(c1), kind=kLoop, calls=fused.2
  c2 = f32[8] cosine(f2)
  f3 = f32[8] fusion(c2), kind=kLoop, calls=fused.3
  c3 = f32[8] cosine(f3)
  ROOT s = f32[8] exponential(c3)
})");
  for (const char* round : {"1", "2", "3"})
    EXPECT_EQ(OriginOf(*before, *after, std::string("t") + round).substr(0, 2),
              std::string("m") + round);
}

// A partitioned program has other shapes and copies, its results are the same, in the same order.
TEST(Alignment, PairsResultsOfAPartitionedProgram) {
  const auto before = hlo::Parsed(R"(HloModule m
ENTRY e {
  w1 = f32[16,32] parameter(0), metadata={op_name="w[0]"}
  w2 = f32[32,16] parameter(1), metadata={op_name="w[1]"}
  w3 = f32[16,32] parameter(2), metadata={op_name="w[2]"}
  g1 = f32[16,32] exponential(w3), metadata={op_name="jit(f)/exp"}
  g2 = f32[32,16] exponential(w2), metadata={op_name="jit(f)/exp"}
  r1 = f32[16,32] subtract(w1, g1), metadata={op_name="jit(f)/sub"}
  r2 = f32[32,16] subtract(w2, g2), metadata={op_name="jit(f)/sub"}
  r3 = f32[16,32] subtract(w3, g1), metadata={op_name="jit(f)/sub"}
  ROOT t = (f32[16,32], f32[32,16], f32[16,32]) tuple(r1, r2, r3)
})");
  const auto after = hlo::Parsed(R"(HloModule m, is_scheduled=true
fused.3 {
  p = f32[8,16] parameter(0)
  q = f32[8,16] parameter(1)
  d3 = f32[8,16] subtract(p, q), metadata={op_name="jit(f)/sub"}
  ROOT copy.3 = f32[8,16] copy(d3)
}
fused.2 {
  p2 = f32[16,8] parameter(0)
  e2 = f32[16,8] exponential(p2), metadata={op_name="jit(f)/exp"}
  d2 = f32[16,8] subtract(p2, e2), metadata={op_name="jit(f)/sub"}
  ROOT copy.2 = f32[16,8] copy(d2)
}
fused.1 {
  p1 = f32[8,16] parameter(0)
  q1 = f32[8,16] parameter(1)
  d1 = f32[8,16] subtract(p1, q1), metadata={op_name="jit(f)/sub"}
  ROOT copy.1 = f32[8,16] copy(d1)
}
ENTRY e_spmd {
  v1 = f32[8,16] parameter(0), metadata={op_name="w[0]"}
  v2 = f32[16,8] parameter(1), metadata={op_name="w[1]"}
  v3 = f32[8,16] parameter(2), metadata={op_name="w[2]"}
  e1 = f32[8,16] exponential(v3), metadata={op_name="jit(f)/exp"}
  f3 = f32[8,16] fusion(v3, e1), kind=kLoop, calls=fused.3
  f1 = f32[8,16] fusion(v1, e1), kind=kLoop, calls=fused.1
  f2 = f32[16,8] fusion(v2), kind=kLoop, calls=fused.2
  ROOT u = (f32[8,16], f32[16,8], f32[8,16]) tuple(f1, f2, f3)
})");
  for (const std::string result : {"1", "2", "3"})
    EXPECT_EQ(OriginOf(*before, *after, "d" + result), "r" + result + " neighbours");
  EXPECT_EQ(OriginOf(*before, *after, "e2"), "g2 neighbours");
  EXPECT_EQ(OriginOf(*before, *after, "v2"), "w2 neighbours");
}

// Two rounds in a function: inlining puts its call's name in front and adds the caller's frame,
// Shardy loses where an expression ends.
TEST(Alignment, PairsRoundsOfAnInlinedFunction) {
  constexpr std::string_view kPlaces = R"(
FileNames
1 "f.py"

FunctionNames
1 "f"
2 "body"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=0 end_column=9}
2 {file_name_id=1 function_name_id=2 line=7 end_line=7 column=0 end_column=9}
3 {file_name_id=1 function_name_id=2 line=7 end_line=7 column=0 end_column=0}

StackFrames
)";
  const auto before = hlo::Parsed("HloModule m\n" + std::string(kPlaces) + R"(
1 {file_location_id=2 parent_frame_id=1}
2 {file_location_id=1 parent_frame_id=2}

body {
  p = f32[8] parameter(0)
  a1 = f32[8] tanh(p), metadata={op_name="round/tanh" stack_frame_id=1}
  a2 = f32[8] tanh(a1), metadata={op_name="round/tanh" stack_frame_id=1}
  ROOT r = f32[8] sine(a2), metadata={op_name="sin" stack_frame_id=1}
}
ENTRY e {
  x = f32[8] parameter(0)
  c = f32[8] call(x), to_apply=body, metadata={op_name="jit(f)/shard_map" stack_frame_id=2}
  ROOT last = f32[8] negate(c), metadata={op_name="jit(f)/neg" stack_frame_id=2}
})");
  const auto after = hlo::Parsed("HloModule m\n" + std::string(kPlaces) + R"(
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=3 parent_frame_id=1}

ENTRY e {
  x = f32[8] parameter(0)
  scaled = f32[8] cosine(x)
  t1 = f32[8] tanh(scaled), metadata={op_name="jit(f)/shard_map/round/tanh" stack_frame_id=2}
  between = f32[8] cosine(t1)
  t2 = f32[8] tanh(between), metadata={op_name="jit(f)/shard_map/round/tanh" stack_frame_id=2}
  ROOT other = f32[8] cosine(t2)
})");
  EXPECT_EQ(OriginOf(*before, *after, "t1"), "a1 order");
  EXPECT_EQ(OriginOf(*before, *after, "t2"), "a2 order");
}

TEST(Alignment, SurvivesModulesThatHaveNothing) {
  auto empty = hlo::Parsed("HloModule m\nENTRY e {\n  ROOT t = () tuple()\n}");
  EXPECT_EQ(analysis::Align(*empty, *empty).links().size(), 1u);
}

TEST(PassChanges, CountsAndFolds) {
  auto before = hlo::Parsed(kPlain);
  auto after = hlo::Parsed(R"(HloModule m
ENTRY e {
  x = f32[8] parameter(0)
  a = f32[8] tanh(x), metadata={op_name="f/tanh" source_file="f.py" source_line=3}
  copy.7 = f32[8] copy(a)
  ROOT c = f32[8] multiply(copy.7, x), metadata={op_name="f/mul" source_file="f.py" source_line=5}
})");
  analysis::PassChanges changes =
      analysis::FindChanges(*before, *after, analysis::Align(*before, *after));
  EXPECT_EQ(changes.counts, (analysis::ChangeCounts{.unchanged = 2,
                                                    .added = 1,
                                                    .removed = 1,
                                                    .rewritten = 1,
                                                    .moved = 0,
                                                    .renamed = 0,
                                                    .computations_added = 0,
                                                    .computations_removed = 0}));
  std::string rows;
  for (const analysis::DiffRow& row : changes.rows) {
    rows += std::string(ToString(row.kind)) + ":" + std::to_string(row.count) + " ";
  }
  EXPECT_EQ(rows, "unchanged:2 added:1 removed:1 rewritten:1 ");
}

// Names that differ in their punctuation, equal operations beside one another, and a name that was
// given to an operand anew.
TEST(PassChanges, WhatReadsTheSameIsUnchanged) {
  auto before = hlo::Parsed(R"(HloModule m
ENTRY e {
  p = f32[8] parameter(0)
  x_1 = f32[8] negate(p)
  x.1 = f32[8] negate(p)
  x.2 = f32[8] add(x.1, x_1)
  y = f32[8] tanh(x.2)
  ROOT z = f32[8] multiply(y, x.1)
})");
  auto after = hlo::Parsed(R"(HloModule m
f {
  q = f32[8] parameter(0)
  x.9 = f32[8] negate(q)
  ROOT n = f32[8] abs(x.9)
}
ENTRY e {
  p = f32[8] parameter(0)
  x.1 = f32[8] negate(p)
  fusion = f32[8] fusion(p), kind=kLoop, calls=f
  x.2 = f32[8] add(x.1, fusion)
  y = f32[8] tanh(x.2)
  ROOT z = f32[8] multiply(y, x.1)
})");
  analysis::PassChanges changes =
      analysis::FindChanges(*before, *after, analysis::Align(*before, *after));
  for (std::string_view name : {"p", "x.1", "y", "z"}) {
    EXPECT_EQ(changes.of_after[hlo::Named(*after, name).index], analysis::ChangeKind::kUnchanged)
        << name;
    EXPECT_EQ(changes.of_before[hlo::Named(*before, name).index], analysis::ChangeKind::kUnchanged)
        << name;
  }
  EXPECT_EQ(changes.of_after[hlo::Named(*after, "x.2").index], analysis::ChangeKind::kRewritten);
}

TEST(PassChanges, AnOperandOfTheSameNameIsNotARewrite) {
  auto before = hlo::Parsed(R"(HloModule m
ENTRY e {
  p = f32[8] parameter(0)
  a = f32[8] tanh(p)
  b = f32[8] negate(a)
  ROOT c = f32[8] exponential(b)
})");
  auto after = hlo::Parsed(R"(HloModule m
ENTRY e {
  p = f32[8] parameter(0)
  a = f32[8] sine(p)
  b = f32[8] negate(a)
  ROOT c = f32[8] exponential(b)
})");
  analysis::PassChanges changes =
      analysis::FindChanges(*before, *after, analysis::Align(*before, *after));
  for (std::string_view name : {"b", "c"})
    EXPECT_EQ(changes.of_after[hlo::Named(*after, name).index], analysis::ChangeKind::kUnchanged)
        << name;
  EXPECT_NE(changes.of_after[hlo::Named(*after, "a").index], analysis::ChangeKind::kUnchanged);
}

TEST(PassChanges, FusedInstructionsMove) {
  auto before = hlo::Parsed(kPlain), after = hlo::Parsed(kFused);
  analysis::ChangeCounts counts =
      analysis::FindChanges(*before, *after, analysis::Align(*before, *after)).counts;
  EXPECT_EQ(counts.moved, 3);
  EXPECT_EQ(counts.removed, 0);
  EXPECT_EQ(counts.computations_added, 1);
}

// The computation of the earlier entry's name is another one later.
constexpr std::string_view kSwapped = R"(HloModule m
e {
  p = f32[8] parameter(0)
  ROOT s = f32[8] sine(p)
}
ENTRY f {
  x = f32[8] parameter(0)
  ROOT c = f32[8] call(x), to_apply=e
})";

TEST(PassChanges, RowsHoldEveryInstructionOnce) {
  std::vector<std::string_view> texts = {kPlain, kFused, kCalledTwice, kInlined, kSwapped};
  for (std::string_view first : texts) {
    for (std::string_view second : texts) {
      auto before = hlo::Parsed(first), after = hlo::Parsed(second);
      analysis::PassChanges changes =
          analysis::FindChanges(*before, *after, analysis::Align(*before, *after));
      size_t left = 0, right = 0;
      for (const analysis::DiffRow& row : changes.rows) {
        left += row.before.valid() ? row.count : 0;
        right += row.after.valid() ? row.count : 0;
      }
      EXPECT_EQ(left, before->instructions().size()) << first << second;
      EXPECT_EQ(right, after->instructions().size()) << first << second;
      EXPECT_EQ(changes.counts.any(), first != second) << first << second;
    }
  }
}

class LineageTest : public testing::Test {
 protected:
  LineageTest() : stages_{hlo::Parsed(kPlain), nullptr, hlo::Parsed(kPlain), hlo::Parsed(kFused)} {}
  analysis::Lineage Make() const {
    return analysis::Lineage(4, [this](int32_t stage) -> Result<std::shared_ptr<const Module>> {
      if (stages_[static_cast<size_t>(stage)] == nullptr) return InputError("cut off");
      return stages_[static_cast<size_t>(stage)];
    });
  }
  std::vector<std::shared_ptr<const Module>> stages_;  // the second cannot be read
};

TEST_F(LineageTest, LeadsThroughAllStagesThatCanBeRead) {
  analysis::Lineage lineage = Make();
  auto chain = lineage.Ancestors(3, hlo::Named(*stages_[3], "loop_fusion"));
  ASSERT_TRUE(chain.has_value());
  EXPECT_TRUE(chain->unbroken);
  EXPECT_EQ(chain->skipped, std::vector<int32_t>{1});
  ASSERT_EQ(chain->steps.size(), 3u);
  EXPECT_EQ(stages_[0]->name(chain->steps.back().instruction), "c");
  EXPECT_EQ(chain->steps.back().stage, 0);
  EXPECT_LT(chain->steps.back().confidence, 1);

  auto onward = lineage.Descendants(0, hlo::Named(*stages_[0], "b"));
  ASSERT_TRUE(onward.has_value());
  EXPECT_EQ(stages_[3]->name(onward->steps.back().instruction), "b.1");
  EXPECT_FALSE(lineage.Ancestors(1, InstructionId(0u)).has_value());
  EXPECT_FALSE(lineage.Ancestors(0, InstructionId(99u)).has_value());
}

TEST_F(LineageTest, FindsSourceLinesOfItsOwnAndOfAncestors) {
  analysis::Lineage lineage = Make();
  auto own = lineage.Source(3, hlo::Named(*stages_[3], "a.1"));
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->how, analysis::SourceHow::kOwn);
  EXPECT_EQ(own->line.line, 3);
  auto fusion = lineage.Source(3, hlo::Named(*stages_[3], "loop_fusion"));
  ASSERT_TRUE(fusion.has_value());
  EXPECT_EQ(fusion->how, analysis::SourceHow::kAncestor);
  EXPECT_EQ(fusion->line, (hlo::SourceLine{"f.py", "", 5}));
  auto argument = lineage.Source(0, hlo::Named(*stages_[0], "x"));
  ASSERT_TRUE(argument.has_value());
  EXPECT_EQ(argument->how, analysis::SourceHow::kUser);
}

TEST_F(LineageTest, LeadsFromALineToAllThatComesFromIt) {
  analysis::Lineage lineage = Make();
  auto found = lineage.OnLine(3, "f.py", 5);
  ASSERT_TRUE(found.has_value());
  std::string names;
  for (InstructionId id : *found) names += std::string(stages_[3]->name(id)) + " ";
  EXPECT_EQ(names, "c.1 loop_fusion ");
  EXPECT_TRUE(lineage.OnLine(3, "py", 5)->empty());  // not the end of a path
  EXPECT_FALSE(lineage.OnLine(1, "f.py", 5).has_value());
}

TEST(KernelInstructions, AreTheOutermostFusions) {
  auto module = hlo::Parsed(kFused);
  std::vector<InstructionId> kernels = analysis::KernelInstructions(*module);
  EXPECT_EQ(kernels[hlo::Named(*module, "a.1").index], hlo::Named(*module, "loop_fusion"));
  EXPECT_EQ(kernels[hlo::Named(*module, "x").index], hlo::Named(*module, "x"));
}

}  // namespace
}  // namespace hloscope::debug
