// The search for what keeps nodes out of clusters: its work grows with the graph and no faster.
#include "core/dump/tensorflow/unmerged.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

namespace hloscope::dump {
namespace {

using Maker = std::function<void(TensorFlowGraph&, int)>;

void Add(TensorFlowGraph& graph, std::string name, std::string op, std::vector<std::string> inputs,
         std::string cluster = {}) {
  TensorFlowNode node;
  node.name = std::move(name);
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.cluster = std::move(cluster);
  graph.nodes.push_back(std::move(node));
}

void AddInput(TensorFlowGraph& graph) { Add(graph, "x", "Placeholder", {}); }

std::string Previous(std::string_view prefix, int i) {
  return i == 0 ? "x" : fmt::format("{}{}", prefix, i - 1);
}

// Every node but placeholders and those of outside operations could be compiled.
UnmergedVerdicts Search(const TensorFlowGraph& graph) {
  std::vector<int32_t> candidates;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const TensorFlowNode& node = graph.nodes[n];
    if (node.op == "Placeholder" || node.op == "PyFunc" || !node.cluster.empty()) continue;
    candidates.push_back(static_cast<int32_t>(n));
  }
  return WhyUnmerged(graph, GraphEdges(graph), candidates);
}

TEST(UnmergedTest, WorkGrowsWithTheGraph) {
  const std::pair<const char*, Maker> shapes[] = {
      {"chain",
       [](TensorFlowGraph& graph, int size) {
         for (int i = 0; i < size; ++i)
           Add(graph, fmt::format("n{}", i), i % 2 == 0 ? "Identity" : "Exp", {Previous("n", i)});
       }},
      {"one node with many inputs",
       [](TensorFlowGraph& graph, int size) {
         std::vector<std::string> all;
         for (int i = 0; i < size; ++i) {
           all.push_back(fmt::format("n{}", i));
           Add(graph, all.back(), "Exp", {"x"});
         }
         Add(graph, "sum", "AddN", all);
       }},
      {"one node with many users",
       [](TensorFlowGraph& graph, int size) {
         Add(graph, "h", "Exp", {"x"});
         for (int i = 0; i < size; ++i) Add(graph, fmt::format("n{}", i), "Exp", {"h"});
       }},
      {"two chains, one of them outside",
       [](TensorFlowGraph& graph, int size) {
         for (int i = 0; i < size; ++i) {
           Add(graph, fmt::format("n{}", i), "Exp", {Previous("n", i)});
           Add(graph, fmt::format("o{}", i), "PyFunc", {Previous("o", i), fmt::format("n{}", i)});
         }
       }},
      {"clusters with nodes between them",
       [](TensorFlowGraph& graph, int size) {
         for (int i = 0; i < size; ++i) {
           const std::string cluster = fmt::format("k{}", i), c = fmt::format("c{}", i);
           Add(graph, c, "Exp", {Previous("n", i)}, cluster);
           Add(graph, c + "/2", "Exp", {c}, cluster);
           Add(graph, fmt::format("n{}", i), "Exp", {c + "/2"});
         }
       }},
      {"one cluster with nodes around it",
       [](TensorFlowGraph& graph, int size) {
         Add(graph, "c", "Exp", {"x"}, "k");
         Add(graph, "d", "Exp", {"c"}, "k");
         for (int i = 0; i < size; ++i) Add(graph, fmt::format("n{}", i), "Exp", {"d"});
       }},
  };
  for (const auto& [name, make] : shapes) {
    auto steps = [&](int size) {
      TensorFlowGraph graph;
      AddInput(graph);
      make(graph, size);
      const UnmergedVerdicts found = Search(graph);
      for (const auto& [node, verdict] : found.verdicts)
        EXPECT_NE(verdict.why, OutsideReason::kUnknown) << name << ": " << verdict.evidence;
      return found.steps;
    };
    const int64_t once = steps(1000), twice = steps(2000);
    EXPECT_GE(once, 1000) << name;
    EXPECT_LE(twice, 2 * once + 100) << name;
  }
}

// c -> n is closed by o on a cycle (a while loop), where the order of execution says nothing.
TEST(UnmergedTest, PathsThroughLoopsAreFound) {
  TensorFlowGraph graph;
  AddInput(graph);
  Add(graph, "merge", "PyFunc", {"x", "next"});
  Add(graph, "next", "PyFunc", {"merge"});
  Add(graph, "c", "Exp", {"merge"});
  Add(graph, "o", "PyFunc", {"c"});
  Add(graph, "n", "AddV2", {"c", "o"});
  const UnmergedVerdicts found = Search(graph);
  ASSERT_EQ(found.verdicts.size(), 2u);
  for (const auto& [node, verdict] : found.verdicts) {
    EXPECT_EQ(verdict.why, OutsideReason::kCycle);
    EXPECT_EQ(verdict.evidence, "c -> n, and also by o");
  }
}

// What goes into a cluster waits for all that comes out of it.
TEST(UnmergedTest, PathsThroughClustersAreFound) {
  TensorFlowGraph graph;
  AddInput(graph);
  Add(graph, "a", "Exp", {"x"});
  Add(graph, "in", "Exp", {"a"}, "k");
  Add(graph, "out", "Exp", {"x"}, "k");
  Add(graph, "far", "PyFunc", {"out"});
  Add(graph, "b", "AddV2", {"a", "far"});
  const UnmergedVerdicts found = Search(graph);
  ASSERT_EQ(found.verdicts.size(), 2u);
  EXPECT_EQ(found.verdicts[1].second.why, OutsideReason::kCycle);
  EXPECT_EQ(found.verdicts[1].second.evidence, "a -> b, and also by in -> out -> far");
}

}  // namespace
}  // namespace hloscope::dump
