// Scopes of the user's program: named in the pictures of small programs, summed up on Home and
// above the graphs; the memory that both say; several names of one instruction.
#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "core/analysis/place/placement.h"
#include "core/base/file.h"
#include "core/graph/explain.h"
#include "core/graph/tree.h"
#include "core/hlo/analysis/source_line.h"
#include "tests/hlo/parsed.h"
#include "tests/viewer/drawn.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/facts/dump_facts.h"
#include "viewer/facts/memory/scope_words.h"
#include "viewer/graph/graph_data.h"
#include "viewer/graph/scope_shares.h"
#include "viewer/model/number_text.h"

namespace hloscope::viewer {
namespace {

using Names = std::vector<std::string_view>;

TEST(OpNames, AreSplitWhereAnotherOfTheProgramFollows) {
  EXPECT_EQ(hlo::NamesIn(""), Names());
  EXPECT_EQ(hlo::NamesIn("jit(f)/a/mul"), Names{"jit(f)/a/mul"});
  EXPECT_EQ(hlo::NamesIn("jit(f)/a/mul;jit(f)/b/add;jit(f)/a/mul"),
            (Names{"jit(f)/a/mul", "jit(f)/b/add"}));
  EXPECT_EQ(hlo::NamesIn("jit(f)/adamw/mul;jit(f)"), (Names{"jit(f)/adamw/mul", "jit(f)"}));
  EXPECT_EQ(hlo::NamesIn("mul;add"), (Names{"mul", "add"}));
  EXPECT_EQ(hlo::NamesIn("mul;a/add;a/sub"), (Names{"mul", "a/add", "a/sub"}));
  // A scope may have one in its name.
  EXPECT_EQ(hlo::NamesIn("jit(f)/a;b/mul"), Names{"jit(f)/a;b/mul"});
  EXPECT_EQ(hlo::NamesIn("jit(f)/a;jit(f2)/mul"), Names{"jit(f)/a;jit(f2)/mul"});
}

TEST(OpNames, ScopesOfSeveralAreWhatTheyShare) {
  EXPECT_EQ(UserScopes("jit(f)/a/b/mul;jit(f)/a/c/add"), Names{"a"});
  EXPECT_EQ(UserScopes("jit(f)/a/mul;jit(f)/c/add"), Names());
  EXPECT_EQ(UserScopes("jit(f)/a/mul;jit(f)"), Names{"a"});
  EXPECT_EQ(NamedScopes("jit(f)/transpose(jvp(a))/jit(relu)/while/body/closed_call/b/max"),
            (Names{"a", "b"}));
  EXPECT_EQ(NamedScopes("jit(f)/cond/branch_7_fun/b/max"), Names{"b"});
  EXPECT_EQ(CompiledFunctions("jit(f)/a/jvp(jit(relu))/custom_jvp_call/max"), Names{"relu"});
}

constexpr const char* kLayers = R"(HloModule jit_f
ENTRY e {
  x = f32[8] parameter(0), metadata={op_name="x"}
  a = f32[8] negate(x), metadata={op_name="jit(f)/encoder/neg"}
  b = f32[8] exponential(a), metadata={op_name="jit(f)/encoder/attention/exp"}
  c = f32[8] multiply(a, b), metadata={op_name="jit(f)/decoder/mul"}
  d = f32[8] add(c, c), metadata={op_name="jit(f)/decoder/add;jit(f)/decoder/mul"}
  g = f32[8] sine(d), metadata={op_name="jit(f)/transpose(jvp(decoder))/sin"}
  ROOT m = f32[8] abs(g), metadata={op_name="jit(f)/encoder/abs;jit(f)/decoder/abs"}
}
)";

// Each in the frame of its own scope; what belongs to two in neither, arguments in none.
TEST(ScopeFrames, HoldWhatIsInTheScope) {
  const auto module = hlo::Parsed(kLayers);
  const graph::Tree tree(module, module->entry_id(), {.flat_limit = 60, .scope_limit = 1});
  std::set<std::string> paths;
  for (uint32_t i = 0; i < module->instructions().size(); ++i) {
    graph::NodeId at = tree.Find(hlo::InstructionId(i));
    std::string path(module->name(hlo::InstructionId(i)));
    for (at = tree[at].parent; at != tree.root(); at = tree[at].parent)
      path = tree.Title(at) + "/" + path;
    paths.insert(path);
  }
  EXPECT_EQ(paths, (std::set<std::string>{"x", "encoder/a", "encoder/attention/b", "decoder/c",
                                          "decoder/d", "decoder (backward)/g", "m"}));
  // Without being asked for there are none.
  const graph::Tree flat(module, module->entry_id());
  for (const graph::NodeId child : flat.children(flat.root()))
    EXPECT_EQ(flat[child].kind, graph::NodeKind::kInstruction);
}

TEST(ScopeShares, ForwardAndBackwardAreOneScope) {
  const auto module = hlo::Parsed(kLayers);
  const ScopeShares shares = FindScopeShares(*module, nullptr, nullptr);
  ASSERT_EQ(shares.scopes.size(), 3u);
  EXPECT_EQ(shares.scopes[0].name, "decoder");
  EXPECT_EQ(shares.scopes[0].operations, 3);
  EXPECT_EQ(shares.scopes[0].backward, 1);
  EXPECT_EQ(shares.sentence,
            "Largest scope by operations: decoder 50 % (17 % backward), encoder 33 %, no scope "
            "17 %");
}

TEST(ScopeShares, OfOneThatIsNearlyAllWhatIsInIt) {
  std::string text = "HloModule jit_f\nENTRY e {\n  i0 = f32[8] parameter(0)\n";
  int last = 0;
  const auto add = [&](const std::string& scope) {
    text += fmt::format("  i{} = f32[8] negate(i{}), metadata={{op_name=\"jit(f)/{}/neg\"}}\n",
                        last + 1, last, scope);
    ++last;
  };
  for (int k = 0; k < 12; ++k) add("net/mlp");
  for (int k = 0; k < 6; ++k) add("net/head");
  for (int layer = 8; layer < 12; ++layer) add(fmt::format("net/layer_{}", layer));
  add("loss");
  text += fmt::format("  ROOT r = f32[8] copy(i{})\n}}\n", last);
  const ScopeShares shares = FindScopeShares(*hlo::Parsed(text), nullptr, nullptr);
  EXPECT_TRUE(shares.sentence.starts_with(
      "Largest scope by operations: net/mlp 50 %, net/head 25 %, net/layer_8 … net/layer_11 "
      "17 %, loss"))
      << shares.sentence;
}

// A program of as many operations as each scope has.
std::string WithScopes(const std::vector<std::pair<std::string, int>>& scopes) {
  std::string text = "HloModule jit_f, is_scheduled=true\nENTRY e {\n  i0 = f32[8] parameter(0)\n";
  int last = 0;
  for (const auto& [scope, count] : scopes) {
    for (int k = 0; k < count; ++k) {
      text += fmt::format("  {}i{} = f32[8] negate(i{}), metadata={{op_name=\"jit(f)/{}neg\"}}\n",
                          &scope == &scopes.back().first && k + 1 == count ? "ROOT " : "", last + 1,
                          last, scope.empty() ? scope : scope + "/");
      ++last;
    }
  }
  return text + "}\n";
}

TEST(ScopeShares, WhatIsInNoScopeOfOneIsNotAllOfIt) {
  const ScopeShares shares = FindScopeShares(
      *hlo::Parsed(WithScopes({{"net", 11}, {"net/mlp", 8}, {"loss", 1}})), nullptr, nullptr);
  EXPECT_EQ(shares.sentence,
            "Largest scope by operations: net outside of its scopes 55 %, net/mlp 40 %, loss 5 %");
  EXPECT_EQ(shares.brief_head, "Largest scope: net outside of its scopes, 55 %");
}

TEST(ScopeShares, NearlyAllIsNotAll) {
  const auto said = [](int in_net) {
    return FindScopeShares(*hlo::Parsed(WithScopes({{"net", in_net}, {"", 1}})), nullptr, nullptr)
        .sentence;
  };
  EXPECT_EQ(said(499), "Largest scope by operations: net > 99 %, no scope < 1 %");
  EXPECT_EQ(said(98), "Largest scope by operations: net 99 %, no scope 1 %");
  EXPECT_EQ(FindScopeShares(*hlo::Parsed(WithScopes({{"net", 5}})), nullptr, nullptr).sentence,
            "Largest scope by operations: net 100 %");
}

// Sums of times differ in their last bits with the order in which they are added up.
TEST(ScopeShares, RoundingIsNoShare) {
  const auto module = hlo::Parsed(WithScopes(
      {{"a", 1}, {"b", 1}, {"c", 1}, {"a", 1}, {"b", 1}, {"c", 1}, {"a", 1}, {"b", 1}, {"c", 1}}));
  const auto kernels = std::make_shared<StageKernels>(
      module, analysis::FindPlacement(*module, analysis::Target::kCpu));
  ASSERT_EQ(kernels->map.kernels.size(), 9u);
  auto times = std::make_shared<HeatFacts>();
  times->measure = HeatMeasure::kTime;
  times->of = module;
  times->values.assign(module->instructions().size(), 0);
  for (size_t k = 0; k < 9; ++k)
    times->values[kernels->map.kernels[k].instruction.index] = k % 3 == 0 ? 0.1 : 0.7;
  const Contents contents(module, kernels, nullptr,
                          {.heat = times, .bytes = times, .flops = times, .peak = nullptr});
  EXPECT_EQ(FindScopeShares(*module, kernels.get(), &contents).sentence,
            "Largest scope by measured time: b 47 %, c 47 %, a 7 %");
}

TEST(ScopeShares, WhatHasNoScopeGoesByItsFunction) {
  const ScopeShares shares = FindScopeShares(
      *hlo::Parsed("HloModule m\nENTRY e {\n  x = f32[8] parameter(0)\n"
                   "  y = f32[8] negate(x), metadata={op_name=\"jit(m)/jit(relu)/neg\"}\n"
                   "  ROOT z = f32[8] abs(y), metadata={op_name=\"jit(m)/while/body/abs\"}\n}\n"),
      nullptr, nullptr);
  EXPECT_EQ(shares.sentence, "Largest scope by operations: relu() 50 %, no scope 50 %");
}

TEST(ScopeShares, WithoutNamesNothingIsSaid) {
  const auto module = hlo::Parsed(
      "HloModule m\nENTRY e {\n  x = f32[8] parameter(0)\n  ROOT y = f32[8] negate(x)\n}\n");
  EXPECT_EQ(FindScopeShares(*module, nullptr, nullptr).sentence, "");
}

class ScopesTest : public ReadingTest {};

// The frames bear the names, in letters that can be read.
TEST_F(ScopesTest, PicturesOfASmallProgramNameItsScopes) {
  const std::string folder = Scratch("layers");
  std::filesystem::create_directories(folder);
  const std::string stem = folder + "/module_0001.jit_f.";
  ASSERT_TRUE(WriteFileAtomically(stem + "before_optimizations.txt", kLayers));
  std::string compiled = kLayers;
  compiled.insert(compiled.find('\n'), ", is_scheduled=true");
  ASSERT_TRUE(WriteFileAtomically(stem + "cpu_after_optimizations.txt", compiled));
  Start({folder});
  Press("Ctrl+2");
  for (const char* name : {"encoder", "attention", "decoder", "decoder (backward)"}) {
    bool is_seen = false;
    for (const DrawnText& text : DrawnTexts()) {
      if (!text.text.starts_with(name) || text.window.find("What you wrote") == std::string::npos)
        continue;
      is_seen = is_seen || (text.seen.right > text.seen.left && text.size >= 11);
    }
    EXPECT_TRUE(is_seen) << name;
  }
  ExpectSeen("graph", "Largest scope: decoder, 5");
  app().dock().SetScreen("home");
  Settle();
  ExpectSeen("home", "Largest scope by bytes moved (estimate): decoder ");
}

TEST_F(ScopesTest, HomeAndGraphSayTheMemoryAsInfoDoes) {
  for (const char* sample : {"attention_block", "power_iteration", "softmax_passes_a100"}) {
    SCOPED_TRACE(sample);
    Start({Sample(sample)});
    const dump::BufferTable& table = **session().document.dump()->Buffers(0);
    ASSERT_TRUE(table.has_values());
    const std::string text =
        fmt::format("arguments {}, results {}, temporaries {}", BytesText(table.parameter_bytes),
                    BytesText(table.live_out_bytes), BytesText(table.temporary_bytes));
    ExpectSeen("home", text);
    Press("Ctrl+2");
    ExpectSeen("graph", "Memory: " + text);
    Stop();
  }
}

TEST_F(ScopesTest, EachOfSeveralNamesHasItsRow) {
  const std::string folder = Scratch("names");
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(WriteFileAtomically(folder + "/module_0001.jit_f.before_optimizations.txt", kLayers));
  Start({folder});
  app().SelectWhenOpen("jit_f:d");
  Press("Ctrl+2");
  std::vector<std::string> said;
  for (const DrawnText& text : DrawnTexts()) {
    if (text.window.find("selection") != std::string::npos) said.push_back(text.text);
  }
  EXPECT_EQ(std::ranges::count(said, "jit(f)/decoder/add"), 1);
  EXPECT_EQ(std::ranges::count(said, "jit(f)/decoder/mul"), 1);
}

}  // namespace
}  // namespace hloscope::viewer
