// Tests of provenance.txt: what the passes noted comes back as links that are exact.
#include "core/dump/readers/provenance.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>

#include "core/analysis/align/noted_alignment.h"
#include "core/compile/compile.h"
#include "core/compile/dump/dump_texts.h"
#include "core/hlo/proto/proto.h"
#include "core/hlo/text/text.h"
#include "tests/hlo/parsed.h"

namespace hloscope::compile {
namespace {

using analysis::KeyOf;
using hlo::Named;
using hlo::Parsed;

// `n` is computed in the kernels of both sums; `x` and `y` are equal.
constexpr const char* kShared = R"(HloModule m
twice { a = f32[600,700] parameter(0) ROOT b = f32[600,700] add(a, a) }
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY e {
  p = f32[600,700] parameter(0) q = f32[600,700] parameter(1) zero = f32[] constant(0)
  n = f32[600,700] negate(p)
  c = f32[600,700] call(n), to_apply=twice
  d = f32[600,700] call(q), to_apply=twice
  r = f32[700] reduce(c, zero), dimensions={0}, to_apply=sum
  l = f32[600] reduce(n, zero), dimensions={1}, to_apply=sum
  x = f32[600,700] multiply(d, d)
  y = f32[600,700] multiply(d, d)
  ROOT t = (f32[700], f32[600], f32[600,700], f32[600,700]) tuple(r, l, x, y)
})";

struct Stages {
  std::shared_ptr<const hlo::Module> given;
  Compilation compiled;
  std::string text;
};

Stages Compiled() {
  Stages out{Parsed(kShared), {}, {}};
  CompileOptions options;
  options.keep_stages = true;
  auto compiled = Compile(out.given, options);
  EXPECT_TRUE(compiled.has_value());
  out.compiled = *std::move(compiled);
  std::vector<StageOrigins> stages;
  std::string name = "given";
  std::shared_ptr<const hlo::Module> before = out.given;
  for (const Stage& stage : out.compiled.stages) {
    stages.push_back({name, stage.pass, before, stage.module, stage.origins});
    name = stage.pass;
    before = stage.module;
  }
  out.text = ProvenanceText("m", stages);
  return out;
}

// "b.1 copied": what comes from an instruction, with the reasons.
std::vector<std::string> ResultsOf(const analysis::Alignment& links, const hlo::Module& before,
                                   const hlo::Module& after, std::string_view name) {
  std::vector<std::string> results;
  for (const analysis::Link& link : links.Results(Named(before, name))) {
    EXPECT_EQ(link.confidence, 1);
    results.push_back(std::string(after.name(link.after)) + " " + std::string(KeyOf(link.reason)));
  }
  return results;
}

TEST(Provenance, CopiesOfACallAreAllNoted) {
  const Stages stages = Compiled();
  const auto read = dump::ReadProvenance(stages.text);
  ASSERT_TRUE(read.has_value()) << read.error().ToString();
  ASSERT_EQ(read->size(), stages.compiled.stages.size());
  ASSERT_EQ(read->front().after, "inlining");
  const hlo::Module& after = *stages.compiled.stages.front().module;
  const auto origins = dump::OriginsBetween(*read, {"given", *stages.given}, {"inlining", after});
  ASSERT_TRUE(origins.has_value());
  EXPECT_EQ(*origins, stages.compiled.stages.front().origins);
  const auto links = analysis::NotedAlignment(*stages.given, after, *origins);
  ASSERT_TRUE(links.has_value());
  const hlo::InstructionId add = stages.given->computations()[0].root;
  std::vector<std::string> copies;
  for (const analysis::Link& link : links->Results(add)) {
    EXPECT_EQ(after[link.after].opcode, hlo::Opcode::kAdd);
    copies.emplace_back(KeyOf(link.reason));
  }
  EXPECT_EQ(copies, (std::vector<std::string>{"copied", "copied"}));
}

TEST(Provenance, LeadsThroughAllStages) {
  const Stages stages = Compiled();
  const auto read = dump::ReadProvenance(stages.text);
  ASSERT_TRUE(read.has_value()) << read.error().ToString();
  const hlo::Module& after = *stages.compiled.module;
  const auto origins = dump::OriginsBetween(*read, {"given", *stages.given}, {"fusion", after});
  ASSERT_TRUE(origins.has_value());
  const auto links = analysis::NotedAlignment(*stages.given, after, *origins);
  ASSERT_TRUE(links.has_value());
  // The negate is computed wherever it is wanted.
  size_t copies = 0, negates = 0;
  for (const analysis::Link& link : links->Results(Named(*stages.given, "n"))) {
    copies += after[link.after].opcode == hlo::Opcode::kNegate ? 1 : 0;
  }
  for (const hlo::Instruction& i : after.instructions()) {
    negates += i.opcode == hlo::Opcode::kNegate ? 1 : 0;
  }
  EXPECT_GT(negates, 1U);
  EXPECT_EQ(copies, negates);
  // Equal ones are one now, which has the value of both.
  const auto x = ResultsOf(*links, *stages.given, after, "x");
  const auto y = ResultsOf(*links, *stages.given, after, "y");
  EXPECT_NE(std::ranges::find_if(x, [](const auto& t) { return t.ends_with("fusion_root"); }),
            x.end());
  EXPECT_NE(std::ranges::find_if(y, [](const auto& t) { return t.ends_with("replaced"); }),
            y.end());
}

// Files have their instructions in other orders than the compiler.
TEST(Provenance, FitsTheFilesOfADump) {
  const Stages stages = Compiled();
  const auto read = dump::ReadProvenance(stages.text);
  ASSERT_TRUE(read.has_value());
  std::string_view name = "given";
  std::shared_ptr<const hlo::Module> last = stages.given, before[] = {last, last};
  for (const Stage& stage : stages.compiled.stages) {
    hlo::ProtoFile file;
    file.kind = hlo::ProtoKind::kHlo;
    file.module = stage.module;
    const std::string bytes = hlo::HloToProto(file);
    const auto from_proto = hlo::ReadProto(std::as_bytes(std::span(bytes)));
    ASSERT_TRUE(from_proto.has_value());
    std::string text;
    hlo::PrintText(*stage.module, hlo::TextFormat::kHlo, text);
    const std::shared_ptr<const hlo::Module> after[] = {from_proto->module, Parsed(text)};
    for (const size_t k : {0, 1}) {
      const auto origins = dump::OriginsBetween(*read, {name, *before[k]}, {stage.pass, *after[k]});
      ASSERT_TRUE(origins.has_value()) << stage.pass;
      std::set<std::string> found, noted;
      const auto tell = [](const hlo::Origin& origin, const hlo::Module& from,
                           const hlo::Module& to) {
        return fmt::format("{} {} {}", to.name(origin.after), WordOf(origin.kind),
                           from.name(origin.before));
      };
      for (const hlo::Origin& origin : *origins) found.insert(tell(origin, *before[k], *after[k]));
      for (const hlo::Origin& origin : stage.origins) {
        noted.insert(tell(origin, *last, *stage.module));
      }
      EXPECT_EQ(found, noted);
      before[k] = after[k];
    }
    name = stage.pass;
    last = stage.module;
  }
}

TEST(Provenance, WhatDoesNotFitIsNotUsed) {
  const Stages stages = Compiled();
  const hlo::Module& after = *stages.compiled.stages.front().module;
  const auto read = dump::ReadProvenance(stages.text);
  ASSERT_TRUE(read.has_value());
  EXPECT_FALSE(dump::OriginsBetween(*read, {"given", after}, {"inlining", after}).has_value());
  EXPECT_FALSE(dump::OriginsBetween(*read, {"other", *stages.given}, {"inlining", after}));
  auto origins = stages.compiled.stages.front().origins;
  std::ranges::swap(origins.front().before, origins.back().before);
  EXPECT_FALSE(analysis::NotedAlignment(*stages.given, after, origins).has_value());

  const std::string head = "Provenance of m: x\ny\n\n",
                    names = " instructions, names 0123456789abcdef)";
  const std::string stage = head + "b (3" + names + " from a (2" + names + "\n";
  EXPECT_TRUE(dump::ReadProvenance(stage).has_value());
  EXPECT_TRUE(dump::ReadProvenance(stage + "  same 1 0 2\n").has_value());
  for (const std::string& bad :
       {std::string("something else"), head + "  same 0 0 1\n", stage + "  same 1 0 3\n",
        stage + "  same 2 1 1 1\n", stage + "  like 2 1 1\n", stage + "  same 2 1\n",
        head + "b (-3" + names + " from a (2" + names + "\n",
        head + "b (3 instructions) from a (2 instructions)\n"}) {
    EXPECT_FALSE(dump::ReadProvenance(bad).has_value()) << bad;
  }
  // Runs that lie over each other again and again.
  const size_t few = std::min(stages.given->instructions().size(), after.instructions().size());
  const auto named = [](const char* name, const hlo::Module& module) {
    return fmt::format("{} ({} instructions, names {:016x})", name, module.instructions().size(),
                       hlo::MarkOf(module).names);
  };
  std::string many =
      fmt::format("{}{} from {}\n", head, named("b", after), named("a", *stages.given));
  for (int k = 0; k < 1000; ++k) many += fmt::format("  same 0 0 {}\n", few);
  const auto hostile = dump::ReadProvenance(many);
  ASSERT_TRUE(hostile.has_value());
  EXPECT_FALSE(dump::OriginsBetween(*hostile, {"a", *stages.given}, {"b", after}).has_value());
}

}  // namespace
}  // namespace hloscope::compile
