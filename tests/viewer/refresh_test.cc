// Reading what is open again: everything that was selected, kept or computed is found by name.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/viewer/viewer_fixture.h"
#include "viewer/facts/profile_model.h"
#include "viewer/lab/bundle_making.h"
#include "viewer/lab/reduction.h"
#include "viewer/model/pass_search.h"
#include "viewer/model/retained_files.h"
#include "viewer/window/surface.h"

namespace hloscope::viewer {
namespace {

using nlohmann::json;

void Write(const std::string& path, std::string_view bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

constexpr std::string_view kModule =
    "HloModule jit_f\n\nENTRY main {\n  p = f32[4] parameter(0)\n  a = f32[4] add(p, p)\n"
    "  ROOT m = f32[4] multiply(a, p)\n}\n";
// The same with an instruction before `a`, and `m` under another name.
constexpr std::string_view kChanged =
    "HloModule jit_f\n\nENTRY main {\n  p = f32[4] parameter(0)\n  n = f32[4] negate(p)\n"
    "  a = f32[4] add(p, n)\n  ROOT other = f32[4] multiply(a, p)\n}\n";
constexpr std::string_view kFirst =
    "HloModule jit_a\n\nENTRY main {\n  ROOT p = f32[4] parameter(0)\n}\n";

class RefreshTest : public ViewerTest {
 protected:
  std::string File(std::string_view name) const { return Scratch("dump/" + std::string(name)); }
  void WriteDump() { Write(File("module_0002.jit_f.before_optimizations.txt"), kModule); }
  void AddFirstModule() { Write(File("module_0001.jit_a.before_optimizations.txt"), kFirst); }
  void BookmarkSelection(std::string_view note) {
    Press("Ctrl+B");
    Type(note);
    Press("Enter");
  }
  // The interpreter against itself, every instruction by itself.
  void RunExperiment() {
    app().dock().SetScreen("divergence");
    app().dock().Find("divergence")->view->SetState("interpreter\ninterpreter\n0\n1");
    Settle();
    app().Run(Command::kRunExperiment);
    Settle();
    ASSERT_NE(session().experiment.report(), nullptr) << Messages();
  }
  std::string SessionFile(const std::string& state) const {
    for (const auto& entry : std::filesystem::directory_iterator(state)) {
      if (entry.path().filename().string().starts_with("session-")) return entry.path();
    }
    return {};
  }
};

TEST_F(RefreshTest, ASecondReadingBeforeTheFirstHasEndedLosesNothing) {
  WriteDump();
  const std::string state = Scratch("state");
  Start({Scratch("dump")}, state);
  session().navigation.Select(Selection::OfInstruction(0, 0, hlo::InstructionId(1u)));
  BookmarkSelection("mine");
  for (int i = 0; i < 5; ++i) {
    app().Run(Command::kReload);
    if (i % 2 == 0) app().DrawFrame();
  }
  Settle();
  ASSERT_EQ(session().bookmarks.size(), 1u);
  EXPECT_EQ(SelectedName(), "a");
  EXPECT_EQ(session().bookmarks[0].selection, session().navigation.selection());
  Stop();
  Start({Scratch("dump")}, state);
  ASSERT_EQ(session().bookmarks.size(), 1u);
  EXPECT_EQ(session().bookmarks[0].note, "mine");
}

TEST_F(RefreshTest, BookmarksOfAnotherDayAreFoundByName) {
  WriteDump();
  const std::string state = Scratch("state");
  Start({Scratch("dump")}, state);
  for (const uint32_t id : {1u, 2u}) {
    session().navigation.Select(Selection::OfInstruction(0, 0, hlo::InstructionId(id)));
    BookmarkSelection("note " + std::to_string(id));
  }
  app().Save();
  Stop();
  AddFirstModule();
  Write(File("module_0002.jit_f.before_optimizations.txt"), kChanged);
  Start({Scratch("dump")}, state);
  ASSERT_EQ(session().bookmarks.size(), 2u);
  session().navigation.Select(session().bookmarks[0].selection);
  EXPECT_EQ(SelectedName(), "a");
  EXPECT_EQ(session().navigation.selection().module, 1);
  // What is not there is shown, and found again where it comes back.
  EXPECT_EQ(session().bookmarks[1].selection, Selection());
  EXPECT_EQ(session().bookmarks[1].note, "note 2");
  Write(File("module_0002.jit_f.before_optimizations.txt"), kModule);
  Press("F5");
  session().navigation.Select(session().bookmarks[1].selection);
  EXPECT_EQ(SelectedName(), "m");
}

TEST_F(RefreshTest, PositionsOfAnOlderVersionAreTakenWhereTheirTitleFits) {
  WriteDump();
  const std::string state = Scratch("state");
  Start({Scratch("dump")}, state);
  session().navigation.Select(Selection::OfInstruction(0, 0, hlo::InstructionId(1u)));
  BookmarkSelection("mine");
  app().Save();
  Stop();
  const std::string file = SessionFile(state);
  json kept = json::parse(ReadAll(file));
  EXPECT_EQ(kept["version"], 2);
  const json position = {{"title", kept["bookmarks"][0]["title"]},
                         {"note", "fits"},
                         {"kind", static_cast<int>(SelectionKind::kInstruction)},
                         {"module", 0},
                         {"stage", 0},
                         {"instruction", 1}};
  json other = position;
  other["instruction"] = 2;
  other["note"] = "does not fit";
  kept["version"] = 1;
  kept["bookmarks"] = {position, other};
  Write(file, kept.dump());
  Start({Scratch("dump")}, state);
  ASSERT_EQ(session().bookmarks.size(), 2u);
  session().navigation.Select(session().bookmarks[0].selection);
  EXPECT_EQ(SelectedName(), "a");
  EXPECT_EQ(session().bookmarks[1].selection, Selection());
  EXPECT_EQ(session().bookmarks[1].note, "does not fit");
  EXPECT_TRUE(Has(Messages(), "bookmarks of an older version")) << Messages();
  app().Save();
  EXPECT_EQ(json::parse(ReadAll(file))["bookmarks"][0]["name"], "a");
}

TEST_F(RefreshTest, WhatTheLabFoundStaysAndMovesWithItsModule) {
  WriteDump();
  Start({Scratch("dump")});
  RunExperiment();
  const size_t findings = session().experiment.findings().size();
  ASSERT_EQ(findings, 2u);
  ASSERT_NE(session().experiment.ValuesOf(0, 0), nullptr);
  auto reduction = std::make_shared<Reduction>();
  reduction->run = {.module = 0, .stage = 0, .request = {}, .from = "the last run"};
  reduction->place = AnchorOfStage(*session().document.dump(), 0, 0);
  session().marks.Of<Reductions>().all.push_back(reduction);
  session().marks.Of<MadeBundle>().last = std::make_shared<BundleMaking>();
  session().marks.Of<AskedVerdicts>().all.push_back(
      {.place = AnchorOfStage(*session().document.dump(), 0),
       .module = 0,
       .question = {},
       .since = {},
       .verdict = std::make_shared<Pending<debug::DivergeVerdict>>()});
  AddFirstModule();
  Press("F5");
  ASSERT_EQ(session().document.dump()->modules().size(), 2u);
  EXPECT_NE(session().experiment.report(), nullptr);
  EXPECT_EQ(session().experiment.findings().size(), findings);
  EXPECT_EQ(session().experiment.request().module_index, 1);
  EXPECT_NE(session().experiment.ValuesOf(1, 0), nullptr);
  EXPECT_EQ(session().experiment.ValuesOf(0, 0), nullptr);
  EXPECT_EQ(ReductionOn(session(), 1), reduction.get());
  EXPECT_NE(LastBundle(session()), nullptr);
  EXPECT_EQ(session().marks.Of<AskedVerdicts>().all.at(0).module, 1);
}

TEST_F(RefreshTest, ResultsFollowTheirInstructionsByName) {
  WriteDump();
  Start({Scratch("dump")});
  RunExperiment();
  Write(File("module_0002.jit_f.before_optimizations.txt"), kChanged);
  Press("F5");
  const Experiment& experiment = session().experiment;
  ASSERT_EQ(experiment.findings().size(), 1u);
  EXPECT_EQ(experiment.module()->name(experiment.findings()[0].instruction), "a");
  EXPECT_EQ(experiment.lost_findings(), 1);
  // All of it is gone: it is said, kept, and found again.
  std::filesystem::remove(File("module_0002.jit_f.before_optimizations.txt"));
  AddFirstModule();
  Press("F5");
  EXPECT_TRUE(Has(Messages(), "no longer in the dump, kept until it is again: run of jit_f"))
      << Messages();
  EXPECT_EQ(experiment.request().module_index, -1);
  EXPECT_EQ(experiment.findings().size(), 1u);
  Write(File("module_0002.jit_f.before_optimizations.txt"), kChanged);
  Press("F5");
  EXPECT_EQ(experiment.request().module_index, 1);
}

TEST_F(RefreshTest, ARunGoesOnWhileTheDumpIsReadAgain) {
  worker_program_ = Scratch("worker");
  Write(worker_program_, "#!/bin/sh\nwhile [ ! -e '" + Scratch("go") +
                             "' ]; do sleep 0.05; done\nexec '" + ProgramPath() + "' \"$@\"\n");
  std::filesystem::permissions(worker_program_, std::filesystem::perms::owner_all);
  WriteDump();
  Start({Scratch("dump")});
  app().dock().SetScreen("divergence");
  app().dock().Find("divergence")->view->SetState("interpreter\ninterpreter\n0\n1");
  Settle();
  app().Run(Command::kRunExperiment);
  ASSERT_TRUE(DrawUntil([this] { return session().experiment.running(); }));
  AddFirstModule();
  app().Run(Command::kReload);
  ASSERT_TRUE(DrawUntil([this] { return session().document.dump()->modules().size() == 2; }));
  EXPECT_TRUE(session().experiment.running());
  Write(Scratch("go"), "");
  Settle();
  EXPECT_EQ(session().experiment.findings().size(), 2u);
  EXPECT_EQ(session().experiment.request().module_index, 1);
  EXPECT_NE(session().experiment.ValuesOf(1, 0), nullptr);
}

TEST_F(RefreshTest, AProfileThatJoinsLeavesEverythingElse) {
  Start({Sample("conv_net")});
  app().Open({Sample("mlp_train_step")});
  Settle();
  RunExperiment();
  const auto dump = session().document.dump().value;
  app().surface().Drop({Sample("conv_net/conv_net.xplane.pb.gz")});
  Settle();
  EXPECT_EQ(session().document.dump().value, dump) << "it is not read again";
  EXPECT_NE(session().experiment.report(), nullptr);
  EXPECT_EQ(session().document.profile_paths().size(), 1u);
}

TEST_F(RefreshTest, EventsAreFoundAgainByNameAndTime) {
  Start({Sample("conv_net"), Sample("conv_net/conv_net.xplane.pb.gz")});
  app().dock().SetScreen("kernels");
  Settle();
  const Pending<ProfileModel>* profile = ProfileOf(session());
  ASSERT_TRUE(profile != nullptr && profile->ready());
  const Selection event = SelectionOf(**profile, profiler::EventId(7u));
  session().navigation.Select(event);
  BookmarkSelection("slow");
  Press("F5");
  EXPECT_EQ(session().navigation.selection(), event) << Messages();
  EXPECT_EQ(session().bookmarks.at(0).selection, event);
}

TEST_F(RefreshTest, AVerdictStaysAndItsSubjectIsNotOpenedLater) {
  WriteDump();
  const std::string verdict = Scratch("verdict.json");
  Write(verdict, R"({"module":")" + Scratch("dump") +
                     R"(","status":"differs","cured_by":[],"verdict":"x","passes":[]})");
  Start({Scratch("dump"), verdict});
  ASSERT_TRUE(session().document.verdict().ready()) << Messages();
  Press("F5");
  EXPECT_TRUE(session().document.verdict().ready());
  app().Open({Sample("conv_net/conv_net.xplane.pb.gz")});
  Settle();
  EXPECT_EQ(session().document.path(), "");
  EXPECT_FALSE(session().document.dump().ready());
}

TEST_F(RefreshTest, HitsAreOfTheDumpInView) {
  Start({Sample("conv_net")});
  Press("Ctrl+P");
  Type("conv");
  ASSERT_FALSE(app().popups().hits().empty());
  Press("Escape");
  WriteDump();
  app().Open({Scratch("dump")});
  Settle();
  Press("Ctrl+P");
  for (const SearchHit& hit : app().popups().hits()) EXPECT_LE(hit.selection.module, 0) << hit.text;
  Type("a");
  Press("Enter");
  EXPECT_EQ(SelectedName(), "a");
}

TEST_F(RefreshTest, TheLargestModuleIsOfTheDumpInView) {
  WriteDump();
  Start({Scratch("dump")});
  for (int i = 0; i < 8; ++i) {
    // The second dump has one module only; memory of the first is used again.
    AddFirstModule();
    Press("F5");
    EXPECT_EQ(session().navigation.module(), 1);
    Write(Scratch("one/module_0001.jit_a.before_optimizations.txt"), kFirst);
    app().Open({Scratch("one")});
    Settle();
    EXPECT_EQ(session().navigation.module(), 0);
    app().Open({Scratch("dump")});
    Settle();
  }
}

TEST_F(RefreshTest, AProfileAloneCanBeBookmarked) {
  Start({Sample("conv_net/conv_net.xplane.pb.gz")});
  BookmarkSelection("nothing selected");
  ASSERT_EQ(session().bookmarks.size(), 1u);
  session().navigation.Select(Selection::OfEvent(7));
  BookmarkSelection("an event");
  ASSERT_EQ(session().bookmarks.size(), 2u);
  Press("F5");
  EXPECT_EQ(session().navigation.selection().event, 7) << Messages();
}

TEST_F(RefreshTest, WhatCannotBeSelectedIsSaidAndDoesNotWait) {
  for (const std::string& path :
       {Scratch("missing"), Sample("conv_net/conv_net.xplane.pb.gz"), std::string()}) {
    Start({});
    app().SelectWhenOpen("x");
    app().Open(path.empty() ? std::vector<std::string>() : std::vector{path});
    Settle();
    EXPECT_TRUE(Has(Messages(), "x: not selected: ")) << Messages();
    Stop();
  }
}

TEST(RetainedFiles, TwoWindowsNeverGetTheSamePath) {
  const std::string state = ::testing::TempDir() + "/hloscope_retained";
  std::filesystem::remove_all(state);
  for (const RetainedKind kind : {RetainedKind::kFile, RetainedKind::kFolder}) {
    const std::string name = kind == RetainedKind::kFile ? "files" : "folders";
    RetainedFiles one(state, name, ".x", kind, 20), two(state, name, ".x", kind, 20);
    std::set<std::string> paths;
    for (int i = 0; i < 5; ++i) {
      for (RetainedFiles* window : {&one, &two}) {
        const Result<std::string> path = window->NewPath("m", "cpu");
        ASSERT_TRUE(path.has_value());
        EXPECT_TRUE(paths.insert(*path).second) << *path;
      }
    }
  }
  std::filesystem::remove_all(state);
}

}  // namespace
}  // namespace hloscope::viewer
