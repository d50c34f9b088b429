// What a new user and a stranger's file do to the viewer: nothing open, wrong paths, dumps that are
// broken, hostile or still being written, work that is cancelled, workers that die.
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_te_context.h>

#include <filesystem>
#include <fstream>

#include "tests/base/paths.h"
#include "tests/viewer/viewer_fixture.h"
#include "viewer/window/surface.h"

namespace hloscope::viewer {
namespace {

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

void Write(const std::string& path, std::string_view bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

constexpr const char* kAdd =
    "HloModule jit_f\n\nENTRY main {\n  p = f32[4] parameter(0)\n  ROOT a = f32[4] add(p, p)\n}\n";

std::string Repeated(std::string_view part, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += part;
  return out;
}

// A text of a module whose names, shapes and metadata are made to do harm.
std::string HostileModule() {
  const std::string longest(10000, 'x');
  std::string text =
      "HloModule m\n\n%f\x1b[2J (q: f32[2]) -> f32[2] {\n  %q = f32[2] parameter(0)\n"
      "  ROOT %n = f32[2] negate(%q)\n}\n\nENTRY main {\n";
  text += "  p = u8[1152921504606846976] parameter(0)\n";
  text += "  " + longest +
          " = f32[2] constant({1,2}), metadata={op_name=\"a\\033[2J\xff\xfe%s%n##x/" + longest +
          "\" source_file=\"/etc/passwd\" source_line=2147483647}\n";
  text += "  \xff\xfe\x80 = f32[2] add(" + longest + ", " + longest + ")\n";
  text += "  ROOT %b##1%s = f32[2] add(" + longest + ", " + longest + "), metadata={op_name=\"" +
          Repeated("a/", 3000) + "\"}\n}\n";
  return text;
}

// Computations that call one another, 400 deep.
std::string DeepCalls() {
  std::string text =
      "HloModule deep\n\nf0 {\n  p = f32[] parameter(0)\n  ROOT n = f32[] negate(p)\n}\n";
  for (int i = 1; i < 400; ++i) {
    text += fmt::format(
        "\nf{0} {{\n  p{0} = f32[] parameter(0)\n  ROOT c{0} = f32[] call(p{0}), "
        "to_apply=f{1}\n}}\n",
        i, i - 1);
  }
  return text +
         "\nENTRY main {\n  x = f32[] parameter(0)\n  ROOT c = f32[] call(x), to_apply=f399\n}\n";
}

void WriteHostileDump(const std::string& folder) {
  const std::string longest(10000, 'x');
  const auto write = [&](std::string_view name, std::string_view bytes) {
    Write(folder + "/" + std::string(name), bytes);
  };
  write("module_0001.evil\x1b[31m%s##.before_optimizations.txt", HostileModule());
  write("module_0002.long.before_optimizations.txt",
        "HloModule long\nENTRY main {\n  ROOT " + longest + " = f32[2] constant({1,2})\n}\n");
  write("module_0003.\xff\xfe.before_optimizations.txt", kAdd);
  write("module_0004.deep.before_optimizations.txt", DeepCalls());
  write("module_0005.nested.before_optimizations.txt",
        "HloModule m\nENTRY e { ROOT p = " + Repeated("(", 5000) + "f32[]" + Repeated(")", 5000) +
            " parameter(0) }\n");
  write("module_0006.sizes.before_optimizations.txt",
        "HloModule m\nENTRY e {\n  p = f32[1073741824,1073741824] parameter(0)\n"
        "  ROOT q = f32[1073741824,1073741824] add(p, p)\n}\n");
  // Every kind of file, empty and of noise.
  std::string noise;
  for (uint32_t i = 0, x = 1; i < 20000; ++i, x = x * 1664525u + 1013904223u)
    noise += static_cast<char>(x >> 24);
  for (const char* end :
       {"before_optimizations.txt", "cpu_after_optimizations.txt", "before_optimizations.hlo.pb",
        "cpu_after_optimizations-buffer-assignment.txt", "cpu_after_optimizations-live-range.txt",
        "thunk_sequence.txt", "thunk_metadata.txt", "ptx", "ir-with-opt.ll", "obj-file.o",
        "config.pbtxt", "debug_options", "metadata.textproto", "ttir.txt",
        "gpu_target_config.pbtxt", "module.mlir"}) {
    write(std::string("module_0007.empty.") + end, "");
    write(std::string("module_0008.noise.") + end, noise);
    write(std::string("module_0009.line.") + end, std::string(300000, '\\'));
  }
  // A sound module among broken pieces.
  write("module_0010.jit_f.before_optimizations.txt", kAdd);
  write("module_0010.jit_f.cpu_after_optimizations.txt", kAdd);
  write("module_0010.jit_f.cpu_after_optimizations-buffer-assignment.txt",
        "BufferAssignment:\nallocation 0: size 1152921504606846976, page 0, parameter 0, shape "
        "|f32[4]|\n"
        " value: <1 a @0> (size=1152921504606846976,offset=9223372036854775807): f32[4]{0}\n"
        "allocation 999999999999: size -5, page 0:\n value: <2 " +
            longest + " @0> (size=4,offset=0)\n");
  write("module_0010.jit_f.ptx",
        ".version 8.0\n.target sm_90\n.visible .entry " + longest + "(\n)\n{\n");
  write(
      "module_0010.jit_f.thunk_sequence.txt",
      "000: kKernel\t" + longest + "\xff\n" + Repeated("  ", 2000) + "001: kWhile\t\x1b]0;x\x07\n");
  write("plugins/noise.xplane.pb", noise);
  write("plugins/empty.trace.json", "");
  write("empty", "");
  std::error_code error;
  std::filesystem::create_symlink("loop", folder + "/loop", error);
  std::filesystem::create_symlink("/etc/passwd",
                                  folder + "/module_0011.link.before_optimizations.txt", error);
}

TEST_F(ViewerTest, NothingOpen) {
  Start({});
  VisitEverything();
  Press("Ctrl+P");
  EXPECT_TRUE(Has(Messages(), "nothing is open")) << Messages();
}

TEST_F(ViewerTest, WrongPathsSayWhy) {
  Write(Scratch("empty"), "");
  std::filesystem::create_directories(Scratch("folder"));
  for (const std::string& path : {Scratch("not_there"), Scratch("empty"), Scratch("folder"),
                                  std::string("/dev/null"), std::string("/etc")}) {
    Start({path});
    VisitEverything();
    const Pending<dump::DumpModel>& dump = session().document.dump();
    EXPECT_TRUE(dump.ready() || !dump.error.ToString().empty()) << path;
    Stop();
  }
}

TEST_F(ViewerTest, AHostileDumpOpens) {
  WriteHostileDump(Scratch("dump"));
  Start({Scratch("dump")});
  ASSERT_TRUE(session().document.dump().ready());
  EXPECT_GE(session().document.dump()->modules().size(), 8u);
  VisitEverything();
  Press("Ctrl+P");
  Type("xxxx");
  Press("Enter");
  EXPECT_TRUE(SelectedName().starts_with("xxxx"));
}

// Also a way to look at any dump from outside: under strace, or in a build with sanitizers.
TEST_F(ViewerTest, EveryScreenOfADump) {
  const char* path = std::getenv("HLOSCOPE_VIEWER_DUMP");
  Start({path == nullptr ? Sample("conv_net") : path});
  VisitEverything();
}

TEST_F(ViewerTest, HostileModulesOfTheCorpus) {
  const char* corpus = std::getenv("HLOSCOPE_CORPUS");
  const std::string folder =
      (corpus == nullptr ? SourcePath("../shared/corpus") : std::string(corpus)) + "/hostile";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "corpus not present";
  Start({folder});
  VisitEverything();
}

// --- A dump that is still being written
// -----------------------------------------------------------

TEST_F(ViewerTest, AHalfWrittenDumpOpens) {
  Write(Scratch("dump/module_0001.jit_f.before_optimizations.txt"), kAdd);
  Write(Scratch("dump/module_0001.jit_f.cpu_after_optimizations.txt"),
        "HloModule jit_f\nENTRY main {\n  p");
  Write(Scratch("dump/module_0002.jit_g.before_optimizations.txt"), "");
  Start({Scratch("dump")});
  ASSERT_TRUE(session().document.dump().ready());
  VisitEverything();
}

TEST_F(ViewerTest, NewFilesAreToldAndReadWithoutLosingTheSelection) {
  Write(Scratch("dump/module_0002.jit_f.before_optimizations.txt"), kAdd);
  Write(Scratch("dump/module_0002.jit_f.cpu_after_optimizations.txt"),
        "HloModule jit_f\nENTRY main {\n  p");
  Start({Scratch("dump")});
  session().navigation.Select(Selection::OfInstruction(0, 0, hlo::InstructionId(1u)));
  Press("Ctrl+B");
  Type("mine");
  Press("Enter");
  EXPECT_FALSE(session().document.news().any());
  // A module comes before it, and its second stage is whole.
  Write(Scratch("dump/module_0001.jit_a.before_optimizations.txt"), kAdd);
  Write(Scratch("dump/module_0002.jit_f.cpu_after_optimizations.txt"), kAdd);
  ASSERT_TRUE(DrawUntil([&] {
    return session().document.news().added == 1 && session().document.news().changed == 1;
  })) << ToString(session().document.news());
  EXPECT_EQ(ToString(session().document.news()),
            "the dump changed: 1 file added, 1 file changed, for example "
            "module_0001.jit_a.before_optimizations.txt");
  Click("//##messages/Reload##news");
  ASSERT_TRUE(session().document.dump().ready());
  EXPECT_EQ(session().document.dump()->modules().size(), 2u);
  EXPECT_EQ(session().navigation.selection(),
            Selection::OfInstruction(1, 0, hlo::InstructionId(1u)));
  ASSERT_EQ(session().bookmarks.size(), 1u);
  EXPECT_EQ(session().bookmarks[0].note, "mine");
  EXPECT_EQ(session().bookmarks[0].selection, session().navigation.selection());
  EXPECT_FALSE(session().document.news().any());
  EXPECT_TRUE(session().document.dump()->Module(1, 1));
  // What is selected may be gone as well.
  std::filesystem::remove(Scratch("dump/module_0002.jit_f.before_optimizations.txt"));
  std::filesystem::remove(Scratch("dump/module_0002.jit_f.cpu_after_optimizations.txt"));
  ASSERT_TRUE(DrawUntil([&] { return session().document.news().removed == 2; }));
  Press("F5");
  EXPECT_EQ(session().navigation.selection(), Selection());
  EXPECT_TRUE(Has(Messages(), "module jit_f is no longer in the dump")) << Messages();
}

TEST_F(ViewerTest, NewsCanWait) {
  const std::string file = Scratch("one.hlo");
  Write(file, kAdd);
  Start({file});
  Write(file, std::string(kAdd) + "\n");
  ASSERT_TRUE(DrawUntil([&] { return session().document.news().changed == 1; }));
  Click("//##messages/Later##news");
  EXPECT_FALSE(session().document.news().any());
}

TEST_F(ViewerTest, AReadingThatFailsKeepsTheSelectionForTheNext) {
  Write(Scratch("dump/module_0001.jit_f.before_optimizations.txt"), kAdd);
  Start({Scratch("dump")});
  session().navigation.Select(Selection::OfInstruction(0, 0, hlo::InstructionId(1u)));
  Settle();
  std::filesystem::rename(Scratch("dump"), Scratch("aside"));
  Press("F5");
  EXPECT_TRUE(session().document.dump().failed());
  std::filesystem::rename(Scratch("aside"), Scratch("dump"));
  app().dock().SetScreen("home");
  Click("//###home.home/Reload");
  EXPECT_EQ(SelectedName(), "a");
}

TEST_F(ViewerTest, EveryKindOfSelectionIsFoundAgain) {
  Start({Sample("attention_block_h100")});
  const std::vector<Selection> all = {Selection::OfModule(0),
                                      Selection::OfStage(0, 1),
                                      Selection::OfComputation(0, 1, hlo::ComputationId(1u)),
                                      Selection::OfInstruction(0, 2, hlo::InstructionId(5u)),
                                      Selection::OfKernel(0, 3),
                                      Selection::OfBuffer(0, 4),
                                      Selection::OfThunk(0, 2),
                                      Selection::OfTextLine(7, 12),
                                      Selection::OfSourceLine("a.py", 3, 0)};
  for (const Selection& selection : all) {
    session().navigation.Select(selection);
    Press("F5");
    EXPECT_EQ(session().navigation.selection(), selection) << ToString(selection.kind) << "\n"
                                                           << Messages();
  }
}

// --- Dropped on the window -----------------------------------------------------------------------

// `open DUMP FOLDER`, as jax.profiler.trace was given it.
TEST_F(ViewerTest, AProfileFolderIsNoSecondDump) {
  const std::string folder = Scratch("trace"), inside = folder + "/plugins/profile/2026_11_28";
  std::filesystem::create_directories(inside);
  std::filesystem::copy_file(Sample("conv_net/conv_net.xplane.pb.gz"), inside + "/h.xplane.pb.gz",
                             std::filesystem::copy_options::overwrite_existing);
  std::ofstream(folder + "/events.out.tfevents.1.host.profile-empty") << "";
  Start({Sample("conv_net"), folder});
  EXPECT_EQ(session().document.path(), Sample("conv_net"));
  EXPECT_EQ(session().document.profile_paths(), std::vector{inside + "/h.xplane.pb.gz"});
  EXPECT_FALSE(session().second.dump().ready());
  // A dump that has a profile of its own is one.
  std::ofstream(folder + "/module_0001.m.before_optimizations.txt")
      << "HloModule m\nENTRY e {\n  ROOT x = f32[] parameter(0)\n}\n";
  Stop();
  Start({Sample("conv_net"), folder});
  Settle();
  EXPECT_TRUE(session().second.dump().ready());
}

TEST_F(ViewerTest, DroppedPathsAreOpened) {
  Start({});
  app().surface().Drop({Sample("conv_net")});
  Settle();
  ASSERT_TRUE(session().document.dump().ready());
  // A profile joins the dump that is open.
  const std::string trace = Sample("conv_net/conv_net.xplane.pb.gz");
  app().surface().Drop({trace});
  Settle();
  EXPECT_EQ(session().document.path(), Sample("conv_net"));
  EXPECT_EQ(session().document.profile_paths(), std::vector{trace});
  // Both at once.
  app().surface().Drop({trace, Sample("mlp_train_step")});
  Settle();
  EXPECT_EQ(session().document.path(), Sample("mlp_train_step"));
  EXPECT_EQ(session().document.profile_paths(), std::vector{trace});
  // What is not there does not close what is open.
  app().surface().Drop({Scratch("not_there")});
  Settle();
  EXPECT_EQ(session().document.path(), Sample("mlp_train_step"));
  EXPECT_TRUE(Has(Messages(), "not_there: no such file or folder")) << Messages();
}

// --- Work that is cancelled, workers that die ----------------------------------------------------

TEST_F(ViewerTest, CancelledWorkGoesOnWithAButton) {
  Start({});
  app().Open({Sample("softmax_passes_a100")});
  Press("Ctrl+.");
  for (int step = 0; step < 3; ++step) {
    // Cancelled before it was open, or while something of it was read.
    if (!session().was_cancelled()) break;
    Click("//##status/Resume##resume");
  }
  ASSERT_TRUE(session().document.dump().ready());
  // Home reads the first and the last stage.
  session().data.Module(0, 1);
  session().CancelWork();
  ASSERT_TRUE(session().was_cancelled());
  Settle();
  Click("//##status/Resume##resume");
  EXPECT_FALSE(session().was_cancelled());
  session().data.Module(0, 1);
  Settle();
  EXPECT_TRUE(session().data.Module(0, 1).ready());
}

// The first worker of this program kills itself; the next ones work.
TEST_F(ViewerTest, AWorkersDeathIsASentenceAndTheNextRunWorks) {
  const std::string died = Scratch("died");
  worker_program_ = Scratch("worker");
  Write(worker_program_, "#!/bin/sh\nif [ -e '" + died + "' ]; then exec '" + ProgramPath() +
                             "' \"$@\"; fi\ntouch '" + died + "'\nkill -SEGV $$\n");
  std::filesystem::permissions(worker_program_, std::filesystem::perms::owner_all);
  Start({Sample("mlp_train_step")});
  Press("Ctrl+4");
  Drive([](ImGuiTestContext* context) {
    context->SetRef("//###divergence.divergence");
    context->ComboClick("##platform/interpreter");
  });
  Click("//###divergence.divergence/Run");
  ASSERT_NE(session().experiment.report(), nullptr);
  EXPECT_TRUE(std::filesystem::exists(died));
  EXPECT_TRUE(Has(HighlightedItems("divergence"), "died")) << HighlightedItems("divergence");
  Click("//###divergence.divergence/Run");
  EXPECT_TRUE(Has(HighlightedItems("divergence"), "bit-identical: "))
      << HighlightedItems("divergence");
}

}  // namespace
}  // namespace hloscope::viewer
