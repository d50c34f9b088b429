// Which kernel computes an operation, what runs where, and the sentence about both.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/graph/overview.h"
#include "core/graph/svg.h"
#include "core/graph/user_words.h"
#include "core/hlo/analysis/find_instruction.h"
#include "core/hlo/text/text.h"

namespace hloscope::graph {
namespace {

using hlo::InstructionId;

// A fusion of two operations, one call of the host and a copy to its memory; the entry stands
// before the fused computation calls it.
constexpr const char* kCompiled = R"(HloModule m, is_scheduled=true
fused {
  a = f32[8] parameter(0)
  twice = f32[8] multiply(a, a)
  ROOT more = f32[8] add(twice, a)
}
ENTRY main {
  p = f32[8] parameter(0)
  f = f32[8] fusion(p), kind=kLoop, calls=fused
  view = f32[2,4] bitcast(f)
  host = f32[2,4] custom-call(view), custom_call_target="xla_ffi_python_gpu_callback"
  ROOT t = (f32[2,4], f32[8]) tuple(host, f)
}
)";
constexpr const char* kWritten = R"(HloModule m
ENTRY main {
  p = f32[8] parameter(0)
  twice = f32[8] multiply(p, p)
  more = f32[8] add(twice, p)
  view = f32[2,4] reshape(more)
  host = f32[2,4] custom-call(view), custom_call_target="xla_ffi_python_gpu_callback"
  ROOT t = (f32[2,4], f32[8]) tuple(host, more)
}
)";

std::shared_ptr<const hlo::Module> Parse(const std::string& text) {
  hlo::ParseResult result = hlo::ParseText(text);
  EXPECT_TRUE(result.ok()) << (result.diagnostics.empty() ? "" : result.diagnostics[0].message);
  return result.module;
}

InstructionId Named(const hlo::Module& module, std::string_view name) {
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    if (module.name(InstructionId(i)) == name) return InstructionId(i);
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(KernelMap, WhatIsFusedIsInTheKernelOfItsFusion) {
  auto module = Parse(kCompiled);
  const analysis::Placement placement = analysis::FindPlacement(*module, analysis::Target::kGpu);
  const KernelMap map = MapKernels(*module, placement);
  ASSERT_EQ(map.kernels.size(), 2u);
  EXPECT_EQ(map.kernels[0].instruction, Named(*module, "f"));
  EXPECT_EQ(map.kernels[1].color, kHostColor);
  for (const char* inside : {"f", "twice", "more", "view"})
    EXPECT_EQ(map.kernel_of[Named(*module, inside).index], 0u) << inside;
  EXPECT_EQ(map.kernel_of[Named(*module, "host").index], 1u);
  for (const char* none : {"p", "a", "t"})
    EXPECT_EQ(map.kernel_of[Named(*module, none).index], kNoKernel) << none;
}

TEST(KernelMap, OperationsHaveTheKernelTheyBecame) {
  auto before = Parse(kWritten), after = Parse(kCompiled);
  const analysis::Placement placement = analysis::FindPlacement(*after, analysis::Target::kGpu);
  const auto kernel_of =
      MapOperations(*before, analysis::Align(*before, *after), MapKernels(*after, placement));
  EXPECT_EQ(kernel_of[Named(*before, "twice").index], 0u);
  EXPECT_EQ(kernel_of[Named(*before, "more").index], 0u);
  EXPECT_EQ(kernel_of[Named(*before, "host").index], 1u);
  EXPECT_EQ(kernel_of[Named(*before, "p").index], kNoKernel);
}

// What hands values on, or calls a function, is in no kernel because a kernel reads it; what was
// folded into its reader is.
TEST(KernelMap, WhatHandsValuesOnIsInNoKernel) {
  auto before = Parse(R"(HloModule m
less {
  l = f32[] parameter(0)
  r = f32[] parameter(1)
  ROOT lt = pred[] compare(l, r), direction=LT
}
sorted {
  q = f32[8] parameter(0)
  key = f32[8] sort(q), dimensions={0}, to_apply=less, metadata={op_name="sort"}
  ROOT both = (f32[8], f32[8]) tuple(key, q)
}
ENTRY main {
  p = f32[8] parameter(0)
  c = (f32[8], f32[8]) call(p), to_apply=sorted, metadata={op_name="jit(sort)/c"}
  first = f32[8] get-tuple-element(c), index=0
  one = f32[] constant(1)
  ones = f32[8] broadcast(one), dimensions={}
  ROOT more = f32[8] add(first, ones), metadata={op_name="add"}
}
)");
  auto after = Parse(R"(HloModule m, is_scheduled=true
less {
  l = f32[] parameter(0)
  r = f32[] parameter(1)
  ROOT lt = pred[] compare(l, r), direction=LT
}
fused {
  a = f32[8] parameter(0)
  k = f32[] constant(1)
  ks = f32[8] broadcast(k), dimensions={}
  ROOT sum = f32[8] add(a, ks), metadata={op_name="add"}
}
ENTRY main {
  p = f32[8] parameter(0)
  s = f32[8] sort(p), dimensions={0}, to_apply=less, metadata={op_name="jit(sort)/c/sort"}
  ROOT f = f32[8] fusion(s), kind=kLoop, calls=fused, metadata={op_name="add"}
}
)");
  const analysis::Placement placement = analysis::FindPlacement(*after, analysis::Target::kCpu);
  const KernelMap map = MapKernels(*after, placement);
  const auto kernel_of = MapOperations(*before, analysis::Align(*before, *after), map);
  const auto kernel = [&](const char* name) -> std::string {
    const uint32_t k = kernel_of[Named(*before, name).index];
    return k == kNoKernel ? "none" : std::string(after->name(map.kernels[k].instruction));
  };
  for (const char* name : {"c", "first", "both"}) EXPECT_EQ(kernel(name), "none") << name;
  EXPECT_EQ(kernel("key"), "s");
  for (const char* name : {"more", "ones", "one"}) EXPECT_EQ(kernel(name), "f") << name;
}

TEST(Overview, CountsWhatWasWrittenAndWhatRuns) {
  auto before = Parse(kWritten), after = Parse(kCompiled);
  const analysis::Placement placement = analysis::FindPlacement(*after, analysis::Target::kGpu);
  const Overview overview = MakeOverview(*before, *after, placement);
  EXPECT_TRUE(overview.compiled);
  EXPECT_EQ(overview.operations, 4);  // multiply, add, reshape, custom-call
  EXPECT_EQ(overview.lanes[static_cast<size_t>(Lane::kKernels)], 1);
  EXPECT_EQ(overview.lanes[static_cast<size_t>(Lane::kHost)], 1);
  // Work on the host tells more than any kernel.
  EXPECT_EQ(overview.telling, Named(*after, "host"));
  const std::string text = ToSentence(overview);
  EXPECT_TRUE(text.starts_with("4 operations → 1 kernel → 1 operation on the host")) << text;
  Overview quiet = overview;
  quiet.host_bytes = quiet.unknown_transfers = 0;
  // Where both share their memory nothing moves, and its work is what the other figures say.
  EXPECT_GT(overview.host_work_bytes, 0);
  EXPECT_TRUE(ToSentence(quiet).ends_with(
      fmt::format("on the host, {} read and written", BytesText(overview.host_work_bytes))))
      << ToSentence(quiet);
  quiet.is_host_work_counted_once = true;
  EXPECT_TRUE(ToSentence(quiet).ends_with(" read and written, counting each once"));
  const Overview same = MakeOverview(*before, *before, analysis::FindPlacement(*before));
  EXPECT_EQ(ToSentence(same), "4 operations, not compiled yet");
}

// Loops over large arrays may name more bytes than an int64_t holds.
TEST(Overview, HasAtMostTheLargestNumberOfBytes) {
  auto module = Parse(R"(HloModule m, is_scheduled=true
condition {
  s = (s32[], f32[1000000000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT less = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[1000000000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[1000000000] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  host = f32[1000000000] custom-call(x), custom_call_target="xla_ffi_python_gpu_callback"
  ROOT t = (s32[], f32[1000000000]) tuple(next, host)
}
ENTRY main {
  x = f32[1000000000] parameter(0)
  i = s32[] parameter(1)
  start = (s32[], f32[1000000000]) tuple(i, x)
  ROOT loop = (s32[], f32[1000000000]) while(start), condition=condition, body=body, backend_config={"known_trip_count":{"n":"1000000000000"}}
}
)");
  const analysis::Placement placement = analysis::FindPlacement(*module, analysis::Target::kGpu);
  EXPECT_EQ(MakeOverview(*module, *module, placement).host_work_bytes,
            std::numeric_limits<int64_t>::max());
}

TEST(Lanes, HoldWhatExecutesAndCountTheRest) {
  auto module = Parse(kCompiled);
  const analysis::Placement placement = analysis::FindPlacement(*module, analysis::Target::kGpu);
  FoldableGraph graph(Tree(module, module->entry_id()));
  const PlacesBelow places(graph.tree(), placement);
  const LanePicture lanes = PlaceInLanes(graph.tree(), graph.picture(), places);
  ASSERT_EQ(lanes.lanes.size(), 2u);
  EXPECT_EQ(lanes.lanes[0].lane, Lane::kKernels);
  EXPECT_EQ(lanes.lanes[1].lane, Lane::kHost);
  EXPECT_EQ(lanes.picture.boxes.size(), 2u);
  EXPECT_EQ(lanes.no_code, 3u);  // parameter, bitcast, tuple
}

TEST(Lanes, ALoopRunsWhereItsBodyDoes) {
  auto module = Parse(R"(HloModule loop, is_scheduled=true
body { p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  v = f32[4] get-tuple-element(p), index=1
  w = f32[4] custom-call(v), custom_call_target="xla_ffi_python_gpu_callback"
  ROOT t = (s32[], f32[4]) tuple(i, w) }
condition { q = (s32[], f32[4]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  ROOT less = pred[] compare(j, j), direction=LT }
ENTRY main { x = (s32[], f32[4]) parameter(0)
  ROOT loop = (s32[], f32[4]) while(x), condition=condition, body=body }
)");
  const analysis::Placement placement = analysis::FindPlacement(*module, analysis::Target::kGpu);
  FoldableGraph graph(Tree(module, module->entry_id()));
  const PlacesBelow places(graph.tree(), placement);
  const NodeId loop = graph.tree().Find(Named(*module, "loop"));
  EXPECT_EQ(PlaceOf(places.Of(loop)), analysis::Place::kHost);
  // Its kernel is not hidden in the lane of the host.
  const LanePicture lanes = PlaceInLanes(graph.tree(), graph.picture(), places);
  ASSERT_EQ(lanes.lanes.size(), 2u);
  EXPECT_EQ(lanes.lanes[0].lane, Lane::kKernels);
  EXPECT_EQ(lanes.lanes[1].lane, Lane::kHost);
  EXPECT_EQ(std::ranges::count(lanes.picture.boxes, loop, &Box::node), 2);
}

// Layers of adds with a call of the host in every fifth, and a scope whose first and last
// operations are far apart.
std::shared_ptr<const hlo::Module> Layers() {
  std::string text =
      "HloModule layers, is_scheduled=true\nENTRY main {\n  x0 = f32[8] parameter(0)\n";
  const auto add = [&](int k, const std::string& scope) {
    const std::string before = "x" + std::to_string(k - 1);
    const bool host = k % 25 == 7;
    text += "  x" + std::to_string(k) + " = f32[8] " + (host ? "custom-call(" : "add(") + before +
            (host ? "), custom_call_target=\"xla_ffi_python_gpu_callback\""
                  : ", x" + std::to_string(k / 2) + ")") +
            ", metadata={op_name=\"jit(f)/" + scope + "/op\"}\n";
  };
  int k = 1;
  for (; k <= 4; ++k) add(k, "ends");
  for (; k <= 400; ++k)
    add(k, "block_" + std::to_string(k / 100) + "/layer_" + std::to_string(k / 10));
  for (; k <= 404; ++k) add(k, "ends");
  auto module = Parse(text + "  ROOT r = f32[8] negate(x404)\n}\n");
  return module;
}

TEST(Lanes, GroupsCountWhatIsInThem) {
  auto module = Layers();
  const analysis::Placement placement = analysis::FindPlacement(*module, analysis::Target::kGpu);
  FoldableGraph graph(Tree(module, module->entry_id()));
  const PlacesBelow places(graph.tree(), placement);
  const Tree& tree = graph.tree();
  size_t groups = 0, hosts = 0;
  // Outer groups before and after inner ones: what is remembered changes nothing.
  for (int round = 0; round < 2; ++round) {
    for (uint32_t k = 0; k < tree.size(); ++k) {
      const NodeId id(k);
      if (tree[id].kind == NodeKind::kInstruction) continue;
      PlaceCounts counts = {};
      tree.ForEachInstruction(id, [&](InstructionId each) {
        ++counts[static_cast<size_t>(placement.instructions[each.index].place)];
      });
      EXPECT_EQ(places.Of(id), counts) << tree.Title(id);
      ++groups;
      hosts += counts[static_cast<size_t>(analysis::Place::kHost)] > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(groups, 20u);
  EXPECT_GT(hosts, 5u);
}

// The child of the root that a node is, or is in.
NodeId ChildOfRoot(const Tree& tree, NodeId id) {
  while (tree[id].parent != tree.root()) id = tree[id].parent;
  return id;
}

TEST(Picture, WiresStandForAllEdgesBetweenGroupsOpenedInAnyOrder) {
  auto module = Layers();
  FoldableGraph graph(Tree(module, module->entry_id()));
  const Tree& tree = graph.tree();
  std::map<std::pair<NodeId, NodeId>, uint32_t> edges;
  for (uint32_t i = 0; i < module->instructions().size(); ++i) {
    const NodeId to = tree.Find(InstructionId(i));
    for (InstructionId operand : module->operands(InstructionId(i))) {
      const NodeId from = tree.Find(operand);
      if (!from.valid() || !to.valid()) continue;
      const auto ends = std::pair(ChildOfRoot(tree, from), ChildOfRoot(tree, to));
      if (ends.first != ends.second) ++edges[ends];
    }
  }
  const auto wires = [&] {
    std::map<std::pair<NodeId, NodeId>, uint32_t> found;
    for (const Wire& wire : graph.picture().wires) {
      if (!wire.from.valid() || !wire.to.valid()) continue;
      if (tree[wire.from].parent == tree.root() && tree[wire.to].parent == tree.root())
        found[{wire.from, wire.to}] += wire.edges;
    }
    return found;
  };
  EXPECT_EQ(wires(), edges);
  // What is laid out after others, the scattered scope too, leaves no trace in the next.
  const std::vector<NodeId> children(tree.children(tree.root()).begin(),
                                     tree.children(tree.root()).end());
  size_t opened = 0;
  for (NodeId child : children) opened += graph.Open(child) ? 1 : 0;
  EXPECT_GT(opened, 1u);
  graph.picture();
  graph.Rearrange();
  EXPECT_EQ(wires(), edges);
}

TEST(Overview, IsTheSameWithKernelsThatAreKnown) {
  auto module = Layers();
  const analysis::Placement placement = analysis::FindPlacement(*module, analysis::Target::kGpu);
  const Overview own = MakeOverview(*module, *module, placement);
  const Overview given = MakeOverview(*module, *module, placement, MapKernels(*module, placement));
  EXPECT_EQ(ToSentence(own), ToSentence(given));
  EXPECT_EQ(own.telling, given.telling);
  EXPECT_EQ(own.lanes, given.lanes);
  EXPECT_GT(given.lanes[static_cast<size_t>(Lane::kHost)], 10);
}

TEST(UserWords, FramesComeBeforeFiles) {
  auto module = Parse(R"(HloModule m
ENTRY main {
  p = f32[4] parameter(0)
  q = f32[4] negate(p), metadata={op_name="jit(f)/neg" source_file="/home/x/attention.py" source_line=3}
  ROOT r = f32[4] negate(q)
}
)");
  EXPECT_EQ(UserWordOf(*module, Named(*module, "q")), "attention");
  EXPECT_EQ(UserWordOf(*module, Named(*module, "r")), "");
}

TEST(UserWords, ScopesGoByTheNameThatTheUserGave) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"layer0", "layer0"},
      {"jit(step)", "step"},
      {"jvp(layer0)", "layer0"},
      {"transpose(jvp(layer0))", "layer0 (backward)"},
      {"vmap(jit(f))", "f"},
      {"jvp()", "forward"},
      {"transpose(jvp())", "backward"},
      {"rematted_computation", "recomputed"},
      {"checkpoint", ""},
      {"jit()", ""},
      {"", ""},
      {"bhts,bhsk->btd", "bhts,bhsk->btd"},
      {"f(x)", "f(x)"},
      {"jvp(", "jvp("},
      {"while", "while"}};
  for (const auto& [segment, title] : kCases) EXPECT_EQ(ScopeTitle(segment), title) << segment;
  EXPECT_EQ(JoinTitles("a", "b/c"), "a/b/c");
  EXPECT_EQ(JoinTitles("", "b"), "b");
  EXPECT_EQ(JoinTitles("layer0 (backward)", "layer0"), "layer0 (backward)");
  EXPECT_EQ(JoinTitles("layer0 (backward)", "layer0/mlp"), "layer0 (backward)/mlp");
  EXPECT_EQ(JoinTitles("layer0 (backward)", "layer01"), "layer0 (backward)/layer01");
}

// Most instructions of a compiled step are parameters, bitcasts and tuples that nobody named.
TEST(UserWords, WhatHasNoCodeDoesNotHideTheScopesOfTheRest) {
  std::string text = "HloModule m\nENTRY main {\n  x0 = f32[2,2] parameter(0)\n";
  for (int k = 1; k <= 200; ++k)
    text += fmt::format("  p{0} = f32[4] parameter({0})\n  b{0} = f32[2,2] bitcast(p{0})\n", k);
  for (int k = 1; k <= 200; ++k) {
    text +=
        fmt::format("  x{} = f32[2,2] add(x{}, b{}), metadata={{op_name=\"jit(f)/jvp({})/add\"}}\n",
                    k, k - 1, k, k % 2 == 0 ? "even" : "odd");
  }
  auto module = Parse(text + "  ROOT r = f32[2,2] negate(x200)\n}\n");
  const Tree tree(module, module->entry_id());
  std::vector<std::string> titles;
  for (NodeId id : tree.children(tree.root())) titles.push_back(tree.Title(id));
  EXPECT_TRUE(std::ranges::find(titles, "even") != titles.end()) << fmt::format("{}", titles);
}

TEST(Layout, RowsFarWiderThanThePictureAreSplit) {
  std::vector<FlatNode> nodes(60, FlatNode{200, 44});
  std::vector<FlatEdge> edges;
  for (uint32_t k = 1; k < 60; ++k) edges.push_back({0, k});
  LayoutOptions options;
  const Arrangement split = Arrange(nodes, edges, options);
  EXPECT_GT(split.row_count(), 4u);
  for (uint32_t k = 1; k < 60; ++k) EXPECT_GT(split.row[k], split.row[0]);
  options.least_split = 1e9f;
  EXPECT_EQ(Arrange(nodes, edges, options).row_count(), 2u);
}

TEST(Explain, AGroupTellsItsOpcodesAndCosts) {
  std::string text = "HloModule m\nENTRY main {\n  x0 = f32[64,64] parameter(0)\n";
  for (int k = 1; k <= 300; ++k) {
    const bool dot = k % 3 == 0;
    text += "  x" + std::to_string(k) + " = f32[64,64] " + (dot ? "dot(" : "add(") + "x" +
            std::to_string(k - 1) + ", x" + std::to_string(k - 1) + ")" +
            (dot ? ", lhs_contracting_dims={1}, rhs_contracting_dims={0}" : "") + "\n";
  }
  auto module = Parse(text + "  ROOT r = f32[64,64] negate(x300)\n}\n");
  const Tree tree(module, module->entry_id());
  for (NodeId id : tree.children(tree.root())) {
    if (tree[id].kind == NodeKind::kInstruction) continue;
    const std::string words = Explain(tree, id, nullptr);
    EXPECT_NE(words.find("opcodes: "), std::string::npos) << words;
    EXPECT_NE(words.find(" dot"), std::string::npos) << words;
    EXPECT_NE(words.find("FLOP"), std::string::npos) << words;
    return;
  }
  FAIL() << "no group";
}

// Of a box the same figures as the heat of it: those of hlo::CostModel.
TEST(Explain, CostsAreThoseOfTheCostModel) {
  auto module = Parse(R"(HloModule m
ENTRY main {
  y = f32[1000] parameter(0)
  i = s32[] constant(3)
  d = f32[1] dynamic-slice(y, i), dynamic_slice_sizes={1}
  t = f32[1] tanh(d)
  ROOT c = f32[1] custom-call(t), custom_call_target="x"
}
)");
  const Tree tree(module, module->entry_id());
  const auto text = [&](std::string_view name) {
    return CostText(SumsOf(tree, tree.Find(hlo::FindInstruction(*module, name))));
  };
  EXPECT_EQ(text("d"), "estimate: 0 FLOP, 12 B read and written");
  EXPECT_EQ(text("t"), "estimate: 1 FLOP, 8 B read and written");
  EXPECT_EQ(text("c"), "estimate: at least 0 FLOP, 8 B read and written");
  EXPECT_EQ(CostText(SumsOf(tree, tree.root())),
            "estimate: at least 1 FLOP, 28 B read and written");
}

}  // namespace
}  // namespace hloscope::graph
