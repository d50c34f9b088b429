// Machine code of kernels: what CUDA's tools print, read; and the tools run, as scripts that print
// it, so that no CUDA is needed.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/backends/sass/machine_code.h"

namespace hloscope::replay {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDisassembly = R"(	.target	sm_90a

	.elftype	@"ET_EXEC"

//--------------------- .text.other --------------------------
	.section	.text.other,"ax",@progbits
.text.other:
        /*0000*/                   EXIT ;
//--------------------- .text.scale --------------------------
	.section	.text.scale,"ax",@progbits
	.align	128
        .global         scale
scale:
.text.scale:
	//## File ".nv_debug_ptx_txt", line 16
        /*0000*/                   LDC R1, c[0x0][0x28] ;
	//## File ".nv_debug_ptx_txt.1234", line 24
        /*0010*/              @!P0 S2R R5, SR_CTAID.X ;
.L_x_0:
        /*0020*/                   BRA `(.L_x_0);
.L_x_1:
)";

constexpr const char* kObjdump = R"(
	code for sm_90a
		Function : other
        /*0000*/                   EXIT ;                         /* 0x00000a00ff017b82 */
                                                                  /* 0x000fe20000000800 */
		Function : scale
	.headerflags	@"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;         /* 0x00000a00ff017b82 */
                                                                  /* 0x000fe20000000800 */
)";

constexpr const char* kVerbose = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'other' for 'sm_90a'
ptxas info    : Function properties for other
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
ptxas info    : Compiling entry function 'scale' for 'sm_90a'
ptxas info    : Function properties for scale
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 4096 bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 87.090 ms
)";

TEST(SassTest, DisassemblyIsReadWithItsLinesOfPtx) {
  EXPECT_EQ(ReadSass(kDisassembly, "scale"),
            (std::vector<SassLine>{{0, "LDC R1, c[0x0][0x28]", 16},
                                   {16, "@!P0 S2R R5, SR_CTAID.X", 24},
                                   {-1, ".L_x_0:", 0},
                                   {32, "BRA `(.L_x_0)", 24},
                                   {-1, ".L_x_1:", 0}}));
  EXPECT_EQ(ReadSass(kObjdump, "scale"), (std::vector<SassLine>{{0, "LDC R1, c[0x0][0x28]", 0}}));
  EXPECT_TRUE(ReadSass(kDisassembly, "scal").empty());
  EXPECT_TRUE(ReadSass("", "scale").empty());
}

TEST(SassTest, ResourcesAreThoseOfTheKernel) {
  const KernelResources of_ptxas = ReadResources(kVerbose, "scale");
  EXPECT_EQ(of_ptxas.registers, 40);
  EXPECT_EQ(of_ptxas.barriers, 1);
  EXPECT_EQ(of_ptxas.stack_bytes, 16);
  EXPECT_EQ(of_ptxas.spill_store_bytes, 8);
  EXPECT_EQ(of_ptxas.spill_load_bytes, 12);
  EXPECT_EQ(of_ptxas.shared_bytes, 4096);
  EXPECT_EQ(ResourcesText(of_ptxas),
            "40 registers, 20 bytes of spills stored and loaded, 16 bytes of stack, 4096 bytes of "
            "static shared memory, 1 barrier");
  const KernelResources of_cubin = ReadResources(
      "Resource usage:\n Common:\n  GLOBAL:0\n Function other:\n  REG:8 STACK:0 SHARED:0 LOCAL:0\n"
      " Function scale:\n  REG:11 STACK:8 SHARED:1024 LOCAL:0 CONSTANT[0]:544\n",
      "scale");
  EXPECT_EQ(of_cubin.registers, 11);
  EXPECT_EQ(of_cubin.shared_bytes, 1024);
  EXPECT_FALSE(of_cubin.barriers.has_value());
  EXPECT_EQ(ResourcesText({}), "");
}

TEST(SassTest, ThePtxNamesItsTarget) {
  EXPECT_EQ(TargetOfPtx("// sm_1\n.version 9.0\n.target sm_90a, debug\n"), "sm_90a");
  EXPECT_EQ(TargetOfPtx(".version 9.0\n"), "");
}

// Scripts in place of the tools: they print what the tools print.
class ToolsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(testing::TempDir()) /
        ("sass_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string Script(const std::string& name, const std::string& body) {
    const fs::path path = folder_ / name;
    std::ofstream(path) << "#!/bin/sh\n" << body;
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }
  std::string Printing(const std::string& name, const std::string& text, int status = 0) {
    return Script(name, "cat <<'END'\n" + text + "END\nexit " + std::to_string(status) + "\n");
  }

  fs::path folder_;
  MachineCodeRequest request_{
      .kernel = "scale", .ptx = ".version 9.0\n.target sm_90a\n", .object = {}};
};

TEST_F(ToolsTest, PtxIsAssembledAndDisassembled) {
  CudaTools tools;
  tools.ptxas = Script("ptxas", "echo \"$@\" > " + (folder_ / "asked").string() +
                                    "\ncat <<'END'\n" + kVerbose + "END\n");
  tools.nvdisasm = Printing("nvdisasm", kDisassembly);
  const auto code = MakeMachineCode(request_, tools);
  ASSERT_TRUE(code.has_value()) << code.error().ToString();
  EXPECT_EQ(code->target, "sm_90a");
  EXPECT_EQ(code->resources.registers, 40);
  EXPECT_EQ(code->lines.size(), 5u);
  EXPECT_TRUE(code->has_ptx_lines);
  EXPECT_EQ(code->note, "");
  std::string asked;
  std::getline(std::ifstream(folder_ / "asked") >> std::ws, asked);
  EXPECT_NE(asked.find("--gpu-name sm_90a --entry scale"), std::string::npos) << asked;
}

TEST_F(ToolsTest, WithoutAToolTheFixIsSaid) {
  auto code = MakeMachineCode(request_, {});
  ASSERT_FALSE(code.has_value());
  EXPECT_EQ(code.error().error_class, ErrorClass::kUnsupported);
  EXPECT_NE(code.error().ToString().find("scripts/setup --gpu"), std::string::npos);
  // Registers are known without a disassembler.
  CudaTools tools;
  tools.ptxas = Printing("ptxas", kVerbose);
  code = MakeMachineCode(request_, tools);
  ASSERT_TRUE(code.has_value()) << code.error().ToString();
  EXPECT_EQ(code->resources.registers, 40);
  EXPECT_TRUE(code->lines.empty());
  EXPECT_NE(code->note.find("nvidia-cuda-nvdisasm"), std::string::npos) << code->note;
  // cuobjdump prints code without lines.
  tools.cuobjdump = Printing("cuobjdump", kObjdump);
  code = MakeMachineCode(request_, tools);
  ASSERT_TRUE(code.has_value()) << code.error().ToString();
  EXPECT_EQ(code->lines.size(), 1u);
  EXPECT_FALSE(code->has_ptx_lines);
}

TEST_F(ToolsTest, ErrorsOfTheAssemblerAreReportedInFull) {
  CudaTools tools;
  const std::string errors =
      "ptxas k.ptx, line 24; error   : Unknown modifier '.parm'\n"
      "ptxas fatal   : Ptx assembly aborted due to errors\n";
  tools.ptxas = Printing("ptxas", errors, 255);
  const auto code = MakeMachineCode(request_, tools);
  ASSERT_FALSE(code.has_value());
  EXPECT_NE(code.error().message.find(errors), std::string::npos) << code.error().message;
}

TEST_F(ToolsTest, AHangingToolIsKilledAtTheDeadline) {
  CudaTools tools;
  tools.ptxas = Script("ptxas", "exec sleep 600\n");
  request_.deadline = std::chrono::milliseconds(200);
  auto code = MakeMachineCode(request_, tools);
  ASSERT_FALSE(code.has_value());
  EXPECT_EQ(code.error().error_class, ErrorClass::kDeadlineExceeded);
  std::stop_source stop;
  stop.request_stop();
  request_.deadline = std::chrono::minutes(10);
  code = MakeMachineCode(request_, tools, stop.get_token());
  ASSERT_FALSE(code.has_value());
  EXPECT_EQ(code.error().error_class, ErrorClass::kCancelled);
}

TEST_F(ToolsTest, ACubinIsReadAsItRan) {
  CudaTools tools;
  tools.ptxas = Printing("ptxas", "not to be run\n", 1);
  tools.nvdisasm = Printing("nvdisasm", kDisassembly);
  request_.object =
      "\x7f"
      "ELF";
  const auto code = MakeMachineCode(request_, tools);
  ASSERT_TRUE(code.has_value()) << code.error().ToString();
  EXPECT_EQ(code->lines.size(), 5u);
  EXPECT_FALSE(code->resources.registers.has_value());
}

TEST_F(ToolsTest, ToolsAreFoundByCudaHome) {
  fs::create_directories(folder_ / "bin");
  Script("bin/ptxas", "");
  Script("bin/nvdisasm", "");
  setenv("CUDA_HOME", folder_.c_str(), 1);
  const CudaTools tools = FindCudaTools();
  unsetenv("CUDA_HOME");
  EXPECT_EQ(tools.ptxas, (folder_ / "bin/ptxas").string());
  EXPECT_EQ(tools.nvdisasm, (folder_ / "bin/nvdisasm").string());
}

}  // namespace
}  // namespace hloscope::replay
