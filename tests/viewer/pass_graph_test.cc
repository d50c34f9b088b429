// Before and after: what a pass changed, in two pictures of one layout.
#include <algorithm>
#include <map>

#include "core/analysis/align/alignment.h"
#include "core/base/file.h"
#include "core/graph/change_picture.h"
#include "core/hlo/text/text.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/facts/comparison.h"
#include "viewer/facts/pass_ranking.h"
#include "viewer/views/change_looks.h"

namespace hloscope::viewer {
namespace {

using graph::Box;
using graph::ChangeGraph;
using graph::ChangePart;
using graph::ChangePicture;
using graph::NodeId;
using graph::Side;

struct Made {
  analysis::PassChanges changes;
  std::shared_ptr<const ChangeGraph> graph;
};

Made MakeFrom(const std::shared_ptr<const hlo::Module>& before,
              const std::shared_ptr<const hlo::Module>& after) {
  Made made;
  made.changes = analysis::FindChanges(*before, *after, analysis::Align(*before, *after));
  made.graph = std::make_shared<const ChangeGraph>(before, after, made.changes);
  return made;
}

Made MakeFromTexts(const std::string& before, const std::string& after) {
  hlo::ParseResult from = hlo::ParseText(before), to = hlo::ParseText(after);
  EXPECT_TRUE(from.ok() && to.ok());
  return MakeFrom(from.module, to.module);
}

NodeId Named(const ChangeGraph& graph, Side side, std::string_view name) {
  for (uint32_t n = 0; n < graph.size(); ++n) {
    const hlo::InstructionId id = graph[NodeId(n)][side];
    if (id.valid() && graph.module(side).name(id) == name) return NodeId(n);
  }
  return NodeId();
}

// Whatever both pictures have stands at the same place in both; what one has not is a ghost there.
void ExpectInPlace(const ChangeGraph& graph, const ChangePicture& picture) {
  for (Side side : graph::kSides) {
    const graph::Picture& here = picture.side(side);
    const graph::Picture& there = picture.side(graph::OtherSide(side));
    const auto& ghosts = picture.ghosts[graph::IndexOf(graph::OtherSide(side))];
    for (const Box& box : here.boxes) {
      const Box* other = there.Find(box.node);
      if (other == nullptr) {
        const auto ghost = std::ranges::find(ghosts, box.node, &Box::node);
        ASSERT_NE(ghost, ghosts.end());
        other = &*ghost;
      }
      EXPECT_EQ(std::tuple(box.x, box.y, box.width, box.height),
                std::tuple(other->x, other->y, other->width, other->height));
      EXPECT_TRUE(graph[box.node][side].valid() || !graph.children(box.node).empty());
    }
    EXPECT_EQ(here.wires.size(), picture.is_wire_changed[graph::IndexOf(side)].size());
  }
}

// Boxes of one frame do not lie on each other.
void ExpectApart(const ChangeGraph& graph, const ChangePicture& picture) {
  std::map<NodeId, std::vector<Box>> by_frame;
  for (uint32_t n = 0; n < graph.size(); ++n) {
    if (const Box* box = picture.Find(NodeId(n)); box != nullptr)
      by_frame[graph[NodeId(n)].parent].push_back(*box);
  }
  for (const auto& [frame, boxes] : by_frame) {
    for (size_t i = 0; i < boxes.size(); ++i) {
      for (size_t k = i + 1; k < boxes.size(); ++k) {
        const Box &a = boxes[i], &b = boxes[k];
        EXPECT_TRUE(a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y ||
                    b.y + b.height <= a.y);
      }
    }
    const Box* around = frame.valid() ? picture.Find(frame) : nullptr;
    if (around == nullptr) continue;
    for (const Box& box : boxes) {
      EXPECT_GE(box.x, around->x);
      EXPECT_LE(box.y + box.height, around->y + around->height);
    }
  }
}

constexpr const char* kUnfused = R"(HloModule m
ENTRY e {
  x = f32[8] parameter(0)
  a = f32[8] exponential(x)
  b = f32[8] negate(a)
  c = f32[8] add(b, x)
  ROOT d = f32[8] sqrt(c)
}
)";
constexpr const char* kFused = R"(HloModule m
fused {
  p = f32[8] parameter(0)
  b = f32[8] negate(p)
  q = f32[8] parameter(1)
  ROOT c = f32[8] add(b, q)
}
ENTRY e {
  x = f32[8] parameter(0)
  a = f32[8] exponential(x)
  f = f32[8] fusion(a, x), kind=kLoop, calls=fused
  ROOT d = f32[8] sqrt(f)
}
)";

TEST(ChangePictureTest, WhatIsFusedStandsInTheFramesPlaceBefore) {
  const Made made = MakeFromTexts(kUnfused, kFused);
  const ChangeGraph& graph = *made.graph;
  const ChangePicture picture = LayOut(graph, {});
  ExpectInPlace(graph, picture);
  ExpectApart(graph, picture);
  const NodeId fusion = Named(graph, Side::kAfter, "f"), b = Named(graph, Side::kBefore, "b");
  EXPECT_EQ(b, Named(graph, Side::kAfter, "b"));
  EXPECT_EQ(graph[b].kind, analysis::ChangeKind::kMoved);
  EXPECT_EQ(graph[b].parent, fusion);
  EXPECT_TRUE(picture.side(Side::kAfter).Find(fusion)->open);
  EXPECT_EQ(picture.side(Side::kBefore).Find(fusion), nullptr);
  EXPECT_EQ(graph.changed_inside(fusion), 4u);
  // Inlining is the same the other way round.
  const Made back = MakeFromTexts(kFused, kUnfused);
  const NodeId inlined = Named(*back.graph, Side::kAfter, "b");
  EXPECT_EQ((*back.graph)[inlined].parent, Named(*back.graph, Side::kBefore, "f"));
  ExpectInPlace(*back.graph, LayOut(*back.graph, {}));
}

// Both stages have the loop: what is hoisted out of it stands inside before and outside after.
TEST(ChangePictureTest, WhatMovesOutOfAFrameOfBothStandsTwice) {
  const auto loop = [](bool is_hoisted) {
    return "HloModule m\nbody {\n  s = (s32[], f32[8], f32[8]) parameter(0)\n"
           "  i = s32[] get-tuple-element(s), index=0\n"
           "  x = f32[8] get-tuple-element(s), index=1\n"
           "  w = f32[8] get-tuple-element(s), index=2\n" +
           std::string(is_hoisted ? "" : "  costly = f32[8] sine(w)\n") + "  y = f32[8] add(x, " +
           (is_hoisted ? "w" : "costly") +
           ")\n  ROOT t = (s32[], f32[8], f32[8]) tuple(i, y, w)\n}\n"
           "condition {\n  c = (s32[], f32[8], f32[8]) parameter(0)\n"
           "  n = s32[] get-tuple-element(c), index=0\n  k = s32[] constant(9)\n"
           "  ROOT less = pred[] compare(n, k), direction=LT\n}\n"
           "ENTRY e {\n  p = f32[8] parameter(0)\n  z = s32[] constant(0)\n" +
           std::string(is_hoisted ? "  costly = f32[8] sine(p)\n" : "") +
           "  start = (s32[], f32[8], f32[8]) tuple(z, p, " + (is_hoisted ? "costly" : "p") +
           ")\n  ROOT loop = (s32[], f32[8], f32[8]) while(start), condition=condition, "
           "body=body\n}\n";
  };
  const Made made = MakeFromTexts(loop(false), loop(true));
  const ChangeGraph& graph = *made.graph;
  const NodeId before = Named(graph, Side::kBefore, "costly");
  const NodeId after = Named(graph, Side::kAfter, "costly");
  ASSERT_TRUE(before.valid() && after.valid());
  EXPECT_NE(before, after);
  EXPECT_EQ(graph[before].parent, Named(graph, Side::kBefore, "loop"));
  EXPECT_FALSE(graph[after].parent.valid());
  const ChangePicture picture = LayOut(graph, {});
  ExpectInPlace(graph, picture);
  ExpectApart(graph, picture);
  EXPECT_EQ(picture.changes, std::ssize(graph.changes()));
}

TEST(ChangePictureTest, AClosedFrameCountsWhatChangedInside) {
  const Made made = MakeFromTexts(kUnfused, kFused);
  const NodeId fusion = Named(*made.graph, Side::kAfter, "f");
  ChangePart part;
  part.toggled = {fusion.index};
  const ChangePicture picture = LayOut(*made.graph, part);
  ExpectInPlace(*made.graph, picture);
  EXPECT_FALSE(picture.side(Side::kAfter).Find(fusion)->open);
  EXPECT_EQ(TextOf(*made.graph, Side::kAfter, fusion, true).subtitle, "4 changed inside");
  // Before, something stands for what goes into it.
  ASSERT_NE(picture.side(Side::kBefore).Find(fusion), nullptr);
  EXPECT_EQ(TextOf(*made.graph, Side::kBefore, fusion, true).title, "for f");
}

TEST(ChangePictureTest, OnlyWhatIsAroundAChangeIsLaidOut) {
  const auto chain = [](bool is_after) {
    std::string text = "HloModule m\nENTRY e {\n  i0 = f32[8] parameter(0)\n";
    for (int i = 1; i < 5000; ++i) {
      text += "  i" + std::to_string(i) + " = f32[8] " +
              (is_after && i == 2500 ? "sine" : "cosine") + "(i" + std::to_string(i - 1) + ")\n";
    }
    return text + "  ROOT out = f32[8] negate(i4999)\n}\n";
  };
  const Made made = MakeFromTexts(chain(false), chain(true));
  const int64_t changed = std::ssize(made.graph->changes());
  ASSERT_EQ(changed, 1);  // rewritten, or one in the place of the other
  ChangePart part;
  const ChangePicture near = LayOut(*made.graph, part);
  EXPECT_LE(near.side(Side::kAfter).boxes.size(), 5u);
  EXPECT_EQ(near.hidden + std::ssize(near.side(Side::kAfter).boxes), 5001);
  EXPECT_NE(near.Find(Named(*made.graph, Side::kAfter, "i2499")), nullptr);
  part.radius = 3;
  EXPECT_NE(LayOut(*made.graph, part).Find(Named(*made.graph, Side::kAfter, "i2497")), nullptr);
  part.whole = true;
  const ChangePicture whole = LayOut(*made.graph, part);
  EXPECT_EQ(whole.hidden, 0);
  EXPECT_EQ(std::ssize(whole.side(Side::kAfter).boxes), 5001);
  ExpectInPlace(*made.graph, whole);
}

// A fusion of another name with the same body: both, and what is inside, stay where they are.
TEST(ChangePictureTest, WhatIsReplacedStandsAtOnePlace) {
  std::string renamed = kFused;
  renamed.replace(renamed.find("f = f32[8] fusion"), 1, "loop_negate_fusion");
  renamed.replace(renamed.find("sqrt(f)"), 7, "sqrt(loop_negate_fusion)");
  const Made made = MakeFromTexts(kFused, renamed);
  const ChangeGraph& graph = *made.graph;
  EXPECT_EQ(Named(graph, Side::kBefore, "f"), Named(graph, Side::kAfter, "loop_negate_fusion"));
  EXPECT_EQ(graph.size(), 8u);
  for (uint32_t n = 0; n < graph.size(); ++n) EXPECT_FALSE(graph[NodeId(n)].other.valid());
  ChangePart part;
  part.whole = true;
  const ChangePicture picture = LayOut(graph, part);
  ExpectInPlace(graph, picture);
  EXPECT_TRUE(picture.ghosts[0].empty() && picture.ghosts[1].empty());
}

TEST(ChangePictureTest, EdgesOfOneSideAreChangedOnes) {
  const char* before =
      "HloModule m\nENTRY e {\n  x = f32[8] parameter(0)\n"
      "  y = f32[8] parameter(1)\n  ROOT z = f32[8] negate(x)\n}\n";
  const char* after =
      "HloModule m\nENTRY e {\n  x = f32[8] parameter(0)\n"
      "  y = f32[8] parameter(1)\n  ROOT z = f32[8] negate(y)\n}\n";
  const Made made = MakeFromTexts(before, after);
  EXPECT_EQ(made.changes.counts.rewritten, 1);
  const ChangePicture picture = LayOut(*made.graph, {});
  for (Side side : graph::kSides) {
    ASSERT_EQ(picture.side(side).wires.size(), 1u);
    EXPECT_EQ(picture.side(side).wires[0].from,
              Named(*made.graph, side, side == Side::kBefore ? "x" : "y"));
    EXPECT_TRUE(picture.is_wire_changed[graph::IndexOf(side)][0]);
  }
}

class PassGraphTest : public ReadingTest {};

// Every pass of a real compilation: nothing is lost, counted twice or out of its place.
TEST_F(PassGraphTest, EveryPassIsDrawnAsItIsCounted) {
  Start({Sample("softmax_passes_a100")});
  const auto stages = static_cast<int32_t>(session().document.dump()->modules()[0].stages.size());
  int32_t changed = 0;
  for (int32_t stage = 1; stage < stages; ++stage) {
    SCOPED_TRACE(stage);
    ASSERT_TRUE(DrawUntil([&] {
      return session().data.Module(0, stage - 1).ready() &&
             session().data.Module(0, stage).ready() && ShownChanges(session(), 0, stage).ready();
    }));
    const analysis::PassChanges& changes = *ShownChanges(session(), 0, stage);
    const ChangeGraph graph(session().data.Module(0, stage - 1).value,
                            session().data.Module(0, stage).value, changes);
    std::map<analysis::ChangeKind, int64_t> counts;
    for (uint32_t n = 0; n < graph.size(); ++n) {
      if (graph.Counted(NodeId(n)) != NodeId(n)) continue;
      const graph::ChangeNode& node = graph[NodeId(n)];
      ++counts[node.kind];
      const bool has_other = node.other.valid() && node.kind == analysis::ChangeKind::kAdded;
      counts[analysis::ChangeKind::kRemoved] += node.is_replaced() || has_other;
    }
    for (const ChangeLook& look : kChangeLooks)
      EXPECT_EQ(counts[look.kind], CountOf(changes.counts, look.kind));
    EXPECT_EQ(counts[analysis::ChangeKind::kUnchanged], changes.counts.unchanged);
    for (bool whole : {false, true}) {
      ChangePart part;
      part.whole = whole;
      const ChangePicture picture = LayOut(graph, part);
      ExpectInPlace(graph, picture);
      ExpectApart(graph, picture);
      EXPECT_EQ(picture.changes, std::ssize(graph.changes()));
      EXPECT_TRUE(!whole || picture.hidden == 0) << picture.hidden;
    }
    changed += changes.counts.any();
  }
  EXPECT_GT(changed, 5);
}

TEST_F(PassGraphTest, ChangesAreStoppedAtInProgramOrder) {
  Start({Sample("softmax_passes_a100")});
  Press("Ctrl+3");
  session().requests.Show("before-after");
  Settle();
  ExpectSeen("before-after", "> 19 moved");
  Press("F3");
  ExpectSeen("before-after", "change 1 of");
  const std::string first = SelectedName();
  EXPECT_FALSE(first.empty());
  Press("F3");
  ExpectSeen("before-after", "change 2 of");
  EXPECT_NE(SelectedName(), first);
  Press("Shift+F3");
  EXPECT_EQ(SelectedName(), first);
  // The pass on the screen stays, also where the change is one of the stage before.
  EXPECT_EQ(ShownChangeStage(session()), RankingOf(session(), 0)->order.front());
}

// What is gone is selected where it was, and its pass stays on the screen; a frame counts when
// shut.
TEST_F(PassGraphTest, AClickSelectsInItsStageAndEnterClosesAFrame) {
  Start({});
  app().SelectWhenOpen("jit_softmax@0034.fusion.after_priority-fusion.before_cse");
  app().Open({Sample("softmax_passes_a100")});
  app().dock().SetScreen("passes");
  Settle();
  session().requests.Show("before-after");
  Settle();
  const int32_t stage = ShownChangeStage(session());
  ClickOn("before-after", "triton_softmax.3");
  EXPECT_EQ(SelectedName(), "triton_softmax.3");
  EXPECT_EQ(session().navigation.selection().stage, stage - 1);
  EXPECT_EQ(ShownChangeStage(session()), stage);
  ExpectSeen("before-after", "change 8 of 9");
  EXPECT_NE(HighlightedItems("before-after").find("before: triton_softmax.3"), std::string::npos);
  // Down to its user, the fusion that it goes into.
  Press("Down");
  EXPECT_NE(SelectedName(), "triton_softmax.3");
  ClickOn("before-after", "triton_softmax.2");
  EXPECT_EQ(SelectedName(), "triton_softmax.2");
  Press("Enter");
  ExpectSeen("before-after", "changed inside");
  Press("Enter");
  EXPECT_EQ(SeenLines(Seen("before-after")).find("changedinside"), std::string::npos);
}

TEST_F(PassGraphTest, WholeGraphZoomAndUndo) {
  Start({Sample("softmax_passes_a100")});
  Press("Ctrl+3");
  session().requests.Show("before-after");
  session().navigation.Select(Selection::OfStage(0, 12));
  Settle();
  EXPECT_EQ(HighlightedItems("before-after").find("whole"), std::string::npos)
      << HighlightedItems("before-after");
  const std::string before = HighlightedItems("before-after");
  Press("=");
  EXPECT_NE(HighlightedItems("before-after"), before);
  Press("Ctrl+Z");
  EXPECT_EQ(HighlightedItems("before-after"), before);
  Press("N");
  EXPECT_NE(HighlightedItems("before-after").find("0 hidden, whole"), std::string::npos)
      << HighlightedItems("before-after");
  Press("Ctrl+Z");
  EXPECT_EQ(HighlightedItems("before-after").find("whole"), std::string::npos);
}

TEST_F(PassGraphTest, ScrubbingKeepsACameraThatWasChosen) {
  Start({Sample("softmax_passes_a100")});
  Press("Ctrl+3");
  session().requests.Show("before-after");
  session().navigation.Select(Selection::OfStage(0, 10));
  Settle();
  Press("N");
  Press("=");
  Press("=");
  const std::string zoomed =
      HighlightedItems("before-after").substr(HighlightedItems("before-after").find("zoom"));
  Press("]");
  EXPECT_EQ(ShownChangeStage(session()), 11);
  EXPECT_EQ(HighlightedItems("before-after").substr(HighlightedItems("before-after").find("zoom")),
            zoomed);
}

TEST_F(PassGraphTest, IgnoredMetadataIsNoChange) {
  Start({AnnotatedDump()});
  Press("Ctrl+3");
  session().requests.Show("before-after");
  Settle();
  ExpectSeen("before-after", "~ 1 rewritten");
  Click("//###passes.before-after/Ignore metadata");
  Settle();
  ExpectSeen("before-after", "This pass changed nothing");
}

}  // namespace
}  // namespace hloscope::viewer
