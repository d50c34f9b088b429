// ptxas, then nvdisasm or cuobjdump.
#include "core/backends/sass/machine_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>

#include "core/base/child_process.h"
#include "core/base/counted.h"
#include "core/base/environment.h"
#include "core/base/file.h"
#include "core/base/scratch_folder.h"
#include "core/base/text.h"
#include "core/dump/readers/elf_reader.h"

namespace hloscope::replay {
namespace {

constexpr const char* kDisassemblerFix =
    "scripts/setup --gpu or pip install nvidia-cuda-nvdisasm, or set CUDA_HOME to a CUDA toolkit";

struct ToolOutput {
  std::string text;
  bool is_good = false;
};

// What a program prints, on both outputs.
Result<ToolOutput> RunTool(const std::string& program, std::vector<std::string> arguments,
                           const MachineCodeRequest& request, const std::stop_token& stop) {
  ChildOptions options;
  options.program = program;
  options.arguments = std::move(arguments);
  options.arguments.insert(options.arguments.begin(), program);
  options.environment = OwnEnvironment();
  HLOSCOPE_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Spawn(options));
  ToolOutput out{child.ReadAll(stop, std::chrono::steady_clock::now() + request.deadline)};
  const std::optional<ChildExit> exit = child.Wait(std::chrono::milliseconds(5000));
  if (stop.stop_requested())
    return std::unexpected(Error{ErrorClass::kCancelled, "cancelled", {}, {}});
  if (child.passed_deadline()) {
    return std::unexpected(
        Error{ErrorClass::kDeadlineExceeded,
              fmt::format("{} took longer than {} s", program, request.deadline.count() / 1000),
              {},
              {}});
  }
  out.is_good = exit && !exit->by_signal && exit->code == 0;
  if (!out.is_good && exit && exit->by_signal) out.text += program + " " + exit->ToString() + "\n";
  return out;
}

Result<std::string> AssemblerOf(const CudaTools& tools) {
  if (!tools.ptxas.empty()) return tools.ptxas;
  return UnsupportedError("ptxas, CUDA's assembler, is not on this machine",
                          "scripts/setup --gpu or pip install nvidia-cuda-nvcc, or set CUDA_HOME "
                          "to a CUDA toolkit");
}

class CodeMaker {
 public:
  CodeMaker(const MachineCodeRequest& request, const CudaTools& tools, const std::stop_token& stop,
            std::string folder)
      : request_(request), tools_(tools), stop_(stop), folder_(std::move(folder)) {}

  Result<MachineCode> Run() {
    const std::string cubin = folder_ + "/kernel.cubin";
    if (!request_.object.empty()) {
      HLOSCOPE_TRY(WriteFileAtomically(cubin, request_.object));
      code_.source = "the machine code of the dump";
      HLOSCOPE_TRY(ReadUsageOf(cubin));
    } else {
      HLOSCOPE_TRY(Assemble(cubin));
    }
    HLOSCOPE_TRY(Disassemble(cubin));
    return std::move(code_);
  }

 private:
  Status Assemble(const std::string& cubin) {
    HLOSCOPE_ASSIGN_OR_RETURN(const std::string assembler, AssemblerOf(tools_));
    code_.target = TargetOfPtx(request_.ptx);
    if (code_.target.empty()) return InputError("the PTX names no .target");
    const std::string ptx = folder_ + "/kernel.ptx";
    HLOSCOPE_TRY(WriteFileAtomically(ptx, request_.ptx));
    HLOSCOPE_ASSIGN_OR_RETURN(
        const ToolOutput out,
        RunTool(assembler,
                {"--verbose", "--generate-line-info", "--gpu-name", code_.target, "--entry",
                 request_.kernel, ptx, "--output-file", cubin},
                request_, stop_));
    code_.log = out.text;
    if (!out.is_good)
      return InputError(
          fmt::format("ptxas does not assemble it for {}:\n{}", code_.target, out.text));
    code_.source = "PTX, assembled by " + assembler;
    code_.resources = ReadResources(out.text, request_.kernel);
    return {};
  }

  Status ReadUsageOf(const std::string& cubin) {
    if (tools_.cuobjdump.empty()) return {};
    HLOSCOPE_ASSIGN_OR_RETURN(const ToolOutput out,
                              RunTool(tools_.cuobjdump, {"-res-usage", cubin}, request_, stop_));
    if (out.is_good) code_.resources = ReadResources(out.text, request_.kernel);
    return {};
  }

  Status Disassemble(const std::string& cubin) {
    if (tools_.nvdisasm.empty() && tools_.cuobjdump.empty()) {
      code_.note = "no SASS: neither nvdisasm nor cuobjdump is on this machine";
      if (!request_.object.empty()) return UnsupportedError(code_.note, kDisassemblerFix);
      code_.note += fmt::format("; fix: {}", kDisassemblerFix);
      return {};
    }
    const bool has_lines = !tools_.nvdisasm.empty();
    const std::string& tool = has_lines ? tools_.nvdisasm : tools_.cuobjdump;
    HLOSCOPE_ASSIGN_OR_RETURN(const ToolOutput out,
                              RunTool(tool,
                                      has_lines ? std::vector<std::string>{"-c", "-gp", cubin}
                                                : std::vector<std::string>{"-sass", cubin},
                                      request_, stop_));
    if (!out.is_good) return InputError(fmt::format("{} does not read it:\n{}", tool, out.text));
    code_.lines = ReadSass(out.text, request_.kernel);
    if (code_.lines.empty()) {
      return InputError(fmt::format("{} prints no code of the kernel {}", tool,
                                    EscapeForTerminal(request_.kernel)));
    }
    code_.has_ptx_lines =
        std::ranges::any_of(code_.lines, [](const SassLine& line) { return line.ptx_line > 0; });
    if (!code_.has_ptx_lines && !has_lines)
      code_.note = fmt::format("cuobjdump says no lines of PTX; fix: {}", kDisassemblerFix);
    return {};
  }

  const MachineCodeRequest& request_;
  const CudaTools& tools_;
  const std::stop_token& stop_;
  const std::string folder_;
  MachineCode code_;
};

// Files of device code of the module; those that belong to no module may be of any.
template <typename Visit>
void ForEachCubin(const dump::DumpModel& dump, int32_t module, const Visit& visit) {
  for (size_t f = 0; f < dump.files().size(); ++f) {
    const dump::FileEntry& file = dump.files()[f];
    const bool is_cubin = file.role == dump::FileRole::kCubin && !file.path.ends_with(".hsaco");
    if (is_cubin && (file.module == module || file.module < 0) && visit(static_cast<int32_t>(f)))
      return;
  }
}

}  // namespace

bool MayHaveMachineCode(const dump::DumpModel& dump, int32_t module, const dump::Kernel& kernel) {
  bool any = kernel.ptx.found();
  if (!any) {
    ForEachCubin(dump, module, [&](int32_t) { return any = true; });
  }
  return any;
}

Result<MachineCode> MachineCodeIn(const dump::DumpModel& dump, int32_t module,
                                  const dump::Kernel& kernel, const CudaTools& tools,
                                  const std::stop_token& stop) {
  MachineCodeRequest request{.kernel = kernel.name, .ptx = {}, .object = {}};
  std::optional<FileView> cubin, ptx;
  ForEachCubin(dump, module, [&](int32_t f) {
    Result<FileView> file = dump.OpenFile(f);
    if (!file) return false;
    const auto functions = dump::ReadObjectFunctions(file->bytes());
    const bool defines = functions && std::ranges::any_of(*functions, [&](const auto& function) {
                           return function.name == kernel.name;
                         });
    if (defines) cubin = *std::move(file);
    return defines;
  });
  if (cubin) {
    request.object = cubin->bytes();
  } else if (kernel.ptx.found()) {
    HLOSCOPE_ASSIGN_OR_RETURN(ptx, dump.OpenFile(kernel.ptx.file));
    request.ptx = ptx->bytes();
  }
  return MakeMachineCode(request, tools, stop);
}

Result<MachineCode> MakeMachineCode(const MachineCodeRequest& request, const CudaTools& tools,
                                    const std::stop_token& stop) {
  if (request.ptx.empty() && request.object.empty())
    return InputError("the kernel has neither PTX nor machine code in this dump",
                      "--xla_dump_emitter_re=^(llvm|ptx|triton-fusion)$ writes PTX");
  HLOSCOPE_ASSIGN_OR_RETURN(const ScratchFolder folder, ScratchFolder::Make());
  return CodeMaker(request, tools, stop, folder.path()).Run();
}

Result<AssembledCode> AssemblePtx(std::string_view ptx, std::chrono::milliseconds deadline,
                                  const CudaTools& tools, const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(const std::string assembler, AssemblerOf(tools));
  const std::string target = TargetOfPtx(ptx);
  if (target.empty()) return InputError("the PTX names no .target");
  HLOSCOPE_ASSIGN_OR_RETURN(const ScratchFolder folder, ScratchFolder::Make());
  const std::string text = folder.path() + "/kernels.ptx", cubin = folder.path() + "/kernels.cubin";
  HLOSCOPE_TRY(WriteFileAtomically(text, ptx));
  MachineCodeRequest request{.kernel = {}, .ptx = {}, .object = {}};
  request.deadline = deadline;
  HLOSCOPE_ASSIGN_OR_RETURN(
      const ToolOutput out,
      RunTool(assembler, {"--verbose", "--gpu-name", target, text, "--output-file", cubin}, request,
              stop));
  if (!out.is_good) {
    return InputError(fmt::format("ptxas does not assemble it for {}:\n{}", target, out.text));
  }
  AssembledCode code;
  code.assembler = assembler;
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView bytes, FileView::Open(cubin, Limits{}));
  code.cubin = bytes.bytes();
  constexpr std::string_view kEntry = "entry function '";
  for (size_t at = 0; (at = out.text.find(kEntry, at)) != std::string::npos;) {
    at += kEntry.size();
    const std::string kernel = out.text.substr(at, out.text.find('\'', at) - at);
    code.kernels.emplace_back(kernel, ReadResources(out.text, kernel));
  }
  return code;
}

std::string ResourcesText(const KernelResources& resources) {
  std::string out;
  const auto add = [&](const std::string& part) { out += (out.empty() ? "" : ", ") + part; };
  if (resources.registers) add(Counted(*resources.registers, "register"));
  if (resources.spill_store_bytes || resources.spill_load_bytes) {
    const int64_t bytes =
        resources.spill_store_bytes.value_or(0) + resources.spill_load_bytes.value_or(0);
    add(bytes == 0 ? "nothing spilled" : Counted(bytes, "byte") + " of spills stored and loaded");
  }
  if (resources.stack_bytes.value_or(0) > 0)
    add(Counted(*resources.stack_bytes, "byte") + " of stack");
  if (resources.shared_bytes) {
    add(*resources.shared_bytes == 0
            ? "no static shared memory"
            : Counted(*resources.shared_bytes, "byte") + " of static shared memory");
  }
  if (resources.barriers) add(Counted(*resources.barriers, "barrier"));
  return out;
}

}  // namespace hloscope::replay
