// Tasks of a newcomer, each from the keyboard alone and from the mouse alone, beginning
// where a dump was just opened. Steps are counted, and the answer must be on the screen at the end.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "core/base/file.h"
#include "tests/base/paths.h"
#include "tests/viewer/guilty_dump.h"
#include "tests/viewer/reading_fixture.h"

namespace hloscope::viewer {
namespace {

// Two callbacks and a copy to the host's memory, one in a loop of ten rounds.
constexpr const char* kHostModule = R"(HloModule jit_train, is_scheduled=true
body {
  s = (s32[], f32[1024]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[1024] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  logged = f32[1024] custom-call(x), custom_call_target="xla_ffi_python_gpu_callback"
  ROOT t = (s32[], f32[1024]) tuple(next, logged)
}
condition {
  c = (s32[], f32[1024]) parameter(0)
  ci = s32[] get-tuple-element(c), index=0
  limit = s32[] constant(10)
  ROOT less = pred[] compare(ci, limit), direction=LT
}
ENTRY main {
  p = f32[1024] parameter(0)
  kept = f32[1024]{0:S(5)} copy(p)
  zero = s32[] constant(0)
  start = (s32[], f32[1024]) tuple(zero, p)
  loop = (s32[], f32[1024]) while(start), condition=condition, body=body, backend_config={"known_trip_count":{"n":"10"}}
  result = f32[1024] get-tuple-element(loop), index=1
  ROOT out = (f32[1024], f32[1024]{0:S(5)}) tuple(result, kept)
}
)";

constexpr const char* kNanModule = R"(HloModule jit_loss
ENTRY e {
  x = f32[4] parameter(0)
  zero = f32[4] subtract(x, x)
  ROOT born = f32[4] divide(zero, zero), metadata={op_name="jit(loss)/div" source_file="loss.py" source_line=7}
}
)";

class TaskTest : public ReadingTest {
 protected:
  struct Steps {
    int keyboard = 0, mouse = 0;
  };

  // --- What a user does: each is one step.
  void Key(std::string_view chord) {
    ++steps_;
    Press(chord);
  }
  void Words(std::string_view text) {
    ++steps_;
    Type(text);
  }
  void ClickOn(std::string_view view, std::string_view text) {
    ++steps_;
    ReadingTest::ClickOn(view, text);
  }

  void Drop(const std::string& path) {
    ++steps_;
    app().surface().Drop({path});
  }
  void Item(const std::string& item) {
    ++steps_;
    Click(item);
  }

  using Path = std::function<void()>;
  // Both ways on a freshly opened viewer, then what must be selected and seen.
  void Do(const std::string& task, const std::vector<std::string>& paths, const Path& keyboard,
          const Path& mouse, const Path& answer, const std::string& state = {}) {
    Steps steps;
    for (bool by_keys : {true, false}) {
      SCOPED_TRACE(task + (by_keys ? ", keyboard" : ", mouse"));
      Start(paths, state);
      steps_ = 0;
      by_keys ? keyboard() : mouse();
      (by_keys ? steps.keyboard : steps.mouse) = steps_;
      answer();
      Stop();
      if (HasFatalFailure()) return;
    }
    EXPECT_LE(std::max(steps.keyboard, steps.mouse), 6) << task;
    ExpectInTable(task, steps);
  }

  // The table of docs/internals/viewer.md says what was counted.
  static std::map<std::string, Steps> Table() {
    std::map<std::string, Steps> rows;
    std::ifstream file(SourcePath("docs/internals/viewer.md"));
    for (std::string line; std::getline(file, line);) {
      std::istringstream cells(line);
      std::string before, task, keyboard, mouse;
      if (!std::getline(cells, before, '|') || !std::getline(cells, task, '|') ||
          !std::getline(cells, keyboard, '|') || !std::getline(cells, mouse, '|'))
        continue;
      if (task.size() < 3 || task[1] < '0' || task[1] > '9') continue;
      rows[task.substr(1, task.size() - 2)] = {.keyboard = std::atoi(keyboard.c_str()),
                                               .mouse = std::atoi(mouse.c_str())};
    }
    return rows;
  }
  static void ExpectInTable(const std::string& task, const Steps& steps) {
    const auto table = Table();
    auto row = table.find(task);
    ASSERT_NE(row, table.end()) << task << ": keyboard " << steps.keyboard << ", mouse "
                                << steps.mouse << " is not in docs/internals/viewer.md";
    EXPECT_EQ(row->second.keyboard, steps.keyboard) << task;
    EXPECT_EQ(row->second.mouse, steps.mouse) << task;
  }

  std::string HostDump() {
    std::filesystem::create_directories(Scratch("host"));
    const std::string path =
        Scratch("host") + "/module_0001.jit_train.sm_9.0_gpu_after_optimizations.txt";
    EXPECT_TRUE(WriteFileAtomically(path, kHostModule));
    return Scratch("host");
  }

  // Stages of a module, one of which a pass computes otherwise.
  std::string Guilty() { return GuiltyDump(Scratch("guilty")); }

 private:
  int steps_ = 0;
};

TEST_F(TaskTest, T01WhyIsItOnTheHost) {
  Do(
      "1 why is an instruction on the host?", {HostDump()},
      [&] {
        Key("Ctrl+P");
        Words("logged");
        Key("Enter");
      },
      [&] { ClickOn("home", "What runs on the host"); },
      [&] {
        EXPECT_EQ(SelectedName(), "logged");
        ExpectSeen("selection", "runs on the host: host callback");
      });
}

TEST_F(TaskTest, T02WhoHoldsThePeak) {
  Do(
      "2 what uses the peak memory?", {Sample("attention_block_h100")}, [&] { Key("Alt+2"); },
      [&] { ClickOn("home", "What uses the peak memory"); },
      [&] {
        EXPECT_EQ(session().navigation.selection().kind, SelectionKind::kBuffer);
        ExpectSeen("buffers", "qkv.1");
        ExpectSeen("selection", "12.3 kB");
      });
}

TEST_F(TaskTest, T03WhichPassRemovedIt) {
  Do(
      "3 which pass removed an instruction?", {Sample("softmax_passes_a100")},
      [&] {
        Key("Ctrl+P");
        Words("jit_log_softmax_.1");
        Key("Enter");
      },
      [&] {
        ClickOn("window", "Graph");
        ClickOn("graph", "jit_log_softmax_.1");
      },
      [&] {
        EXPECT_EQ(SelectedName(), "jit_log_softmax_.1");
        ExpectSeen("selection", "removed by call-inliner");
      });
}

TEST_F(TaskTest, T04FromPythonToPtx) {
  Do(
      "4 from a line of Python to its lines of PTX", {Sample("attention_block_h100")},
      [&] {
        Key("Ctrl+P");
        Words("make_samples.py:62");
        Key("Enter");
        Key("Ctrl+K");
      },
      [&] {
        ClickOn("window", "Kernels");
        ClickOn("kernels", "gemm_fusion_dot.3");
      },
      [&] {
        ExpectSeen("selection", "make_samples.py:62");
        ExpectSeen("code", "PTX");
        ExpectSeen("code", ".visible .entry gemm_fusion_dot_");
      });
}

TEST_F(TaskTest, T05TheSlowestKernel) {
  Do(
      "5 which kernel is slowest, and of which instruction?", {Sample("conv_net")},
      [&] { Key("Alt+3"); }, [&] { ClickOn("home", "What is slowest"); },
      [&] {
        EXPECT_EQ(SelectedName(), "conv_general_dilated.3");
        ExpectSeen("kernels", "conv_general_dilated.3");
        ExpectSeen("selection", "% of the time");
      });
}

TEST_F(TaskTest, T06CompareTwoStages) {
  Do(
      "6 compare two modules or stages", {Sample("softmax_passes_a100")},
      [&] {
        Key("Ctrl+D");
        Words("0010 algsimp");
        Key("Enter");
      },
      [&] {
        ClickOn("window", "Passes");
        ClickOn("changes", "Compare with");
        // The list lies over the rows of the diff: what is read there is not the list alone.
        Item("**/0010.simplification.after_algsimp.before_simplify-sorts##choice11");
      },
      [&] {
        ExpectSeen("changes", "0010.simplification.after_algsimp");
        ExpectSeen("changes", "unchanged");
      });
}

TEST_F(TaskTest, T07WhereIsTheNanBorn) {
  const std::string path = Scratch("module_0001.jit_loss.before_optimizations.txt");
  ASSERT_TRUE(WriteFileAtomically(path, kNanModule));
  Do(
      "7 where does the first NaN appear?", {path}, [&] { Key("Alt+7"); },
      [&] { ClickOn("home", "Where does the first NaN"); },
      [&] {
        EXPECT_EQ(SelectedName(), "born");
        ExpectSeen("divergence", "the first NaN appears in born");
        ExpectSeen("selection", "loss.py:7");
      });
}

TEST_F(TaskTest, T08WhichKernelRunsIt) {
  Do(
      "8 which kernel runs an instruction, in what launch shape?", {Sample("attention_block_h100")},
      [&] {
        Key("Ctrl+P");
        Words("gemm_fusion_dot.3");
        Key("Enter");
      },
      [&] {
        ClickOn("window", "Kernels");
        ClickOn("kernels", "gemm_fusion_dot.3");
      },
      [&] {
        EXPECT_EQ(SelectedName(), "gemm_fusion_dot.3");
        ExpectSeen("selection", "computed by kernel gemm_fusion_dot_3");
        ExpectSeen("selection", "grid ");
        ExpectSeen("selection", "64×1×1");
      });
}

TEST_F(TaskTest, T09WhichTransfersCostMost) {
  Do(
      "9 which transfers cost most?", {HostDump()}, [&] { Key("Alt+4"); },
      [&] { ClickOn("home", "Which transfers cost most"); },
      [&] {
        EXPECT_EQ(SelectedName(), "logged");
        ExpectSeen("home", "Transfers between host and device");
        ExpectSeen("selection", "per run");
      });
}

TEST_F(TaskTest, T10WhichPassesChangedMost) {
  Do(
      "10 which passes changed most?", {Sample("softmax_passes_a100")}, [&] { Key("Alt+5"); },
      [&] { ClickOn("home", "Which passes changed most"); },
      [&] {
        EXPECT_EQ(session().navigation.selection().kind, SelectionKind::kStage);
        ExpectSeen("passes", "Most changed first");
        ExpectSeen("changes", "moved");
        ExpectSeen("passes", "call-inliner");
        ExpectSeen("selection", " instructions in ");
      });
}

TEST_F(TaskTest, T11WhatIsMissing) {
  Do(
      "11 what does the dump not hold, and which flag writes it?", {Sample("attention_block_h100")},
      [&] { Key("Alt+8"); }, [&] { ClickOn("home", "What is missing from the dump"); },
      [&] { ExpectSeen("home", "--xla_dump_hlo_pass_re=.*"); });
}

TEST_F(TaskTest, T12AllUses) {
  Do(
      "12 all instructions of a source line, and who uses them", {Sample("attention_block_h100")},
      [&] {
        Key("Ctrl+P");
        Words("make_samples.py:62");
        Key("Enter");
      },
      [&] {
        ClickOn("window", "Kernels");
        ClickOn("kernels", "gemm_fusion_dot.3");
        ClickOn("selection", "make_samples.py:62");
      },
      [&] {
        EXPECT_EQ(session().navigation.selection().kind, SelectionKind::kSourceLine);
        ExpectSeen("selection", "Instructions (");
        ExpectSeen("selection", "gemm_fusion_dot.3");
      });
}

TEST_F(TaskTest, T13TheGuiltyPass) {
  Do(
      "13 which pass changed the results?", {Guilty()}, [&] { Key("Alt+9"); },
      [&] { ClickOn("home", "Which pass changed the results"); },
      [&] {
        EXPECT_EQ(SelectedName(), "sum");
        ExpectSeen("verdict", "algsimp");
        ExpectSeen("verdict", "Pass that changed the results");
      });
}

TEST_F(TaskTest, T14WhatItDid) {
  Do(
      "14 what did that pass do?", {Guilty()},
      [&] {
        Key("Alt+9");
        Key("Ctrl+3");
      },
      [&] {
        ClickOn("home", "Which pass changed the results");
        ClickOn("window", "Passes");
      },
      [&] {
        EXPECT_EQ(SelectedName(), "sum");
        ExpectSeen("changes", "add(%t, %y)");
        ExpectSeen("changes", "subtract(%t, %y)");
      });
}

TEST_F(TaskTest, T15ShrinkIt) {
  const std::string path = Scratch("module_0001.jit_loss.before_optimizations.txt");
  ASSERT_TRUE(WriteFileAtomically(path, kNanModule));
  Do(
      "15 what is the smallest module that shows it?", {path},
      [&] {
        Key("Alt+7");
        Key("Ctrl+Shift+R");
      },
      [&] {
        ClickOn("home", "Where does the first NaN");
        ClickOn("divergence", "Reduce the module");
      },
      [&] {
        ASSERT_TRUE(DrawUntil(
            [&] { return HighlightedItems("reducer").find("still fail") != std::string::npos; }));
        Settle();
        ExpectSeen("reducer", "instructions still fail");
        ExpectSeen("reducer", "divide(");
      });
}

TEST_F(TaskTest, T16MakeTheBundle) {
  const std::string path = Scratch("module_0001.jit_loss.before_optimizations.txt");
  ASSERT_TRUE(WriteFileAtomically(path, kNanModule));
  // Where the popup puts it by itself.
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::create_directories(Scratch("here"));
  std::filesystem::current_path(Scratch("here"));
  Do(
      "16 how do I report it?", {path},
      [&] {
        Key("Alt+7");
        Key("Ctrl+Shift+B");
        Key("Enter");
      },
      [&] {
        ClickOn("home", "Where does the first NaN");
        ClickOn("divergence", "Create a bundle");
        ClickOn("window", "Write the bundle");
      },
      [&] {
        ASSERT_TRUE(DrawUntil([&] { return !Messages().empty(); }));
        const std::string file = Scratch("here") + "/jit_loss.hlob";
        EXPECT_TRUE(std::filesystem::exists(file)) << Messages();
        EXPECT_NE(Messages().find("in a clean process: reproduced"), std::string::npos)
            << Messages();
        Settle();
        ExpectSeen("window", "report.html");
        ExpectSeen("window", "redacted");
        std::filesystem::remove(file);
      });
  std::filesystem::current_path(here);
}

// Three modules of one name; the second is the largest.
std::string TwinDump(const std::string& folder) {
  std::filesystem::create_directories(folder);
  constexpr const char* kBodies[] = {
      "ENTRY e {\n  x = f32[8] parameter(0)\n  ROOT y = f32[8] add(x, x)\n}\n",
      "ENTRY e {\n  x = f32[64,3] parameter(0)\n  z = f32[64,3] negate(x)\n"
      "  ROOT y = f32[64,3] add(z, x)\n}\n",
      "ENTRY e {\n  x = f32[16] parameter(0)\n  ROOT y = f32[16] negate(x)\n}\n"};
  for (int i = 0; i < 3; ++i) {
    const std::string path =
        folder + "/module_000" + std::to_string(i + 1) + ".jit_f.cpu_after_optimizations.txt";
    EXPECT_TRUE(WriteFileAtomically(path, std::string("HloModule jit_f\n") + kBodies[i]));
  }
  EXPECT_TRUE(WriteFileAtomically(folder + "/meta.json", "{}"));
  return folder;
}

TEST_F(TaskTest, T17TheLargestModule) {
  Do(
      "17 which module is the largest?", {TwinDump(Scratch("twins"))}, [&] { Key("Alt+0"); },
      [&] { ClickOn("home", "Which module is largest"); },
      [&] {
        EXPECT_EQ(session().navigation.selection(), Selection::OfModule(1));
        ExpectSeen("home", "jit_f, id 2: 3 instructions");
        ExpectSeen("home", "not recognised: meta.json");
        ExpectSeen("home", "no problems found");
      });
}

TEST_F(TaskTest, T18WhatThePeakIsMadeOf) {
  Do(
      "18 what does the peak consist of?", {Sample("attention_block_h100")}, [&] { Key("Ctrl+6"); },
      [&] { ClickOn("window", "Memory"); },
      [&] {
        ExpectSeen("memory", "at the peak");
        ExpectSeen("memory", "parameters");
        ExpectSeen("memory", "temporaries");
        ExpectSeen("memory", " %");
      });
}

TEST_F(TaskTest, T19WhichOfOneName) {
  Do(
      "19 which of several modules of one name is it?", {TwinDump(Scratch("twins"))},
      [&] {
        Key("Ctrl+F");
        Words("[16]");
        Key("Enter");
      },
      [&] { ClickOn("home", "f32[16]"); },
      [&] {
        EXPECT_EQ(session().navigation.selection(), Selection::OfModule(2));
        ExpectSeen("home", "id 3");
        ExpectSeen("home", "f32[16] ");
      });
}

TEST_F(TaskTest, T23HowManyKernels) {
  Do(
      "23 how many operations became how many kernels, and where do they run?", {HostDump()},
      [&] { Key("Ctrl+2"); }, [&] { ClickOn("window", "Graph"); },
      [&] {
        ExpectSeen("graph", "operations → ");
        ExpectSeen("graph", "on the host");
        // What tells most is selected.
        EXPECT_EQ(SelectedName(), "logged");
        ExpectSeen("graph", "Kernel: logged");
      });
}

TEST_F(TaskTest, T24WhatBecameOfIt) {
  Do(
      "24 which kernel did what I wrote become?", {Sample("attention_block_h100")},
      [&] {
        Key("Ctrl+P");
        Words("gemm_fusion_dot.5");
        Key("Enter");
        Key("Ctrl+2");
      },
      [&] {
        ClickOn("window", "Graph");
        ClickOn("graph", "attention_block:57–60");
        ClickOn("graph", "gemm_fusion_dot.5");
      },
      [&] {
        EXPECT_EQ(SelectedName(), "gemm_fusion_dot.5");
        ExpectSeen("graph", "Kernel: gemm_fusion_dot.5");
        ExpectSeen("graph", "its own kernel on the device");
      });
}

TEST_F(TaskTest, T20WhichPassSavesMost) {
  Do(
      "20 which pass saves most?", {Sample("softmax_passes_a100")}, [&] { Key("Ctrl+3"); },
      [&] { ClickOn("window", "Passes"); },
      [&] { ExpectSeen("passes", "triton-softmax-rewriter: −2.05 MB moved"); });
}

TEST_F(TaskTest, T21WhatWouldBeExpensive) {
  Do(
      "21 what would be expensive, without a trace?", {Sample("attention_block")},
      [&] { Key("Ctrl+5"); }, [&] { ClickOn("window", "Kernels"); },
      [&] {
        ExpectSeen("kernels", "FLOPs (estimate)");
        ExpectSeen("kernels", "bytes (estimate)");
        ExpectSeen("kernels", "estimated from shapes");
        ExpectSeen("kernels", "fusion");
      });
}

TEST_F(TaskTest, T22WhereCodeAndTraceComeFrom) {
  Do(
      "22 how do I get the code or the trace that is missing?", {Sample("attention_block")},
      [&] { Key("Ctrl+5"); }, [&] { ClickOn("window", "Kernels"); },
      [&] {
        ExpectSeen("timeline", "jax.profiler.trace(FOLDER)");
        ExpectSeen("code", "--xla_dump_emitter_re=^llvm$");
      });
}

TEST_F(TaskTest, T25WhatItDidToTheGraph) {
  Do(
      "25 what did a pass do to the graph around it?", {Sample("softmax_passes_a100")},
      [&] {
        Key("Ctrl+3");
        Key("F6");
      },
      [&] {
        ClickOn("window", "Passes");
        ClickOn("window", "Before and after");
      },
      [&] {
        ExpectSeen("before-after", "> 19 moved");
        ExpectSeen("before-after", "After: ");
        ExpectSeen("before-after", "only on the other side");
      });
}

TEST_F(TaskTest, T26WhatValuesItHas) {
  const auto run = [&] {
    Press("Ctrl+4");
    app().dock().Find("divergence")->view->SetState("interpreter\ninterpreter\n0\n1");
    Settle();
    Press("F9");
  };
  const std::string path = Scratch("module_0001.jit_loss.before_optimizations.txt");
  ASSERT_TRUE(WriteFileAtomically(path, kNanModule));
  Do(
      "26 after a run: what values does an instruction have?", {path},
      [&] {
        run();
        Key("Ctrl+P");
        Words("born");
        Key("Enter");
        Key("Shift+V");
      },
      [&] {
        run();
        ClickOn("divergence", "born");
        Item("//###divergence.values/Pin");
      },
      [&] {
        ExpectSeen("pinned", "NaN, NaN, NaN, NaN");
        ExpectSeen("pinned", "bit-identical");
      });
  Do(
      "27 after a run: pin its values, run again, what changed?", {path},
      [&] {
        run();
        Press("Ctrl+P");
        Type("zero");
        Press("Enter");
        Key("Shift+V");
        Key("F9");
      },
      [&] {
        run();
        ClickOn("divergence", "zero");
        Item("//###divergence.values/Pin");
        Item("//###divergence.divergence/Run");
      },
      [&] {
        ExpectSeen("pinned", "0, 0, 0, 0");
        EXPECT_EQ(session().experiment.runs(), 2u);
      });
}

TEST_F(TaskTest, T28WhatAnotherCompilerChanged) {
  const std::string other = Sample("attention_block_h100");
  Do(
      "28 what did another compiler or flag change?", {Sample("attention_block")},
      [&] {
        Key("Ctrl+D");
        Words(other);
        Key("Enter");
      },
      [&] {
        session().recent.push_back(other);  // was open before
        ClickOn("window", "Passes");
        ClickOn("window", "Two dumps");
        ClickOn("two-dumps", "Second dump");
        ClickOn("window", "attention_block_h100");
      },
      [&] {
        ExpectSeen("two-dumps", "1 module differs");
        ExpectSeen("two-dumps", "first: 18 kernels, 6 library calls");
        ExpectSeen("two-dumps", "second: 14 kernels");
        ExpectSeen("two-dumps", "triton_softmax.5");
      });
}

TEST_F(TaskTest, T29WhatAnotherCompilerMakes) {
  Do(
      "29 what does the module become with another compiler or flag?", {Sample("attention_block")},
      [&] {
        Key("Ctrl+Shift+L");
        Key("Enter");
        ASSERT_TRUE(DrawUntil([this] { return session().second.dump().ready(); })) << Messages();
        Settle();
      },
      [&] {
        ClickOn("window", "Passes");
        ClickOn("window", "Two dumps");
        ClickOn("two-dumps", "Recompile with");
        Item("//##recompile/Recompile");
        ASSERT_TRUE(DrawUntil([this] { return session().second.dump().ready(); })) << Messages();
        Settle();
      },
      [&] { ExpectSeen("two-dumps", "1 module differs"); });
}

TEST_F(TaskTest, T30WhatWouldLowerThePeak) {
  Do(
      "30 what would lower the peak?", {Sample("attention_block_h100")},
      [&] {
        Key("Ctrl+6");
        Key("F6");
        Key("F6");
        Key("F6");
      },
      [&] {
        ClickOn("window", "Memory");
        ClickOn("window", "What-if");
      },
      [&] { ExpectSeen("what-if", "each number is the estimate of its change alone"); });
}

TEST_F(TaskTest, T31WhatIsHottest) {
  Do(
      "31 where does the measured time go?",
      {Sample("gpt_train_step"), Sample("gpt_train_step/gpt_train_step.xplane.pb.gz")},
      [&] { Key("Ctrl+2"); }, [&] { ClickOn("window", "Graph"); },
      [&] { ExpectSeen("graph", "Hottest: measured time"); });
}

TEST_F(TaskTest, T32WhatEachLineCosts) {
  Do(
      "32 what does each line of my program cost?", {Sample("gpt_train_step")},
      [&] {
        Key("Ctrl+2");
        Key("F6");
      },
      [&] {
        ClickOn("window", "Graph");
        ClickOn("window", "Source");
      },
      [&] {
        ExpectSeen("source", "make_samples.py:166");
        ExpectSeen("source", "102 ms");
      });
}

TEST_F(TaskTest, T33WhichScopeTakesMost) {
  Do(
      "33 which scope moves most bytes?", {Sample("gpt_train_step_h100")},
      [&] {
        Key("Ctrl+2");
        Key("O");
      },
      [&] {
        ClickOn("window", "Graph");
        ClickOn("graph", "Where it runs: bytes moved");
      },
      [&] { ExpectSeen("graph", ", largest first"); });
}

TEST_F(TaskTest, T34WhatLivesAtThePeakByScope) {
  Do(
      "34 which scopes live at the peak?", {Sample("gpt_train_step_h100")},
      [&] {
        Key("Ctrl+6");
        Key("F6");
      },
      [&] {
        ClickOn("window", "Memory");
        ClickOn("window", "Peak by scope");
      },
      [&] { EXPECT_GT(app().dock().Find("peak-scopes")->width, 0); });
}

// The very folder that was given to jax.profiler.trace.
TEST_F(TaskTest, T35AProfileFolderBesideTheDump) {
  const std::string folder = Scratch("trace"), inside = folder + "/plugins/profile/2026_11_28";
  std::filesystem::create_directories(inside);
  std::filesystem::copy_file(Sample("gpt_train_step/gpt_train_step.xplane.pb.gz"),
                             inside + "/host.xplane.pb.gz",
                             std::filesystem::copy_options::overwrite_existing);
  Do(
      "35 what did a run that jax.profiler.trace recorded take?", {Sample("gpt_train_step")},
      [&] {
        Key("Ctrl+O");
        Words(folder);
        Key("Enter");
      },
      [&] { Drop(folder); },
      [&] {
        Settle();
        EXPECT_EQ(session().document.path(), Sample("gpt_train_step"));
        EXPECT_EQ(session().document.profile_paths().size(), 1u) << Messages();
      });
}

// A newcomer has no dump yet.
TEST_F(TaskTest, T36ASampleToBeginWith) {
  Do(
      "36 what does it look like? I have no dump yet", {},
      [&] {
        Key("F6");
        Key("Down");
        Key("Enter");
      },
      [&] { ClickOn("home", "gpt_train_step_h100: "); },
      [&] {
        EXPECT_TRUE(
            std::filesystem::equivalent(session().document.path(), Sample("gpt_train_step_h100")));
        ExpectSeen("home", "a dump of JAX");
      });
}

TEST_F(TaskTest, T37TheDumpAndProfileOfTheLastTime) {
  const std::string dump = Sample("attention_block"), state = Scratch("state");
  const std::string trace = Sample("conv_net/conv_net.xplane.pb.gz");
  Start({dump, trace}, state);
  app().Save();
  Stop();
  Do(
      "37 how do I go on with the dump and the profile of the last time?", {},
      [&] {
        Key("Ctrl+O");
        Words(dump);
        Key("Enter");
      },
      [&] { ClickOn("home", dump); },
      [&] {
        EXPECT_EQ(session().document.path(), dump);
        EXPECT_EQ(session().document.profile_paths(), std::vector<std::string>{trace});
      },
      state);
}

// Questions are about the whole dump: none of the host work is in the module in view.
TEST_F(TaskTest, AnswersNameTheModule) {
  const std::string dump = TwinDump(Scratch("four"));
  ASSERT_TRUE(WriteFileAtomically(
      dump + "/module_0004.jit_train.sm_9.0_gpu_after_optimizations.txt", kHostModule));
  Start({dump});
  // The largest is in view at first.
  EXPECT_EQ(session().navigation.module(), 3);
  session().navigation.Select(Selection::OfModule(0));
  Settle();
  ExpectSeen("home", "in jit_train: logged: host callback");
  ExpectSeen("home", "in jit_train: logged: to the host");
  Press("Alt+1");
  EXPECT_EQ(session().navigation.module(), 3);
  EXPECT_EQ(SelectedName(), "logged");
}

TEST_F(TaskTest, MedianIsThreeAtMost) {
  std::vector<int> keyboard, mouse;
  for (const auto& [task, steps] : Table()) {
    keyboard.push_back(steps.keyboard);
    mouse.push_back(steps.mouse);
  }
  ASSERT_EQ(keyboard.size(), 37u);
  std::ranges::sort(keyboard);
  std::ranges::sort(mouse);
  EXPECT_LE(keyboard[keyboard.size() / 2], 3);
  EXPECT_LE(mouse[mouse.size() / 2], 3);
}

}  // namespace
}  // namespace hloscope::viewer
