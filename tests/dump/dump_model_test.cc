// Roles of files by name, kinds by content, and the model of a folder full of traps.
#include "core/dump/dump_model.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/dump/listing/folder_table.h"
#include "core/dump/listing/head_table.h"
#include "core/dump/listing/listing.h"
#include "core/dump/split_ids.h"
#include "core/dump/stage_order.h"

namespace hloscope::dump {
namespace {

namespace fs = std::filesystem;

TEST(DumpFileNameTest, TakesNamesApart) {
  struct Case {
    const char *file, *before, *timestamp;
    int64_t id;
    const char* rest;
  };
  const Case cases[] = {
      {"module_0001.jit_f.before_optimizations.txt", "", "", 1, "jit_f.before_optimizations.txt"},
      {"1700000000000000.module_12345.a.b.txt", "", "1700000000000000", 12345, "a.b.txt"},
      {"main.3.module_0001.jit_f._fusion.pyz", "main.3", "", 1, "jit_f._fusion.pyz"},
      {"module_0003.ptx", "", "", 3, "ptx"},
      {"module_0003", "", "", 3, ""},
  };
  for (const Case& c : cases) {
    std::optional<DumpFileName> name = ParseDumpFileName(c.file);
    ASSERT_TRUE(name) << c.file;
    EXPECT_EQ(name->before, c.before) << c.file;
    EXPECT_EQ(name->timestamp, c.timestamp) << c.file;
    EXPECT_EQ(name->id, c.id) << c.file;
    EXPECT_EQ(name->rest, c.rest) << c.file;
  }
  for (const char* other : {"debug_options", "module_1.x.txt", "xmodule_0001.txt", "module_", "",
                            "module_0001x.txt", "module_99999999999999999999.txt"}) {
    EXPECT_FALSE(ParseDumpFileName(other)) << other;
  }
}

TEST(FileRoleTest, KnowsEveryKindOfFileByName) {
  struct Case {
    const char *rest, *role, *module, *stage, *detail;
  };
  const Case cases[] = {
      {"a.b.cpu_after_optimizations.txt", "module", "a.b", "cpu_after_optimizations", ""},
      {"m.sm_9.0a_gpu_after_optimizations.hlo.pb", "module", "m", "sm_9.0a_gpu_after_optimizations",
       ""},
      {"m.sm_9.0_gpu_after_optimizations-buffer-assignment.txt", "buffer-assignment", "m",
       "sm_9.0_gpu_after_optimizations", ""},
      {"m.0007.simplification.after_dce.before_cse.txt", "module", "m",
       "0007.simplification.after_dce.before_cse", ""},
      {"SyncTensorsGraph.1234.0007.simplification.after_dce.before_cse.txt", "module",
       "SyncTensorsGraph.1234", "0007.simplification.after_dce.before_cse", ""},
      {"m.snapshot.-159608201.pb", "snapshot", "m", "", ""},
      {"m.debug_options", "debug-options", "m", "", ""},
      {"metadata.textproto", "metadata", "", "", ""},
      {"before_optimizations.txt", "module", "", "before_optimizations", ""},
      {"m.obj-file.wrapped_reduce.1_kernel_module.o", "object", "m", "",
       "wrapped_reduce.1_kernel_module"},
      {"m.gpu_target_config.pbtxt", "gpu-target", "m", "", ""},
      {"m.config.pbtxt", "module-config", "m", "", ""},
      {"m.tpu_comp_env.txt", "tpu-environment", "m", "", ""},
      {"m.flagfile", "flagfile", "m", "", ""},
      {"m.after_optimizations_before_buffer_assignment.txt", "module", "m",
       "after_optimizations_before_buffer_assignment", ""},
      {"m.after_optimizations_after_buffer_assignment-memory-usage-report.txt",
       "memory-usage-report", "m", "after_optimizations_after_buffer_assignment", ""},
  };
  for (const Case& c : cases) {
    std::optional<FoundRole> found = FindRole(c.rest);
    ASSERT_TRUE(found) << c.rest;
    EXPECT_EQ(ToString(found->match.role), c.role) << c.rest;
    EXPECT_EQ(found->at, std::string_view(c.module).empty() ? 0 : strlen(c.module) + 1) << c.rest;
    EXPECT_EQ(found->match.stage, c.stage) << c.rest;
    EXPECT_EQ(found->match.detail, c.detail) << c.rest;
  }
  for (const char* unsure : {"m.1.ptx", "m.fusion.3.ttir.txt", "m.x.ir-no-opt.ll", "m.y.hlo"})
    EXPECT_FALSE(FindRole(unsure)) << unsure;
}

TEST(StageOrderTest, StagesStandInTheOrderOfThePipeline) {
  const std::vector<std::string> in_order = {
      "before_optimizations",        "0001.pre-spmd-partitioner.after_a.before_b",
      "after_spmd_partitioner",      "0002.optimization.after_b.before_c",
      "before_config_assignment",    "0123.config-assigner.after_pipeline-start.before_c",
      "12345.late.after_x.before_y", "sm_9.0_gpu_after_optimizations"};
  std::vector<StageEntry> stages;
  for (const std::string& name : in_order) stages.insert(stages.begin(), {name, "", "", {}});
  SortStages(stages);
  for (size_t k = 0; k < in_order.size(); ++k) EXPECT_EQ(stages[k].name, in_order[k]);
}

TEST(SniffTest, MarksOfLogsAreNoJson) {
  for (std::string_view text :
       {"[1, 2]", "[1]\n", "[1,\n2] ", "[{\"a\": 1}]", "[\n]", "[true]", "[-1.5e3\n, 2]", "{}"})
    EXPECT_EQ(Sniff(text), FileKind::kJson) << text;
  for (std::string_view text : {"[rank0]: begins\n", "[12:04:45] begins\n", "[info] begins\n",
                                "[2026-05-04 12:00:00] begins\n", "[1,0]<stdout>: begins\n",
                                "[0]<stderr>:begins\n", "[3] begins\n"})
    EXPECT_EQ(Sniff(text), FileKind::kText) << text;
}

TEST(SniffTest, KnowsFilesByContent) {
  const std::pair<std::string_view, FileKind> cases[] = {
      {"", FileKind::kEmpty},
      {"HloModule m\nENTRY e { ROOT a = f32[] parameter(0) }", FileKind::kHloText},
      {"// a comment first\nHloModule m\n", FileKind::kHloText},
      {"; ModuleID = 'x'\n", FileKind::kLlvmIr},
      {"//\n// Generated by LLVM NVPTX Back-End\n//\n\n.version 8.4\n", FileKind::kPtx},
      {"\x7f"
       "ELF\x02\x01",
       FileKind::kObject},
      {"PK\x03\x04zip", FileKind::kZip},
      {"\x93NUMPY\x01", FileKind::kNpy},
      {"BufferAssignment:\nallocation 0", FileKind::kBufferAssignment},
      {"module @jit_f {\n", FileKind::kStableHloText},
      {"ML\xefR\x01", FileKind::kMlirBytecode},
      {"digraph G {}", FileKind::kDot},
      {"<!DOCTYPE html>", FileKind::kHtml},
      {"xla_dump_to: \"x\"\n", FileKind::kDebugOptions},
      {"hlo_module {\n  name: \"m\"\n}\n", FileKind::kHloTextProto},
      {"name: \"m\"\nentry_computation_name: \"e\"\n", FileKind::kHloTextProto},
      {"node {\n  name: \"x\"\n}\n", FileKind::kTensorFlowGraph},
      {"node {\n  name: \"x\"\n  attr {\n    key: \"a=1\"\n  }\n}\n", FileKind::kTensorFlowGraph},
      {"library {\n  function {\n    x = 1\n", FileKind::kTensorFlowGraph},
      {"# by hand\n\nnode <\n  name: 'x=1' >", FileKind::kTensorFlowGraph},
      {"node: { name: \"x=1\" }", FileKind::kTensorFlowGraph},
      {"node: [ { name: \"x=1\" }, { name: \"y\" } ]", FileKind::kTensorFlowGraph},
      {"node # the first\n{\n name: \"x=1\"\n}\n", FileKind::kTensorFlowGraph},
      {"node: 1\n", FileKind::kTextProto},
      {"warning\n<frozen importlib>\n", FileKind::kText},
      {"node {\n  name = f32[] constant(1)\n  ROOT y = f32[] negate(name)\n}\n",
       FileKind::kHloText},
      {"gpu_device_info {\n threads_per_block_limit: 1024\n}\n", FileKind::kTextProto},
      {"goo.gle/debugproto  \nhlo_module {\n  name: \"m\"\n", FileKind::kHloTextProto},
      {"goo.gle/debugstr\t \nhlo_module \t {\n  name: \"m\"\n", FileKind::kHloTextProto},
      {"goo.gle/debugonly name: \"m\" computations { name: \"e\" }", FileKind::kHloTextProto},
      {"goo.gle/debugonly\nxla_gpu_autotune_level: 4\n", FileKind::kDebugOptions},
      {"just some words\n", FileKind::kText},
      {std::string_view("\0\1\2\3\4", 5), FileKind::kUnknown},
  };
  for (const auto& [bytes, kind] : cases)
    EXPECT_EQ(ToString(Sniff(bytes)), ToString(kind)) << bytes;
}

constexpr std::string_view kText = "HloModule m\nENTRY e { ROOT a = f32[] parameter(0) }\n";

class DumpModelTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("hloscope-model-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void Write(const std::string& name, std::string_view bytes) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  std::shared_ptr<const DumpModel> Open() {
    auto model = DumpModel::Open(folder_.string(), Limits{});
    EXPECT_TRUE(model) << model.error().ToString();
    return model ? *model : nullptr;
  }

  fs::path folder_;
};

TEST_F(DumpModelTest, FoldersThatAreKnownAreListedAsTheyAre) {
  Write("module_0001.f.before_optimizations.txt", kText);
  Write("module_0001.f/module.mlir", "module @f {\n}\n");
  // Folders of long ago: what changed just now is not kept.
  auto age = [&] {
    for (const char* name : {"", "module_0001.f"}) {
      const timespec past[2] = {{1'700'000'000, 5}, {1'700'000'000, 5}};
      utimensat(AT_FDCWD, (folder_ / name).c_str(), past, 0);
    }
    usleep(60'000);  // their change of status is older than what another change would leave
  };
  age();
  auto paths = [&](const FolderTable* known, FolderTable& next, bool& read_any) {
    auto listing = ListFolder(folder_.string(), Limits{}, known, next, read_any);
    std::string all;
    if (!listing) return listing.error().ToString();
    std::ranges::sort(listing->files, {}, &ListedFile::path);
    for (const ListedFile& file : listing->files)
      all += file.path + " " + std::to_string(file.bytes) + "\n";
    return all;
  };
  FolderTable first, second, third;
  bool read_any = false;
  const std::string expected = paths(nullptr, first, read_any);
  EXPECT_TRUE(read_any);
  auto known = FolderTable::Read(first.bytes());
  ASSERT_TRUE(known);
  ASSERT_NE(known->Find("module_0001.f"), nullptr);
  EXPECT_EQ(paths(&*known, second, read_any), expected);
  EXPECT_FALSE(read_any);
  Write("module_0001.f.before_optimizations.txt", "HloModule changed");
  Write("module_0001.f/new.mlir", "module @g {\n}\n");
  const std::string changed = paths(&*known, third, read_any);
  EXPECT_TRUE(read_any);
  EXPECT_NE(changed.find("before_optimizations.txt 17"), std::string::npos) << changed;
  EXPECT_NE(changed.find("new.mlir"), std::string::npos) << changed;
  for (size_t size = 1; size < first.bytes().size(); ++size) {
    auto cut = FolderTable::Read(first.bytes().substr(0, size));
    EXPECT_TRUE(!cut || cut->Find("") != nullptr || cut->Find("module_0001.f") != nullptr);
  }
}

TEST_F(DumpModelTest, HeadsThatAreKnownAreNotReadAgain) {
  Write("module_0001.f.before_optimizations.txt", kText);
  Write("module_0001.f.cpu_after_optimizations.txt", kText);
  auto listing = ListFolder(folder_.string(), Limits{});
  ASSERT_TRUE(listing);
  std::ranges::sort(listing->files, {}, &ListedFile::path);
  ASSERT_EQ(listing->files.size(), 2u);
  // What is known says something else than the file, so that it shows who was asked.
  HeadTable known;
  FileHead head{FileKind::kHloText, TextEnd::kLine, true, StageCounts{7, 1, 2, "f"}, "as it was"};
  known.Add(KeyOf(listing->files[0]), head);
  ListedFile older = listing->files[1];
  older.changed_ns -= 1;
  known.Add(KeyOf(older), head);
  std::string packed;
  known.Write(packed);
  std::string_view bytes = packed;
  auto unpacked = HeadTable::Take(bytes);
  ASSERT_TRUE(unpacked);
  EXPECT_TRUE(bytes.empty());
  for (size_t size = 0; size < packed.size(); ++size) {
    std::string_view cut = std::string_view(packed).substr(0, size);
    EXPECT_FALSE(HeadTable::Take(cut)) << size;
  }
  listing->known_heads = std::make_shared<const HeadTable>(*std::move(unpacked));
  OpenOptions options;
  options.listing = &*listing;
  options.count_stages = true;
  auto model = DumpModel::Open(folder_.string(), Limits{}, options);
  ASSERT_TRUE(model);
  ASSERT_NE((*model)->StageCountsOf(0), nullptr);
  EXPECT_EQ((*model)->StageCountsOf(0)->instructions, 7);
  EXPECT_EQ((*model)->warnings()[0], "module_0001.f.before_optimizations.txt: as it was");
  EXPECT_EQ((*model)->StageCountsOf(1), nullptr) << "it has changed, and only the parser reads it";
}

TEST_F(DumpModelTest, KernelsOfObjectsAndProfilesNextToTheModule) {
  constexpr std::string_view kElf =
      "\x7f"
      "ELF\x02\x01 cut";
  Write("module_0001.f.cpu_after_optimizations.txt", kText);
  Write("module_0001.f.obj-file.a_kernel_module.o", kElf);
  Write("plugins/profile/run_1/host.xplane.pb", "\x0a\x03\x12\x01x");
  Write("plugins/profile/run_1/host.trace.json.gz", "{\"traceEvents\": []}");
  for (const char* ending : {"hloprof", "hloprof.part", "pftrace", "perfetto-trace", "sqlite"})
    Write("plugins/profile/run_1/host." + std::string(ending), "bytes");
  auto model = Open();
  ASSERT_EQ(model->modules().size(), 1u);
  for (const FileEntry& file : model->files()) {
    if (!file.path.starts_with("plugins")) continue;
    EXPECT_EQ(file.role, FileRole::kTrace) << file.path;
    EXPECT_EQ(file.module, 0) << file.path;
  }
  auto kernels = model->Kernels(0);
  ASSERT_TRUE(kernels);
  EXPECT_TRUE((*kernels)->kernels.empty());
  ASSERT_EQ((*kernels)->warnings.size(), 1u);
  EXPECT_NE((*kernels)->warnings[0].find("a_kernel_module.o"), std::string::npos);
}

TEST_F(DumpModelTest, KernelsOfCollectivesBelongToTheirInstructions) {
  Write("module_0001.f.sm_9.0_gpu_after_optimizations.txt", R"(HloModule f, is_scheduled=true
sum {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] add(p, q)
}
ENTRY e {
  x = f32[8] parameter(0)
  all-reduce-start = f32[8] all-reduce-start(x), to_apply=sum
  all-reduce-done = f32[8] all-reduce-done(all-reduce-start)
  a2 = f32[8] all-reduce(all-reduce-done), to_apply=sum
  ROOT n = f32[8] negate(a2)
})");
  Write("module_0001.f.ptx",
        ".version 8.0\n.target sm_90\n"
        ".visible .entry all_reduce_start_fusion(\n)\n{\n\tret;\n}\n"
        ".visible .entry all_reduce_fusion_1(\n)\n{\n\tret;\n}\n"
        ".visible .entry reduce_scatter_fusion(\n)\n{\n\tret;\n}\n");
  auto model = Open();
  auto kernels = model->Kernels(0);
  ASSERT_TRUE(kernels);
  struct Case {
    const char *kernel, *instruction, *tie;
  };
  for (const Case& c : {Case{"all_reduce_start_fusion", "all-reduce-start", "collective"},
                        Case{"all_reduce_fusion_1", "a2", "collective"},
                        Case{"reduce_scatter_fusion", "", "none"}}) {
    const Kernel* kernel = (*kernels)->Find(c.kernel);
    ASSERT_NE(kernel, nullptr) << c.kernel;
    EXPECT_EQ(kernel->instruction, c.instruction) << c.kernel;
    EXPECT_EQ(ToString(kernel->tie), c.tie) << c.kernel;
  }
}

TEST_F(DumpModelTest, MakesModulesOfFilesAndSkipsTraps) {
  Write("module_0001.f.cpu_after_optimizations.txt", kText);
  Write("module_0001.f.before_optimizations.txt", kText);
  Write("module_0001.f.part_0.ir-no-opt.ll", "; ModuleID = 'f'\n");
  Write("module_0001.f/module.mlir", "module @f {\n}\n");
  Write("module_0000.g.before_optimizations.txt", kText);
  Write("a_graph.txt", kText);
  Write("notes", "something else");
  fs::create_directory_symlink(folder_, folder_ / "loop");
  ASSERT_EQ(mkfifo((folder_ / "module_0009.x.before_optimizations.txt").c_str(), 0600), 0);
  auto model = Open();
  ASSERT_EQ(model->modules().size(), 3u);
  const ModuleEntry &g = model->modules()[0], &f = model->modules()[1];
  EXPECT_EQ(g.name, "g");
  EXPECT_EQ(f.name, "f");
  EXPECT_EQ(f.device, "cpu");
  ASSERT_EQ(f.stages.size(), 2u);
  EXPECT_EQ(f.stages[0].name, "before_optimizations");
  EXPECT_EQ(f.stages[0].files.size(), 2u) << "the MLIR that came in belongs to the input";
  EXPECT_EQ(f.stages[1].files.size(), 2u) << "LLVM IR belongs to the compiled module";
  EXPECT_EQ(model->modules()[2].name, "a_graph");
  EXPECT_EQ(model->warnings().size(), 3u) << "a link, a pipe and a file nobody knows";
  auto module = model->Module(1, 1);
  ASSERT_TRUE(module) << module.error().ToString();
  EXPECT_EQ((*module)->name(), "m");
  EXPECT_EQ(model->Module(1, 1)->get(), module->get()) << "read once";
}

TEST_F(DumpModelTest, DistinguishesModulesOfOneId) {
  Write("module_0001.f.before_optimizations.txt", kText);
  Write("module_0001.f.x.before_optimizations.txt", kText);
  Write("module_0001.f.x.1.ptx", ".version 8.0\n");
  Write("module_0001.f.debug_options", "");
  Write("1700000000000001.module_0001.f.before_optimizations.txt", kText);
  Write("1700000000000002.module_0001.f.before_optimizations.txt", kText);
  Write("f/host_77/module_0001.f.before_optimizations.txt", kText);
  Write("module_0001.f/module.mlir", "module @f {\n}\n");
  Write("module_0007.g/module.mlir", "module @g {\n}\n");
  Write("g/host_78/module_0007.g.before_optimizations.txt", kText);
  Write("jax_ir0000_f_compile.mlir", "module @f {\n}\n");
  Write("1700000000000003.module_0005.late.before_optimizations.txt", kText);
  Write("module_0005.late.debug_options", "");
  auto model = Open();
  ASSERT_EQ(model->modules().size(), 7u);
  std::vector<size_t> files;
  for (const ModuleEntry& module : model->modules()) files.push_back(module.files.size());
  std::ranges::sort(files);
  EXPECT_EQ(files, (std::vector<size_t>{1, 1, 1, 2, 2, 2, 4}));
}

std::string Layout(std::string_view rest) {
  return "HloModule m, entry_computation_layout={" + std::string(rest) +
         "}, num_partitions=4\nENTRY e { ROOT a = f32[] parameter(0) }\n";
}

TEST(SplitIdsTest, ArraysOfAHeader) {
  const auto arrays = EntryArraysOf(Layout(
      "(f32[8,16]{1,0:T(8,128)(2,1)S(1)}, /*index=1*/(bf16[], s32[<=4]{0}))->f32[]{:T(128)}"));
  ASSERT_TRUE(arrays);
  EXPECT_EQ(arrays->partitions, 4);
  ASSERT_EQ(arrays->arrays.size(), 3u) << "the result is none";
  EXPECT_EQ(arrays->arrays[0], (EntryArrays::Array{"f32", {8, 16}}));
  EXPECT_EQ(arrays->arrays[1], (EntryArrays::Array{"bf16", {}}));
  EXPECT_EQ(arrays->arrays[2], (EntryArrays::Array{"s32", {4}}));
  EXPECT_FALSE(EntryArraysOf("HloModule m\n"));
  for (const char* cut : {"(f32[8", "(f32[8]{1,0", "((((", "(f32[,]", "(/*"}) {
    std::string text = Layout(cut);
    text.resize(text.find(cut) + std::string_view(cut).size());
    EXPECT_TRUE(EntryArraysOf(text)) << cut;
  }
}

TEST(SplitIdsTest, APartitionedModuleTakesParts) {
  const auto whole = *EntryArraysOf(Layout("(f32[8,10])->f32[]"));
  EXPECT_TRUE(MayBecome(whole, *EntryArraysOf(Layout("(f32[2,10]{1,0})->f32[]"))));
  EXPECT_TRUE(MayBecome(whole, *EntryArraysOf(Layout("(f32[8,3]{1,0})->f32[]")))) << "padded";
  EXPECT_FALSE(MayBecome(whole, *EntryArraysOf(Layout("(f32[8,7]{1,0})->f32[]"))));
  EXPECT_FALSE(MayBecome(whole, *EntryArraysOf(Layout("(bf16[8,10]{1,0})->f32[]"))));
  EXPECT_FALSE(MayBecome(whole, *EntryArraysOf(Layout("(f32[8,10], f32[])->f32[]"))));
}

// XLA:TPU: 21 and 23, then 25 and 27 are two compilations; a stage that nobody knows is one too.
TEST_F(DumpModelTest, OneCompilationUnderTwoIds) {
  const std::string big = Layout("(f32[8])->f32[]"), small = Layout("(f32[6])->f32[]");
  Write("module_0021.f.before_optimizations.txt", big);
  Write("module_0021.f.execution_options.txt", "num_replicas: 1\n");
  Write("module_0021.f.tpu_comp_env.txt", "xla_tpu_enable_x: true\n");
  Write("module_0021.f.flagfile", "--xla_dump_to=/tmp/x\n");
  Write("module_0023.f.after_optimizations_before_buffer_assignment.txt", big);
  Write("module_0023.f.after_optimizations_after_buffer_assignment.txt", big);
  Write("module_0023.f.after_optimizations.txt", big);
  Write("module_0023.f.after_codegen.txt", big);
  Write("module_0025.f.before_optimizations.txt", small);
  Write("module_0027.f.after_optimizations.txt", small);
  Write("module_0027.f.some_new_point.txt", small);
  Write("module_0027.f.some_new_words.txt", "what nobody knows\n");
  Write("module_0030.g.before_optimizations.txt", big);
  Write("module_0031.g.after_optimizations.txt", small);
  auto model = Open();
  ASSERT_EQ(model->modules().size(), 4u);
  const ModuleEntry &first = model->modules()[0], &second = model->modules()[1];
  EXPECT_EQ(first.id, 21);
  EXPECT_EQ(first.end_id, 23);
  EXPECT_EQ(first.device, "tpu");
  ASSERT_EQ(first.stages.size(), 5u);
  EXPECT_EQ(first.stages[1].name, "after_optimizations_before_buffer_assignment");
  EXPECT_EQ(first.stages[3].name, "after_optimizations");
  EXPECT_EQ(first.stages[4].name, "after_codegen");
  EXPECT_EQ(model->FinalStage(0), 3);
  EXPECT_EQ(second.id, 25);
  EXPECT_EQ(second.end_id, 27);
  ASSERT_EQ(second.stages.size(), 3u);
  EXPECT_EQ(second.stages[2].name, "some_new_point");
  EXPECT_EQ(model->FinalStage(1), 1);
  EXPECT_EQ(model->modules()[2].end_id, -1) << "other parameters";
  EXPECT_TRUE(model->warnings().empty()) << model->warnings().front();
}

TEST_F(DumpModelTest, BeginningsThatAreAlikeAreNotGuessed) {
  const std::string text = Layout("(f32[8])->f32[]");
  Write("module_0001.f.before_optimizations.txt", text);
  Write("module_0002.f.before_optimizations.txt", text);
  Write("module_0003.f.after_optimizations.txt", text);
  auto model = Open();
  EXPECT_EQ(model->modules().size(), 3u);
  ASSERT_EQ(model->warnings().size(), 1u);
  EXPECT_NE(model->warnings()[0].find("which belong together is unknown"), std::string::npos);
}

TEST_F(DumpModelTest, AFileThatIsTheDumpIsReadOnce) {
  Write("m.hlo", kText);
  const auto model = DumpModel::Open((folder_ / "m.hlo").string(), Limits{});
  ASSERT_TRUE(model) << model.error().ToString();
  fs::remove(folder_ / "m.hlo");
  EXPECT_TRUE((*model)->Module(0, 0)) << (*model)->Module(0, 0).error().ToString();
  EXPECT_FALSE((*model)->OpenFile(0));
}

TEST_F(DumpModelTest, TooManyFilesAndNoFolderAreErrors) {
  Limits limits;
  limits.directory_entries = 2;
  for (const char* name : {"a", "b", "c"}) Write(name, "x");
  EXPECT_FALSE(DumpModel::Open(folder_.string(), limits));
  EXPECT_FALSE(DumpModel::Open((folder_ / "d").string(), Limits{}));
}

// A folder that is of no dump is an error soon, whatever is in it; next to a dump it is left out,
// which is said; and a dump itself has no such bound.
TEST_F(DumpModelTest, WhatIsOfNoDumpIsBounded) {
  Limits limits;
  limits.directory_entries = 10'000;  // of other files kMinOthers
  const auto fill = [&](const std::string& folder, const char* ending) {
    fs::create_directories(folder_ / folder);
    for (int64_t k = 0; k <= kMinOthers; ++k)
      Write(folder + "/f" + std::to_string(k) + ending, "x");
  };
  fill("a", ".rs");
  fs::create_directories(folder_ / "a/deep/deeper");
  fs::create_directories(folder_ / "b");
  const auto none = DumpModel::Open(folder_.string(), limits);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().error_class, ErrorClass::kInput);
  // In two folders or three: the file system decides which comes first.
  EXPECT_NE(none.error().message.find("not a dump: looked at 1001 entries in "), std::string::npos)
      << none.error().message;
  EXPECT_NE(none.error().message.find("left out: 3 more entries"), std::string::npos)
      << none.error().message;

  Write("module_0001.jit_f.before_optimizations.txt", kText);
  const auto some = DumpModel::Open(folder_.string(), limits);
  ASSERT_TRUE(some) << some.error().ToString();
  EXPECT_EQ((*some)->modules().size(), 1u);
  EXPECT_FALSE((*some)->left_out().empty());
  EXPECT_EQ((*some)->warnings().front(), (*some)->left_out());

  limits.directory_entries = 100'000;
  const auto whole = DumpModel::Open(folder_.string(), limits);
  ASSERT_TRUE(whole) << whole.error().ToString();
  EXPECT_TRUE((*whole)->left_out().empty());

  fs::remove_all(folder_ / "a");
  fill("c", ".hlo");
  limits.directory_entries = 10'000;
  const auto loose = DumpModel::Open(folder_.string(), limits);
  ASSERT_TRUE(loose) << loose.error().ToString();
  EXPECT_TRUE((*loose)->left_out().empty());
}

TEST_F(DumpModelTest, FileSystemsOfTheKernelAreNotEntered) {
  const auto model = DumpModel::Open("/proc", Limits{});
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("kernel's file system proc"), std::string::npos)
      << model.error().message;
}

// Links, pipes and folders that may not be read are named up to a number.
TEST_F(DumpModelTest, WhatIsSkippedIsNamedUpToANumber) {
  constexpr int kLinks = 50;
  for (int k = 0; k < kLinks; ++k) {
    fs::create_symlink("m.hlo", folder_ / ("link" + std::to_string(k)));
  }
  Write("m.hlo", kText);
  const auto model = DumpModel::Open(folder_.string(), Limits{});
  ASSERT_TRUE(model) << model.error().ToString();
  EXPECT_EQ((*model)->warnings().size(), 21u);
  EXPECT_EQ(std::ranges::count((*model)->warnings(),
                               "30 more entries: skipped, a symbolic link is not followed"),
            1);
}

}  // namespace
}  // namespace hloscope::dump
