// Readers of PTX, LLVM IR, thunks, buffers, live ranges and TensorFlow graphs on small texts, and
// counting against the module built whole.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "core/dump/dump_model.h"
#include "core/dump/listing/report_cache.h"
#include "core/dump/listing/stage_counts.h"
#include "core/dump/load.h"
#include "core/dump/readers/buffer_reader.h"
#include "core/dump/readers/code_reader.h"
#include "core/dump/readers/elf_reader.h"
#include "core/dump/readers/thunk_reader.h"
#include "core/hlo/proto/wire_reader.h"
#include "tests/base/paths.h"

namespace hloscope::dump {
namespace {

namespace fs = std::filesystem;

TEST(CodeReaderTest, FindsEntriesOfPtx) {
  constexpr std::string_view kText = R"(.version 8.4
.target sm_90a
.visible .entry loop_add_fusion(
	.param .u64 p0
)
.reqntid 128, 2, 1
.maxnreg 64
{
	.shared .align 4 .b8 tile[1024];
	.shared .align 8 .b64 more[4];
	mov.v2.b32 {%r1, %r2}, %rd1; // a brace } in a comment
	.loc	1 12 3
	ret;
}
.visible .entry cut(
)
.maxntid 256, 1, 1
{
	ret;
.file 1 "model.py"
)";
  std::vector<CodeFunction> found = ReadPtx(kText);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "loop_add_fusion");
  EXPECT_EQ(found[0].first_line, 3);
  EXPECT_EQ(found[0].last_line, 14);
  EXPECT_EQ(found[0].launch.threads, (Extent3{128, 2, 1}));
  EXPECT_EQ(found[0].max_threads, 256);
  EXPECT_EQ(found[0].registers, 64);
  EXPECT_EQ(found[0].shared_bytes, 1024 + 32);
  EXPECT_FALSE(found[0].is_cut);
  EXPECT_TRUE(found[1].is_cut);
  EXPECT_FALSE(found[1].launch.threads) << "a bound is not the launch";
  EXPECT_EQ(found[1].max_threads, 256);
  std::vector<DebugLine> lines = ReadPtxLines(kText, 3, 14);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].line, 12);
  EXPECT_EQ(lines[0].source_file, "model.py");
  EXPECT_EQ(lines[0].source_line, 12);
}

TEST(CodeReaderTest, BlocksAreTheRangeOfTheIndexOfABlock) {
  constexpr std::string_view kText = R"(define ptx_kernel void @now() {
  %1 = call range(i32 0, 48) i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  ret void
}
define void @before() {
  %1 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !range !12
  %2 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !range !13
  ret void
}
!12 = !{i32 0, i32 32}
!13 = !{i32 0, i32 256}
)";
  const std::vector<CodeFunction> found = ReadLlvm(kText, true);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].launch.blocks, (Extent3{1, 48, 1}));
  EXPECT_EQ(found[1].launch.blocks, (Extent3{32, 1, 1}));
}

TEST(CodeReaderTest, AnIndexOfABlockWithoutARangeLeavesTheNumberOfBlocksUnknown) {
  constexpr std::string_view kText = R"(define ptx_kernel void @one_axis() {
  %1 = call range(i32 0, 48) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %2 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  ret void
}
define ptx_kernel void @of_the_intrinsic() {
  %1 = call range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  ret void
}
define void @no_node() {
  %1 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !range !12
  ret void
}
)";
  const std::vector<CodeFunction> found = ReadLlvm(kText, true);
  ASSERT_EQ(found.size(), 3u);
  for (const CodeFunction& function : found) {
    EXPECT_FALSE(function.launch.blocks.has_value()) << function.name;
  }
}

TEST(CodeReaderTest, PtxThatReadsNoIndexOfABlockIsKnown) {
  constexpr std::string_view kText = R"(.visible .entry one()
{
	mov.u32 	%r1, %tid.x; // not %ctaid.x
	ret;
}
.visible .entry many()
{
	mov.u32 	%r1, %ctaid.x;
	ret;
}
.visible .entry calls()
{
	call.uni helper, ();
	ret;
}
.visible .entry cut()
{
	ret;
)";
  const std::vector<CodeFunction> found = ReadPtx(kText);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_FALSE(found[0].reads_block_index);
  EXPECT_TRUE(found[1].reads_block_index);
  EXPECT_TRUE(found[2].reads_block_index);
  EXPECT_TRUE(found[3].reads_block_index);
}

TEST(CodeReaderTest, FindsFunctionsOfLlvm) {
  constexpr std::string_view kText = R"(; ModuleID = 'm'
define ptx_kernel void @"a.b\2Dc"(ptr %0) local_unnamed_addr #0 !dbg !7 {
  ret void, !dbg !9
}
define internal void @inner(ptr %0) #1 {
  ret void
}
define void @old(ptr %0) {
  ret void
}
attributes #0 = { nounwind "nvvm.reqntid"="64,2,1" }
!0 = !{ptr @old, !"kernel", i32 1}
!1 = !{ptr @old, !"reqntidx", i32 32}
!5 = !DIFile(filename: "model.py", directory: "")
!7 = distinct !DISubprogram(name: "f", file: !5, line: 3)
!9 = !DILocation(line: 4, scope: !7)
)";
  std::vector<CodeFunction> found = ReadLlvm(kText, true);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].name, "a.b-c");
  EXPECT_TRUE(found[0].is_kernel);
  EXPECT_EQ(found[0].first_line, 2);
  EXPECT_EQ(found[0].last_line, 4);
  EXPECT_EQ(found[0].launch.threads, (Extent3{64, 2, 1}));
  EXPECT_FALSE(found[1].is_kernel);
  EXPECT_EQ(found[1].first_line, 5);
  EXPECT_TRUE(found[2].is_kernel) << "by its annotation";
  EXPECT_EQ(found[2].launch.threads, (Extent3{32, 1, 1}));
  EXPECT_FALSE(found[2].launch.blocks.has_value()) << "it asks for no index of a block";
  EXPECT_TRUE(ReadLlvm(kText, false)[2].is_kernel) << "on the CPU what is linked from outside";
  EXPECT_TRUE(ReadLlvm("define void @f() {\n  ret", false)[0].is_cut);
  std::vector<DebugLine> lines = ReadLlvmLines(kText, 2, 4);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].source_file, "model.py");
  EXPECT_EQ(lines[1].source_line, 4);
}

TEST(ThunkReaderTest, ReadsEveryGeneration) {
  std::vector<std::string> warnings;
  std::vector<Thunk> found = ReadThunkSequence(
      "000: kWhile        [source       | sink        ]\n"
      "condition:\n"
      "    004: kCustomKernel [source       | next=005 (1)] input_reduce_fusion grid: [2, 3, 1] "
      "threads: [256, 1, 1]  shared_memory: 16 bytes\n"
      "  body:\n"
      "    005: kGemm [prev=004 (1) | sink] (no description)\n"
      "kKernel\t, kernel = loop_add, launch dimensions = blocks: {7, 1, 1}, threads/block: {64, 1, "
      "1}, cluster_dim = nullopt\n"
      "kNcclAllReduceStart\t\n"
      "what is this\n",
      Limits{}, warnings);
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[1].parent, 0);
  EXPECT_EQ(found[1].kernel, "input_reduce_fusion");
  EXPECT_EQ(found[1].launch.blocks, (Extent3{2, 3, 1}));
  EXPECT_EQ(found[1].shared_bytes, 16);
  EXPECT_EQ(found[1].next, 5);
  EXPECT_EQ(found[2].library, "cuBLAS");
  EXPECT_EQ(found[2].depth, 1);
  EXPECT_EQ(found[3].kernel, "loop_add");
  EXPECT_EQ(found[3].depth, 0);
  EXPECT_EQ(found[3].launch.threads, (Extent3{64, 1, 1}));
  EXPECT_EQ(found[4].library, "NCCL");
  EXPECT_EQ(warnings.size(), 1u);
  warnings.clear();
  // A sequence begins on the line of the thunk that holds it.
  found = ReadThunkSequence(
      "003: kSequential [source | sink]   001: kCopy            [source       | next=002 (1)] "
      "kCopy\n"
      "  002: kCustomKernel [prev=001 (1) | sink        ] add grid: [2, 1, 1] threads: [8, 1, 1]\n"
      "004: kGemm [source | sink] (no description)\n",
      Limits{}, warnings);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].description, "");
  EXPECT_EQ(found[0].kernel, "");
  EXPECT_EQ(found[1].id, 1);
  EXPECT_EQ(found[1].kind, "kCopy");
  EXPECT_EQ(found[1].next, 2);
  EXPECT_EQ(found[1].parent, 0);
  EXPECT_EQ(found[2].parent, 0);
  EXPECT_EQ(found[2].kernel, "add");
  EXPECT_EQ(found[3].parent, -1);
  EXPECT_TRUE(warnings.empty());
  auto metadata = ReadThunkMetadata(
      "thunk_metadata {\n  thunk_info {\n    profile_annotation: \"add.1\"\n    thunk_id: 4\n  }\n"
      "  thunk_kind: \"kCopy\"\n}\nthunk_metadata {\n",
      true, warnings);
  ASSERT_EQ(metadata.size(), 2u);
  EXPECT_EQ(metadata[0].id, 4);
  EXPECT_EQ(metadata[0].instruction, "add.1");
  EXPECT_EQ(metadata[0].kind, "kCopy");
  EXPECT_EQ(warnings.size(), 1u) << "it ends in the middle";
}

TEST(ThunkReaderTest, DamagedLinesAreNamed) {
  std::vector<std::string> warnings;
  EXPECT_EQ(
      ReadThunkSequence("001: kCustomKernel [source | sink] add grid: [2, 1, 1] shared_memory: "
                        "4 b\xff\x02\n",
                        Limits{}, warnings)
          .size(),
      1u);
  EXPECT_EQ(warnings,
            std::vector<std::string>{"line 1: damaged, what it says of a thunk may be wrong"});
  const std::string whole =
      "thunk_metadata {\n  thunk_info {\n    thunk_id: 4\n    later: 2\n  }\n"
      "  thunk_kind: \"kCopy\"\n}\n";
  for (const auto& [text, lines] :
       {std::pair{whole, std::string()},
        {whole + "thunk_kin\n", "line 8: damaged thunk metadata"},
        {whole + "  thunk_id: 5\n", "line 8: damaged thunk metadata"},
        {"\x01\xfe\n\x02\n" + whole, "line 1: damaged thunk metadata, the first of 2 lines"}}) {
    warnings.clear();
    ReadThunkMetadata(text, true, warnings);
    EXPECT_EQ(warnings, lines.empty() ? std::vector<std::string>{} : std::vector{lines}) << text;
  }
}

TEST(BufferReaderTest, ReadsTextAndFindsThePeak) {
  auto table = ReadBufferText(
      "BufferAssignment:\n"
      "allocation 1: size 100, preallocated-temp:\n"
      " value: <3 fusion.1 @0> (size=60,offset=0): f32[15]{0}\n"
      " value: <4 while{1} @0> (size=60,offset=0): f32[15]{0}\n"
      " value: <5 add @0> (size=40,offset=60): f32[10]{0}\n"
      "allocation 0: size 8, color 2, parameter 1, shape |f32[2], constant| at ShapeIndex {0,1}, "
      "maybe-live-out:\n"
      " value: <1 p (phi) @2> (size=8,offset=0): f32[2]{0}\n"
      "allocation 2: size 9223372036854775807, constant:\n");
  ASSERT_TRUE(table) << table.error().ToString();
  ASSERT_EQ(table->allocations.size(), 3u);
  EXPECT_EQ(table->allocations[0].parameter_number, 1);
  EXPECT_EQ(table->allocations[0].color, 2);
  EXPECT_FALSE(table->allocations[0].is_constant) << "the word stands in a shape";
  EXPECT_EQ(table->allocations[0].parameter_shape_index, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(table->total_bytes, INT64_MAX) << "sizes of a file must not wrap round";
  EXPECT_EQ(table->temporary_bytes, 100);
  EXPECT_EQ(table->values[0].instruction, "p");
  EXPECT_EQ(table->values[2].shape_index, (std::vector<int64_t>{1}));
  LiveRanges live = ReadLiveRanges(
      "HloLiveRange (max 4):\n  InstructionSequence:\n    0:p\n    1:fusion.1\n    2:add\n"
      "  BufferLiveRange:\n    p{}:0-4\n    fusion.1{}:1-3\n    while{1}:2-4\n    add{}:2-2\n"
      "  Live ranges at 2 (peak):\n    p{}: 8 bytes\n");
  EXPECT_TRUE(live.complete);
  EXPECT_EQ(live.program.size(), 3u);
  ApplyLiveRanges(live, *table);
  EXPECT_EQ(table->live_peak_bytes, 108) << "fusion.1 and while{1} are one buffer";
  EXPECT_EQ(table->live_peak_point, 2);
  ASSERT_EQ(table->live_peak_values.size(), 3u);
  EXPECT_FALSE(ReadBufferText("something else\n"));
  EXPECT_FALSE(ReadBufferText("BufferAssignment:\nallocation 0: size 1")->warnings.empty());
}

// What is lost of a damaged file is named, also where two lines became one.
TEST(BufferReaderTest, DamagedLinesAreNamed) {
  const std::string header = "BufferAssignment:\nallocation 0: size 100, preallocated-temp:\n";
  const std::string value = " value: <3 fusion.1 @0> (size=60,offset=0): f32[15]{0}\n";
  EXPECT_TRUE(ReadBufferText(header + value + value)->warnings.empty());
  for (std::string lost : {" v\x01lue: <4 add @0> (size=40,offset=60): f32[10]{0}\n",
                           " value: <4 add @0> (size=40,offset=60)\x93: f32[10]{0}\n",
                           " value: <4 add @0> (size=40,offset=60): f32[10\x02 value: <5 p @0>\n",
                           "\x7fllocation 1: size 8, constant:\n"}) {
    const auto table = ReadBufferText(header + value + lost + value);
    EXPECT_EQ(table->values.size(), 2u) << lost;
    ASSERT_EQ(table->warnings.size(), 1u) << lost;
    EXPECT_TRUE(table->warnings[0].starts_with("line 4: ")) << table->warnings[0];
  }
  const std::string sequence = "HloLiveRange (max 4):\n  InstructionSequence:\n    0:p\n";
  const std::string ranges = "  BufferLiveRange:\n    p{}:0-4\n";
  const std::string peak = "  Live ranges at 2 (peak):\n";
  EXPECT_EQ(ReadLiveRanges(sequence + ranges + peak).lost_lines, 0);
  const LiveRanges joined = ReadLiveRanges(sequence + ranges + "    a{}:0-\x01 b{}:1-2\n" + peak);
  EXPECT_EQ(joined.lost_lines, 1);
  EXPECT_EQ(joined.first_lost_line, 6);
  // The numbers behind a lost instruction keep their instructions.
  const LiveRanges hole =
      ReadLiveRanges(sequence + "    \x01:fusion.1\n    2:add\n" + ranges + peak);
  EXPECT_EQ(hole.lost_lines, 1);
  EXPECT_EQ(hole.program, (std::vector<std::string>{"p", "", "add"}));
}

TEST(TensorFlowGraphTest, NamesClustersAndReasons) {
  auto node = [](const std::string& name, const std::string& op, const std::string& attribute) {
    return "node {\n  name: \"" + name + "\"\n  op: \"" + op + "\"\n  device: \"/device:CPU:0\"\n" +
           attribute + "}\n";
  };
  auto attribute = [](const std::string& key, const std::string& value) {
    return "  attr {\n    key: \"" + key + "\"\n    value {\n      " + value + "\n    }\n  }\n";
  };
  auto graph = ReadTensorFlowGraph(
      node("a", "Mul", attribute("_XlaCluster", "s: \"cluster_0\"")) +
          node("b", "EagerPyFunc", "") + node("c", "Foo", attribute("T", "type: DT_STRING")) +
          node("d", "Foo", "") + "library {\n  function {\n    signature {\n      name: \"f\"\n" +
          "    }\n    node_def {\n      name: \"x\"\n      op: \"AsString\"\n    }\n  }\n}\n",
      Limits{});
  ASSERT_TRUE(graph) << graph.error().ToString();
  ASSERT_EQ(graph->nodes.size(), 5u);
  EXPECT_EQ(graph->nodes[0].cluster, "cluster_0");
  EXPECT_NE(graph->nodes[1].reason.find("Python"), std::string::npos);
  EXPECT_NE(graph->nodes[2].reason.find("strings"), std::string::npos);
  EXPECT_EQ(graph->nodes[3].reason, "XLA has no kernel for this operation");
  EXPECT_EQ(graph->nodes[4].function, "f");
  ASSERT_EQ(graph->clusters.size(), 1u);
  EXPECT_EQ(graph->clusters[0].devices, (std::vector<std::string>{"/device:CPU:0"}));
  EXPECT_FALSE(ReadTensorFlowGraph("just words\n", Limits{}));
  std::string deep;
  for (int k = 0; k < 10'000; ++k) deep += k == 0 ? "node {\n" : "attr {\n";
  EXPECT_FALSE(ReadTensorFlowGraph(deep, Limits{})) << "nesting is limited";
}

TEST(StageCountsTest, AgreeWithTheModuleBuiltWhole) {
  int checked = 0;
  for (const auto& entry : fs::recursive_directory_iterator(SourcePath("samples"))) {
    if (!entry.path().string().ends_with(".hlo.pb")) continue;
    auto loaded = LoadSoundModule(entry.path().string(), Limits{});
    ASSERT_TRUE(loaded) << loaded.error().ToString();
    auto counts = CountInProto(loaded->file.bytes());
    ASSERT_TRUE(counts) << entry.path();
    const hlo::Module& m = *loaded->module;
    EXPECT_EQ(counts->instructions, static_cast<int64_t>(m.instructions().size()));
    EXPECT_EQ(counts->computations, static_cast<int64_t>(m.computations().size()));
    EXPECT_EQ(counts->module_name, m.name());
    EXPECT_EQ(counts->fusions, std::ranges::count(m.instructions(), hlo::Opcode::kFusion,
                                                  &hlo::Instruction::opcode));
    std::string_view bytes = loaded->file.bytes();
    EXPECT_FALSE(CountInProto(bytes.substr(0, bytes.size() / 2))) << "cut off";
    ++checked;
  }
  EXPECT_GT(checked, 4);
}

TEST(StageCountsTest, TextsAgreeWithTheModuleBuiltWhole) {
  int checked = 0;
  for (const auto& entry : fs::recursive_directory_iterator(SourcePath("samples"))) {
    if (!entry.path().string().ends_with(".txt")) continue;
    auto loaded = LoadSoundModule(entry.path().string(), Limits{});
    if (!loaded || loaded->kind != FileKind::kHloText) continue;
    auto counts = CountInText(loaded->file.bytes());
    if (!counts) continue;
    const hlo::Module& m = *loaded->module;
    EXPECT_EQ(counts->instructions, static_cast<int64_t>(m.instructions().size())) << entry.path();
    EXPECT_EQ(counts->computations, static_cast<int64_t>(m.computations().size()));
    EXPECT_EQ(counts->module_name, m.name());
    EXPECT_EQ(counts->fusions, std::ranges::count(m.instructions(), hlo::Opcode::kFusion,
                                                  &hlo::Instruction::opcode));
    std::string_view bytes = loaded->file.bytes();
    EXPECT_FALSE(CountInText(bytes.substr(0, bytes.size() / 2))) << "cut off";
    ++checked;
  }
  EXPECT_GT(checked, 4);
}

TEST(StageCountsTest, OddTextsAreLeftToTheParser) {
  const std::string head =
      "HloModule m, is_scheduled=true\n\nFileNames\n1 \"a.py\"\n\n"
      "ENTRY %e (p: (f32[], s32[2])) -> f32[] {\n"
      "  %p = (f32[]{:T(128)}, s32[2]{0}) parameter(0)\n";
  struct Case {
    std::string lines;
    int64_t instructions;  // -1: not counted
  };
  const Case cases[] = {
      {"  ROOT %a = f32[] add(%p#0, %p#0), metadata={op_name=\"a (b #\"}\n}\n", 3},
      {"  ROOT %a = f32[] add(f32[] %p#0, /*index=1*/%q#0#1)\n}\n", 5},
      {"  %c = s32[2]{0} constant({1, 2})\n  ROOT %a = f32[] f(s32[2]{0:T(8,128)} %c)\n}\n", 3},
      {"  ROOT %a = f32[] add(negate(%b), %b)\n}\n", -1},
      {"  ROOT %a = ((f32[]), f32[]) add-start(%b)\n}\n", -1},
      {"  ROOT %a = f32[] negate(%b\n}\n", -1},
      {"  ROOT %a = f32[] negate(%b), metadata={op_name=\"\xc3\xa9\"}\n}\n", -1},
      {"  ROOT %a = f32[] negate(%b\x01)\n}\n", -1},
      {"  ROOT %a = f32[] negate(%b)\n", -1},
      {"  ROOT %a = f32[] call(%b), to_apply={\n    x = f32[] parameter(0)\n  }\n}\n", -1},
      {"}\n", 1},
  };
  for (const Case& c : cases) {
    auto counts = CountInText(head + c.lines);
    EXPECT_EQ(counts ? counts->instructions : -1, c.instructions) << c.lines;
  }
  EXPECT_FALSE(CountInText("ENTRY %e () -> f32[] {\n}\n")) << "no header";
  EXPECT_FALSE(CountInText("HloModule m\n\n%c (p: f32[]) -> f32[] {\n}\n")) << "no entry";
}

// A 64-bit object: header, names, symbols and three section headers.
class ObjectText {
 public:
  ObjectText() : bytes_(64, '\0') {
    Put<uint32_t>(0, 0x464c457f);
    bytes_[4] = 2;
    bytes_[5] = 1;
    const std::string names = std::string("\0f\0local\0absent\0add_fusion\0", 27);
    names_at_ = Append(names);
    symbols_at_ = Append(std::string(24, '\0'));
    AddSymbol(16, 0x12, 1, 77);  // add_fusion
    AddSymbol(3, 0x02, 1, 8);    // local
    AddSymbol(9, 0x12, 0, 8);    // absent
    AddSymbol(1, 0x12, 1, 5);    // f
    const size_t symbols_end = bytes_.size();
    sections_at_ = Append(std::string(size_t{3} * 64, '\0'));
    PutSection(1, 3, 0, names_at_, names.size(), 0);
    PutSection(2, 2, 1, symbols_at_, symbols_end - symbols_at_, 24);
    Put<uint64_t>(0x28, sections_at_);
    Put<uint16_t>(0x3a, 64);
    Put<uint16_t>(0x3c, 3);
  }

  template <typename T>
  void Put(size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  // A field of a section header.
  size_t InSection(size_t number, size_t field) const { return sections_at_ + number * 64 + field; }
  size_t InSymbol(size_t number, size_t field) const { return symbols_at_ + number * 24 + field; }
  std::string& bytes() { return bytes_; }

 private:
  size_t Append(const std::string& more) {
    size_t at = bytes_.size();
    bytes_ += more;
    return at;
  }
  void AddSymbol(uint32_t name, uint8_t info, uint16_t section, uint64_t size) {
    size_t at = Append(std::string(24, '\0'));
    Put<uint32_t>(at, name);
    Put<uint8_t>(at + 4, info);
    Put<uint16_t>(at + 6, section);
    Put<uint64_t>(at + 16, size);
  }
  void PutSection(size_t number, uint32_t type, uint32_t link, size_t at, size_t size,
                  uint64_t entry) {
    Put<uint32_t>(InSection(number, 4), type);
    Put<uint64_t>(InSection(number, 24), at);
    Put<uint64_t>(InSection(number, 32), size);
    Put<uint32_t>(InSection(number, 40), link);
    Put<uint64_t>(InSection(number, 56), entry);
  }

  std::string bytes_;
  size_t names_at_ = 0, symbols_at_ = 0, sections_at_ = 0;
};

TEST(ElfReaderTest, FindsWhatOthersMayCall) {
  auto functions = ReadObjectFunctions(ObjectText().bytes());
  ASSERT_TRUE(functions) << functions.error().ToString();
  ASSERT_EQ(functions->size(), 2u);
  EXPECT_EQ((*functions)[0].name, "add_fusion");
  EXPECT_EQ((*functions)[0].bytes, 77);
  EXPECT_EQ((*functions)[1].name, "f");
}

TEST(ElfReaderTest, HostileObjectsAreErrors) {
  struct Case {
    const char* what;
    std::function<void(ObjectText&)> spoil;
  };
  const Case cases[] = {
      {"no ELF", [](ObjectText& o) { o.bytes()[1] = 'X'; }},
      {"32 bits", [](ObjectText& o) { o.bytes()[4] = 1; }},
      {"big-endian", [](ObjectText& o) { o.bytes()[5] = 2; }},
      {"header cut", [](ObjectText& o) { o.bytes().resize(40); }},
      {"sections far away", [](ObjectText& o) { o.Put<uint64_t>(0x28, UINT64_MAX - 8); }},
      {"odd section headers", [](ObjectText& o) { o.Put<uint16_t>(0x3a, 8); }},
      {"many sections", [](ObjectText& o) { o.Put<uint16_t>(0x3c, 65535); }},
      {"sections not counted", [](ObjectText& o) { o.Put<uint16_t>(0x3c, 0); }},
      {"no symbol table", [](ObjectText& o) { o.Put<uint32_t>(o.InSection(2, 4), 3); }},
      {"symbols of no size", [](ObjectText& o) { o.Put<uint64_t>(o.InSection(2, 56), 0); }},
      {"symbols outside", [](ObjectText& o) { o.Put<uint64_t>(o.InSection(2, 24), UINT64_MAX); }},
      {"too many symbols", [](ObjectText& o) { o.Put<uint64_t>(o.InSection(2, 32), 1 << 20); }},
      {"names nowhere", [](ObjectText& o) { o.Put<uint32_t>(o.InSection(2, 40), 77); }},
      {"names outside", [](ObjectText& o) { o.Put<uint64_t>(o.InSection(1, 32), UINT64_MAX); }},
      {"a name outside", [](ObjectText& o) { o.Put<uint32_t>(o.InSymbol(1, 0), 1000); }},
      {"a name without end", [](ObjectText& o) { o.Put<uint64_t>(o.InSection(1, 32), 20); }},
      {"a huge function", [](ObjectText& o) { o.Put<uint64_t>(o.InSymbol(1, 16), UINT64_MAX); }},
  };
  for (const Case& c : cases) {
    ObjectText object;
    c.spoil(object);
    EXPECT_FALSE(ReadObjectFunctions(object.bytes())) << c.what;
  }
  for (size_t size = 0; size < ObjectText().bytes().size(); ++size)
    EXPECT_FALSE(ReadObjectFunctions(ObjectText().bytes().substr(0, size))) << size;
}

class ReportCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("hloscope-cache-" + std::to_string(getpid()));
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(ReportCacheTest, KeepsWhatFitsAndIgnoresWhatIsBroken) {
  ReportCache cache(folder_.string(), 4000);
  Fingerprint print;
  print.words = {1, 2};
  Fingerprint changed = print;
  changed.words[1] = 3;
  cache.Store("a", print, "the report");
  EXPECT_EQ(cache.Load("a", print), "the report");
  EXPECT_FALSE(cache.Load("a", changed)) << "a file changed";
  EXPECT_FALSE(cache.Load("b", print));
  Fingerprint hot = changed;
  hot.settled = false;
  cache.Store("a", hot, "too early");
  EXPECT_FALSE(cache.Load("a", changed));
  fs::path file = fs::directory_iterator(folder_)->path();
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(66).put('X');
  EXPECT_FALSE(cache.Load("a", print)) << "its checksum is wrong";
  fs::resize_file(file, 20);
  EXPECT_FALSE(cache.Load("a", print)) << "it is cut off";
  for (char name = 'b'; name < 'h'; ++name)
    cache.Store(std::string(1, name), print, std::string(1500, name));
  uintmax_t total = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) total += entry.file_size();
  EXPECT_LE(total, 4000u);
  EXPECT_TRUE(cache.Load("g", print)) << "the newest is there";
  cache.Store("huge", print, std::string(3000, 'x'));
  EXPECT_FALSE(cache.Load("huge", print));
}

}  // namespace
}  // namespace hloscope::dump
